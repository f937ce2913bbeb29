"""A text before it is split into tokens: code and citation marks taken out, its characters made few."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from services.shared.language.lexicon import CRITICAL, WORDS
from services.shared.language.text import CharTable, apart, translated, unfolded

PLACE = "\ua66e"
"""The letter that stands in a text where code was taken out; nobody writes it."""


def as_prose(text: str) -> tuple[str, list[str], tuple[str, ...]]:
    """A text in few characters, with `PLACE` where code stood; the code, in order; and the citation marks left out."""
    prose, code = _without_code(text.translate(_CONTROL))
    plain, citations = _without_citations(_plain(prose))
    return plain, code, citations


# --- code: every sign and capital in it counts -------------------------------------------------------------------

_RUN = re.compile(r"(^[ \t]*)?(`+|~{3,})", re.MULTILINE)
_SHORTEST_FENCE = 3


def _without_code(text: str) -> tuple[str, list[str]]:
    """The text with a letter in the place of each code span and fenced block, and these in order.

    The words of a span are separated by one space, and what is more than one is a word of its own, written as ␣. A line
    of a block is one word, its own spaces written so. As in CommonMark a run of backticks is closed by the next one of
    the same length, and a fence also by the end of the text.
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
    if not (closer or begins_line) or _is_letter(text, opener.start(2) - 1):
        return None
    code = text[opener.end(2) : closer.start(2) if closer else None]
    if not code.strip():
        return None
    if begins_line and "\n" in code:
        return code
    is_span = closer and opener[2][0] == "`" and not _is_letter(text, closer.end(2))
    return re.sub(r"\s+", _more_than_one, code.strip()) if is_span else None


def _is_letter(text: str, place: int) -> bool:
    return (sign := text[max(0, place) : place + 1]).isalnum() and sign.isascii()


def _more_than_one(spaces: re.Match[str]) -> str:
    more = 0 if "\n" in spaces[0] else len(spaces[0]) - 1
    return f" {'␣' * more} " if more else " "


def _lines(content: str) -> str:
    lines = (line.rstrip().replace(" ", "␣").replace("\t", "␉") for line in content.splitlines())
    return " ".join(line for line in lines if line)


# --- characters -------------------------------------------------------------------------------------------------

# East Asian text goes on right after a URL, without a space.
_URL = re.compile(
    r"<?((?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+)>?", re.IGNORECASE
)
_MARKS = {
    **dict.fromkeys("“”„‟″«»＂〝〞", '"'),
    **dict.fromkeys("「」『』《》〈〉", " "),
    **{full: f"{half} " for full, half in zip("！？，；：。、", "!?,;:.,", strict=True)},
    **{full: f" {half}" for full, half in zip("（［｛", "([{", strict=True)},
    **{full: f"{half} " for full, half in zip("）］｝", ")]}", strict=True)},
    **dict.fromkeys("—―⸺⸻", " \u2014 "),
    "…": "... ",
    "®": "",
    "™": "",
    "©": "",
}
_KEPT = frozenset("\u2014‰‱§¶†‡")
_CONTROL = dict.fromkeys((*range(9), *range(14, 32), 127), " ")
_MARKED = CharTable(lambda char: _MARKS.get(char, char))
_APART = CharTable(partial(apart, kept=_KEPT))
_WIDE_CLOCK = re.compile(r"(?<=\d)：(?=\d)")
_SOURCE = re.compile(r"【(?:source|[0-9:]{1,9}†)[^【】]*】")


def _plain(text: str) -> str:
    """The text in few characters: straight quotation marks, half-width letters, symbols set apart, addresses too."""
    if "://" in (lower := text.lower()) or "www." in lower:
        text = _URL.sub(r" \1 ", text)
    if text.isascii():
        return text
    text = _WIDE_CLOCK.sub(":", _SOURCE.sub(" ", text) if "【" in text else text)
    return translated(unfolded(translated(text, _MARKED)), _APART)


# --- citation marks, told from bracketed numbers that are part of what is said -----------------------------------

_BRACKETED = re.compile(r"(?<![\w\])])\[ ?[0-9]{1,3}(?: ?[,;-] ?[0-9]{1,3}){0,20} ?\]")
_AFTER = re.compile(r"[.,;:!?)\]\"']|\s*\[ ?[0-9]|\s*\Z|[ \t]*\n")
_SENTENCE_END = re.compile(r"[.!?:]\s|\n")
_WINDOW = 160  # characters before a mark in which its sentence is looked for
_LEAST_CITED = 4


def _without_citations(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its citation marks, and these in order; other bracketed numbers lose their inner spaces.

    A citation mark follows the last word of a clause of at least four words: "the old town burnt down in the war [2]."
    A number after what it may name stays: Option [1], see [2], the answer is [3].
    """
    if "[" not in text:
        return text, ()
    kept: list[str] = []
    tail, end, marks = "", 0, []
    for found in _BRACKETED.finditer(text):
        kept.append(text[end : found.start()])
        tail = (tail + kept[-1])[-_WINDOW:]
        end, mark = found.end(), found[0].replace(" ", "")
        if _AFTER.match(text, end) and _is_cited(tail):
            marks.append(mark)
        else:
            kept.append(mark)
            tail += mark
    return "".join((*kept, text[end:])), tuple(marks)


def _is_cited(before: str) -> bool:
    words = _SENTENCE_END.split(before.rstrip(" \t.,;:!?"))[-1].split()
    if len(words) < _LEAST_CITED or not words[-1].isalpha() or words[-1].lower() in _NUMBERED:
        return False
    return not words[-1].islower() or words[-1].endswith(("s", "ing", "ed")) or words[-2].lower() not in _BEFORE_A_LABEL


_NUMBERED = CRITICAL | WORDS["articles"] | WORDS["linking"] | WORDS["numbered"]
_BEFORE_A_LABEL = WORDS["prepositions"] | WORDS["linking"] | WORDS["told"] | set("read see saw watch and or".split())
"""Words after which a single noun is a label: "the winner is candidate [2]", unlike "it burnt down in the war [2]"."""
