"""Scripts that put no space between words: what is written together is read in units, and each two side by side.

A unit is one character of Chinese, Japanese and Korean. In Thai, Lao, Khmer, Burmese and their neighbours it is a
letter with all that is written onto it: vowels before, above, below and behind, tones, letters stacked below, and in
Burmese the final consonant.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from services.shared.language.language import STOP_WORDS

_KANA, _SYLLABLE = "\u3040-\u30ff", "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_STACKING = (
    *(("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff")),  # Thai and Lao, Burmese, Khmer
    *(("\u1950", "\u19ff"), ("\u1a20", "\u1aaf"), ("\uaa80", "\uaadf")),  # other Tai languages
    *(("\ua9e0", "\ua9ff"), ("\uaa60", "\uaa7f")),  # further letters of Burmese
)
UNSPACED = f"{_KANA}{_SYLLABLE}{''.join(map('-'.join, _STACKING))}"
"""Character class (inside brackets) of these scripts."""

_MARKS = "".join(
    char
    for first, last in _STACKING
    for char in map(chr, range(ord(first), ord(last) + 1))
    if unicodedata.category(char)[0] == "M" and char not in "\u1039\u17d2"
)
_UNIT = re.compile(
    rf"[\u0e40-\u0e44\u0ec0-\u0ec4]?[{UNSPACED}]"  # a vowel written before its consonant, and that
    rf"(?:[{_MARKS}]|[\u1039\u17d2][{UNSPACED}]|[\u1000-\u102a]\u1037?\u103a)*"  # onto it, below it, and what closes it
    r"[\u0e30\u0e32\u0e45\u0eb0\u0eb2\u0ebd]*"  # vowels behind it
)
_TELLING = re.compile(f"[{_SYLLABLE}]|..", re.DOTALL)
"""What is a term by itself: no kana, and no bare letter."""

_STOPS = STOP_WORDS["chinese"] | STOP_WORDS["japanese"]


def overlapping(run: str) -> list[str]:
    """The terms of what is written together: the units that tell something alone, then each two side by side."""
    units: list[str] = _UNIT.findall(run)
    alone = units if len(units) == 1 else filter(_TELLING.match, units)
    return [term for term in (*alone, *map("".join, pairwise(units))) if term not in _STOPS]
