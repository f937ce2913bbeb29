"""Topics that entries are about: dense groups of their vectors, named by the words that set them apart. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contracts.ports import Vector
from contracts.v1.entries import Entry
from services.shared.context.words import stem
from services.shared.entities.names import plain_words_of
from services.shared.language.lexicon import WORDS
from services.shared.language.traits import words_of
from services.shared.lifecycle.salience import is_small_talk

ALIKE = 0.4
"""The cosine from which on two entries may be about one topic, as short texts of one topic mostly have it."""

LEAST = 4
"""Entries that make a topic."""

_READ, _NAMED = 1000, 2
_LETTERS = range(4, 31)
"""How many a word has that names a topic."""


@dataclass(frozen=True, slots=True)
class Topic:
    """Entries about one thing, the most typical first, and the words that name it."""

    words: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def slug(self) -> str:
        """The words as a theme is called in keys; empty where they have no plain letters."""
        return "-".join(plain for word in self.words for plain in plain_words_of(word) if plain.isascii())


def topics_of(entries: Sequence[Entry], vectors: Sequence[Vector]) -> list[Topic]:
    """The topics of these entries, the largest first; `vectors` are their unit vectors, in the same order."""
    telling = sorted((i for i, one in enumerate(entries) if not is_small_talk(one.text)), key=lambda i: entries[i].id)
    if len(telling) < LEAST:
        return []
    said = [entries[i] for i in telling]
    everywhere = Counter(word for entry in said for word in _stems(entry))
    groups = _groups(np.stack([vectors[i] for i in telling]))
    found = [_topic([said[i] for i in group], everywhere, len(said)) for group in groups]
    return sorted((one for one in found if one.slug), key=lambda one: (-len(one.entries), one.slug))


def _groups(vectors: Vector) -> list[list[int]]:
    """Dense groups: around the entry with most others near it, and again among those that are left."""
    near = vectors @ vectors.T >= ALIKE
    left = np.ones(len(vectors), dtype=bool)
    groups: list[list[int]] = []
    while True:
        density = (near & left).sum(axis=1) * left
        around = near[int(density.argmax())] & left
        if around.sum() < LEAST:
            return groups
        middle = vectors[around].mean(axis=0)
        closeness = vectors @ (middle / (np.linalg.norm(middle) or 1.0))
        members = (closeness >= ALIKE) & left
        members = members if members.sum() >= LEAST else around
        groups.append(sorted(np.flatnonzero(members).tolist(), key=lambda i: -closeness[i]))
        left &= ~members


def _words(entry: Entry) -> list[str]:
    """The words that may name what an entry is about, each once."""
    words = {word.removesuffix("'s") for word in words_of(entry.text[:_READ])}
    return [word for word in words if word.isalpha() and len(word) in _LETTERS and word not in WORDS["light"]]


def _stems(entry: Entry) -> set[str]:
    return {stem(word) for word in _words(entry)}


def _topic(entries: Sequence[Entry], everywhere: Counter[str], total: int) -> Topic:
    here = Counter(word for entry in entries for word in _stems(entry))
    written = Counter(word for entry in entries for word in _words(entry))
    forms = {stem(word): word for word in sorted(written, key=lambda word: (written[word], -len(word), word))}
    best = sorted(here, key=lambda word: (-here[word] * math.log(1 + total / everywhere[word]), word))
    return Topic(tuple([forms[word] for word in best if here[word] > 1][:_NAMED]), tuple(entries))
