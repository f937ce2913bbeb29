"""While a question waits no expression is put to a memory that was seen before: what its text tells is known."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType

import pytest

from contracts.ports import TextStore, VectorPoint
from contracts.v1.entries import Entity, Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.stores.builders import NOON, an_entry, store_entries

FEW, MANY = 20, 40
SAID = (
    "I moved the dentist to {n} May, the boat has to wait.",
    "Is the boat still in Graz, or was it sold on day {n}?",
    "Renate has the boat key no. {n}. " + "We rowed a long way, to the island and back, and it rained. " * 4,
    "Noted: the boat is {n} metres long.",
)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """How often expressions are put to something meanwhile, by who does it."""
    counts = Counter[str]()

    def note(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and isinstance(getattr(called, "__self__", None), re.Pattern):
            counts[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        yield counts
    finally:
        sys.setprofile(None)


def memory_of(user: str, count: int) -> list[Entry]:
    """So many entries of all kinds, each of another day."""
    names = (Entity(text="Renate", label="PERSON", confidence=1),)
    return [
        an_entry(
            user,
            SAID[n % len(SAID)].format(n=n),
            role="assistant" if n % len(SAID) == 3 else "user",
            created_at=NOON - timedelta(days=n),
            entities=names if n % len(SAID) == 2 else (),
            outdated=("the boat is in Linz",) if n % 5 == 0 else (),
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "question",
    [
        "Which day is the boat?",
        "Is the boat still there?",
        "What did Renata do with the boat?",
        "What's the latest on the boat?",
        "How was the boat at first?",
        "How long is boat 3?",
        "When was the boat here last month?",
    ],
)
async def test_more_memories_take_no_more_expressions(store: TextStore, question: str) -> None:
    vectors, embedder, took = FakeVectors(), FakeEmbedder(), list[Counter[str]]()
    settings = RetrieveSettings(min_score=0.0, card_share=0.0)
    retriever = Retriever(store, vectors=vectors, embedder=embedder, counter=Cl100kCounter(), settings=settings)
    for user, count in (("few", FEW), ("many", MANY)):
        entries = await store_entries(store, memory_of(user, count))
        matrix = await embedder.embed([entry.text for entry in entries])
        await vectors.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
        request = RetrieveRequest(user_id=user, query=question, limit=MANY, token_budget=20_000)
        seen = await retriever.retrieve(request)
        with counting() as counts:
            again = await retriever.retrieve(request)
        assert len(again.items) == len(seen.items) > FEW / 2
        took.append(counts)
    assert took[1] - took[0] == Counter()
