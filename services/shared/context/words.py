"""What several read of a text: where its sentences end, the stems of its words, and whether it denies something."""

from __future__ import annotations

from functools import lru_cache

from services.shared.language.analysis import stems
from services.shared.language.lexicon import WORDS
from services.shared.language.sentences import NO_ABBREVIATION
from services.shared.language.traits import words_of

SENTENCE_END = rf"(?<=[.!?…]){NO_ABBREVIATION}[\"'”’)\]*_]*\s+|(?<=[。！？])(?!\Z)|\n+"
"""An expression for what stands between two sentences: none ends after "Dr."."""


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """The stem by which forms of a word are the same."""
    return stems([word], "")[0] if len(word) > 2 and word.isalpha() else word


def denies(text: str) -> bool:
    """Whether a text denies something, in English."""
    return any(map(is_denial, words_of(text)))


def is_denial(word: str) -> bool:
    """Whether a word in lower case denies: not, never, don't."""
    return word in WORDS["negations"] or word == "cannot" or word.endswith("n't")
