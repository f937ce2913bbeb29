"""The language of a text, told by its commonest words; and whether it is English, so that its rules may be applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from services.shared.language.text import fold
from services.shared.language.wordlists import words

_ENGLISH = words("language", "english")
_OTHER = frozenset().union(
    *(words("language", name) for name in ("german", "french", "spanish", "italian", "portuguese", "dutch"))
) - (_ENGLISH | words("language", "of both"))

Language = Literal["english", "german", "french", "spanish", "italian", "portuguese", "dutch"]
"""The languages in Latin letters that are told apart; others are told by their script."""

STOP_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(map(fold, words("stop_words", name)))
    for name in (*get_args(Language), "russian", "chinese", "japanese")
}
"""What nobody looks for, folded, by language; that of English is Lucene's classic set, so that OpenSearch's `english`
analyzer drops the same words."""

SMALL_WORDS = frozenset[str]().union(*STOP_WORDS.values())
"""Those of any language."""


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


def language_of(words: Iterable[str]) -> Language | None:
    """The language of a text by its folded words; None when none of them tells.

    A word counts for each language that has it, for its share among them. Of equals it is English. One word alone tells
    none: Mia is a name, too.
    """
    words = list(words)
    if len(words) == 1:
        return None
    shares: dict[Language, float] = dict.fromkeys(get_args(Language), 0.0)
    for word in words:
        if languages := _SPEAKERS.get(word) or (("english",) if "'" in word and _is_contraction(word) else ()):
            for language in languages:
                shares[language] += 1 / len(languages)
    best = max(shares, key=lambda language: shares[language])
    return best if shares[best] else None


def _is_contraction(word: str) -> bool:
    return word.partition("'")[0] in _ENGLISH or word.endswith(("n't", "'re", "'ve", "'ll", "'m"))


def _speakers() -> Mapping[str, tuple[Language, ...]]:
    """The languages that have a word."""
    found: dict[str, tuple[Language, ...]] = defaultdict(tuple)
    english = _ENGLISH | words("language", "also english")
    for language in get_args(Language):
        for word in english if language == "english" else STOP_WORDS[language]:
            found[word] += (language,)
    return dict(found)


_SPEAKERS = _speakers()
