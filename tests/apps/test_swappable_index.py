"""Embedder and vectors are changed for others between two calls, and never taken apart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

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
)
from services.shared.vectors import swappable, watcher
from services.shared.vectors.swappable import SwappableIndex, VectorIndex
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

    async def search(self, scope: Scope, vector: Vector, *, limit: int, filters: Filters) -> list[SemanticHit]:
        await self._maybe_fail()
        return [SemanticHit(self.name, float(vector[0]))]

    async def fetch(
        self, scope: Scope, ids: Sequence[str], *, query: Vector | None = None, copies: bool = False
    ) -> dict[str, StoredPoint]:
        return {self.name: StoredPoint(np.ones(4, np.float32))}

    async def close(self) -> None:
        self.closed = True


def an_index(name: str, generation: int = 0) -> tuple[VectorIndex, NamedVectors]:
    vectors = NamedVectors(name)
    identity = EmbeddingIdentity("fake", name, 4, generation)
    return VectorIndex(identity, FakeEmbedder(), vectors), vectors


async def searched(on: SwappableIndex, vector: Vector) -> str:
    return (await on.vectors.search(SCOPE, vector, limit=1, filters=Filters()))[0].id


async def test_what_was_embedded_before_the_change_is_searched_and_stored_where_it_belongs() -> None:
    (old, old_vectors), (new, new_vectors) = an_index("old"), an_index("new")
    on = SwappableIndex(old)
    before = await on.embedder.embed(["one", "two"])
    assert on.change(new) is old
    after = await on.embedder.embed(["one"])

    assert [await searched(on, vector) for vector in (before[0], before[1:][0], after[0])] == ["old", "old", "new"]
    assert [*await on.vectors.fetch(SCOPE, [], query=before[0])] == ["old"]
    assert [*await on.vectors.fetch(SCOPE, [])] == ["new"]
    entries = [an_entry("ann") for _ in range(3)]
    rows = [before[0], after[0], np.ones(4, np.float32)]
    await on.vectors.upsert([VectorPoint(e, row) for e, row in zip(entries, rows, strict=True)])
    assert list(old_vectors.points) == [entries[0].id]
    assert list(new_vectors.points) == [entries[1].id, entries[2].id]
    assert on.embedder.identity.model == "new"


async def test_a_vector_is_the_same_numbers_as_without_the_switch() -> None:
    on = SwappableIndex(an_index("old")[0])
    made, plain = await on.embedder.embed(["one", "three"]), await FakeEmbedder().embed(["one", "three"])
    assert made.dtype == plain.dtype
    assert (np.asarray(made) == plain).all()
    assert type(np.asarray(made[0])) is np.ndarray


async def test_a_former_pair_is_closed_when_nobody_is_at_work_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swappable, "LINGER", 0.0)
    (old, old_vectors), (new, _) = an_index("old"), an_index("new")
    on = SwappableIndex(old)
    with old.in_use():
        closing = asyncio.create_task(on.change(new).close_when_idle())
        done, _ = await asyncio.wait([closing], timeout=0.3)
        assert not done
        assert not old_vectors.closed
    await asyncio.wait_for(closing, 5)
    assert old_vectors.closed


async def test_between_embedding_and_searching_a_former_pair_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swappable, "LINGER", 0.5)
    (old, old_vectors), (new, _) = an_index("old"), an_index("new")
    on = SwappableIndex(old)
    vector = (await on.embedder.embed(["one"]))[0]
    closing = asyncio.create_task(on.change(new).close_when_idle())
    await asyncio.wait([closing], timeout=0.2)
    assert await searched(on, vector) == "old"
    assert not old_vectors.closed
    await asyncio.wait_for(closing, 5)
    assert old_vectors.closed


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
    for module, name in ((swappable, "LINGER"), (watcher, "LOOK_EVERY"), (watcher, "_TRY_AGAIN")):
        monkeypatch.setattr(module, name, 0.01)
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
