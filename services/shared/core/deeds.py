"""What is to be done, deed by deed, and what a clause says was done or dropped. Rules on English wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from services.shared.core import wordlists
from services.shared.core.bounded import as_read
from services.shared.core.statements import SPEAKERS, clauses, kinds, stem, terms

State: TypeAlias = Literal["open", "done", "dropped"]

ADVERBS = r"(?:(?:still|also|really|just|definitely|already|finally|now|all|then) )*"
_words, _pattern = wordlists.words, wordlists.pattern
DEEDS = _words("loops", "deeds")
_SAME = [frozenset(map(stem, line.split())) for line in wordlists.sections("loops")["same deed"]]
_MAKING = frozenset(map(stem, wordlists.listed("loops", "making")))
_FINISHING = frozenset(map(stem, ("finish", "complete")))
_DELIVERING = frozenset(map(stem, "submit hand deliver finish complete file send".split()))
_PARTS_OF = frozenset(map(stem, wordlists.listed("loops", "parts")))
_PARTLY = re.compile(_pattern("loops", "partly"))
_TAIL = re.compile(_pattern("loops", "no more deeds"))
_AND = re.compile(r"(?P<and>,? (?:and(?: (?:then|also))?|then|plus|as well as|&|\+) |, also )|[,;] ")
_STATED = re.compile(
    rf", (?!(?:{'|'.join(sorted(DEEDS))})\b)(?:\w+ ){{1,3}}"
    r"(?:is|are|was|were|has|have|had|can|will|needs?|wants?|expires?|ends?|starts?)\b"
)
_SKIPPED = re.compile(_pattern("loops", "beside deeds"))
_BARE = re.compile(r"(?:go|try|come|start)(?: (?:out|down|over))?")
_OPENING = re.compile(r"(?:(?:to|also|then|still|finally|please|remember to|make sure to|be sure to|not forget to) )+")
_SOMETHING = frozenset(("something", "anything"))
_DETERMINERS = frozenset("the a an my our his her their your some this that these those both all".split())
_NAMED_THINGS = frozenset("ticket tickets contract account subscription membership plan".split())
"""Words that tell little in other statements, and here what is to be bought, signed or made."""

_LONGEST_ITEM = 4
"""Words of what stands in a row without a verb of its own: "milk, brown eggs and bread"."""

_PARTICLES = r"(?:on|in|up|back|away|out|off|down|over)"
_PARTICLE_AT_END = re.compile(rf" {_PARTICLES}$")
_PHRASAL = {
    (stem(verb), particle): stem(meant)
    for verbs, particle, meant in (
        ("bring take give hand send carry", "back", "return"),
        ("hand turn send give", "in", "submit"),
        ("pick", "up", "collect"),
        ("fill", "in", "fill"),
        ("sign", "up", "register"),
        ("ring call phone", "back", "call"),
    )
    for verb in verbs.split()
}
_WHEN = r"(?: (?:today|yesterday|(?:this|yesterday) (?:morning|afternoon|evening)|last night|now|already|too|as well))?"
_NOT_MINE = (
    r"(?:not|never|no|nobody|needs?|needed|wants?|be|being|get|gets|getting|to|half|his|her|their|your|i|we|you|she|he"
    r"|they|who)\b"
)
_DID = re.compile(rf"(?:(?:i|we) )?(?:have )?{ADVERBS}(?P<verb>\w+)(?: (?P<what>.*?))?{_WHEN}")
_IS_DONE = re.compile(
    rf"(?P<what>.+?) (?:is|are|was|were|got|has been|have been) {ADVERBS}(?P<verb>\w+)(?: (?P<particle>{_PARTICLES}))?"
    rf"{_WHEN}"
)
_IS_ON = re.compile(rf"(?P<what>.+?) (?:is|are) {ADVERBS}(?P<particle>{_PARTICLES}){_WHEN}")
_JUST_DONE = re.compile(
    rf"(?:(?:that|it|this) is )?{ADVERBS}(?:done|sorted|finished|taken care of|never ?mind)(?: with (?P<what>.+))?"
)
_BARELY_DONE = re.compile(
    rf"(?:(?:the|my|our) )?(?!{_NOT_MINE})(?P<what>\w+(?: (?!{_NOT_MINE})\w+)??) {ADVERBS}(?P<verb>\w+)"
    rf"{_WHEN}"
)
_RECEIVED = re.compile(
    rf"(?:my |our )?(?P<who>(?!(?:i|we|you|she|he|they|who|nobody|everybody)\b)\w+) (?:has |have )?{ADVERBS}"
    rf"(?:got|received) (?:the|my|our|her|his|their) (?P<what>.+?){_WHEN}"
)
_DECIDED = rf"(?:(?:i|we) )?(?:have )?{ADVERBS}(?:decided|chose|chosen|resolved|opted) (?:not to|against) "
_NOT_GOING_TO = (
    rf"(?:(?:i|we) {ADVERBS}(?:do not|(?P<ever>no longer)|will not)|(?:(?:i|we) (?:am|are) )?not (?:going to|gonna))"
)
_DROPPED = re.compile(
    rf"(?:{_NOT_GOING_TO} (?:(?:need|have) to )?|(?:(?:there is|i see) )?no (?:more )?need to |(?P<decided>{_DECIDED}))"
    r"(?P<what>.+?)(?P<last>(?: anymore| after all)*)"
)
_FOR_NOW = re.compile(_pattern("loops", "not dropped"))
_NEEDLESS = re.compile(_pattern("loops", "needless"))
_GOT_ROUND = re.compile(
    rf"(?:(?:i|we) )?(?:have )?{ADVERBS}(?:got(?:ten)? (?:a?round )to|finished) (?P<verb>\w+ing) (?P<what>.+?){_WHEN}"
)
_RELIEVED = re.compile(rf"(?P<told>.+?),? {_pattern('loops', 'relieved')}(?: myself| anymore)*")
_BY_ANOTHER = re.compile(
    r"(?:(?:my|our|the) )?(?!(?:i|we|you|it|this|that|there|nobody|no)\b)\w+(?: \w+)?? "
    r"(?:(?:is|are|has|have|will|can|already|just|now|kindly|going|offered|agreed|volunteered|promised|wants|to) )*"
    r"(?P<verb>\w+) (?P<what>(?:over |on |up |care of )?\w+ ?.*)"
)
_DONE = "(?:done|finished|completed|sorted|ticked off|crossed off)"
_TICK = r"(?:\[[xX✓✔]\]|[✅☑✔✓]\ufe0f?)"
_TICKED = re.compile(
    rf"(?:[-*•+] |\d{{1,2}}[.)] )?(?:{_TICK} *(?:done:? )?(?P<behind>[^✅☑✔✓☐□\[\]]+)"
    rf"|~~(?P<struck>[^~]+)~~(?: {_TICK})?|(?P<before>[^✅☑✔✓☐□\[\]]+?) *(?:{_TICK}|(?: [-–—]+|:|,|->|=>?|\.\.\.) *"
    rf"\(?(?:is )?{ADVERBS}{_DONE}\)?"
    rf"|\((?:all )?{_DONE}\))|{_DONE}(?::| [-–—]) *(?P<listed>.+))[.! ]*",
    re.IGNORECASE,
)
_WHATEVER = frozenset("done finished sorted settled handled completed merged shipped cancelled canceled".split())
_PRONOUNS = frozenset("it that this them those".split())
_TWO = 2
_BOTH = re.compile(r"both(?: of (?:them|these|those))?")
_ALSO_DID = re.compile(r"(?:,? and(?: (?:then|also))?|,) (?:(?:i|we) )?(?:have )?(?P<verb>\w+)")
_BASES = dict(
    pair.split(":")
    for pair in (
        "sent:send paid:pay bought:buy did:do wrote:write told:tell got:get made:make took:take brought:bring "
        "found:find met:meet gave:give rang:ring spoke:speak put:put read:read sold:sell chose:choose drew:draw "
        "built:build gone:go went:go written:write taken:take given:give spoken:speak chosen:choose drawn:draw "
        "fed:feed left:leave fixed:fix submitted:submit lent:lend hung:hang swept:sweep cut:cut set:set shut:shut "
        "saw:see seen:see knit:knit dug:dig drove:drive ran:run ate:eat drank:drink taught:teach held:hold kept:keep "
        "stuck:stick sewn:sew shown:show"
    ).split()
)
_IDIOMS = frozenset(map(stem, "get do make take put meet".split()))
"""Verbs that say of anything that it went well, or was understood: "got it", "made it"."""

_RELATIVE = re.compile(r" (?:that|which|who|whom|i|we|he|she|they) ")
_DISCUSS, _GET, _TALKING = stem("discuss"), stem("get"), frozenset(map(stem, ("speak", "talk")))
_LEADING = re.compile(r"(?:(?:up|off|out|in|on|back|over|down|away|to|with|for|about|at|into) )+")
_LAST_PLACED = re.compile(r".* (?:of|for|to|from|in|on|at|with|about|by|into|between) ")
_WITHIN = re.compile(r" (?:of|for|to|from|in|on|at|with|about|by|into) ")

ANY_DELIVERY = ""
"""The verb of what has a deadline: it is done by whatever delivers it."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing to be done: the stems of the verbs it may be meant by, of what it is about, and of all its words."""

    verbs: frozenset[str]
    about: frozenset[str]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ending:
    """The verb of what is over, None for any, and what it is about.

    Of that, `main` is what stands before any preposition, and `first` what stands before any comma.

    `is_pointing`: a pronoun stands for that. `is_strict`: nothing else may be meant than what the deed names.
    `recipient` is who has it now, `particle` where it is: "the tyres are on". `is_both`: it is of two deeds.
    """

    verb: str | None
    about: frozenset[str]
    main: frozenset[str]
    first: frozenset[str]
    is_pointing: bool
    state: State = "done"
    is_strict: bool = False
    recipient: str | None = None
    is_wordless: bool = False
    particle: str | None = None
    is_both: bool = False

    @property
    def is_only_pointing(self) -> bool:
        """Whether nothing but a pronoun says what is meant."""
        return self.is_pointing and not self.about

    @property
    def is_idiom(self) -> bool:
        """Whether a pronoun behind its verb may stand for anything."""
        return self.is_wordless or self.verb in _IDIOMS

    def of_verb(self, deeds: Iterable[Deed]) -> list[Deed]:
        """Those of the deeds that its verb is one of, as a pronoun stands for them."""
        found = [deed for deed in deeds if self.is_of_verb(deed)]
        return [] if self.is_both and len(found) != _TWO else found

    def is_of_verb(self, deed: Deed) -> bool:
        """Whether its verb is one of a deed, or another word for it."""
        if self.verb is None or self.verb in deed.verbs:
            return True
        if deed.verbs == {ANY_DELIVERY}:
            return self.verb in _DELIVERING
        if self.verb in _FINISHING:
            return not deed.verbs.isdisjoint(_MAKING)
        return any(self.verb in group and not group.isdisjoint(deed.verbs) for group in _SAME)

    def is_of(self, deed: Deed) -> bool:
        """Whether what it names is what a deed is about, as a whole."""
        about, wanted = self.about - {self.verb}, deed.about - {self.verb}
        if not self.is_of_verb(deed) or not about or (self.particle and self.particle not in deed.words):
            return False
        if (self.is_strict and not about <= wanted) or (self.main and self.main.isdisjoint(deed.about)):
            return False
        if self.verb == _GET and _GET not in deed.verbs and not self.first & self.main <= wanted:
            return False  # a parking ticket is not what somebody wanted to buy
        is_part = not (about & _PARTS_OF <= deed.words)
        named = (about, self.first - {self.verb})
        return not is_part and any(2 * len(one & wanted) > min(len(one), len(wanted)) for one in named)


