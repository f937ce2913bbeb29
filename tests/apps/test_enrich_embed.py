"""enrich and embed: each entry once, whatever is redelivered; what fails for one does not stop the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import pytest

from contracts.ports import TextStore, Unavailable, VectorPoint
from contracts.v1.entries import Entry, EntryAccepted
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from tests.apps.fakes import FakeAnnotator, FakeEmbedder, FakeVectors
from tests.apps.settling import enriched, refs, settle
from tests.stores.builders import NOON, an_entry, store_entries
from tests.stores.changing import modify

LATER = NOON + timedelta(days=200)


@pytest.fixture
async def entry(store: TextStore) -> Entry:
    (entry,) = await store_entries(store, [an_entry("ann", "one")])
    return entry


def said_again(one: Entry) -> Entry:
    return one.model_copy(update={"last_said_at": LATER})


def in_use(one: Entry) -> Entry:
    return one.model_copy(update={"status": "active"})


def out_of_use(one: Entry) -> Entry:
    return one.model_copy(update={"status": "archived"})


class Meanwhile(FakeVectors):
    """Vectors, after each writing of which something happens."""

    def __init__(self, then: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._then = then

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        await super().upsert(points)
        await self._then()


async def test_an_entry_gets_names_tags_and_importance_once(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "lunch with Ben and Eve", tags=("given",))])
    annotator = FakeAnnotator()
    for _ in range(2):
        (told,) = await enrich_entries([EntryAccepted.of(refs([entry]), at=NOON)], store=store, annotator=annotator)
        assert [ref.id for ref in told.entries] == [entry.id]
    now = (await store.get([entry]))[entry.id]
    assert [entity.text for entity in now.entities] == ["Ben", "Eve"]
    assert now.tags == ("given", "ben", "eve", "lunch")
    assert now.metadata_confidence == pytest.approx((0.8 + 0.8 + 0.9 + 0.1) / 4)
    assert now.importance > entry.importance
    assert now.enriched
    assert len(annotator.asked) == 1


async def test_without_an_annotator_entries_are_passed_on_as_they_are(store: TextStore, entry: Entry) -> None:
    (told,) = await enrich_entries([EntryAccepted.of(refs([entry]), at=NOON)], store=store, annotator=None)
    assert told.entries == tuple(refs([entry]))
    assert (await store.get([entry]))[entry.id] == entry


async def test_an_entry_is_embedded_and_marked_once(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", "one"), an_entry("ann", "three")])
    vectors, embedder = FakeVectors(), FakeEmbedder()
    (told,) = await embed_entries([enriched(*entries)], store=store, vectors=vectors, embedder=embedder)
    (again,) = await embed_entries([enriched(*entries)], store=store, vectors=vectors, embedder=embedder)
    stored = await store.get(entries)
    assert {(entry.embedding_state, entry.embedding_model) for entry in stored.values()} == {("ready", "length")}
    assert set(vectors.points) == {entry.id for entry in entries}
    assert (len(told.entries), again.entries) == (2, ())
    assert sorted(embedder.asked) == ["one", "three"]


async def test_a_text_that_the_model_refuses_is_marked_and_the_others_are_embedded(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", text) for text in ("fine", "weird", "good")])
    vectors = FakeVectors()
    stored = await settle(store, entries, FakeEmbedder(refuses="weird"), vectors=vectors)
    states = [(entry.embedding_state, entry.embedding_error) for entry in stored]
    assert states == [("ready", None), ("error", "too strange"), ("ready", None)]
    assert len(vectors.points) == 2


async def test_while_the_model_is_away_nothing_is_marked(store: TextStore, entry: Entry) -> None:
    embedder = FakeEmbedder()
    embedder.fails = Unavailable("the model is away")
    with pytest.raises(Unavailable):
        await settle(store, [entry], embedder)
    assert (await store.counts()).unembedded == 1
    embedder.fails = None
    await settle(store, [entry], embedder)
    assert (await store.counts()).unembedded == 0


async def test_the_vector_of_an_entry_that_went_out_of_use_meanwhile_is_taken_back(
    store: TextStore, entry: Entry
) -> None:
    vectors = Meanwhile(lambda: modify(store, [entry], out_of_use))
    await settle(store, [entry], FakeEmbedder(), vectors=vectors)
    assert vectors.points == {}


async def test_an_entry_that_was_said_again_is_filtered_by_that_and_not_embedded_again(
    store: TextStore, entry: Entry
) -> None:
    vectors, embedder = FakeVectors(), FakeEmbedder()
    await settle(store, [entry], embedder, vectors=vectors)
    (again,) = await modify(store, [entry], said_again)
    event = enriched(entry, cause="said again")
    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    assert vectors.points[entry.id].entry == again
    assert embedder.asked == ["one"]


async def test_what_is_said_again_while_it_is_embedded_is_filtered_by_that(store: TextStore, entry: Entry) -> None:
    vectors = Meanwhile(lambda: modify(store, [entry], said_again))
    await settle(store, [entry], FakeEmbedder(), vectors=vectors)
    assert vectors.points[entry.id].entry.last_said_at == LATER


async def test_a_vector_that_an_edit_removed_after_it_was_made_is_made_again(store: TextStore, entry: Entry) -> None:
    vectors, embedder = FakeVectors(), FakeEmbedder()
    await settle(store, [entry], embedder, vectors=vectors)
    await vectors.remove([entry.id])
    (told,) = await embed_entries([enriched(entry)], store=store, vectors=vectors, embedder=embedder)
    assert set(vectors.points) == {entry.id}
    assert [ref.id for ref in told.entries] == [entry.id]
    assert (await store.get([entry]))[entry.id].embedding_state == "ready"


async def test_an_entry_that_is_restored_while_its_vector_is_removed_has_one(
    store: TextStore, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, embedder = FakeVectors(), FakeEmbedder()
    await settle(store, [entry], embedder, vectors=vectors)
    await modify(store, [entry], out_of_use)
    remove = vectors.remove

    async def removed_and_restored(ids: Sequence[str]) -> None:
        await remove(ids)
        await modify(store, [entry], in_use)

    monkeypatch.setattr(vectors, "remove", removed_and_restored)
    await settle(store, [entry], embedder, vectors=vectors)
    assert set(vectors.points) == {entry.id}
