"""A request goes to the Qdrant server twice at most, whichever way it takes and whether the text store answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.ports import TextStore, Unavailable, VectorPoint
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.stores.qdrant import QdrantVectorStore
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder
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
async def test_a_request_takes_at_most_two_round_trips(store: TextStore, tmp_path: Path, way: str) -> None:
    entries = await store_entries(store, [an_entry("ann", f"green tea {'x' * i}") for i in range(12)])
    embedder = FakeEmbedder()
    matrix = await embedder.embed([entry.text for entry in entries])
    with standin(tmp_path / "qdrant") as server:
        port = server.grpc_port if way == "grpc" else 0
        vectors = await QdrantVectorStore.open(server.url, grpc_port=port, dimensions=4)
        await vectors.upsert([VectorPoint(e, {"turn": v}) for e, v in zip(entries, matrix, strict=True)])
        away: Any = Away()
        for text, least in ((store, 10), (away, 1)):
            before = server.asked()[way]
            retriever = Retriever(
                store=text, vectors=vectors, embedder=embedder, counter=Cl100kCounter(), settings=SETTINGS
            )
            reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query="green tea", limit=10))
            assert len(reply.items) >= least
            assert server.asked()[way] - before == 2
        await vectors.close()