def deeds_in(what: str, *, is_list: bool = False) -> tuple[Deed, ...]:
    """The deeds of what is to be done: "pay the rent, call the bank and renew my passport" are three.

    In a list each item is one, be it only a word.
    """
    what = as_read(what)
    if is_list:
        items = (item.strip(" .;!-*•") for item in re.split(r"[,;\n]| and ", what))
        return tuple(deed for item in items if (deed := _deed(item, is_list=True)))
    what = opening.string[opening.end() :] if (opening := _OPENING.match(what)) else what
    parts = list(_parts(what))
    if len(parts) > 1 and _BARE.fullmatch(parts[0][0]):
        return tuple(deed for part, verb in parts[1:] if (deed := _deed(part, verb)))
    if len(parts) < 2:
        return (deed,) if (deed := _deed(what)) else ()
    return tuple(deed for part, verb in parts if (deed := _deed(part, verb)))


def _parts(what: str) -> Iterator[tuple[str, str]]:
    """The parts of what is to be done, each with the verb that it has of the one before, if it has none of its own."""
    kept = what[: min(found.start() for found in tails)] if (tails := _tails(what)) else what
    marks = list(_AND.finditer(kept))
    bounds = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(kept)]
    verb, before, is_beside = "", "", False
    for place, (begin, end) in enumerate(zip(*bounds, strict=True)):
        part = _OPENING.sub("", kept[begin:end].strip(" ,.;!"), count=1)
        joined = [mark["and"] is not None for mark in marks[max(0, place - 1) :]]
        first = part.partition(" ")[0]
        if not place or (first in DEEDS and not _SKIPPED.match(part)):
            verb = first
            before, is_beside = part, False
            yield part, ""
        elif is_beside or not _is_item(part, is_joined=joined[0], is_in_row=any(joined)):
            # so is what follows such a thing without a verb: "a rug, something blue and soft"
            is_beside = is_beside or not _SKIPPED.match(part) or first in _SOMETHING
        else:
            placed = _LAST_PLACED.match(before) if first not in _DETERMINERS else None
            yield (f"{placed[0]}{part}", "") if placed else (part, verb)


