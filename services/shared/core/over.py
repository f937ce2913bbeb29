"""What a statement says is over, whatever was said of it before: "The Jazz was stolen", "We moved Quill to Postgres".

That ends no fact for sure: the Jazz may be another one, and Quill may use SQLite for something else.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache, partial

from services.shared.core import wordlists
from services.shared.core.claims import claims
from services.shared.core.fact_ends import TAIL
from services.shared.core.fact_values import one_of
from services.shared.core.having import is_called, is_had
from services.shared.core.statements import (
    KIN,
    LONG_AGO,
    RECENTLY,
    SPEAKERS,
    STATIVE,
    Clause,
    clauses,
    kinds,
    subject_of,
    terms,
)
from services.shared.core.updates import is_stative

_section = partial(wordlists.pattern, "changes")
_AUX = f"{_section('auxiliaries')}{{0,4}}"
_IT = r"(?:(?:my|our|the) (?:old |dear |poor |beloved )?)?(?P<it>[^\W\d][\w'&.-]*(?: [\w'&.-]+){0,3}?)"
_END = rf"(?: (?:so|and|but|because|after|to|by|on|when|for|at|in|from) .*)?{TAIL}"
_PET = re.compile(rf"\b{one_of('pets')}\b")
_LENT = re.compile(r"\b(?:owes?|owed|lent|loaned|borrowed)\b")
_MEDICINE = re.compile(r"\b(?:takes?|taking|gets?|prescribed|started on|is on|was put on|\d ?m?c?g)\b")
_FORMS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (re.compile(rf"{_IT} {_AUX}{_section('over')}(?! out\b)(?:[ ,].*)?$"), None),
    (re.compile(rf"(?:(?:\w+ly |tbh )?(?:i|we) )?{_AUX}{_section('let go of')} {_IT}{_END}"), None),
    (re.compile(rf"(?:(?:the|my) )?\w+(?: \w+)? {_AUX}took (?:me|us) off {_IT}{_END}"), None),
    (
        re.compile(
            rf"(?:they|he|she|(?:(?:the|her|his|my|our) )?(?:doctor|doctors|gp|hospital|nurse|consultant|specialist)"
            rf"|dr\.? \w+) {_AUX}(?:stopped|discontinued|took (?:her|him|them|(?:(?:my|our) )?(?!me\b|us\b)\w+) off)"
            rf" (?:(?:her|his|their) )?{_IT}(?: (?:straight away|at once|completely|entirely))?{_END}"
        ),
        _MEDICINE,
    ),
    (re.compile(rf"{_IT} {_AUX}(?:died|passed away|is dead){_END}"), _PET),
    (re.compile(rf"{_IT} {_AUX}paid (?:me|us) back{_END}"), _LENT),
)
"""What says that something is over, and what else has to be said of it for that to be an end of it."""

_RUNS = re.compile(
    r"(?P<who>(?!(?:i|we|they|he|she|it) )[\w.-]+(?: [\w.-]+){0,2}?) (?P<how>uses?|runs? on"
    r"|(?:is|are)(?: (?:written|built|hosted|deployed|running|stored))? (?:on|at|in|with))"
    r" (?P<what>(?!(?:the|an?|my|our) )[\w.+#-]+(?: [\w.+#-]+){0,2})"
)
_USES = re.compile(
    r"(?P<who>(?!(?:i|we|they|he|she|it) )[\w.-]+(?: [\w.-]+){0,2}?) uses? (?P<what>[\w.+#-]+(?: [\w.+#-]+)?)"
)
_BACK = re.compile(
    r"(?P<topic>[\w.-]+(?: [\w.-]+)?) (?:went|is going|goes|moved|switched|is) back (?:to|on|at|with) (?P<new>.+)"
)
_HAD = wordlists.words("changes", "had")
_GIVER = re.compile(r"\b(?:got|bought|had|inherited) .*\bfrom\b")


def words_of_over(text: str) -> str | None:
    """The words by which to look for what a text says is over; None if it says so of nothing."""
    return " ".join([*(it for it, _ in _over_in(text)), *(what for what, _ in _moved_in(text))]) or None


def is_over(before: str, text: str) -> bool:
    """Whether a text says that something is over which its speaker has, does or plans as another tells, or that a thing
    of which that tells what it uses or runs on has come to something else."""
    said = _over_in(text)
    ended = bool(said) and any(_is_of(clause, it, of) for clause in clauses(before) for it, of in said)
    return ended or any(_runs_on_it(clause, what, new) for clause in clauses(before) for what, new in _moved_in(text))


@lru_cache(maxsize=256)
def _moved_in(text: str) -> tuple[tuple[str, str], ...]:
    """What a text says has come to be on, at or with something else, and that."""
    found = []
    for claim in claims(text):
        if claim.form in ("moved", "switched") and not kinds(claim.new):
            found.append((claim.topic, claim.new))
        elif now := (_BACK.fullmatch(claim.said) or (claim.form == "renewed" and _USES.fullmatch(claim.said))):
            found.append((now["topic"], now["new"]) if "topic" in now.groupdict() else (now["who"], now["what"]))
    return tuple(found)


def _runs_on_it(clause: Clause, what: str, new: str) -> bool:
    """Whether a clause tells what this uses, runs on or is at, and that is something else: it may be beside it."""
    found = _RUNS.fullmatch(clause.text) if clause.meant and not clause.past and terms(what) else None
    return found is not None and terms(found["who"]) == terms(what) and terms(found["what"]).isdisjoint(terms(new))


@lru_cache(maxsize=256)
def _over_in(text: str) -> tuple[tuple[str, re.Pattern[str] | None], ...]:
    """What a text says is over, and what else has to be said of it for that to be an end of it."""
    found = []
    for clause in clauses(text):
        said = RECENTLY.sub("", clause.text)
        if not clause.meant or LONG_AGO.search(said):
            continue
        told = next(((over["it"], of) for form, of in _FORMS if (over := form.match(said))), None)
        if told and terms(told[0]):
            found.append(told)
    return tuple(found)


def _is_of(clause: Clause, it: str, of: re.Pattern[str] | None) -> bool:
    if clause.past or not clause.meant or not terms(it) <= clause.terms:
        return False
    if of:
        return of.search(clause.text) is not None
    if not clause.terms & KIN <= terms(it) or _GIVER.search(clause.text):
        return False
    first = clause.words[0]
    if first in ("my", "our"):
        return is_called(it, clause) or terms(subject_of(clause.text)) == terms(it)
    if first in STATIVE or first in _HAD or first.endswith("ing"):  # "booked Crete"
        clause = replace(clause, text=f"i {clause.text}")
    if clause.words[0] not in SPEAKERS:
        return False
    has = not _HAD.isdisjoint(clause.words) or clause.words[1].endswith("ing") or is_stative(clause)
    return has and is_had(it, clause, most=1) is not None
