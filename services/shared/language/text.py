"""One form for the characters of texts: composed, unfolded, folded, without accents, and punctuation set apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container
from functools import lru_cache, wraps
from typing import TypeVar

CURRENCY = "$\xa2-\xa5\u20a0-\u20cf"
"""Character class (inside brackets) of the common currency signs."""

MONEY = re.compile(f"[{CURRENCY}]")

WORD = "0-9a-z\x80-\xa1\xa6-\u209f\u20d0-\U0010ffff"
"""Character class (inside brackets) of what words are made of after `fold` and `separate`."""

_APART = re.compile(r"[^\W\d_][\u0300-\u036f\u0653-\u0655\u3099\u309a]+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?")
_APOSTROPHES = frozenset("‘’‛ʼ´′＇")
_VARIATION_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")


_T = TypeVar("_T")


def remembered(*, longest: int) -> Callable[[Callable[[str], _T]], Callable[[str], _T]]:
    """What was read of texts that are no longer than this lately; hostile lengths stay out of the cache."""

    def decorated(read: Callable[[str], _T]) -> Callable[[str], _T]:
        known = lru_cache(maxsize=1 << 14)(read)
        return wraps(read)(lambda text: known(text) if len(text) <= longest else read(text))

    return decorated


class CharTable(dict[int, str | int | None]):
    """A table for `str.translate` that works out each character when it is first seen."""

    def __init__(self, rule: Callable[[str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | int | None:
        found = self._rule(chr(code))
        if code <= 0xFFFF:  # bounds the table, whatever text comes
            self[code] = found
        return found


def _spelled(char: str) -> str | None:
    """What a character is written as before NFKC, which would make 10² into 102 and 3½ into 31⁄2."""
    category = unicodedata.category(char)
    if category == "Cf" or any(ord(char) in selectors for selectors in _VARIATION_SELECTORS):
        return None
    if char in _APOSTROPHES:
        return "'"
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "No":
        return _spelled_number(char)
    return char


def _spelled_number(char: str) -> str:
    plain = unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    kind = unicodedata.decomposition(char).partition(" ")[0]
    if kind in ("<super>", "<sub>"):
        return f"{'^' if kind == '<super>' else '_'}{plain}"
    return f" {plain} "


def apart(char: str, kept: Container[str] = ()) -> str:
    """Punctuation becomes a space, a symbol such as an emoji a word of its own, and so does a mark that is kept."""
    category = unicodedata.category(char)
    if char in kept:
        return f" {char} "
    if char == "\u2212" or (category == "Pd" and char not in "—―⸺⸻"):
        return "-"
    if category == "Sk" or (category[0] in "PZC" and category not in ("Co", "Cn", "Cs")):
        return "\n" if category in ("Zl", "Zp") else " "
    return f" {char} " if category[0] == "S" and not MONEY.match(char) else char


def _plain(char: str) -> str | None:
    """A letter without its accents; an accent by itself is none."""
    if char in _LETTERS:
        return _LETTERS[char]
    return "".join(part for part in unicodedata.normalize("NFD", char) if not unicodedata.combining(part)) or None


_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ß": "ss", "ı": "i"}
_ACCENTED = re.compile("(?:[\u00c0-\u024f\u0370-\u03ff\u0451\u1e00-\u1fff]|[a-z\u00c0-\u024f][\u0300-\u036f])+")
_PLAIN = CharTable(_plain)
_SPELLED = CharTable(_spelled)
_SEPARATED = CharTable(apart)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def translated(text: str, table: CharTable) -> str:
    return _BEYOND_ASCII.sub(lambda run: run[0].translate(table), text)


def beginning(text: str, most: int) -> str:
    """As much of a text as has so many characters without compatibility forms: one may stand for eighteen."""
    text = text[:most]
    while not text.isascii() and (size := len(unicodedata.normalize("NFKC", text))) > most:
        text = text[: len(text) * most // size]
    return text


def composed(text: str) -> str:
    """The text with each letter and its accents as one character where there is one, as everything reads it.

    Some programs write them apart, and no rule for words would see a letter there. Nothing else is changed, and no text
    becomes longer.
    """
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return _APART.sub(lambda run: unicodedata.normalize("NFC", run[0]), text)


def unfolded(text: str) -> str:
    """The text without compatibility forms (NFKC), with straight apostrophes, in its own case.

    Numbers keep their value: 10² becomes 10^2, not 102, and ３ becomes 3. Invisible format characters go.
    """
    if text.isascii():
        return text
    plain = translated(text, _SPELLED)
    if plain.isascii():
        return plain
    return translated(unicodedata.normalize("NFKC", plain), _SPELLED)  # decompositions bring back apostrophes


def fold(text: str) -> str:
    """The text without case and compatibility forms (NFKC and case folding), with straight apostrophes.

    Numbers keep their value, invisible format characters go, as in `unfolded`.
    """
    plain = unfolded(text)
    if plain.isascii():
        return plain.lower()
    return translated(unicodedata.normalize("NFKC", plain.casefold()), _SPELLED)


def without_accents(folded: str) -> str:
    """Folded text in plain letters: jose for josé, lodz for łódź, oeuf for œuf.

    Only Latin and Greek have accents that are left out in writing, and Russian writes ё as е.
    """
    return folded if folded.isascii() else _ACCENTED.sub(lambda run: run[0].translate(_PLAIN), folded)


def separate(folded: str) -> str:
    """Folded text in which every punctuation mark beyond ASCII is a space, and every symbol stands alone."""
    return folded if folded.isascii() else translated(folded, _SEPARATED)


def why_unfit(text: str, longest: int) -> str | None:
    """Why a text cannot be kept, if so: nothing of it is seen, or it has more bytes than these."""
    if (size := len(text.encode())) > longest:
        return f"the text has {size} bytes, {longest} are allowed"
    is_seen = any(unicodedata.category(char) not in _UNSEEN for char in text)
    return None if is_seen else "the text is blank"
