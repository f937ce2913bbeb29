"""A text as the rules on wording read it: what no language has, the same sign or word a hundred times, is cut short.

Rules that go back over a run of signs take its length squared. People write lines of dashes, logs and emoji in rows, so
such a text is kept as it is, and only read in part.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

_SHORT = 100
"""Characters of a text in which no run is long."""

_SIGNS, _LAST = 24, 8
_WORD = 160
_TIMES = 6

_RUNS = re.compile(
    rf"(?P<signs>[\W_]{{{_SIGNS}}}[\W_]+)"
    rf"|(?P<word>[^\W_](?:(?![，。、！？；：])\S){{{_WORD - 1}}})(?:(?![，。、！？；：])\S)+"
    rf"|(?<!\S)(?P<again>(?P<words>(?:\S{{1,40}}+\s{{1,4}}+){{1,8}}?)(?P=words){{{_TIMES - 1}}})(?P=words)+"
)


@lru_cache(maxsize=512)
def as_read(text: str) -> str:
    """The text with at most 24 signs or spaces in a row, words of at most 160 characters, and each wording at most six
    times in a row. Idempotent."""
    return text if len(text) <= _SHORT else _RUNS.sub(partial(_cut, blank=""), text)


@lru_cache(maxsize=256)
def masked(text: str) -> str:
    """The same text with each character where it was, and characters that nobody writes for what is cut."""
    return text if len(text) <= _SHORT else _RUNS.sub(partial(_cut, blank="\0"), text)


def _cut(run: re.Match[str], blank: str) -> str:
    """How a run begins, and the last of its signs, which may end a line or a sentence; blanks for what is between."""
    signs = run["signs"] or ""
    first, last = signs[: _SIGNS - _LAST] or run["word"] or run["again"], signs[-_LAST:]
    return f"{first}{blank * (len(run[0]) - len(first) - len(last))}{last}"
