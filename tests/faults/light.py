"""Models that take no time to load: an embedder and an annotator that are arithmetic, and yet tell texts apart.

Of appointments alone anything is read: the last word is when they are, and one that has moved changes what was said.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from contracts.ports import Annotation, EmbeddingIdentity, Vector
from contracts.v1.claims import Claim, Reading, Relation
from contracts.v1.entries import Entity
from services.shared import app
from tests.faults.patching import in_place_of

DIMENSIONS = 32
_APPOINTMENT, _MOVED = "dentist appointment", "appointment has moved to"


class WordHashEmbedder:
    """Adds one fixed random direction for each word."""

    identity = EmbeddingIdentity("light", "word-hash", DIMENSIONS)
    reader = "light"

    async def embed(self, texts: Sequence[str]) -> Vector:
        return np.stack([_direction(text) for text in texts])

    async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
        return await self.embed(texts), await self.read(texts)

    async def read(self, texts: Sequence[str]) -> list[Reading]:
        return list(map(_reading, texts))

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        return [Relation(0, 0, 0, 1) if _MOVED in new else Relation(1, 0, 0, 0) for _, new in pairs]

    async def close(self) -> None:
        """Nothing is held."""


def _reading(text: str) -> Reading:
    if _APPOINTMENT not in text:
        return Reading()
    when = Claim(slot="appointment", value=(text.rindex(" ") + 1, len(text)), sentence=(0, len(text)), confidence=0.9)
    return Reading((when,), ends=float(_MOVED in text))


def _direction(text: str) -> Vector:
    total = np.zeros(DIMENSIONS, np.float32)
    for word in text.lower().split() or [text]:
        total += np.random.default_rng(crc32(word.encode())).normal(size=DIMENSIONS).astype(np.float32)
    unit: Vector = total / np.linalg.norm(total)
    return unit


class CapitalsAnnotator:
    """Takes words in capitals for names."""

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        return [
            Annotation(entities=tuple(Entity(text=word, label="NAME", confidence=0.9) for word in _names(text)))
            for text in texts
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(word for word in text.split()[1:] if word.istitle()))


def use_light_models() -> None:
    """Let this process open these in place of the models. Nothing is read by them, or anew."""
    os.environ["MEMORYBUS_READER"] = "none"

    @in_place_of(app, "open_embedder")
    async def open_embedder(*_: Any, **__: Any) -> WordHashEmbedder:
        return WordHashEmbedder()

    @in_place_of(app.Host, "_open_annotator")
    async def open_annotator(*_: Any, **__: Any) -> CapitalsAnnotator:
        return CapitalsAnnotator()
