"""What a question costs: few round trips, nothing asked twice, and no more expressions for more memories."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from contracts.ports import Key, LexicalHit, TextStore, Unavailable
from contracts.v1.entries import Entity, Entry
from contracts.v1.retrieval import RetrieveRequest
from services.shared.stores.qdrant import QdrantVectorStore
from tests.apps.asking import a_retriever, by_meaning, points_of
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.servers.qdrant import standin
from tests.stores.builders import NOON, an_entry, store_entries

FEW, MANY = 20, 40
SAID = (
    "I moved the dentist to {n} May, the boat has to wait.",
    "Is the boat still in Graz, or was it sold on day {n}?",
    "Renate has the boat key no. {n}. " + "We rowed a long way, to the island and back, and it rained. " * 4,
    "Noted: the boat is {n} metres long.",
)


class Away:
    """A text store whose every method fails."""

    def __getattr__(self, name: str) -> Any:
        return self._fail

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise Unavailable("the text store is away")


@pytest.mark.parametrize("way", ["grpc", "http"])
async def test_a_request_takes_at_most_three_round_trips(store: TextStore, tmp_path: Path, way: str) -> None:
    """The semantic leg reaches one entry: the cosines of the others, all vectors, and copies have to be fetched."""
    entries = await store_entries(store, [an_entry("ann", f"green tea {'x' * i}") for i in range(12)])
    with standin(tmp_path / "qdrant") as server:
        port = server.grpc_port if way == "grpc" else 0
        vectors = await QdrantVectorStore.open(server.url, grpc_port=port, dimensions=4)
        await vectors.upsert(await points_of(entries))
        for text, least in ((store, 10), (Away(), 1)):
            before = server.asked()[way]
            retriever = a_retriever(text, vectors, FakeEmbedder(), semantic_depth=1, min_score=0.0)
            reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query="green tea", limit=10))
            assert len(reply.items) >= least
            assert server.asked()[way] - before <= 3
        await vectors.close()


class Noting:
    """A text store that notes what it is asked for."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self.found: set[str] = set()
        self.looked_around: list[str] = []
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self._store, name)

    async def search(self, *args: Any, **options: Any) -> list[LexicalHit]:
        self.calls.append("search")
        hits = await self._store.search(*args, **options)
        self.found = {hit.id for hit in hits}
        return hits

    async def neighbours(self, refs: Sequence[Key], *, reach: int) -> dict[str, dict[int, str]]:
        self.calls.append("neighbours")
        self.looked_around = [ref.id for ref in refs]
        return await self._store.neighbours(refs, reach=reach)


async def test_the_text_store_is_asked_for_nothing_twice(store: TextStore) -> None:
    said = [("green tea", "s1"), ("black tea", "s1"), ("bread", "s2"), ("a walk", "s3")]
    entries = await store_entries(store, [an_entry("ann", text, session_id=session) for text, session in said])
    noting, ids = Noting(store), {entry.id for entry in entries}
    retriever = a_retriever(noting, *await by_meaning(entries), min_score=0.0)
    reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query="tea", limit=10))
    assert {item.id for item in reply.items} == ids
    assert sorted(noting.calls) == ["erasures", "get", "neighbours", "pinned", "search"]
    assert noting.found
    assert sorted(noting.looked_around) == sorted(ids - noting.found)


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
    vectors, took = FakeVectors(), list[Counter[str]]()
    retriever = a_retriever(store, vectors, FakeEmbedder(), min_score=0.0, card_share=0.0)
    for user, count in (("few", FEW), ("many", MANY)):
        await vectors.upsert(await points_of(await store_entries(store, memory_of(user, count))))
        request = RetrieveRequest(user_id=user, query=question, limit=MANY, token_budget=20_000)
        seen = await retriever.retrieve(request)
        with counting() as counts:
            again = await retriever.retrieve(request)
        assert len(again.items) == len(seen.items) > FEW / 2
        took.append(counts)
    assert took[1] - took[0] == Counter()
