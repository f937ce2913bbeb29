"""Open loops: what somebody promised or still has to do, until it is said to be done. Rules on English wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import blake2b
from typing import Literal, TypeAlias

from services.shared.core import wordlists
from services.shared.core.due import due_on
from services.shared.core.statements import JOKING, clauses, kinds, stem, terms

State: TypeAlias = Literal["open", "done", "dropped"]

_ADVERBS = r"(?:(?:still|also|really|just|definitely|already|finally|now|all|then) )*"
_SAYING = wordlists.pattern("loops", "saying")
_SOMEWHERE = r"(?:an?|the|my|our|bed|town|work|school|church|uni|university|college)\b"
_PROMISE = re.compile(
    rf"(?:i|we) {_ADVERBS}"
    rf"(?:will|promised?(?: (?:my |our |the )?\w+)? to|(?:am|are) (?:going to(?! {_SOMEWHERE})|gonna)) {_ADVERBS}"
    r"(?!(?:not|never|be|see|think|try|have|know|miss|love|always|probably|need|go|let)\b)(?P<what>.+)"
)
_HAVE_TO = r"(?:need to|have to|must(?! not\b| have\b)|(?:have )?(?:got to|gotta))"
_NEED = re.compile(
    rf"(?:i|we) {_ADVERBS}(?:{_HAVE_TO}|cannot forget to|owe) (?!{_SAYING}\b)(?P<what>.+)"
    rf"|{_HAVE_TO} (?!{_SAYING}\b|{wordlists.pattern('loops', 'no errand')})(?P<errand>.+)"
)
_WAITING = re.compile(rf"(?:i|we) (?:am|are) {_ADVERBS}waiting (?:for|on) (?P<what>.+)")
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
_LISTED = re.compile(r"\W*(?:to-?do|action item)s?(?: for (?:me|us|myself))?: *(?P<what>.+)", re.IGNORECASE | re.DOTALL)
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
    r"\b(?:if|might|maybe|perhaps|possibly|could|would|should|suppose|imagine|wish|unless|almost|whether|probably|when"
    rf"|until(?! (?:the )?(?:\d\d?(?:st|nd|rd|th)|(?:\d\d? )?{_DAYS}|tomorrow|next|end of)))\b"
)
_QUOTING = re.compile(r"[\"“”«»]")
_NOT_MINE = (
    r"(?:not|never|no|nobody|needs?|needed|wants?|be|being|get|gets|getting|to|half|his|her|their|your|i|we|you|she|he"
    r"|they|who)\b"
)
_GIVING = "send give bring mail email post ship deliver forward hand return lend pass".split()
_TO_PEOPLE = frozenset(
    map(stem, "call ring phone text email message write ask answer tell visit invite meet help thank contact".split())
)
_PEOPLE = frozenset(
    stem(word)
    for section in ("family", "partner", "acquainted", "plural people", "occupations")
    for word in wordlists.listed("facts", section)
)
_NAME = re.compile(r"(?<=\w )[A-Z]\w+")
_DELIVERING = frozenset(map(stem, "submit hand deliver finish complete file send".split()))
_WHEN = r"(?: (?:today|yesterday|(?:this|yesterday) (?:morning|afternoon|evening)|last night|now|already|too|as well))?"
_DID = re.compile(rf"(?:(?:i|we) )?(?:have )?{_ADVERBS}(?P<verb>\w+)(?: (?P<what>.*?))?{_WHEN}")
_IS_DONE = re.compile(
    rf"(?P<what>.+?) (?:is|are|was|were|got|has been|have been) {_ADVERBS}(?P<verb>\w+)"
    rf"{_WHEN}"
)
_JUST_DONE = re.compile(
    rf"(?:(?:that|it|this) is )?{_ADVERBS}(?:done|sorted|finished|taken care of|never ?mind)(?: with (?P<what>.+))?"
)
_BARELY_DONE = re.compile(
    rf"(?:(?:the|my|our) )?(?!{_NOT_MINE})(?P<what>\w+(?: (?!{_NOT_MINE})\w+)??) {_ADVERBS}(?P<verb>\w+)"
    rf"{_WHEN}"
)
_RECEIVED = re.compile(
    rf"(?:my |our )?(?P<who>(?!(?:i|we|you|she|he|they|who|nobody|everybody)\b)\w+) (?:has |have )?{_ADVERBS}"
    rf"(?:got|received) (?:the|my|our|her|his|their) (?P<what>.+?){_WHEN}"
)
_RECIPIENT = re.compile(
    rf"\b(?:{'|'.join(_GIVING)}) (?:(?:my |our )?(?P<who>\w+) (?:the|my|our|her|his|their|some|an?|those|these|\d+) "
    r"|.*\bto (?:my |our )?(?P<to>\w+))"
)
_DROPPED = re.compile(r"(?:i|we) (?:do not|no longer|will not) (?:(?:need|have) to )?(?P<what>.+?)(?: anymore)?")
_WHATEVER = frozenset("done finished sorted settled handled completed merged shipped cancelled canceled".split())
_PRONOUNS = frozenset("it that this them those".split())
_BASES = dict(
    pair.split(":")
    for pair in (
        "sent:send paid:pay bought:buy did:do wrote:write told:tell got:get made:make took:take brought:bring "
        "found:find met:meet gave:give rang:ring spoke:speak put:put read:read sold:sell chose:choose drew:draw "
        "built:build gone:go went:go written:write taken:take given:give spoken:speak chosen:choose drawn:draw "
        "fed:feed left:leave fixed:fix submitted:submit"
    ).split()
)
_IDIOMS = frozenset(map(stem, "get do make take put meet".split()))
"""Verbs that say of anything that it went well, or was understood: "got it", "made it"."""

_ANY_DELIVERY = ""
"""The verb of what has a deadline: it is done by whatever delivers it."""

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and the turn that it is of."""

    text: str
    entry_id: str
    role: str
    at: datetime
    conversation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """Something to be done: `promised`, or only needed; open until it is done or dropped.

    `closed_by` is what said so; None where the user decided it (`decided`).
    """

    said: Said
    verb: str
    about: frozenset[str]
    promised: bool
    state: State = "open"
    closed_by: Said | None = None
    decided: bool = False

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
        """The day by which it is due, as its sentence tells."""
        return due_on(self.said.text, self.said.at)


