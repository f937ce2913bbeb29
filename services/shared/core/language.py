"""Whether a text is English, so that rules of English may be applied to it."""

from __future__ import annotations

from collections.abc import Iterable

from services.shared.core.wordlists import words

_ENGLISH = words("language", "english")
_OTHER = frozenset().union(
    *(words("language", name) for name in ("german", "french", "spanish", "italian", "portuguese", "dutch"))
) - (_ENGLISH | words("language", "of both"))


def is_english(words: Iterable[str]) -> bool:
    """Whether words in lower case are those of an English text. When in doubt they are not.

    Counts words that only English has against those that only German, French, Spanish, Italian, Portuguese or Dutch
    have, and words in another script.
    """
    english = other = 0
    for word in words:
        if word in _ENGLISH or ("'" in word and _is_contraction(word)):
            english += 1
        elif word in _OTHER or (not word.isascii() and word.isalpha() and min(word) > "\u024f"):
            other += 1
    return english > other


def _is_contraction(word: str) -> bool:
    return word.partition("'")[0] in _ENGLISH or word.endswith(("n't", "'re", "'ve", "'ll", "'m"))
