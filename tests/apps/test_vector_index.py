"""The vectors of a memory: exactly those of the active entries, of one model, and changed for others while in use."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from contracts.ports import (
    EmbeddingIdentity,
    Filters,
    Scope,
    SemanticHit,
    StoredPoint,
    TextStore,
    Unavailable,
    Vector,
    VectorPoint,
    VectorStore,
)
from contracts.v1.entries import Entry
from services.shared.vectors import reindexer as module
from services.shared.vectors import watcher
from services.shared.vectors.folders import VectorFolders
from services.shared.vectors.reindexer import Reindexer
from services.shared.vectors.swappable import SwappableIndex, VectorIndex, using
from services.shared.vectors.watcher import IndexWatcher
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.polling import eventually
from tests.stores.builders import an_entry, store_entries
from tests.stores.changing import modify


@pytest.fixture
def vectors() -> FakeVectors:
    return FakeVectors()


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 3)


async def some_entries(store: TextStore, count: int) -> list[Entry]:
    return await store_entries(store, [an_entry(f"user {i % 3}", "text " + "x" * i) for i in range(count)])


async def test_a_pass_embeds_what_is_missing_and_nothing_twice(store: TextStore, vectors: FakeVectors) -> None:
    entries = await some_entries(store, 10)
    reindexer, seen = Reindexer(store, vectors, FakeEmbedder()), list[int]()
    assert await reindexer.fill(seen.append) == 10
    assert sum(seen) == 10
    await store_entries(store, [an_entry("ann", "said meanwhile")])
    await modify(store, entries[:1], lambda entry: entry.model_copy(update={"tags": ("new",)}))
    assert await reindexer.fill() == 2
    assert await reindexer.fill() == 0
    assert len(vectors.points) == 11


async def test_settling_leaves_exactly_the_active_entries_each_with_its_model(
    store: TextStore, vectors: FakeVectors
) -> None:
    entries = await some_entries(store, 8)
    reindexer = Reindexer(store, vectors, FakeEmbedder())
    await reindexer.fill()
    await store.forget(entries[:2], until=None)
    await modify(store, entries[2:3], lambda entry: entry.model_copy(update={"status": "archived"}))
    await vectors.remove([entries[3].id])
    await reindexer.settle()
    active = await store.scan(after="", limit=100)
    assert set(vectors.points) == {entry.id for entry in active} == {entry.id for entry in entries[3:]}
    assert {(e.embedding_state, e.embedding_provider, e.embedding_model) for e in active} == {
        ("ready", "fake", "length")
    }
    versions = {entry.id: entry.version for entry in active}
    await reindexer.settle()
    assert {entry.id: entry.version for entry in await store.scan(after="", limit=100)} == versions


async def test_what_the_model_refuses_is_marked_and_does_not_hold_up_the_rest(
    store: TextStore, vectors: FakeVectors
) -> None:
    entries = await store_entries(store, [an_entry("ann", text) for text in ("fine", "weird", "good", "weird too")])
    await modify(store, entries, lambda entry: entry.model_copy(update={"embedding_state": "ready"}))
    reindexer = Reindexer(store, vectors, FakeEmbedder(refuses="weird"))
    assert await reindexer.fill() == 2
    assert await reindexer.fill() == 0
    await reindexer.settle()
    states = {entry.text: entry.embedding_state for entry in await store.scan(after="", limit=9)}
    assert states == {"fine": "ready", "good": "ready", "weird": "error", "weird too": "error"}


async def test_an_entry_forgotten_while_it_is_embedded_leaves_no_vector(store: TextStore, vectors: FakeVectors) -> None:
    entries = await some_entries(store, 3)

    class Slow(FakeEmbedder):
        async def embed(self, texts):  # type: ignore[no-untyped-def]
            await store.forget(entries[:1], until=None)
            return await super().embed(texts)

    assert await Reindexer(store, vectors, Slow()).fill() == 2
    assert set(vectors.points) == {entry.id for entry in entries[1:]}


@pytest.mark.parametrize("while_it_is_embedded", [True, False])
async def test_a_correction_while_the_next_vectors_are_made_reaches_them(
    store: TextStore, vectors: FakeVectors, while_it_is_embedded: bool
) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "short")])

    async def correct() -> None:
        await modify(store, [entry], lambda one: one.model_copy(update={"text": "a much longer text"}))

    class Slow(FakeEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vector:
            if while_it_is_embedded and "short" in texts:
                await correct()
            return await super().embed(texts)

    reindexer = Reindexer(store, vectors, Slow())
    assert await reindexer.fill() == 1
    if not while_it_is_embedded:
        await correct()
    assert await reindexer.fill() == 1
    (vector,) = await FakeEmbedder().embed(["a much longer text"])
    assert np.array_equal(vectors.points[entry.id].vector, vector)


async def test_an_entry_that_is_corrected_while_its_vector_is_settled_is_still_to_be_embedded(
    store: TextStore,
) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "short")])
    corrected = {"text": "a much longer text", "embedding_state": "pending"}

    class Late(FakeVectors):
        async def lacking(self, entries):  # type: ignore[no-untyped-def]
            found = await super().lacking(entries)
            await modify(store, [entry], lambda one: one.model_copy(update=corrected))
            return found

    await Reindexer(store, Late(), FakeEmbedder()).settle()
    (now,) = await store.scan(after="", limit=1)
    assert (now.text, now.embedding_state) == ("a much longer text", "pending")


def test_every_model_and_generation_has_a_place_and_earlier_ones_are_former(tmp_path: Path) -> None:
    folders = VectorFolders(tmp_path)
    first = EmbeddingIdentity("http", "bge/M3", 8)
    second = replace(first, generation=1)
    others = [replace(first, provider="fastembed"), replace(first, model="bge-m3"), replace(first, dimensions=9)]
    every = [first, second, *others, EmbeddingIdentity("http", "/../…", 8)]
    assert len({folders.of(each) for each in every}) == len(every)
    assert {folders.of(each).parent for each in every} == {tmp_path}
    interrupted, later = replace(others[0], generation=1), replace(first, generation=2)
    for each in (first, second, interrupted, later):
        folders.of(each).mkdir()
    (tmp_path / "segments").mkdir()
    (tmp_path / "edge_config.json").touch()
    mine = tmp_path / f"not ours {uuid4()}"
    mine.mkdir()
    assert set(folders.former(first)) == {tmp_path / "segments", tmp_path / "edge_config.json"}
    folders.drop_former(second)
    assert set(tmp_path.iterdir()) == {folders.of(second), folders.of(later), mine}
    assert folders.former(second) == []


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
