"""The changes that a statement tells of: what changed, and the values before and after. Rules on English wording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, TypeAlias

from services.shared.core import wordlists
from services.shared.core.statements import (
    KIN,
    LONG_AGO,
    MONTHS_AND_DAYS,
    NEGATIONS,
    RECENTLY,
    STATIVE,
    Clause,
    clauses,
    kinds,
    stem,
)
from services.shared.core.traits import ByText

Form: TypeAlias = Literal[
    "moved", "switched", "ended", "left", "called off", "renewed", "instead", "begun", "returned", "upgraded"
]

_section = partial(wordlists.pattern, "changes")
_AUX = f"{_section('auxiliaries')}*"
_TO = "(?:to|until|till|into)"
_OWN = "(?:my|our|the|this|that|all)"
_AT_END = (
    r"(?: (?:last week|yesterday|now|already|again|once (?:more|again)|yet again|(?:for )?(?:a|the) (?:second|third)"
    r" time|today|for good|altogether|this week|too))*$"
)
_ONCE_MORE = "(?:,? (?:again|once more|once again|yet again|another time|a (?:second|third) time),?)?"
_UPGRADED = "(?:upgraded|downgraded|migrated)"
_VERSION = r"(?:from [\w.]+(?: [\w.]+)? )?to (?:an? |the |version )?(?P<new>(?:[\w+#-]+ ){0,3}?v?\d[\w.]*)(?: from .+)?"
_AND_THEN = rf"(?:,? (?:and|then|so|but) (?:then |now |have |just |instead |i |we )*(?:{_section('next')})\b.*)"
_AND_DOES = rf"(?:,? and (?:now |i |we )*(?:{'|'.join(sorted(STATIVE))}) .+ now)"
_SINCE = "(?: (?:from|starting|as of|beginning|effective) .+)?"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + _AT_END)


_FORMS: tuple[tuple[Form, re.Pattern[str]], ...] = (
    ("instead", re.compile(r"(?P<topic>.+?),? (?:instead of|rather than) (?P<old>.+)$")),
    (
        "switched",
        _form(
            rf"(?:i|we) {_AUX}(?:{_section('switched')})(?P<topic>(?: {_OWN})?(?: \w+){{0,2}}?)"
            r" from (?P<old>.+?) to (?P<new>.+?)"
        ),
    ),
    (
        "switched",
        _form(
            rf"(?:i|we) {_AUX}(?:{_section('replaced')}) {_OWN}?(?P<old>.+?)(?: in)? (?:with|for|by) (?P<new>.+?)"
            r"(?: for (?P<topic>.+))?"
        ),
    ),
    ("upgraded", _form(rf"(?:i|we|they) {_AUX}{_UPGRADED} (?!to |from )(?P<topic>.+?) ?{_VERSION}")),
    ("upgraded", _form(rf"(?P<topic>.+?) {_AUX}{_UPGRADED} {_VERSION}")),
    ("ended", _form(rf"(?:i|we) {_AUX}(?:{_section('stopped')}) (?P<old>.+?)(?:{_AND_THEN}|{_AND_DOES})")),
    (
        "moved",
        _form(
            rf"[\w ]{{1,30}}? {_AUX}(?:{_section('moved')}) (?P<topic>{_OWN} .+?)(?: down| up| back| forward)?"
            rf"{_ONCE_MORE}(?: from (?P<old>.+?))? {_TO} (?P<new>.+?){_SINCE}"
        ),
    ),
    (
        "moved",
        _form(
            rf"(?P<topic>.+?) {_AUX}(?:{_section('moved')}){_ONCE_MORE}(?: from (?P<old>.+?))? {_TO} (?P<new>.+?)"
            rf"{_SINCE}"
        ),
    ),
    (
        "moved",
        _form(
            rf"(?:i|we) {_AUX}(?:moved|switched|migrated|changed)"
            rf" (?P<topic>(?!(?:back|over|on|from|to|with|jobs?|things) )[\w.-]+(?: [\w.-]+)?) {_TO} (?P<new>.+?)"
        ),
    ),
    (
        "moved",
        _form(
            rf"(?:i|we|they|(?:my|our|the) \w+) {_AUX}(?:rescheduled|rebooked|rearranged) (?P<topic>{_OWN} .+?)"
            rf" for (?P<new>(?:the )?(?:next )?(?:\d\d?(?:st|nd|rd|th)? (?:of )?)?(?:{MONTHS_AND_DAYS})\b.*)"
        ),
    ),
    ("moved", _form(rf"(?P<topic>.+?) {_AUX}(?:rewritten|ported|migrated) (?:in|to) (?P<new>.+?)")),
    (
        "moved",
        _form(
            rf"(?:i|we) {_AUX}(?:rewrote|ported|migrated) (?P<topic>.+?)(?: from (?P<old>.+?))? (?:in|to) (?P<new>.+?)"
        ),
    ),
    ("switched", _form(rf"(?P<old>.+?) {_AUX}replaced (?:by|with) (?P<new>.+?)")),
    (
        "ended",
        _form(r"(?P<topic>.+?) (?:(?:is|am|are|do|does|have|has|was|were) )?no longer (?P<old>.+?)(?:(?:,| but) .*)?"),
    ),
    ("ended", _form(r"(?P<topic>.+?) (?:do|does|am|is|are|can|have|will) not (?P<old>.+?) anymore(?:,.*)?")),
    ("left", _form(rf"(?:i|we) {_AUX}(?:left|moved out of) (?P<old>.+?){_AND_THEN}?")),
    ("called off", _form(rf"(?:i|we|they) {_AUX}(?:cancelled|canceled|cancel|called off) {_OWN}? ?(?P<topic>.+?)")),
    ("ended", _form(rf"(?:i|we) {_AUX}(?:{_section('stopped')}) (?P<old>[^,]+?)(?:, .+)?")),
    (
        "called off",
        _form(
            rf"(?P<topic>[^,]+?) (?:has|have|is|are|was|were|got) {_AUX}(?:cancelled|canceled|called off)"
            r"(?:,| -| as| since| due to)(?! (?:or|if|unless|right|no|yes|is|are)\b) .+"
        ),
    ),
    (
        "ended",
        _form(rf"(?P<topic>(?:my|our) \w+) {_AUX}(?:{_section('stopped')}) (?:his|her|their|the)? ?(?P<old>[^,]+?)"),
    ),
    ("called off", _form(rf"(?P<topic>.+?) (?:has|have|is|are|was|were|got) {_AUX}(?:{_section('called off')})")),
    ("begun", _form(rf"(?P<topic>.+?) (?:{_section('begun')}) (?P<new>.+?)")),
    ("returned", _form(rf"(?:i|we) {_AUX}(?:{_section('returned')}) (?P<new>.+?)")),
    ("returned", _form(r"(?:i|we) (?:am|are)? ?(?:use|using|on|with|drink|drinking|drive|driving) (?P<new>.+?) again")),
)
_MOVED_SOMEHOW = (
    _form(rf"(?P<topic>.+?) {_AUX}(?:{_section('moved')})"),
    _form(rf"[\w ]{{1,30}}? {_AUX}(?:{_section('moved')}) (?P<topic>.+?)(?: down| up| back| forward| out)?"),
)
"""What tells that something was moved, and leaves the new time to what follows: "it is now on Friday"."""

_IT_IS = re.compile(
    r"(?:now )?(?:its|(?:it|that|they|the new (?:date|day|time|slot)) (?:is|are|will be|takes place|starts|leaves))"
    r" (?:(?:is|are|now|on|at|the) )*(?P<new>.+)"
)
_CORRECTED = re.compile(_section("corrected") + r",?:?\s*")
_RENEWED = re.compile(rf",?\s*{_section('renewed')},?")
_NEW = re.compile(rf"^(?:{_OWN} )?new (?P<rest>.+)$")
_THEIR_NEW = re.compile(r"^(?:my|our) (?P<whose>\w+) new \w.* (?:is|are) ")
_IS_NEW = re.compile(r"^(?:.+ and )?(?P<who>[\w.]+(?: [\w.]+){0,2}) is (?:now )?(?P<own>my|our) new (?P<rest>.+)$")
_SPELT = re.compile(r" name is (?:actually |really )?(?:spelled|spelt|written) (?:as )?")
_WITHOUT_SUBJECT = re.compile(
    r"(?:just |finally )?(?:traded|sold|quit|cancelled|canceled|got rid of|gave up|ditched|dropped|left|unsubscribed) "
)
_PRICE_OF = re.compile(r"^(?:the |our )?(?:price|cost|fee|dose) (?:of|for) ")
_COUNTED = re.compile(r"(?P<who>i|we) (?:am|are) (?:(?:down|up|back) (?:to|at)|at) (?=\d+ [a-z])")
_AFTER_ALL = re.compile(r"(?P<said>.*\b(?:not|never|no)\b.*?) after all\b.*")
_DECIDED_NOT = re.compile(rf"(?P<who>i|we) {_AUX}decided not to ")
_NO_BUT = re.compile(r"(?P<what>.+?) (?P<verb>is|are) not (?P<old>.+?),? (?:but|it is|its|it was) (?P<new>.+)")
_IS_NOT = re.compile(r"\w.* (?:is|are) not \S.*")
_USED_TO_BE = re.compile(r"(?P<what>\w.*?) used to be (?P<old>\S.*)")
_NO_MORE = re.compile(r"no more (?P<old>\S.*)")
_DOES_NOW = re.compile(r"(?:i|we)(?= .* now$)")
_NOT_BUT = re.compile(r", not (?P<old>[\w:. ]+)$")
ADDING = re.compile(_section("adding"))
PASSING = re.compile(_section("passing"))


@dataclass(frozen=True, slots=True)
class Claim:
    """A change that a clause tells of: what it is about, the value it had (`old`) and has (`new`), as far as told.

    Without `form` the clause has no cue, and only contradicts.
    """

    said: str
    form: Form | None
    topic: str = ""
    old: str = ""
    new: str = ""


def _tells_of_change(text: str) -> bool:
    return any(claim.form for claim in _claims(_with_times(clauses.__wrapped__(text))))


is_change = ByText(_tells_of_change)
"""Whether a text says that something is not as it was."""


@lru_cache(maxsize=256)
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text; where one says that something was moved or is not so, and the next to when or what it is,
    both are one."""
    return _with_times(clauses(text))