def _tails(what: str) -> list[re.Match[str]]:
    """Where there begins what tells of something else, if anywhere: "…, Rex is ill"."""
    return [found for found in (_TAIL.search(what), _STATED.search(what)) if found]


def _is_item(part: str, *, is_joined: bool, is_in_row: bool) -> bool:
    """Whether a part without a known verb is one more thing to do the same to."""
    if not part or _SKIPPED.match(part) or not about_of(part):
        return False
    return is_joined or (is_in_row and len(part.split()) <= _LONGEST_ITEM)


def _deed(part: str, verb: str = "", *, is_list: bool = False) -> Deed | None:
    """The deed of a part; what has the verb of the one before may have another that is not known."""
    words = part.split()
    if not words:
        return None
    own = [] if verb and words[0] in _DETERMINERS else [words[0]]
    verbs = {_meant(stem(one), words) for one in (*own, *([verb] if verb else []))} | {stem(one) for one in own}
    if words[0] in ("get", "have") and (done := _base(words[-1])):
        verbs.add(done)
    about = about_of(part)
    if not verb and not (is_list and words[0] not in DEEDS):
        about -= {stem(words[0])}
    return Deed(frozenset(verbs), about, frozenset(map(stem, words)))


def about_of(what: str) -> frozenset[str]:
    """The stems of the words that say what something is about, without days and times."""
    times = {word for kind, words in kinds(what).items() if kind in ("day", "clock") for word in words}
    return (terms(what) | {stem(word) for word in what.split() if word in _NAMED_THINGS}) - times


