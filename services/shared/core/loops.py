"""Open loops: what somebody promised or still has to do, until it is said to be done. Rules on English wording."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from services.shared.core import wordlists
from services.shared.core.statements import clauses, kinds, stem, terms

_ADVERBS = r"(?:(?:still|also|really|just|definitely|already|finally|now|all|then) )*"
_PROMISE = re.compile(
    rf"(?:i|we) {_ADVERBS}(?:will|promised?(?: you)? to|am going to|are going to) {_ADVERBS}"
    r"(?!(?:not|never|be|see|think|try|have|know|miss|love|always|probably|need|go|let)\b)(?P<what>.+)"
)
_NEED = re.compile(
    rf"(?:i|we) {_ADVERBS}(?:need to|have to|must(?! not)|have got to|got to|cannot forget to|owe) (?P<what>.+)"
)
_WAITING = re.compile(rf"(?:i|we) (?:am|are) {_ADVERBS}waiting (?:for|on) (?P<what>.+)")
_REMIND = re.compile(
    r"(?:please |(?:can|could|will) you (?:please )?)*"
    r"(?:remind me (?:\w+ ){0,3}?(?:to|about|that i (?:need|have) to)|do not (?:let me )?forget to|remember to) "
    r"(?P<what>.+)"
)
_LISTED = re.compile(r"\W*(?:to-?do|action item)s?: *(?P<what>.+)", re.IGNORECASE | re.DOTALL)
_SUPPOSED = re.compile(
    r"\b(?:if|might|maybe|perhaps|possibly|could|would|should|suppose|imagine|wish|unless|almost|whether|probably|when"
    r"|until)\b"
)
_QUOTING = re.compile(r"[\"“”«»]")
_JOKING = re.compile(wordlists.pattern("changes", "joking"))
_DID = re.compile(rf"(?:(?:i|we) )?(?:have )?{_ADVERBS}(?P<verb>\w+)(?: (?P<what>.*))?")
_IS_DONE = re.compile(
    rf"(?P<what>.+?) (?:is|are|was|were|got|has been|have been) {_ADVERBS}(?P<verb>\w+)"
    r"(?: (?:today|yesterday|this morning|now))?"
)
_JUST_DONE = re.compile(
    rf"(?:(?:that|it|this) is )?{_ADVERBS}(?:done|sorted|finished|taken care of|never ?mind)(?: with (?P<what>.+))?"
)
_DROPPED = re.compile(r"(?:i|we) (?:do not|no longer|will not) (?:(?:need|have) to )?(?P<what>.+?)(?: anymore)?")
_WHATEVER = frozenset("done finished sorted settled handled completed cancelled canceled".split())
_PRONOUNS = frozenset("it that this them those".split())
_BASES = dict(
    pair.split(":")
    for pair in (
        "sent:send paid:pay bought:buy did:do wrote:write told:tell got:get made:make took:take brought:bring "
        "found:find met:meet gave:give rang:ring spoke:speak put:put read:read sold:sell chose:choose drew:draw "
        "built:build gone:go went:go written:write taken:take given:give spoken:speak chosen:choose drawn:draw "
        "fed:feed left:leave fixed:fix"
    ).split()
)
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
    """Something to be done: `promised`, or only needed; open until it is done or called off."""

    said: Said
    verb: str
    about: frozenset[str]
    promised: bool
    is_open: bool = True


def loops_in(sentences: Iterable[Said]) -> list[Loop]:
    """What was to be done, in the order in which it was said, each open unless something said later closes it."""
    found: list[Loop] = []
    for said in sentences:
        closed = _closes(said, found)
        if closed is not None:
            found[closed] = replace(found[closed], is_open=False)
        elif (loop := loop_in(said)) is not None:
            found.append(loop)
    return found


def loop_in(said: Said) -> Loop | None:
    """What a sentence says is to be done; None when that is only supposed, asked, quoted, or said in fun."""
    text = said.text[:_LONGEST]
    if listed := _LISTED.match(text):
        return _loop(said, listed["what"].lower(), promised=False)
    asked = text.rstrip(" \"')").endswith("?")
    if _QUOTING.search(text) or _JOKING.search(text.lower()):
        return None
    for clause in clauses(text):
        if _SUPPOSED.search(clause.text.removeprefix("could you ")):
            return None
        if reminded := _REMIND.fullmatch(clause.text):
            return _loop(said, reminded["what"], promised=False) if said.role == "user" else None
        if asked:
            continue
        if promised := _PROMISE.fullmatch(clause.text):
            return _loop(said, promised["what"], promised=True)
        needed = _NEED.fullmatch(clause.text) or _WAITING.fullmatch(clause.text)
        if needed and said.role == "user":
            return _loop(said, needed["what"], promised=False)
    return None


def _loop(said: Said, what: str, *, promised: bool) -> Loop | None:
    verb = what.split(maxsplit=1)[0] if what.split() else ""
    about = _about(what)
    return Loop(said, stem(verb), about - {stem(verb)}, promised) if about or verb else None


def _about(what: str) -> frozenset[str]:
    times = {word for kind, words in kinds(what).items() if kind in ("day", "clock") for word in words}
    return terms(what) - times


def _closes(said: Said, found: list[Loop]) -> int | None:
    """Which of the open loops a sentence says is done or not to be done any more: the newest that it can mean."""
    if not any(one.is_open for one in found) or said.text.rstrip(" \"')").endswith("?"):
        return None
    ends = [end for clause in clauses(said.text[:_LONGEST]) if (end := _ending(clause.text)) is not None]
    for verb, what, pointing in ends:
        for i in range(len(found) - 1, max(-1, len(found) - 200), -1):
            if found[i].is_open and _may_end(said, found[i]) and _is_meant(verb, what, pointing, said, found[i]):
                return i
    return None


def _ending(text: str) -> tuple[str | None, frozenset[str], bool] | None:
    """The verb of what is done, None for any; what it is about; and whether a pronoun stands for that."""
    if _SUPPOSED.search(text):
        return None
    if found := _JUST_DONE.fullmatch(text):
        return None, _about(found["what"] or ""), not found["what"]
    if found := _DROPPED.fullmatch(text):
        what = found["what"]
        return stem(what.split()[0]), _about(what) - {stem(what.split()[0])}, False
    if (found := _DID.fullmatch(text)) and (verb := _base(found["verb"])):
        what = found["what"] or ""
        return verb, _about(what), not what or what.split()[0] in _PRONOUNS
    if (found := _IS_DONE.fullmatch(text)) and (found["verb"] in _WHATEVER or _base(found["verb"])):
        verb = None if found["verb"] in _WHATEVER else _base(found["verb"])
        return verb, _about(found["what"]), found["what"] in _PRONOUNS
    return None


def _base(word: str) -> str | None:
    """The stem of the verb of which a word is the past; None when it is none."""
    if word in _BASES:
        return stem(_BASES[word])
    return stem(word) if word.endswith("ed") and len(word) > 4 else None


def _may_end(said: Said, loop: Loop) -> bool:
    return said.entry_id != loop.said.entry_id and (said.role == "user" or loop.said.role == said.role)


def _is_meant(verb: str | None, what: frozenset[str], pointing: bool, said: Said, loop: Loop) -> bool:
    if verb not in (None, loop.verb):
        return False
    if pointing and not what:
        return said.conversation_id == loop.said.conversation_id
    return 2 * len(what & loop.about) > min(len(what), len(loop.about)) if what else False
