"""What names one thing among many alike: numbers, plates, versions, file names and addresses, however they are spaced.

"KA-RT 248", "ka rt 248" and "kart248" are one: compared are runs of letters and of digits, joined.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations, groupby, islice, takewhile
from operator import attrgetter
from typing import NamedTuple

from services.shared.language.analysis import LONGEST_TERM, analyze
from services.shared.language.language import STOP_WORDS
from services.shared.language.text import fold
from services.shared.temporal.dates import places_of_dates

_WORD = re.compile(r"[^\W_]+(?:[-_./:@]+[^\W_]+)*")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_ADDRESS = re.compile(r"[@_]|[^\W\d_]{2}\.[^\W\d_]{2}")
"""What stands in an address or file name without digits."""

_PLAIN = re.compile(r"\d{1,2}|(?:19|20)\d\d|\d{1,3}(?:st|nd|rd|th)")
"""Numbers that tell how many, which day or which year more often than they name something."""

_NO_NOUNS = frozenset(
    "the about than over under around within from and next last past until till age aged was were are".split()
)
_GOES_ON = frozenset("is was has and or for in at on to".split())
_MOST = 16
_MOST_RUNS = 12
_LOOKED_AT = 8000
"""Characters of a text in which identifiers are looked for."""

_AROUND = 64
"""Characters before and after the number of an identifier that may belong to it."""

_LEAST_SHARE = 0.6
"""Of the letters and digits of an identifier so many name it: "3.24.1" is "v3.24.1", and room 999 is not OPS-999."""

_LONGEST_MARK = 3
_NO_MARKS = _NO_NOUNS | _GOES_ON | STOP_WORDS["english"]


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier of a question: its runs, the pieces that name it, longest first, and it, a
    number, with the letters beside it.

    `is_code` tells that it names one thing; without, it may tell how many, or when.
    """

    pieces: tuple[str, ...]
    with_marks: tuple[str, ...]
    number: str
    is_code: bool
    is_short: bool


class _Joined(NamedTuple):
    """The runs of a text as one string, and where each begins and ends."""

    text: str
    bounds: frozenset[int]

    def has(self, piece: str) -> bool:
        at = self.text.find(piece)
        while at >= 0 and not (at in self.bounds and at + len(piece) in self.bounds):
            at = self.text.find(piece, at + 1)
        return at >= 0


@lru_cache(maxsize=16)  # one question is looked at from several sides
def identifiers_in(question: str) -> tuple[Identifier, ...]:
    """What a question names something by."""
    dates = places_of_dates(question)
    words = list(_WORD.finditer(question))
    found = (
        _identifier(words, place, any(start <= word.start() < end for start, end in dates), question)
        for place, word in enumerate(words)
        if any(map(str.isdecimal, word[0])) or _ADDRESS.search(word[0])
    )
    return tuple(islice(found, _MOST))


def other_spellings(question: str) -> list[str]:
    """Terms by which the identifiers of a question may be stored that are written together or apart: hhkl482, 482."""
    found = list[str]()
    for one in filter(attrgetter("is_code"), identifiers_in(question)):
        found += [one.pieces[0], *one.with_marks, *(run for run in _RUN.findall(one.pieces[0]) if len(run) > 1)]
    known = set(analyze(question))
    return [term for term in dict.fromkeys(found) if term not in known and len(term) <= LONGEST_TERM]


def named_in(identifiers: Sequence[Identifier], texts: Sequence[str]) -> list[frozenset[int]]:
    """By text the places of the identifiers that it has: those of the texts that have an identifier best."""
    if not identifiers:
        return [frozenset()] * len(texts)
    shares = [[_share(one, joined) for one in identifiers] for joined in _all_joined(identifiers, texts)]
    best = [max(column) for column in zip(*shares, strict=True)]
    return [frozenset(i for i, share in enumerate(row) if 0 < share == best[i]) for row in shares]


