"""Which places of a list a text names: "the second one", "1 and 3"."""

from __future__ import annotations

import re

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ITEM = "(?:one|memory|entry|item|point|thing|line|option)"
PLACE = (
    rf"(?:(?:the )?(?:{'|'.join(_ORDINALS)}|last|\d{{1,2}}(?:st|nd|rd|th))(?: {_ITEM})?"
    rf"|(?:(?:the )?(?:number|no\.?|{_ITEM}) |#)?\d{{1,2}}|(?:number|option) (?:{'|'.join(_CARDINALS)}))"
)
PLACES = rf"{PLACE}(?:(?:,| and|, and) {PLACE})*"
"""Expressions of what names one place, and several."""

_ONE_PLACE = re.compile(
    rf"(?P<ordinal>{'|'.join(_ORDINALS)})|(?P<last>last)|(?P<number>\d+)"
    rf"|(?:number|option) (?P<cardinal>{'|'.join(_CARDINALS)})",
    re.IGNORECASE,
)


def places_in(words: str) -> tuple[int, ...]:
    """The places that are named, from 1 on, in order; -1 is the last."""
    return tuple(dict.fromkeys(map(_place, _ONE_PLACE.finditer(words.lower()))))


def _place(found: re.Match[str]) -> int:
    if number := found["number"]:
        return int(number)
    if ordinal := found["ordinal"]:
        return _ORDINALS.index(ordinal) + 1
    return -1 if found["last"] else _CARDINALS.index(found["cardinal"]) + 1
