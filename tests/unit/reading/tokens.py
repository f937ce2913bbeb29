"""Texts with their tokens, and logits that say of each token what a test wants the heads to say."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st

from services.shared.reading.decode import COLUMNS, Floats

Offsets = list[tuple[int, int]]

_WORD = re.compile(r"\w+|[^\w\s]")
LETTERS = "abcXYZ019éßñ漢字שלוםعرب👩‍👧🚆.,'’-–!?\n"


def words(text: str) -> Offsets:
    """A token for each word, and the two around them, which have no characters."""
    return [(0, 0), *(found.span() for found in _WORD.finditer(text)), (0, 0)]


def logits_of(offsets: Offsets, text: str, said: Mapping[str, tuple[str, ...]]) -> Floats:
    """Logits for which the words of the values count as inside of it, the first as its first; all else is outside.

    `said` has by column the words for which it is high: `claim` and `task` stand for their tags.
    """
    logits = np.full((len(offsets), len(COLUMNS)), -6, np.float32)
    for kind in ("claim", "task"):
        logits[:, COLUMNS.index(f"{kind}:outside")] = 6
    for column, values in said.items():
        for value in values:
            begin = text.index(value)
            inside = [n for n, (a, b) in enumerate(offsets) if a < b and a >= begin and b <= begin + len(value)]
            for place, token in enumerate(inside):
                if column in ("claim", "task"):
                    logits[token, COLUMNS.index(f"{column}:outside")] = -6
                    logits[token, COLUMNS.index(f"{column}:{'inside' if place else 'first'}")] = 6
                else:
                    logits[token, COLUMNS.index(column)] = 6
    return logits


@st.composite
def texts_with_tokens(draw: st.DrawFn) -> tuple[str, Offsets]:
    """A text with the places of its tokens: words, some of them cut into pieces as a tokenizer of word pieces does."""
    text = draw(st.text(LETTERS + " " * 10, max_size=60))
    offsets: Offsets = [(0, 0)]
    for begin, end in words(text)[1:-1]:
        cuts = sorted(draw(st.sets(st.integers(begin + 1, end - 1), max_size=3)) if end - begin > 1 else ())
        offsets += zip([begin, *cuts], [*cuts, end], strict=True)
    return text, [*offsets, (0, 0)]


@st.composite
def read_texts(draw: st.DrawFn) -> tuple[Floats, Offsets, str]:
    """Such a text with any logits, large and small."""
    text, offsets = draw(texts_with_tokens())
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([0.0, 1.0, 5.0, 1e4]))
    return (random.normal(size=(len(offsets), len(COLUMNS))) * size).astype(np.float32), offsets, text
