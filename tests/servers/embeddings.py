"""An embeddings endpoint with models of its own: words that end alike mean the same to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from tests.servers.answering import Post, Reply, answering

MODELS = {"small": 48, "large": 96, "other": 48}
"""Dimensions by model; two models of the same dimensions mean different things by their numbers."""


def word(beginning: str, number: int) -> str:
    """A word whose ending, in letters, is its meaning."""
    return f"{beginning:<5}".replace(" ", "x")[:5] + "".join("bcdfghklmn"[int(digit)] for digit in str(number))


def vector(model: str, text: str) -> list[float]:
    """The sum of the meanings of the words: of each, what follows its fifth letter."""
    total = np.full(MODELS[model], 1e-3)
    for each in text.lower().rstrip(".?").split():
        if len(each) > 5:
            seed = int.from_bytes(blake2b(f"{model} {each[5:]}".encode(), digest_size=8).digest())
            total += np.random.default_rng(seed).standard_normal(MODELS[model])
    return [float(number) for number in total]


@dataclass
class EmbeddingServer:
    """What a test sees of it, and may change while it runs."""

    url: str = ""
    key: str | None = None
    pause: float = 0.0
    refuses: str | None = None
    embedded: dict[str, list[str]] = field(default_factory=lambda: {model: [] for model in MODELS})
    keys: set[str | None] = field(default_factory=set)

    def answer(self, model: str, texts: list[str], key: str | None) -> tuple[int, Any]:
        self.keys.add(key)
        if self.key is not None and key != f"Bearer {self.key}":
            return 401, {"error": "wrong key"}
        if model not in MODELS:
            return 404, {"error": "no such model"}
        if self.refuses is not None and any(self.refuses in text for text in texts):
            return 400, {"error": "refused"}
        time.sleep(self.pause)
        self.embedded[model] += texts
        return 200, {"data": [{"index": i, "embedding": vector(model, text)} for i, text in enumerate(texts)]}


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """Answers on the loopback interface until the block ends."""
    server = EmbeddingServer()

    def embedded(post: Post) -> Reply:
        return Reply(*server.answer(post.body["model"], post.body["input"], post.credential))

    with answering(embedded) as address:
        server.url = f"{address}/v1"
        yield server