def _meant(verb: str, words: list[str]) -> str:
    """What a verb means with the particle that stands behind it or at the end: "bring the books back" is to return."""
    return next((_PHRASAL[verb, word] for word in words if (verb, word) in _PHRASAL), verb)


def endings_in(text: str) -> Iterator[Ending]:
    """What a clause says is over: each of the deeds that its speaker tells one after another."""
    if _PARTLY.search(text) and not is_decided_against(text):
        return
    bounds = [0, *(found.start() for found in _ALSO_DID.finditer(text) if _base(found["verb"]))]
    parts = [text[begin:end] for begin, end in zip(bounds, [*bounds[1:], len(text)], strict=True)]
    did = _did(parts[0])
    if len(parts) > 1 and did is not None:
        yield did
        yield from filter(None, (_did(re.sub(r"^(?:,? and(?: (?:then|also))?|,) ", "", part)) for part in parts[1:]))
    elif (ending := _ending(text)) is not None:
        yield ending


@lru_cache(maxsize=1024)
def _ending(text: str) -> Ending | None:
    if found := _JUST_DONE.fullmatch(text):
        state: State = "dropped" if re.search(r"never ?mind", text) else "done"
        return _named(None, found["what"] or "", is_pointing=not found["what"], state=state)
    if dropped := _dropped(text):
        return dropped
    if did := _did(text):
        return did
    return _is_done(text)


def _dropped(text: str) -> Ending | None:
    """What is not to be done any more; not what is only not done now, or by oneself."""
    if found := _NEEDLESS.fullmatch(text):
        named = found["what"] or found["none"] or found["need"]
        return replace(_named(None, named, state="dropped"), is_strict=True)
    found = _DROPPED.fullmatch(text)
    if found is None or (_is_for_now(found["what"]) and not (found["ever"] or found["decided"] or found["last"])):
        return None
    verb, _, what = found["what"].partition(" ")
    return _named(stem(verb), what, state="dropped")


def is_decided_against(text: str) -> bool:
    """Whether a clause says that its speaker decided not to do something."""
    return re.match(_DECIDED, text) is not None


