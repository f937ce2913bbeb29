"""enrich and embed: each entry once, whatever is redelivered; what fails for one does not stop the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import TextStore, Unavailable, VectorPoint
from contracts.v1.entries import Entry, EntryAccepted, EntryEnriched, EntryRef
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from tests.apps.fakes import FakeAnnotator, FakeEmbedder, FakeVectors
from tests.stores.builders import an_entry, store_entries
from tests.stores.changing import modify

NOW = datetime(2026, 2, 1, tzinfo=UTC)


def refs(entries: list[Entry]) -> list[EntryRef]:
    return [EntryRef(user_id=entry.user_id, id=entry.id) for entry in entries]


async def test_an_entry_gets_names_tags_and_importance_once(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", "lunch with Ben and Eve", tags=("given",))])
    event, annotator = EntryAccepted.of(refs(entries), at=NOW), FakeAnnotator()

    for _ in range(2):
        (told,) = await enrich_entries([event], store=store, annotator=annotator)
        assert [ref.id for ref in told.entries] == [entries[0].id]

    entry = (await store.get([entries[0]]))[entries[0].id]
    assert [entity.text for entity in entry.entities] == ["Ben", "Eve"]
    assert entry.tags == ("given", "ben", "eve", "lunch")
    assert entry.metadata_confidence == pytest.approx((0.8 + 0.8 + 0.9 + 0.1) / 4)
    assert entry.importance > entries[0].importance
    assert entry.enriched
    assert len(annotator.asked) == 1


async def test_without_an_annotator_entries_are_passed_on_as_they_are(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", "lunch with Ben")])
    (told,) = await enrich_entries([EntryAccepted.of(refs(entries), at=NOW)], store=store, annotator=None)
    assert told.entries == tuple(refs(entries))
    assert (await store.get([entries[0]]))[entries[0].id] == entries[0]


async def test_an_entry_is_embedded_and_marked_once(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", "one"), an_entry("ann", "three")])
    event, vectors, embedder = EntryEnriched.of(refs(entries), at=NOW), FakeVectors(), FakeEmbedder()

    (told,) = await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    (again,) = await embed_entries([event], store=store, vectors=vectors, embedder=embedder)

    stored = await store.get(entries)
    assert {entry.embedding_state for entry in stored.values()} == {"ready"}
    assert {entry.embedding_model for entry in stored.values()} == {"length"}
    assert set(vectors.points) == {entry.id for entry in entries}
    assert len(told.entries) == 2
    assert again.entries == ()
    assert sorted(embedder.asked) == ["one", "three"]


async def test_a_text_that_the_model_refuses_is_marked_and_the_others_are_embedded(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", text) for text in ("fine", "weird", "good")])
    vectors, embedder = FakeVectors(), FakeEmbedder(refuses="weird")
    event = EntryEnriched.of(refs(entries), at=NOW)

    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)

    stored = await store.get(entries)
    states = {entry.text: (entry.embedding_state, entry.embedding_error) for entry in stored.values()}
    assert states == {"fine": ("ready", None), "good": ("ready", None), "weird": ("error", "too strange")}
    assert len(vectors.points) == 2


async def test_while_the_model_is_away_nothing_is_marked(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", "one")])
    vectors, embedder = FakeVectors(), FakeEmbedder()
    embedder.fails = Unavailable("the model is away")
    event = EntryEnriched.of(refs(entries), at=NOW)

    with pytest.raises(Unavailable):
        await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    assert (await store.counts()).unembedded == 1

    embedder.fails = None
    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    assert (await store.counts()).unembedded == 0


async def test_the_vector_of_an_entry_that_went_out_of_use_meanwhile_is_taken_back(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "one")])

    class Forgetting(FakeVectors):
        async def upsert(self, points: object) -> None:
            await super().upsert(points)  # type: ignore[arg-type]
            await modify(store, [entry], lambda e: e.model_copy(update={"status": "archived"}))

    vectors = Forgetting()
    event = EntryEnriched.of(refs([entry]), at=NOW)
    await embed_entries([event], store=store, vectors=vectors, embedder=FakeEmbedder())
    assert vectors.points == {}


async def test_an_entry_that_was_said_again_is_filtered_by_that_and_not_embedded_again(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "one")])
    vectors, embedder = FakeVectors(), FakeEmbedder()
    await embed_entries([EntryEnriched.of(refs([entry]), at=NOW)], store=store, vectors=vectors, embedder=embedder)
    later = entry.created_at + timedelta(days=200)
    (again,) = await modify(store, [entry], lambda e: e.model_copy(update={"last_said_at": later}))

    event = EntryEnriched.of(refs([entry]), at=NOW, cause="said again")
    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)

    assert vectors.points[entry.id].entry == again
    assert embedder.asked == ["one"]


async def test_what_is_said_again_while_it_is_embedded_is_filtered_by_that(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "one")])
    later = entry.created_at + timedelta(days=200)

    class SaidAgain(FakeVectors):
        async def upsert(self, points: Sequence[VectorPoint]) -> None:
            await super().upsert(points)
            await modify(store, [entry], lambda e: e.model_copy(update={"last_said_at": later}))

    vectors = SaidAgain()
    event = EntryEnriched.of(refs([entry]), at=NOW)
    await embed_entries([event], store=store, vectors=vectors, embedder=FakeEmbedder())
    assert vectors.points[entry.id].entry.last_said_at == later


async def test_a_vector_that_an_edit_removed_after_it_was_made_is_made_again(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "one")])
    vectors, embedder = FakeVectors(), FakeEmbedder()
    event = EntryEnriched.of(refs([entry]), at=NOW)
    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    await vectors.remove([entry.id])

    (told,) = await embed_entries([event], store=store, vectors=vectors, embedder=embedder)

    assert set(vectors.points) == {entry.id}
    assert [ref.id for ref in told.entries] == [entry.id]
    assert (await store.get([entry]))[entry.id].embedding_state == "ready"


async def test_an_entry_that_is_restored_while_its_vector_is_removed_has_one(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "one")])
    vectors, embedder = FakeVectors(), FakeEmbedder()
    event = EntryEnriched.of(refs([entry]), at=NOW)
    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    await modify(store, [entry], lambda e: e.model_copy(update={"status": "archived"}))
    remove = vectors.remove

    async def removed_and_restored(ids: Sequence[str]) -> None:
        await remove(ids)
        await modify(store, [entry], lambda e: e.model_copy(update={"status": "active"}))

    vectors.remove = removed_and_restored  # type: ignore[method-assign]
    await embed_entries([event], store=store, vectors=vectors, embedder=embedder)
    assert set(vectors.points) == {entry.id}
