"""Open loops: what somebody promised or still has to do, until it is said to be done. Rules on English wording."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import blake2b

from services.shared.core import wordlists
from services.shared.core.deeds import (
    ADVERBS,
    ANY_DELIVERY,
    DEEDS,
    Deed,
    Ending,
    State,
    about_of,
    deeds_in,
    endings_in,
    handed_over,
    is_decided_against,
    ticked_in,
)
from services.shared.core.due import due_on
from services.shared.core.joined import stated
from services.shared.core.statements import JOKING, KIN, Clause, clauses, kinds, stem, subject_of, terms

_SAYING = wordlists.pattern("loops", "saying")
_SOMEWHERE = r"(?:an?|the|my|our|bed|town|work|school|church|uni|university|college)\b"
_PROMISE = re.compile(
    rf"(?:i|we) {ADVERBS}"
    rf"(?:will|promised?(?: (?:my |our |the )?\w+)? to|(?:am|are) (?:going to(?! {_SOMEWHERE})|gonna)) {ADVERBS}"
    r"(?!(?:not|never|be|see|think|try|have|know|miss|love|always|probably|need|go|let)\b)(?P<what>.+)"
)
_HAVE_TO = r"(?:need to|have to|must(?! not\b| have\b)|(?:have )?(?:got to|gotta))"
_NEED = re.compile(
    rf"(?:i|we) {ADVERBS}(?:{_HAVE_TO}|cannot forget to|owe) (?!{_SAYING}\b)(?P<what>.+)"
    rf"|{_HAVE_TO} (?!{_SAYING}\b|{wordlists.pattern('loops', 'no errand')})(?P<errand>.+)"
)
_PROMISED_TO = re.compile(
    rf"\b(?P<said>(?:i|we) {ADVERBS}(?:promised?|assured|swore to|(?P<told>told))(?: (?!i\b|we\b)[\w.]+){{0,3}}? )"
    rf"(?:that )?(?:i|we) (?:would|will) {ADVERBS}(?P<what>\w+)"
)
"""The promise in "I promised Ben that I would call": of what was only told, where it is a deed."""

_WAITING = re.compile(rf"(?:i|we) (?:am|are) {ADVERBS}waiting (?:for|on) (?P<what>.+)")
_REMIND = re.compile(
    r"(?:please |(?:can|could|will) you (?:please )?)*"
    r"(?:remind me,? i (?:need|have) to|remind me (?:\w+ ){0,3}?(?:to|about|that i (?:need|have) to)"
    r"|do not (?:let me )?forget to|remember to"
    r"|(?:do not|dont) let me forget (?:to|about|(?!that|who|what|how|why|where|it|this|you|her|him|them))\b) ?"
    r"(?P<what>.+)"
)
_DEADLINE = re.compile(
    r"(?:(?:the|my|our) )?deadline (?:for|of) (?:(?:the|my|our) )?(?P<what>[\w -]{2,40}?) is (?P<when>.{3,40})"
)
_HEADING = (
    rf"(?:{wordlists.pattern('loops', 'before headings')},? )*{wordlists.pattern('loops', 'list headings')}"
    r"(?: (?:for )?(?:me|us|myself|today|tonight|tomorrow|(?:this|next|the) (?:week|weekend|month|morning|afternoon)"
    r"|(?:by |before |on |until )?\w{3,6}day|(?:by|before) [^:]{1,30}))*"
)
_LISTED = re.compile(rf"\W*{_HEADING}[*_]*: *[*_]*(?P<what>.+)", re.IGNORECASE | re.DOTALL)
_HEADED = re.compile(
    rf"(?P<marked>\s*(?:#+|\*\*|__))?\W*{_HEADING}[*_]*(?(marked):?|:) *[*_]*",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?P<mark>(?:[-*•–+]|\(?\d{1,2}[.)])(?: |$))?\s*(?P<box>\[ \]|[☐□◻])?\s*(?P<what>[^\W\d_☐□◻].*)", re.DOTALL
)
_NOTHING = re.compile(rf"{wordlists.pattern('loops', 'nothing')}(?:,? {wordlists.pattern('loops', 'after that')})*")
_NO_DEED = re.compile(rf"(?:{wordlists.pattern('loops', 'no deed')})\b")
_ART = wordlists.pattern("loops", "work of art")
_TITLE = re.compile(
    r"(?!.*\b(?:who|what|where|which|that|how|because|(?:it|he|she|this) (?:is|was))\b)"
    r".+(?: (?:is|was) (?:such |really |still )?(?:an?|the|my|our) (?:(?!of\b|in\b|for\b|from\b)[\w-]+ ){0,3}"
    rf"{_ART}\b|, (?:great|good|lovely|amazing|brilliant|wonderful|terrible) {_ART}$)"
)
_KEPT = re.compile(r"\band (?:i |we )?(?:did|have done (?:it|so))\W*$")
_DAYS = "(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_SUPPOSED = re.compile(
    r"\b(?:if|might|maybe|perhaps|possibly|could|would|should|suppose|imagine|wish|unless|almost|whether|probably|hopefully|when"
    rf"|until(?! (?:the )?(?:\d\d?(?:st|nd|rd|th)|(?:\d\d? )?{_DAYS}|tomorrow|next|end of)))\b"
)
_QUOTING = re.compile(r"[\"“”«»]")
_GIVING = "send give bring mail email post ship deliver forward hand return lend pass".split()
_TO_PEOPLE = frozenset(
    map(stem, "call ring phone text email message write ask answer tell visit invite meet help thank contact".split())
)
_PEOPLE = frozenset(
    stem(word)
    for section in ("family", "partner", "acquainted", "plural people", "occupations")
    for word in wordlists.listed("facts", section)
)
_NAME = re.compile(r"(?<=\w )[A-Z][a-zß-ÿ]\w*")
_RECIPIENT = re.compile(
    rf"\b(?:{'|'.join(_GIVING)}) (?:(?:my |our )?(?P<who>\w+) (?:the|my|our|her|his|their|some|an?|those|these|\d+) "
    r"|.*\bto (?:my |our )?(?P<to>\w+))"
)
_SPEAKER = rf"(?:i|we) {ADVERBS}(?:{_HAVE_TO}|will|promised?|(?:am|are) (?:going to|gonna|{ADVERBS}waiting)|owe)\b"
_ANEW = re.compile(
    rf"(?:[,;]| -|\band|\bso|\bbut) (?:(?:so|and|then|now|but|that is why) )*(?={_SPEAKER})"
    rf"|[,;] (?=(?:need to|have to|gotta) (?:{'|'.join(wordlists.listed('loops', 'deeds'))})\b)"
)
"""Where what is to be done begins, behind the reason for it: "the boiler is leaking and I need to call the plumber"."""

_ANOTHER = re.compile(r", (?=(?:she|he) )", re.IGNORECASE)
_JOINED = re.compile(
    r",\s+and (?!(?:i|we|he|she|it|they|you|that|this|there|now|then|so)\b"
    r"|(?:my|our|his|her|their|the) [^,.;!?]*\b(?:is|are|was|were|has|have|had|will|can|does|did|\w+ed)\b"
    r"|(?:my|our|his|her|their|the) [^,.;!?]*\w+s (?!by|on|in|at|for|from|of|to|and|too|today|tomorrow)\w)",
    re.IGNORECASE,
)
_FURTHER = re.compile(r"[,;] (?=(?:i|we|he|she|it|they|there|that|this|but|now|so|cost|costs|took)\b)")
_POINTING = re.compile(r"\b(?:it|them|one|some|more|another|him|her)\b")
_PLAYED = re.compile(wordlists.pattern("loops", "played"))
_WONDERED = re.compile(wordlists.pattern("loops", "wondered"))
_HABIT = re.compile(wordlists.pattern("loops", "habit"))
_LASTING = re.compile(r"\b(?:till|til|until|by|before)\b")
_IN_VAIN = re.compile(wordlists.pattern("loops", "in vain"))
_IN_VAIN_AFTER = re.compile(wordlists.pattern("loops", "in vain after"))
_FOR = re.compile(r"\bfor (?P<name>[^\W\d]\w+)")
_FOR_KIN = re.compile(r"\bfor (?:my|our|his|her|their) (\w+)")
_OWNED = re.compile(r"\b(\w+)['’]s (?!(?:done|finished|sorted|paid|sent|been|got|in|on|back|\w+ed)\b)(\w+)")
_LONGEST = 400
SURE = 0.6
"""How sure it must be that something is to be done, where no rule finds it: five of six are what a reader notes."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and the turn that it is of. `tasks`: what was read in it to be done."""

    text: str
    entry_id: str
    role: str
    at: datetime
    conversation_id: str | None = None
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """Something to be done: `promised`, or only needed; open until each of its deeds is done or dropped.

    `left` are those that are not, as long as it is open.

    `closed_by` is what said so; None where the user decided it (`decided`). `heading` stands over it in a list.
    """

    said: Said
    left: tuple[Deed, ...]
    promised: bool
    state: State = "open"
    closed_by: Said | None = None
    decided: bool = False
    heading: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is still to be done."""
        return self.state == "open"

    @property
    def id(self) -> str:
        """What it is named by: the entry that says it, and a hash of the sentence, which may be one of several."""
        return f"{self.said.entry_id}:{blake2b(self.said.text.encode(), digest_size=8).hexdigest()}"

    @property
    def due_on(self) -> date | None:
        """The day by which it is due, as its sentence tells, or the heading over it."""
        return due_on(self.said.text, self.said.at) or due_on(self.heading, self.said.at)


def loops_in(sentences: Iterable[Said], settled: Mapping[str, State] | None = None) -> list[Loop]:
    """What was to be done, in the order in which it was said, each open unless something said later closes it.

    `settled` is what the user decided, by id: of these nothing said later is of account.
    """
    found: list[Loop] = []
    told = list(sentences)
    heading: Said | None = None
    for place, said in enumerate(told):
        before = told[place - 1] if place else None
        after = told[place + 1] if place + 1 < len(told) and told[place + 1].entry_id == said.entry_id else None
        _close(said, found, before, after)
        heading = _heading(said, heading)
        if (loop := _item_in(said, heading) or loop_in(said) or _read_in(said)) is not None:
            decided = (settled or {}).get(loop.id)
            found.append(loop if decided is None else replace(loop, state=decided, decided=True))
    return found


def _read_in(said: Said) -> Loop | None:
    """What a sentence was read to say is to be done, where no rule finds it."""
    deeds = tuple(deed for task in said.tasks for deed in deeds_in(task.lower()))
    return Loop(said, deeds, promised=False) if said.tasks else None


def _heading(said: Said, before: Said | None) -> Said | None:
    """The heading of the list that a sentence is of, or is itself the heading of."""
    if said.role == "user" and _HEADED.fullmatch(said.text[:_LONGEST]):
        return said
    is_of_list = before is not None and before.entry_id == said.entry_id and (said is before or _listed(said))
    return before if is_of_list else None


def _listed(said: Said, *, is_boxed: bool = False) -> str:
    """What a line of a list says is to be done; empty where it is of no list. `is_boxed`: has a box to be ticked."""
    item = _ITEM.fullmatch(said.text[:_LONGEST])
    if item is None or said.text.endswith("?") or (is_boxed and not item["box"]):
        return ""
    is_plain = item["what"].split()[0].lower() in DEEDS and not item["what"].endswith((".", "!", ":"))
    return item["what"] if item["mark"] or item["box"] or is_plain else ""


def _item_in(said: Said, heading: Said | None) -> Loop | None:
    """What a line below a heading, or behind an empty box, says is to be done."""
    if said is heading or said.role != "user":
        return None
    what = _listed(said, is_boxed=heading is None)
    if not what or ticked_in(said.text):
        return None
    headed = _HEADED.fullmatch(heading.text[:_LONGEST]) if heading else None
    deeds = _listed_deeds(what, headed["verb"] if headed else None, is_line=True)
    return Loop(said, deeds, promised=False, heading=heading.text if heading else "") if deeds else None


def _listed_deeds(what: str, verb: str | None, *, is_line: bool) -> tuple[Deed, ...]:
    """The deeds of what is listed, be they only words, below a heading that may have their verb: "I need to buy:".

    `is_line`: what stands on one line of several, else all of them.
    """
    what = what.lower().strip()
    is_deed = what.split()[0] in DEEDS
    if verb and not is_deed:
        return deeds_in(f"{verb.lower()} {what}")
    return deeds_in(what, is_list=not (is_deed and is_line))


def loop_in(said: Said) -> Loop | None:
    """What a sentence says is to be done; None when that is only supposed, asked, quoted, or said in fun."""
    text = said.text[:_LONGEST]
    if said.role == "user" and _HEADED.fullmatch(text):
        return None
    if listed := _LISTED.match(text):
        deeds = _listed_deeds(listed["what"], listed["verb"], is_line=False)
        return Loop(said, deeds, promised=False) if deeds else None
    asked, doubted = _is_asked(stated(text)), _is_asked(text)
    if _QUOTING.search(text) or JOKING.search(text.lower()):
        return None
    found: list[Loop] = []
    before = ""
    for piece, clause in _pieces(text, with_reason=said.role == "user"):
        if _SUPPOSED.search(clause.text.removeprefix("could you ")):
            break
        if reminded := _REMIND.fullmatch(piece):
            found += _loop(said, reminded["what"], promised=False) if said.role == "user" else ()
        elif promised := _PROMISE.fullmatch(piece):
            is_manner = said.role != "user" and _NO_DEED.match(promised["what"]) is not None
            if not (doubted or is_manner or is_decided_against(before) or _KEPT.search(text.lower())):
                found += _loop(said, promised["what"], promised=True)
        elif said.role == "user" and not asked and not _PLAYED.search(before):
            found += _needed(said, piece, before)
        before = piece
    return replace(found[0], left=tuple(deed for one in found for deed in one.left)) if found else None


def _is_asked(text: str) -> bool:
    return text.rstrip(" \"')").endswith("?")


def _pieces(text: str, *, with_reason: bool = True) -> Iterator[tuple[str, Clause]]:
    """The parts of a text that may each say what is to be done, or was, with the clause that each is of."""
    plain = _JOINED.sub(" and ", _ANOTHER.sub("; ", text))
    for clause in clauses(plain):
        said = _PROMISED_TO.sub(_promised, clause.text)
        clause = replace(clause, text=said)
        parts = _ANEW.split(said) if with_reason else [said]
        yield from ((piece, clause) for part in parts if (piece := part.strip(" ,;")))


def _promised(found: re.Match[str]) -> str:
    is_deed = not found["told"] or found["what"] in DEEDS
    return f"i promised to {found['what']}" if is_deed else found[0]


def _needed(said: Said, piece: str, before: str) -> tuple[Loop, ...]:
    if found := _NEED.fullmatch(piece):
        what = found["what"] or found["errand"]
        is_habit = _HABIT.search(what) is not None and not _LASTING.search(what)
        return () if is_habit or _WONDERED.match(what) else _loop(said, what, promised=False, before=before)
    if found := _WAITING.fullmatch(piece):
        return _loop(said, found["what"], promised=False)
    if (found := _DEADLINE.fullmatch(piece)) and _is_ahead(said, found["when"]):
        return (Loop(said, (Deed(frozenset({ANY_DELIVERY}), about_of(found["what"]), frozenset()),), promised=False),)
    return ()


def _is_ahead(said: Said, when: str) -> bool:
    due = due_on(said.text, said.at) if "day" in kinds(when) or due_on(when, said.at) else None
    return due is not None and due >= said.at.date()


def _loop(said: Said, what: str, *, promised: bool, before: str = "") -> tuple[Loop, ...]:
    """What is to be done; a pronoun in it stands for what was named `before`: "my passport has expired"."""
    what = what.removeprefix("remember to ")
    if _NOTHING.fullmatch(what) or _TITLE.match(what):
        return ()
    deeds = deeds_in(what)
    if before and len(deeds) == 1 and not deeds[0].about and _POINTING.search(what):
        named = subject_of(before)
        deeds = (replace(deeds[0], about=about_of(named) or about_of(before)),)
    return (Loop(said, deeds, promised),) if deeds else ()


def _close(said: Said, found: list[Loop], before: Said | None, after: Said | None) -> None:
    """Close what a sentence says is done or not to be done any more: of each ending the newest that it can mean.

    `before` is the sentence before it, `after` the next one of the same turn.
    """
    if not any(one.is_open for one in found) or _is_asked(stated(said.text)) or _is_in_vain(said, after):
        return
    ends = ticked_in(said.text[:_LONGEST]) or _told_endings(stated(said.text[:_LONGEST]))
    for place, end in enumerate(ends):
        newest = range(len(found) - 1, max(-1, len(found) - 200), -1)
        meant = next((i for i in newest if _may_end(said, found[i]) and _ended(end, said, found[i])), None)
        if meant is not None:
            found[meant] = _without(found[meant], _ended(end, said, found[meant]), end, said)
        elif place == 0 and end.is_only_pointing and (only := _only_one(end, said, found, before)) is not None:
            found[only] = _without(found[only], end.of_verb(found[only].left), end, said)


def _told_endings(text: str) -> list[Ending]:
    """What the clauses of a sentence say is over, or that somebody else does now."""
    pieces = [piece for piece, _ in _pieces(text) if not _SUPPOSED.search(piece)]
    handed = handed_over(", ".join(pieces))
    return handed or [end for piece in pieces for end in endings_in(_FURTHER.split(piece, maxsplit=1)[0])]


def _is_in_vain(said: Said, after: Said | None) -> bool:
    """Whether what was done led to nothing yet: "I called Anna, but she doesn't pick up"."""
    goes_on = after is not None and _IN_VAIN_AFTER.match(after.text[:_LONGEST].lower()) is not None
    return goes_on or _IN_VAIN.search(said.text[:_LONGEST].lower()) is not None


def _without(loop: Loop, deeds: Collection[Deed], end: Ending, said: Said) -> Loop:
    """The loop with these deeds done or dropped, and closed where there are no others."""
    left = tuple(deed for deed in loop.left if deed not in deeds)
    return replace(loop, left=left) if left else replace(loop, state=end.state, closed_by=said)


def _only_one(end: Ending, said: Said, found: list[Loop], before: Said | None) -> int | None:
    """The one open loop of the user that has the verb of "sent it", whatever conversation it is of.

    None where what was said just before may be what "it" stands for.
    """
    if end.is_idiom or (before and _may_be_meant(before, said)):
        return None
    of_verb = [
        i
        for i, one in enumerate(found)
        if one.is_open and one.said.role == "user" and any(end.verb in deed.verbs for deed in one.left)
    ]
    return of_verb[0] if len(of_verb) == 1 and _may_end(said, found[of_verb[0]]) else None


def _may_be_meant(before: Said, said: Said) -> bool:
    return before.entry_id == said.entry_id and len(terms(before.text.lower())) > 1


def _may_end(said: Said, loop: Loop) -> bool:
    is_later = said.entry_id != loop.said.entry_id and (said.role == "user" or loop.said.role == said.role)
    return loop.is_open and not loop.decided and is_later


def _ended(end: Ending, said: Said, loop: Loop) -> list[Deed]:
    """The deeds of a loop that an ending means."""
    if end.recipient is not None and end.recipient != _recipient(loop):
        return []
    if end.is_only_pointing:
        same = said.conversation_id == loop.said.conversation_id
        return end.of_verb(loop.left) if same else []
    deeds = [deed for deed in loop.left if end.is_of(deed)]
    if not deeds or (end.is_strict and end.recipient is None and _may_have_done_it(end, loop)):
        return []
    return [] if _is_for_another(said.text[:_LONGEST], loop) else deeds


def _is_for_another(text: str, loop: Loop) -> bool:
    """Whether what was done was for somebody, or of what is somebody's, of whom the loop says nothing."""
    known = terms(loop.said.text.lower())
    named = {found["name"].lower() for found in _FOR.finditer(text) if found["name"][0].isupper()}
    owned = [(stem(one.lower()), stem(what.lower())) for one, what in _OWNED.findall(text)]
    people = {*terms(" ".join(_FOR_KIN.findall(text.lower()))), *(one for one, _ in owned)} & (_PEOPLE | KIN)
    others = {stem(name) for name in named} | people
    return not others <= known or any(one in known and what not in known for one, what in owned)


def _may_have_done_it(end: Ending, loop: Loop) -> bool:
    """Whether "Anna called" names who did it rather than what was done."""
    named = {stem(word.lower()) for word in _NAME.findall(loop.said.text)}
    return end.particle is None and (end.verb in _TO_PEOPLE or not end.about.isdisjoint(_PEOPLE | named))


def _recipient(loop: Loop) -> str | None:
    """Whom something is to be sent or given to."""
    found = _RECIPIENT.search(loop.said.text[:_LONGEST].lower())
    return found["who"] or found["to"] if found else None