def _is_for_now(what: str) -> bool:
    return _FOR_NOW.search(what) is not None or not kinds(what).keys().isdisjoint(("day", "clock"))


def handed_over(text: str) -> list[Ending]:
    """What somebody else does, so that the speaker need not: "Joachim books it, so I don't have to"."""
    found = _RELIEVED.fullmatch(text)
    other = _BY_ANOTHER.fullmatch(found["told"]) if found else None
    if found is None or other is None:
        return []
    verb = found["verb"] or (None if other["verb"] in ("took", "takes", "taking", "take") else other["verb"])
    meant = None if verb in (None, "do") else _base(verb or "") or stem(verb or "")
    return [_named(meant, other["what"].removeprefix("care of "), state="dropped")]


def ticked_in(text: str) -> list[Ending]:
    """What a line says is done by a tick, or by "done" before or behind it: "✅ Called the bank", "call Jo - done"."""
    found = _TICKED.fullmatch(text.strip())
    what = found and (found["behind"] or found["struck"] or found["before"] or found["listed"])
    lower = what.lower().strip(" .!*_:") if what else ""
    if not lower or lower.startswith(("not ", "never ", "nothing ")):
        return []
    if lower.split()[0] in DEEDS and _base(lower.split()[0]) is None:
        deeds = deeds_in(lower, is_list=bool(found and found["listed"]))
        return [Ending(min(one.verbs), one.about, one.about, one.about, is_pointing=False) for one in deeds]
    if told := [end for clause in clauses(lower) for end in endings_in(clause.text)]:
        return told
    is_named = len(lower.split()) <= _LONGEST_ITEM and lower.split()[0] not in SPEAKERS
    return [replace(_named(None, lower), is_strict=True)] if is_named else []


def _did(text: str) -> Ending | None:
    if late := _GOT_ROUND.fullmatch(text):
        return _named(stem(late["verb"]), late["what"])
    found = _DID.fullmatch(text)
    verb = _base(found["verb"]) if found else None
    if found is None or verb is None:
        return None
    what = _RELATIVE.split(found["what"] or "", maxsplit=1)[0]
    if _BOTH.fullmatch(what):
        return replace(_named(verb, "", is_pointing=True), is_both=True)
    if found["verb"] == "got" and (what.startswith("to ") or what in _PRONOUNS):  # got to call, and understood
        return None
    meant = _DISCUSS if verb in _TALKING and what.startswith("about ") else _meant(verb, what.split())
    is_pointing = not what or what.split()[0] in _PRONOUNS
    if meant != verb:
        what = _PARTICLE_AT_END.sub("", what)
    return replace(_named(meant, what, is_pointing=is_pointing), is_wordless=not what)


def _is_done(text: str) -> Ending | None:
    if (found := _IS_DONE.fullmatch(text)) and (found["verb"] in _WHATEVER or _base(found["verb"])):
        verb = None if found["verb"] in _WHATEVER else _base(found["verb"])
        meant = _meant(verb, [found["particle"] or ""]) if verb else None
        state: State = "dropped" if found["verb"] in ("cancelled", "canceled") else "done"
        return _named(meant, found["what"], is_pointing=found["what"] in _PRONOUNS, state=state)
    if found := _IS_ON.fullmatch(text):
        return replace(_named(None, found["what"]), is_strict=True, particle=stem(found["particle"]))
    if found := _RECEIVED.fullmatch(text):
        return replace(_named(None, found["what"]), is_strict=True, recipient=found["who"])
    if (found := _BARELY_DONE.fullmatch(text)) and (found["verb"] in _WHATEVER or _base(found["verb"])):
        verb = None if found["verb"] in _WHATEVER else _base(found["verb"])
        return replace(_named(verb, found["what"]), is_strict=True)
    return None


def _named(verb: str | None, what: str, *, is_pointing: bool = False, state: State = "done") -> Ending:
    inner = what[leading.end() :] if (leading := _LEADING.match(what)) else what
    main = about_of(" ".join(_WITHIN.split(f"{part} ", maxsplit=1)[0] for part in re.split(r",? and |, ", inner)))
    return Ending(verb, about_of(what), main, about_of(what.partition(",")[0]), is_pointing, state)


def _base(word: str) -> str | None:
    """The stem of the verb of which a word is the past; None when it is none."""
    if word in _BASES:
        return stem(_BASES[word])
    return stem(word) if word.endswith("ed") and len(word) > 4 else None
