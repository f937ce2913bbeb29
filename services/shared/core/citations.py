"""Citation marks such as [1] and [2, 3] told from bracketed numbers that are part of what is said."""

from __future__ import annotations

import re

from services.shared.core import lexicon

_BRACKETED = re.compile(r"(?<![\w\])])\[ ?[0-9]{1,3}(?: ?[,;-] ?[0-9]{1,3}){0,20} ?\]")
_AFTER = re.compile(r"[.,;:!?)\]\"']|\s*\[ ?[0-9]|\s*\Z|[ \t]*\n")
_SENTENCE_END = re.compile(r"[.!?:]\s|\n")
_WINDOW = 160  # characters before a mark in which its sentence is looked for
_LEAST_CITED = 4


def without_citations(text: str) -> tuple[str, tuple[str, ...]]:
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
    if len(words) < _LEAST_CITED or not words[-1].isalpha() or words[-1].lower() in lexicon.NUMBERED:
        return False
    return not words[-1].islower() or words[-1].endswith(("s", "ing", "ed")) or words[-2].lower() not in _BEFORE_A_LABEL


_BEFORE_A_LABEL = lexicon.PREPOSITIONS | lexicon.LINKING | lexicon.TOLD | frozenset("read see saw watch and or".split())
"""Words after which a single noun is a label: "the winner is candidate [2]", unlike "it burnt down in the war [2]"."""
