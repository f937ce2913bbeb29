"""A request goes to the Qdrant server twice at most, whichever way it takes and whether the text store answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import Key, LexicalHit, TextStore, Unavailable, VectorPoint
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.stores.qdrant import QdrantVectorStore
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.servers.qdrant import standin
from tests.stores.builders import an_entry, store_entries

# The semantic leg reaches one entry, so that the cosines of the others, all vectors, and copies have to be fetched.
SETTINGS = RetrieveSettings(semantic_depth=1, min_score=0.0)


class Away:
    """A text store whose every method fails."""

    def __getattr__(self, name: str) -> Any:
        return self._fail

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise Unavailable("the text store is away")


@pytest.mark.parametrize("way", ["grpc", "http"])
async def test_a_request_takes_at_most_three_round_trips(store: TextStore, tmp_path: Path, way: str) -> None:
    entries = await store_entries(store, [an_entry("ann", f"green tea {'x' * i}") for i in range(12)])
    embedder = FakeEmbedder()
    matrix = await embedder.embed([entry.text for entry in entries])
    with standin(tmp_path / "qdrant") as server:
        port = server.grpc_port if way == "grpc" else 0
        vectors = await QdrantVectorStore.open(server.url, grpc_port=port, dimensions=4)
        await vectors.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
        away: Any = Away()
        for text, least in ((store, 10), (away, 1)):
            before = server.asked()[way]
            retriever = Retriever(
                store=text, vectors=vectors, embedder=embedder, counter=Cl100kCounter(), settings=SETTINGS
            )
            reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query="green tea", limit=10))
            assert len(reply.items) >= least
            assert server.asked()[way] - before <= 3
        await vectors.close()


class Noting:
    """A text store that notes what it is asked for."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self.found: list[str] = []
        self.looked_around: list[str] = []
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self._store, name)

    async def search(self, *args: Any, **options: Any) -> list[LexicalHit]:
        self.calls.append("search")
        hits = await self._store.search(*args, **options)
        self.found = [hit.id for hit in hits]
        return hits

    async def neighbours(self, refs: Sequence[Key], *, reach: int) -> dict[str, dict[int, str]]:
        self.calls.append("neighbours")
        self.looked_around = [ref.id for ref in refs]
        return await self._store.neighbours(refs, reach=reach)


async def test_the_text_store_is_asked_for_nothing_twice(store: TextStore) -> None:
    said = [("green tea", "s1"), ("black tea", "s1"), ("bread", "s2"), ("a walk", "s3")]
    entries = await store_entries(store, [an_entry("ann", text, session_id=session) for text, session in said])
    embedder, vectors, noting = FakeEmbedder(), FakeVectors(), Noting(store)
    matrix = await embedder.embed([entry.text for entry in entries])
    await vectors.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
    settings = RetrieveSettings(min_score=0.0)
    text: Any = noting
    retriever = Retriever(store=text, vectors=vectors, embedder=embedder, counter=Cl100kCounter(), settings=settings)
    reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query="tea", limit=10))
    assert {item.id for item in reply.items} == {entry.id for entry in entries}
    assert sorted(noting.calls) == ["erasures", "get", "neighbours", "pinned", "search"]
    assert sorted(noting.looked_around) == sorted({entry.id for entry in entries}.difference(noting.found))
    assert noting.found