@lru_cache(maxsize=256)
def claims(text: str) -> tuple[Claim, ...]:
    """What a text states, clause by clause, each with the change it tells of; what is not meant states nothing."""
    return tuple(_claims(clauses_of(text)))


def _claims(said: tuple[Clause, ...]) -> Iterator[Claim]:
    corrects = False
    for clause in said:
        text, found = clause.text, _CORRECTED.match(clause.text)
        if found:
            text, corrects = text[found.end() :], True
        if not clause.meant or not text:
            continue
        if event := _event(RECENTLY.sub("", text)):
            yield event
        elif not clause.past:
            yield _stated(text, corrects=corrects)


def _with_times(said: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """The clauses, of which one that something was moved, is not so or used to be, and one of when or what it is, are
    one; "no more cello" behind what somebody plays now says that they gave it up."""
    found: list[Clause] = []
    for clause in said:
        before = found[-1] if found else None
        new = _IT_IS.match(clause.text)
        moved = _moved_somehow(before.text) if before and new and kinds(new["new"]).keys() & {"day", "clock"} else ""
        if before and new and moved:
            found[-1] = Clause(f"{moved} has moved to {new['new']}", before.meant and clause.meant, past=False)
        elif before and new and _IS_NOT.fullmatch(before.text):
            found[-1] = Clause(f"{before.text} but {new['new']}", before.meant and clause.meant, past=False)
        elif before and new and (was := _USED_TO_BE.fullmatch(before.text)):
            other = f"{was['what']} is not {was['old']} but {new['new']}"
            found[-1] = Clause(other, before.meant and clause.meant, past=False)
        elif before and (over := _NO_MORE.fullmatch(clause.text)) and (who := _DOES_NOW.match(before.text)):
            found.append(Clause(f"{who[0]} gave up {over['old']}", before.meant and clause.meant, past=False))
        else:
            found.append(clause)
    return tuple(found)


def _moved_somehow(text: str) -> str:
    """What a clause says was moved, without saying where to."""
    found = next(filter(None, (pattern.match(text) for pattern in _MOVED_SOMEHOW)), None)
    return found["topic"] if found and not _denied(found["topic"], "moved") else ""


def _event(text: str) -> Claim | None:
    """The change that came about, if a clause tells of one that is not long past."""
    if LONG_AGO.search(text):
        return None
    if _WITHOUT_SUBJECT.match(text):
        text = f"i {text}"
    for form, pattern in _FORMS:
        if found := pattern.match(text):
            parts = {name: (part or "").strip() for name, part in found.groupdict().items()}
            parts |= {"topic": _PRICE_OF.sub("", parts.get("topic", ""))}
            if not _denied(parts.get("topic", ""), form):
                return Claim(text, form, **parts)
    return None


def _stated(text: str, *, corrects: bool) -> Claim:
    """What a clause says is so, with a cue or without."""
    if found := _NO_BUT.fullmatch(text):
        return Claim(f"{found['what']} {found['verb']} {found['new']}", "renewed", old=found["old"])
    corrected = _NOT_BUT.search(text)
    old = corrected["old"] if corrected else ""
    stated = text[: corrected.start()] if corrected else text
    plain = _RENEWED.sub("", stated).strip()
    plain, spelt = _SPELT.subn(" name is ", plain)
    if undone := _AFTER_ALL.fullmatch(plain):
        plain, corrects = undone["said"], True
    if counted := _COUNTED.match(plain):
        plain, corrects = f"{counted['who']} have {plain[counted.end() :]}", True
    if fresh := _NEW.match(plain):
        plain, corrects = f"my new {fresh['rest'].split(', ', 1)[0]}", True
    elif (fresh := _THEIR_NEW.match(plain)) and stem(fresh["whose"]) in KIN:
        corrects = True
    elif fresh := _IS_NEW.match(plain):
        plain, corrects = f"{fresh['own']} new {fresh['rest']} is {fresh['who']}", True
    elif undone := _DECIDED_NOT.match(plain):
        plain, corrects = f"{undone['who']} not {plain[undone.end() :]}", True
    cued = corrects or spelt > 0 or corrected is not None or plain != stated
    return Claim(plain, "renewed" if cued else None, old=old)


def _denied(topic: str, form: Form) -> bool:
    return form != "instead" and not NEGATIONS.isdisjoint(topic.split())
