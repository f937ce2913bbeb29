"""Words that one typing error makes of another: a letter left out, added or changed, or two swapped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain

from services.shared.language.analysis import Alternatives, words_asked

_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ACCENTED = "àáâãäåæçèéêëìíîïñòóôõöøùúûüœß"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
_LETTERS = re.compile(rf"[{_LATIN}{_ACCENTED}]+|[{_CYRILLIC}]+")

_WORD = re.compile(r"\w+")

_SHORTEST, _LONGEST = 4, 24


def correctable(query: str) -> dict[str, Alternatives]:
    """The words of a query in which an error could be told, with the terms that they are looked for by."""
    return {
        word: tuple(chain.from_iterable(found))
        for word, found in words_asked(query).items()
        if _SHORTEST <= len(word) <= _LONGEST and _LETTERS.fullmatch(word)
    }


def variants(word: str) -> set[str]:
    """The words that are one typing error away from a word, in letters of the same script, and not too short either:
    Kira is no Kia."""
    letters = _LATIN if word[0] < "\u0400" else _CYRILLIC
    changed = letters + (_ACCENTED if letters is _LATIN else "")
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = [head + tail[1:] for head, tail in splits]
    found += [head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1]
    found += [_each_between(head, letters, tail) for head, tail in splits]
    found += [_each_between(head, changed, tail[1:]) for head, tail in splits if tail]
    return {other for other in " ".join(found).split(" ") if len(other) >= _SHORTEST and other != word}


def _each_between(head: str, letters: str, tail: str) -> str:
    """The words of head, each one of the letters, and tail; joined by spaces, as joining is many times faster."""
    return head + f"{tail} {head}".join(letters) + tail


def is_likely(word: str, other: str) -> bool:
    """Whether of two words that are one error apart letters of one are swapped in the other, or its end is missing."""
    return sorted(word) == sorted(other) or word.startswith(other) or other.startswith(word)


def meant_by(word: str, others: Iterable[str], query: str) -> list[str]:
    """Those of the words one error away from a word of the query that it may be: a name that begins with another letter
    is one of somebody else, as Dora is not Nora.
    """
    if re.search(rf"\w {word.capitalize()}\b", query) is None:
        return list(others)
    letters = sorted(word)
    return [other for other in others if other[0] == word[0] or sorted(other) == letters]


def respelled(query: str, corrections: Mapping[str, str]) -> str:
    """The query with words replaced, whatever their case."""
    return _WORD.sub(lambda word: corrections.get(word[0].lower(), word[0]), query) if corrections else query
