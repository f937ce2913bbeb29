"""Code in a text, between backticks or fences: it is told from the rest, as every sign and capital in it counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

PLACE = "\ua66e"
"""The letter that stands in a text where code was taken out; nobody writes it."""

_RUN = re.compile(r"(^[ \t]*)?(`+|~{3,})", re.MULTILINE)
_LETTER = re.compile("[0-9A-Za-z]")
_SHORTEST_FENCE = 3


def without_code(text: str) -> tuple[str, list[str]]:
    """The text with a letter in the place of each code span and fenced block, and these in order.

    The words of a span are separated by one space. A line of a block is one word, its own spaces written as ␣. As in
    CommonMark a run of backticks is closed by the next one of the same length, and a fence also by the end of the text.
    """
    text = text.replace(PLACE, "\ufffd")
    if "`" not in text and "~~~" not in text:
        return text, []
    runs = list(_RUN.finditer(text))
    kept: list[str] = []
    codes: list[str] = []
    end = 0
    for run, closer in zip(runs, _closers(runs), strict=True):
        code = _code(text, run, closer) if run.start(2) >= end else None
        if code is not None:
            is_block = "\n" in code
            kept += [text[end : run.start(2)], f"\n{PLACE}\n" if is_block else PLACE]
            codes.append(_lines(code) if is_block else code)
            end = closer.end(2) if closer else len(text)
    return "".join((*kept, text[end:])), codes


def _closers(runs: Sequence[re.Match[str]]) -> list[re.Match[str] | None]:
    """For each run the next one of the same marks."""
    following: dict[str, re.Match[str]] = {}
    found: list[re.Match[str] | None] = []
    for run in reversed(runs):
        found.append(following.get(run[2]))
        following[run[2]] = run
    return found[::-1]


def _code(text: str, opener: re.Match[str], closer: re.Match[str] | None) -> str | None:
    """The code between two runs of marks, with a line feed in it if it is a block; None if they are something else."""
    begins_line = opener[1] is not None and len(opener[2]) >= _SHORTEST_FENCE
    if not (closer or begins_line) or _LETTER.search(text, opener.start(2) - 1, opener.start(2)):
        return None
    code = text[opener.end(2) : closer.start(2) if closer else None]
    if not code.strip():
        return None
    if begins_line and "\n" in code:
        return code
    is_span = closer and opener[2][0] == "`" and not _LETTER.match(text, closer.end(2))
    return " ".join(code.split()) if is_span else None


def _lines(content: str) -> str:
    lines = (line.rstrip().replace(" ", "␣").replace("\t", "␉") for line in content.splitlines())
    return " ".join(line for line in lines if line)
