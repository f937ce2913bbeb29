"""What users say of the claims of their entries: kept in the entry, and found again in another text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from contracts.v1.claims import Claim, DecidedClaim, Place, Slot
from contracts.v1.entries import Entry

_BLANKS = re.compile(r"\s+")
_ENDS = (".", "!", "?", ";", "…")
"""With one of these a sentence ends, or with its line."""


def claim_at(entry: Entry, value: Place, slot: Slot) -> Claim | None:
    """The claim of an entry that gives a value to a slot there, decided or not; of several the one with most of it."""
    made = (*(one.claim for one in entry.decided_claims), *entry.claims)
    there = [claim for claim in made if claim.overlaps(value, slot)]
    return max(there, key=lambda claim: (_shared(claim.value, value), -_length(claim.value)), default=None)


def _shared(one: Place, other: Place) -> int:
    return min(one[1], other[1]) - max(one[0], other[0])


def _length(place: Place) -> int:
    return place[1] - place[0]


def decided(entry: Entry, claim: Claim, is_so: bool | None, now: datetime) -> Entry | None:
    """The entry with what its user says of a claim, `is_so` None: nothing; None where that is said of it already."""
    others = [one for one in entry.decided_claims if not one.claim.overlaps(claim.value, claim.slot)]
    held = [one for one in entry.decided_claims if one.claim.overlaps(claim.value, claim.slot)]
    if [(one.value, one.is_so) for one in held] == ([] if is_so is None else [(claim.value, is_so)]):
        return None
    new = [] if is_so is None else [_decision(claim, is_so, now)]
    return entry.model_copy(update={"decided_claims": _in_order([*others, *new]), "updated_at": now})


def _decision(claim: Claim, is_so: bool, now: datetime) -> DecidedClaim:
    places = claim.model_dump(include={"slot", "value", "sentence", "whose", "of_user"})
    return DecidedClaim(**places, is_so=is_so, at=now)


def _in_order(decisions: Iterable[DecidedClaim]) -> tuple[DecidedClaim, ...]:
    return tuple(sorted(decisions, key=lambda one: (one.value, one.slot)))


def still_decided(decisions: Iterable[DecidedClaim], old: str, new: str) -> tuple[DecidedClaim, ...]:
    """Those whose sentences stand in a new text word by word, with the places that they have there."""
    return _in_order(moved for one in decisions if (moved := _moved(one, old, new)) is not None)


def _moved(one: DecidedClaim, old: str, new: str) -> DecidedClaim | None:
    begin, end = _sentences_around(one, old)
    there = list(_places_of(old[begin:end], new))
    if not there:
        return None
    by = min(there, key=lambda place: abs(place - begin)) - begin
    places = {"value": one.value, "sentence": one.sentence, "whose": one.whose}
    return one.model_copy(update={name: (at[0] + by, at[1] + by) for name, at in places.items() if at is not None})


def _sentences_around(one: DecidedClaim, text: str) -> Place:
    """The whole sentences in which a claim has anything."""
    has = [one.value, one.sentence, *([one.whose] if one.whose else [])]
    first, last = min(begin for begin, _ in has), max(end for _, end in has)
    sentences = list(_sentences(text))
    begin = max((begin for begin, _ in sentences if begin <= first), default=0)
    return begin, min((end for _, end in sentences if end >= last), default=len(text))


def _places_of(said: str, text: str) -> Iterator[int]:
    """Where a text has these whole sentences."""
    sentences = list(_sentences(text))
    ends = {end for _, end in sentences}
    return (begin for begin, _ in sentences if text.startswith(said, begin) and begin + len(said) in ends)


def _sentences(text: str) -> Iterator[Place]:
    begin = len(text) - len(text.lstrip())
    for found in _BLANKS.finditer(text, begin):
        if "\n" in found[0] or text.endswith(_ENDS, begin, found.start()):
            yield begin, found.start()
            begin = found.end()
    yield begin, len(text.rstrip())
