"""Topics of entries: dense groups of their vectors, the largest first, named by what sets them apart."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.context.clusters import LEAST, topics_of
from tests.stores.builders import an_entry

BREAD = ("The sourdough needs flour", "Sourdough starter bubbles", "I baked sourdough bread", "Flour for the sourdough")
TRAINS = (
    "The night train to Vienna",
    "Trains are late again",
    "I booked a train ticket",
    "My train leaves",
    "A train model",
)


def said(*texts: str) -> list[Entry]:
    return [an_entry("ann", text, id=f"e{n:03}") for n, text in enumerate(texts)]


def toward(*axes: int) -> list[np.ndarray]:
    return [np.eye(8, dtype=np.float32)[axis] for axis in axes]


def test_entries_that_are_alike_make_a_topic_named_by_their_words() -> None:
    entries = said(*BREAD, *TRAINS, "I like walks", "ok", "thanks", "hi", "yes")
    vectors = toward(*[0] * len(BREAD), *[1] * len(TRAINS), 2, 3, 3, 3, 3)
    trains, bread = topics_of(entries, vectors)
    assert (trains.words[0], len(trains.entries)) == ("train", 5)
    assert (bread.words[0], bread.slug.split("-")[0]) == ("sourdough", "sourdough")
    assert {entry.text for entry in bread.entries} == set(BREAD)


def test_too_few_or_too_different_make_none() -> None:
    assert topics_of([], []) == []
    assert topics_of(said(*BREAD[: LEAST - 1]), toward(0, 0, 0)) == []
    assert topics_of(said(*BREAD), toward(0, 1, 2, 3)) == []
    assert topics_of(said("你好世界", "世界你好", "我爱世界", "世界很大"), toward(0, 0, 0, 0)) == []


@given(st.integers(0, 40), st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_each_entry_is_in_one_topic_whatever_the_order(count: int, seed: int) -> None:
    made = np.random.default_rng(seed)
    vectors = made.normal(size=(count, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    entries = said(*(f"bread number {n} and flour" for n in range(count)))
    found = topics_of(entries, list(vectors))
    ids = [entry.id for topic in found for entry in topic.entries]
    assert len(ids) == len(set(ids))
    assert all(len(topic.entries) >= LEAST for topic in found)
    order = random.Random(seed).sample(range(count), count)
    assert topics_of([entries[i] for i in order], [vectors[i] for i in order]) == found