def loops_in(sentences: Iterable[Said], settled: Mapping[str, State] | None = None) -> list[Loop]:
    """What was to be done, in the order in which it was said, each open unless something said later closes it.

    `settled` is what the user decided, by id: of these nothing said later is of account.
    """
    found: list[Loop] = []
    before: Said | None = None
    for said in sentences:
        closed = _closes(said, found, before)
        before = said
        if closed is not None:
            place, how = closed
            found[place] = replace(found[place], state=how, closed_by=said)
        elif (loop := loop_in(said)) is not None:
            decided = (settled or {}).get(loop.id)
            found.append(loop if decided is None else replace(loop, state=decided, decided=True))
    return found


def loop_in(said: Said) -> Loop | None:
    """What a sentence says is to be done; None when that is only supposed, asked, quoted, or said in fun."""
    text = said.text[:_LONGEST]
    if listed := _LISTED.match(text):
        return _loop(said, listed["what"].lower(), promised=False)
    asked = text.rstrip(" \"')").endswith("?")
    if _QUOTING.search(text) or JOKING.search(text.lower()):
        return None
    for clause in clauses(text):
        if _SUPPOSED.search(clause.text.removeprefix("could you ")):
            return None
        if reminded := _REMIND.fullmatch(clause.text):
            return _loop(said, reminded["what"], promised=False) if said.role == "user" else None
        if asked:
            continue
        if promised := _PROMISE.fullmatch(clause.text):
            is_manner = said.role != "user" and _NO_DEED.match(promised["what"]) is not None
            return None if is_manner or _KEPT.search(text.lower()) else _loop(said, promised["what"], promised=True)
        if said.role == "user" and (loop := _needed(said, clause.text)) is not None:
            return loop
    return None


def _needed(said: Said, clause: str) -> Loop | None:
    if found := _NEED.fullmatch(clause):
        return _loop(said, found["what"] or found["errand"], promised=False)
    if found := _WAITING.fullmatch(clause):
        return _loop(said, found["what"], promised=False)
    if (found := _DEADLINE.fullmatch(clause)) and _is_ahead(said, found["when"]):
        return Loop(said, _ANY_DELIVERY, _about(found["what"]), promised=False)
    return None


def _is_ahead(said: Said, when: str) -> bool:
    due = due_on(said.text, said.at) if "day" in kinds(when) or due_on(when, said.at) else None
    return due is not None and due >= said.at.date()


def _loop(said: Said, what: str, *, promised: bool) -> Loop | None:
    if _NOTHING.fullmatch(what) or _TITLE.match(what):
        return None
    verb = what.split(maxsplit=1)[0] if what.split() else ""
    about = _about(what)
    return Loop(said, stem(verb), about - {stem(verb)}, promised) if about or verb else None


def _about(what: str) -> frozenset[str]:
    times = {word for kind, words in kinds(what).items() if kind in ("day", "clock") for word in words}
    return terms(what) - times


