"""A text as the rules on wording read it: what no language has, the same sign or word a hundred times, is cut short.

Rules that go back over a run of signs take its length squared. People write lines of dashes, logs and emoji in rows, so
such a text is kept as it is, and only read in part.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

_SHORT = 100
"""Characters of a text in which no run is long."""

_BLANK = "\0"
_SIGNS, _LAST = 24, 8
_WORD = 160
_TIMES = 6

_RUNS = re.compile(
    rf"(?P<signs>[\W_]{{{_SIGNS}}}[\W_]+)"
    rf"|(?P<word>[^\W_](?:(?![，。、！？；：])\S){{{_WORD - 1}}})(?:(?![，。、！？；：])\S)+"
    rf"|(?<!\S)(?P<again>(?P<words>(?:\S{{1,40}}+\s{{1,4}}+){{1,8}}?)(?P=words){{{_TIMES - 1}}})(?P=words)+"
)
_ROW = re.compile(rf"[\W_]{{{_SIGNS + 1}}}")


def as_read(text: str) -> str:
    """The text with at most 24 signs or spaces in a row, words of at most 160 characters, and each wording at most six
    times in a row. Idempotent."""
    return text if len(text) <= _SHORT else _cut(text)


@lru_cache(maxsize=512)
def _cut(text: str) -> str:
    return _RUNS.sub(lambda run: "".join(_kept(run)), text) if _may_have_runs(text) else text


def masked(text: str) -> str:
    """The same text with each character where it was, and characters that nobody writes for what is cut."""
    return text if len(text) <= _SHORT else _with_blanks(text)


@lru_cache(maxsize=256)
def _with_blanks(text: str) -> str:
    return _RUNS.sub(_masked, text) if _may_have_runs(text) else text


def _may_have_runs(text: str) -> bool:
    """Whether anything in a text may have to be cut, told in a fraction of the time that looking for it takes: a row of
    signs, a long word, or a word that is there as often as each word of a wording that is repeated."""
    words = text.split()
    if max(map(len, words), default=0) > _WORD or _ROW.search(text):
        return True
    return len(words) - len(set(words)) >= _TIMES and max(Counter(words).values()) > _TIMES


def _masked(run: re.Match[str]) -> str:
    first, last = _kept(run)
    return f"{first}{_BLANK * (len(run[0]) - len(first) - len(last))}{last}"


def _kept(run: re.Match[str]) -> tuple[str, str]:
    """What is left of a run: how it begins, and the last of its signs, which may end a line or a sentence."""
    if signs := run["signs"]:
        return signs[: _SIGNS - _LAST], signs[-_LAST:]
    return run["word"] or run["again"], ""
