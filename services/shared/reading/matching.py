"""Whether what is told of a turn is what a reader noted of it: it has at least half of the words of the value."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_WORD = re.compile(r"[\w€£$%.-]+")
_OF_NO_ACCOUNT = frozenset(
    "a an the is are was were be to of in on at for with and or my i me we our their they he she it his her its user s "
    "has have had".split()
)
_STEM = 5
_UNREAL = frozenset(("fiction", "joke", "quoted", "question"))


class Noted(NamedTuple):
    """A value that a reader noted, copied from the turn, and its slot, or why it is no claim."""

    value: str
    slot: str


class Match(NamedTuple):
    """Whether what is told is right; `claim`: the place of the one it is, if nothing before was that; `is_unreal`: it
    is wrong, and has words of what is made up, quoted or asked."""

    is_right: bool
    claim: int | None
    is_unreal: bool


def words(text: str) -> frozenset[str]:
    """The words that count, by their first letters."""
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _OF_NO_ACCOUNT)


def told_right(told: Sequence[str], claims: Sequence[Noted], not_claims: Collection[Noted] = ()) -> list[Match]:
    """What is told of one turn, each held against what was noted of it."""
    matches, used = [], set()
    for text in told:
        said = words(text)
        hits = [n for n, one in enumerate(claims) if (its := words(one.value)) and 2 * len(its & said) >= len(its)]
        claim = next((hit for hit in hits if hit not in used), None)
        used.add(claim)
        unreal = not hits and any(words(one.value) & said for one in not_claims if one.slot in _UNREAL)
        matches.append(Match(bool(hits), claim, unreal))
    return matches
