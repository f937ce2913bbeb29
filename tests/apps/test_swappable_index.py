"""Embedder and vectors are changed for others between two calls, and never taken apart."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import numpy as np
import pytest

from contracts.ports import (
    EmbeddingIdentity,
    Filters,
    Scope,
    SemanticHit,
    StoredPoint,
    Unavailable,
    Vector,
    VectorPoint,
    VectorStore,
)
from services.shared.vectors import watcher
from services.shared.vectors.swappable import SwappableIndex, VectorIndex, using
from services.shared.vectors.watcher import IndexWatcher
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.polling import eventually
from tests.stores.builders import an_entry

SCOPE = Scope("ann")


class NamedVectors(FakeVectors):
    """Says which store was asked, and whether it was closed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.closed = False

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        await self._maybe_fail()
        return [SemanticHit(self.name, float(vector[0]))]

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        return {self.name: StoredPoint(np.ones(4, np.float32))}

    async def close(self) -> None:
        self.closed = True


def an_index(name: str, generation: int = 0) -> tuple[VectorIndex, NamedVectors]:
    vectors = NamedVectors(name)
    identity = EmbeddingIdentity("fake", name, 4, generation)
    return VectorIndex(identity, FakeEmbedder(), vectors), vectors


async def searched(vectors: VectorStore | None) -> str:
    assert vectors is not None
    return (await vectors.search(SCOPE, np.ones(4, np.float32), limit=1, filters=Filters()))[0].id


async def test_who_began_before_the_change_goes_on_with_the_same_vectors_and_their_model() -> None:
    (old, old_vectors), (new, new_vectors) = an_index("old"), an_index("new")
    on = SwappableIndex(old)
    with using(on) as (vectors, embedder):
        assert on.change(new) is old
        assert (vectors, embedder) == (old_vectors, old.embedder)
        assert await searched(vectors) == "old"
        with using(on) as others:
            assert others == (new_vectors, new.embedder)
    with using(on) as (vectors, embedder):
        assert (vectors, embedder) == (new_vectors, new.embedder)
    with using(None) as index:
        assert index == (None, None)


async def test_each_call_on_its_own_is_for_the_current_vectors() -> None:
    (old, old_vectors), (new, new_vectors) = an_index("old"), an_index("new")
    on = SwappableIndex(old)
    points = [VectorPoint(an_entry("ann"), np.ones(4, np.float32)) for _ in range(2)]
    await on.vectors.upsert(points[:1])
    on.change(new)
    await on.vectors.upsert(points[1:])
    assert [*old_vectors.points, *new_vectors.points] == [point.entry.id for point in points]
    assert await searched(on.vectors) == "new"
    assert [*await on.vectors.fetch(SCOPE, [])] == ["new"]


async def test_a_former_index_is_closed_as_soon_as_nobody_is_at_work_with_it() -> None:
    (old, old_vectors), (new, _) = an_index("old"), an_index("new")
    on = SwappableIndex(old)
    with using(on), using(on) as (vectors, _):
        closing = asyncio.create_task(on.change(new).close_when_idle())
        done, _ = await asyncio.wait([closing], timeout=0.3)
        assert not done
        assert await searched(vectors) == "old"
        assert not old_vectors.closed
    await asyncio.wait_for(closing, 5)
    assert old_vectors.closed
    await on.change(old).close_when_idle()  # at once: nobody uses it


class Recorded:
    """The text store, as far as a follower asks it."""

    def __init__(self, identity: EmbeddingIdentity) -> None:
        self.identity = identity
        self.away = False
        self.asked = 0

    async def get_embedding_identity(self) -> EmbeddingIdentity:
        self.asked += 1
        if self.away:
            raise Unavailable("the text store is away")
        return self.identity


async def test_a_follower_changes_when_others_are_recorded_and_goes_on_when_they_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("LOOK_EVERY", "_TRY_AGAIN"):
        monkeypatch.setattr(watcher, name, 0.01)
    (old, _), (new, _) = an_index("same"), an_index("same", generation=1)
    on, text, opens = SwappableIndex(old), Recorded(old.identity), asyncio.Event()
    refused = 0

    async def open_index(_: EmbeddingIdentity) -> VectorIndex:
        nonlocal refused
        if not opens.is_set():
            refused += 1
            raise Unavailable("no key")
        return new

    task = asyncio.create_task(IndexWatcher(on, text, open_index, None).run())  # type: ignore[arg-type]
    text.identity = new.identity
    await eventually(lambda: asyncio.sleep(0, refused), lambda times: times > 3)
    assert on.current is old
    assert [record.message for record in caplog.records].count("vectors_not_changed") == 1
    text.away = True
    opens.set()
    asked = text.asked
    await eventually(lambda: asyncio.sleep(0, text.asked), lambda times: times > asked + 3)
    assert on.current is old
    text.away = False
    await eventually(lambda: asyncio.sleep(0, on.current), lambda index: index is new)
    task.cancel()
