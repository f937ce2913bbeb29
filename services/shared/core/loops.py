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
from services.shared.core.statements import clauses, kinds, stem, terms

State: TypeAlias = Literal["open", "done", "dropped"]

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
    for said in sentences:
        closed = _closes(said, found)
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


def _closes(said: Said, found: list[Loop]) -> tuple[int, State] | None:
    """Which of the open loops a sentence says is done or not to be done any more: the newest that it can mean."""
    if not any(one.is_open for one in found) or said.text.rstrip(" \"')").endswith("?"):
        return None
    ends = [end for clause in clauses(said.text[:_LONGEST]) if (end := _ending(clause.text)) is not None]
    for end in ends:
        for i in range(len(found) - 1, max(-1, len(found) - 200), -1):
            one = found[i]
            if one.is_open and not one.decided and _may_end(said, one) and _is_meant(end, said, one):
                return i, end.state
    return None


@dataclass(frozen=True, slots=True)
class _Ending:
    """The verb of what is over, None for any; what it is about; and whether a pronoun stands for that."""

    verb: str | None
    about: frozenset[str]
    is_pointing: bool
    state: State = "done"


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
        return _Ending(verb, _about(what), not what or what.split()[0] in _PRONOUNS)
    if (found := _IS_DONE.fullmatch(text)) and (found["verb"] in _WHATEVER or _base(found["verb"])):
        verb = None if found["verb"] in _WHATEVER else _base(found["verb"])
        state = "dropped" if found["verb"] in ("cancelled", "canceled") else "done"
        return _Ending(verb, _about(found["what"]), found["what"] in _PRONOUNS, state)
    return None


def _base(word: str) -> str | None:
    """The stem of the verb of which a word is the past; None when it is none."""
    if word in _BASES:
        return stem(_BASES[word])
    return stem(word) if word.endswith("ed") and len(word) > 4 else None


def _may_end(said: Said, loop: Loop) -> bool:
    return said.entry_id != loop.said.entry_id and (said.role == "user" or loop.said.role == said.role)


def _is_meant(end: _Ending, said: Said, loop: Loop) -> bool:
    if end.verb not in (None, loop.verb):
        return False
    if end.is_pointing and not end.about:
        return said.conversation_id == loop.said.conversation_id
    return 2 * len(end.about & loop.about) > min(len(end.about), len(loop.about)) if end.about else False
