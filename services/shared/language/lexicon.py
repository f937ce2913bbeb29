"""English words that decide whether two texts state the same: `data/lexicon.txt` has them and says why."""

from __future__ import annotations

from collections.abc import Mapping

from services.shared.language import wordlists
from services.shared.language.spelling import NUMBER_WORDS

WORDS: Mapping[str, frozenset[str]] = {name: wordlists.words("lexicon", name) for name in wordlists.sections("lexicon")}
"""By section."""

CRITICAL = frozenset(NUMBER_WORDS).union(
    *map(WORDS.__getitem__, ("negations", "numeric", "times", "pronouns", "modals", "directions"))
)
"""Words that are never taken for a typing error of another."""


def phrases(section: str) -> tuple[tuple[str, ...], ...]:
    """The words of each phrase of a section."""
    return tuple(tuple(line.split()) for line in wordlists.sections("lexicon")[section])