def _all_joined(identifiers: Sequence[Identifier], texts: Sequence[str]) -> list[_Joined]:
    """What stands around the numbers of the identifiers in each text."""
    numbers = {one.number for one in identifiers}
    folded = (unicodedata.normalize("NFKC", text[:_LOOKED_AT].casefold()) for text in texts)
    return [_joined(" ".join(_around(numbers, text))) for text in folded]


def _around(numbers: Iterable[str], text: str) -> Iterator[str]:
    for number in numbers:
        at = text.find(number)
        while at >= 0:
            end = at + len(number) + _AROUND
            yield text[max(0, at - _AROUND) : end]
            at = text.find(number, end)


def _joined(text: str) -> _Joined:
    runs = ["".join(run) for kind, run in groupby(text, _kind) if kind]
    return _Joined("".join(runs), frozenset(accumulate(map(len, runs), initial=0)))


def _kind(sign: str) -> str:
    return "digit" if sign.isdecimal() else "letter" if sign.isalnum() else ""


def _share(one: Identifier, text: _Joined) -> float:
    """How much of an identifier a text has, and of the letters beside it."""
    piece = next((piece for piece in one.pieces if text.has(piece)), "")
    if not piece:
        return 0.0
    return len(piece) / len(one.pieces[0]) + sum(map(text.has, one.with_marks))


def _identifier(words: Sequence[re.Match[str]], place: int, in_date: bool, question: str) -> Identifier:
    said = fold(words[place][0])
    runs = _RUN.findall(said)
    whole = "".join(runs)
    before = list(takewhile(bool, (_mark(word[0]) for word in reversed(words[max(0, place - 2) : place]))))
    behind = [mark for word in words[place + 1 : place + 2] if (mark := _mark(word[0]))]
    is_number_of = place > 0 and len(whole) < 3 and _is_number_of(fold(words[place - 1][0]), words, place, question)
    return Identifier(
        pieces=_pieces(runs),
        with_marks=_with_marks(whole, before, behind) if whole.isdecimal() else (),
        number=max(runs, key=lambda run: (run.isdecimal(), len(run))),
        is_code=not in_date and (is_number_of or not _PLAIN.fullmatch(said)),
        is_short=len(whole) < 3,
    )


def _mark(word: str) -> str:
    """A word that may be part of a code which is written apart: the letters of a plate; nothing of another word."""
    runs = _RUN.findall(fold(word))
    is_mark = all(len(run) <= _LONGEST_MARK and run.isalpha() for run in runs) and not _NO_MARKS.intersection(runs)
    return "".join(runs) if is_mark else ""


def _with_marks(number: str, before: Sequence[str], behind: Sequence[str]) -> tuple[str, ...]:
    """A number with the marks beside it, the nearest before it first."""
    joined = accumulate(before, lambda known, mark: mark + known, initial=number)
    return (*islice(joined, 1, None), *(number + mark for mark in behind))


def _is_number_of(noun: str, words: Sequence[re.Match[str]], place: int, question: str) -> bool:
    """Whether a short number is that of something: locker 12, and not in 5 minutes."""
    if len(noun) < 3 or not noun.isalpha() or noun in _NO_NOUNS or question[words[place].start() - 1] != " ":
        return False
    rest = question[words[place].end() :].lstrip(" ")
    return not rest or rest[0] in "?!,;." or fold(rest.split(None, 1)[0]) in _GOES_ON


def _pieces(runs: Sequence[str]) -> tuple[str, ...]:
    """What of an identifier names it, the longest first."""
    whole = "".join(runs)
    if len(runs) > _MOST_RUNS:
        return (whole,)
    parts = ("".join(runs[start:end]) for start, end in combinations(range(len(runs) + 1), 2))
    has_digits = any(map(str.isdecimal, whole))
    long = {
        part
        for part in parts
        if len(part) >= _LEAST_SHARE * len(whole) and (not has_digits or any(map(str.isdecimal, part)))
    }
    return tuple(sorted(long, key=lambda part: (-len(part), part)))