def _closes(said: Said, found: list[Loop], before: Said | None) -> tuple[int, State] | None:
    """Which of the open loops a sentence says is done or not to be done any more: the newest that it can mean.

    `before` is the sentence before it.
    """
    if not any(one.is_open for one in found) or said.text.rstrip(" \"')").endswith("?"):
        return None
    ends = [_ending(clause.text) for clause in clauses(said.text[:_LONGEST])]
    for place, end in enumerate(ends):
        if end is None:
            continue
        for i in range(len(found) - 1, max(-1, len(found) - 200), -1):
            one = found[i]
            if one.is_open and not one.decided and _may_end(said, one) and _is_meant(end, said, one):
                return i, end.state
        if place == 0 and end.is_only_pointing and (only := _only_one(end, said, found, before)) is not None:
            return only, end.state
    return None


def _only_one(end: _Ending, said: Said, found: list[Loop], before: Said | None) -> int | None:
    """The one open loop of the user that has the verb of "sent it", whatever conversation it is of.

    None where what was said just before may be what "it" stands for.
    """
    if end.is_wordless or end.verb in _IDIOMS or (before and _may_be_meant(before, said)):
        return None
    of_verb = [i for i, one in enumerate(found) if one.is_open and one.verb == end.verb and one.said.role == "user"]
    if len(of_verb) != 1 or found[of_verb[0]].decided or not _may_end(said, found[of_verb[0]]):
        return None
    return of_verb[0]


def _may_be_meant(before: Said, said: Said) -> bool:
    return before.entry_id == said.entry_id and len(terms(before.text.lower())) > 1


@dataclass(frozen=True, slots=True)
class _Ending:
    """The verb of what is over, None for any; what it is about; and whether a pronoun stands for that.

    `is_strict`: nothing else may be meant than what the loop names. `recipient` is who has it now.
    """

    verb: str | None
    about: frozenset[str]
    is_pointing: bool
    state: State = "done"
    is_strict: bool = False
    recipient: str | None = None
    is_wordless: bool = False

    @property
    def is_only_pointing(self) -> bool:
        """Whether nothing but a pronoun says what is meant."""
        return self.is_pointing and not self.about


def _ending(text: str) -> _Ending | None:
    if _SUPPOSED.search(text):
        return None
    if found := _JUST_DONE.fullmatch(text):
        state: State = "dropped" if re.search(r"never ?mind", text) else "done"
        return _Ending(None, _about(found["what"] or ""), not found["what"], state)
    if found := _DROPPED.fullmatch(text):
        what = found["what"]
        return _Ending(stem(what.split()[0]), _about(what) - {stem(what.split()[0])}, False, "dropped")
    if (found := _DID.fullmatch(text)) and (verb := _base(found["verb"])):
        what = found["what"] or ""
        if found["verb"] == "got" and what.startswith("to "):  # I have got to call
            return None
        return _Ending(verb, _about(what), not what or what.split()[0] in _PRONOUNS, is_wordless=not what)
    if (found := _IS_DONE.fullmatch(text)) and (found["verb"] in _WHATEVER or _base(found["verb"])):
        verb = None if found["verb"] in _WHATEVER else _base(found["verb"])
        state = "dropped" if found["verb"] in ("cancelled", "canceled") else "done"
        return _Ending(verb, _about(found["what"]), found["what"] in _PRONOUNS, state)
    if found := _RECEIVED.fullmatch(text):
        return _Ending(None, _about(found["what"]), False, is_strict=True, recipient=found["who"])
    if (found := _BARELY_DONE.fullmatch(text)) and (verb := _base(found["verb"])):
        return _Ending(verb, _about(found["what"]), False, is_strict=True)
    return None


def _base(word: str) -> str | None:
    """The stem of the verb of which a word is the past; None when it is none."""
    if word in _BASES:
        return stem(_BASES[word])
    return stem(word) if word.endswith("ed") and len(word) > 4 else None


def _may_end(said: Said, loop: Loop) -> bool:
    return said.entry_id != loop.said.entry_id and (said.role == "user" or loop.said.role == said.role)


def _is_meant(end: _Ending, said: Said, loop: Loop) -> bool:
    if end.recipient is not None and end.recipient != _recipient(loop):
        return False
    if end.verb not in (None, loop.verb) and not (loop.verb == _ANY_DELIVERY and end.verb in _DELIVERING):
        return False
    if end.is_only_pointing:
        return said.conversation_id == loop.said.conversation_id
    if end.is_strict and (not end.about <= loop.about or (end.recipient is None and _may_have_done_it(end, loop))):
        return False
    return 2 * len(end.about & loop.about) > min(len(end.about), len(loop.about)) if end.about else False


def _may_have_done_it(end: _Ending, loop: Loop) -> bool:
    """Whether "Anna called" names who did it rather than what was done."""
    named = {stem(word.lower()) for word in _NAME.findall(loop.said.text)}
    return end.verb in _TO_PEOPLE or not end.about.isdisjoint(_PEOPLE | named)


def _recipient(loop: Loop) -> str | None:
    """Whom something is to be sent or given to."""
    found = _RECIPIENT.search(loop.said.text[:_LONGEST].lower())
    return found["who"] or found["to"] if found else None
