"""enrich and embed: each entry once, whatever is redelivered, with what its text states and its neighbours' tags."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from contracts.ports import Change, SemanticHit, TextStore, Unavailable, Vector, VectorPoint
from contracts.v1.claims import Reading
from contracts.v1.commands import ForgetRequest
from contracts.v1.edits import BulkRequest
from contracts.v1.entries import Entry, EntryAccepted
from services.curate import privacy, retention
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from services.shared.commands.transfer import read_archive, write_archive
from services.shared.context.rollups import without
from services.shared.lifecycle.editing import Edit, edited
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.vectors.reindexer import Reindexer
from tests.apps.fakes import FakeAnnotator, FakeEmbedder, FakeReader, FakeVectors, Instead, home
from tests.apps.settling import enriched, refs, settle
from tests.apps.test_edits import Desk
from tests.apps.test_forgetting import places
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


NOW = datetime(2026, 2, 1, tzinfo=UTC)
GHENT = "I live in Ghent."


@pytest.fixture
async def ghent(store: TextStore) -> Entry:
    (entry,) = await store_entries(store, [an_entry("ann", GHENT)])
    return entry


async def test_claims_are_written_once_in_the_write_that_marks_ready(store: TextStore, ghent: Entry) -> None:
    reader, vectors = FakeReader(), FakeVectors()
    (entry,) = await settle(store, [ghent], reader, vectors=vectors)
    assert (entry.claims, entry.read_by, entry.embedding_state) == ((home(GHENT),), "reader-1", "ready")
    assert (entry.version, entry.updated_at) == (ghent.version + 1, ghent.updated_at)
    assert await settle(store, [ghent], reader, vectors=vectors) == [entry]
    assert reader.has_read == [GHENT]


STATES_NOTHING: dict[str, dict[str, Any]] = {
    "an assistant": {"role": "assistant"},
    "a tool": {"role": "tool"},
    "a fact that a model drew": {"source": "model"},
    "a roll-up": {"source": "rollup"},
    "a role play": {"frame": "fiction"},
}


@pytest.mark.parametrize("fields", STATES_NOTHING.values(), ids=STATES_NOTHING.keys())
async def test_of_what_states_nothing_there_are_no_claims(store: TextStore, fields: dict[str, Any]) -> None:
    (entry,) = await settle(store, await store_entries(store, [an_entry("ann", GHENT, **fields)]), FakeReader())
    assert (entry.claims, entry.read_by, entry.embedding_state) == ((), "reader-1", "ready")


async def test_another_text_of_the_entry_is_read_anew_and_other_tags_leave_its_claims(
    store: TextStore, ghent: Entry
) -> None:
    (entry,) = await settle(store, [ghent], FakeReader())
    tagged = edited(entry, Edit(tags=("home",)), NOW)
    assert tagged is not None
    assert tagged.claims == entry.claims
    moved = "I live in Bruges now, by the sea."
    (between,) = await modify(store, [entry], lambda one: edited(one, Edit(text=moved, by="ann"), NOW))
    assert (between.claims, between.read_by) == ((), None)
    (after,) = await settle(store, [entry], FakeReader())
    assert after.claims == (home(moved),)


async def test_a_text_that_changes_while_it_is_read_gets_no_claims_of_the_former(
    store: TextStore, ghent: Entry
) -> None:
    class Late(FakeReader):
        async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
            found = await super().embed_and_read(texts)
            await modify(store, [ghent], lambda one: edited(one, Edit(text="I am off to Rome.", by="ann"), NOW))
            return found

    (after,) = await settle(store, [ghent], Late())
    assert (after.claims, after.read_by, after.embedding_state) == ((), None, "pending")


async def test_what_is_forgotten_claims_nothing(store: TextStore, ghent: Entry) -> None:
    (entry,) = await settle(store, [ghent], FakeReader())
    await store.forget([entry], until=None)
    (gone,) = (await store.get([entry])).values()
    assert (gone.status, gone.claims) == ("forgotten", ())


def test_a_roll_up_without_a_source_is_to_be_read_anew() -> None:
    first, second = an_entry("ann", GHENT), an_entry("ann", "I like tea.")
    lines = {"source_ids": (first.id, second.id), "line_sources": ((first.id,), (second.id,))}
    read = {"claims": (home(GHENT),), "read_by": "reader-1"}
    rolled = an_entry("ann", f"{GHENT}\nI like tea.", source="rollup", **lines, **read)
    left = without(rolled, {first.id}, [second], NOW)
    assert left is not None
    assert (left.text, left.claims, left.read_by) == ("I like tea.", (), None)


async def read_by(store: TextStore) -> dict[str, tuple[str | None, int]]:
    return {entry.text: (entry.read_by, len(entry.claims)) for entry in await store.scan(after="", limit=100)}


async def test_settling_with_a_reader_reads_all_that_was_embedded_by_a_model_that_reads_nothing(
    store: TextStore,
) -> None:
    said = [an_entry("ann", f"I live in Ghent, place {n}.") for n in range(3)]
    told = an_entry("ann", "You live in Ghent.", role="assistant")
    vectors, reader = FakeVectors(), FakeReader()
    entries = await settle(store, await store_entries(store, [*said, told]), FakeEmbedder(), vectors=vectors)
    assert {(one.claims, one.read_by, one.embedding_state) for one in entries} == {((), None, "ready")}
    await Reindexer(store, vectors, reader).settle()
    assert await read_by(store) == {told.text: ("reader-1", 0), **{one.text: ("reader-1", 1) for one in said}}
    settled = await store.scan(after="", limit=9)
    await Reindexer(store, vectors, reader).settle()
    assert await store.scan(after="", limit=9) == settled
    assert sorted(reader.has_read) == [one.text for one in said]


async def test_going_back_to_a_model_that_reads_nothing_keeps_what_was_read_and_only_new_texts_are_read_then(
    store: TextStore, ghent: Entry
) -> None:
    vectors, reader, rome = FakeVectors(), FakeReader(), "I live in Rome."
    await settle(store, [ghent], reader, vectors=vectors)
    await Reindexer(store, vectors, FakeEmbedder()).settle()
    await settle(store, await store_entries(store, [an_entry("ann", rome)]), FakeEmbedder(), vectors=vectors)
    assert await read_by(store) == {GHENT: ("reader-1", 1), rome: (None, 0)}
    await Reindexer(store, vectors, reader).settle()
    assert await read_by(store) == {GHENT: ("reader-1", 1), rome: ("reader-1", 1)}
    assert reader.has_read == [GHENT, rome]
    await Reindexer(store, vectors, FakeReader("reader-2")).settle()
    assert await read_by(store) == {GHENT: ("reader-2", 1), rome: ("reader-2", 1)}


@pytest.mark.parametrize("forged", [False, True])
async def test_an_export_has_no_claims_and_an_import_believes_none_and_makes_them_anew(
    store: TextStore, ghent: Entry, tmp_path: Path, forged: bool
) -> None:
    await settle(store, [ghent], FakeReader())
    file = tmp_path / "export.jsonl"
    with file.open("w+b") as opened:
        await write_archive(store, opened, str(file), None)
    written = file.read_text()
    assert "reader-1" not in written
    assert '"claims"' not in written
    if forged:
        text = f'"text":"{GHENT}"'
        assert text in written
        claimed = f'{text},"read_by":"somebody","claims":[{home(GHENT).model_dump_json()}]'
        file.write_text(written.replace(text, claimed))
    target = await SqliteTextStore.open(tmp_path / "target.sqlite3", synchronous="normal")
    try:
        await read_archive(target, file)
        (moved,) = await target.scan(after="", limit=9)
        assert (moved.claims, moved.read_by, moved.embedding_state) == ((), None, "pending")
        (entry,) = await settle(target, [moved], FakeReader("reader-2"))
        assert (entry.claims, entry.read_by) == ((home(GHENT),), "reader-2")
    finally:
        await target.close()


HOUR = timedelta(hours=1)


async def embed(entries: Sequence[Entry], store: TextStore, vectors: FakeVectors) -> list[Entry]:
    return await settle(store, entries, FakeEmbedder(), vectors=vectors, proposes_tags=True)


async def three_runs(store: TextStore, vectors: FakeVectors) -> tuple[Entry, Entry]:
    """The first of two entries with a tag, and a later one without; texts of one length have one vector."""
    older = [an_entry("ann", text, tags=("sport",)) for text in ("jogged far", "ran uphill")]
    new = an_entry("ann", "sprinted a", created_at=NOON + HOUR)
    known, other, last = await embed(await store_entries(store, [*older, new]), store, vectors)
    (tag,) = last.neighbour_tags
    assert (tag.tag, set(tag.source_ids)) == ("sport", {known.id, other.id})
    assert (last.tags, known.neighbour_tags, other.neighbour_tags) == ((), (), ())
    return known, last


async def proposed(store: TextStore, entry: Entry) -> tuple[str, ...]:
    return tuple(one.tag for one in (await store.get([entry]))[entry.id].neighbour_tags)


@pytest.mark.parametrize("fields", [{"user_id": "eve"}, {"space": "work"}, {"persona_id": "guide"}])
async def test_neighbours_elsewhere_propose_nothing(store: TextStore, fields: dict[str, str]) -> None:
    vectors = FakeVectors()
    others = [an_entry("ann", text, tags=("sport",)) for text in ("jogged far", "ran uphill")]
    others = await store_entries(store, [one.model_copy(update=fields) for one in others])
    (new,) = await store_entries(store, [an_entry("ann", "sprinted a", created_at=NOON + HOUR)])
    *_, new = await embed([*others, new], store, vectors)
    assert new.neighbour_tags == ()


async def test_where_it_is_switched_off_nothing_is_proposed_or_asked(store: TextStore) -> None:
    class Deaf(FakeVectors):
        async def search(self, *args: Any, **named: Any) -> list[SemanticHit]:
            raise AssertionError("nobody wants to know")

    stored = await store_entries(store, [an_entry("ann", "jogged far")])
    (entry,) = await settle(store, stored, FakeEmbedder(), vectors=Deaf())
    assert entry.embedding_state == "ready"


async def test_forgetting_a_source_takes_the_tag_back(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    known, new = await three_runs(store, vectors)
    await privacy.forget(ForgetRequest(user_id="ann", id=known.id), stores=everywhere, refuse_for=HOUR)
    assert await proposed(store, new) == ()
    assert vectors.points[new.id].entry.neighbour_tags == ()


async def test_what_expires_takes_its_tags_along(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    known, new = await three_runs(store, vectors)
    await modify(store, [new], lambda one: one.model_copy(update={"pinned": True}))
    await retention.expire(stores=everywhere, max_age=HOUR)
    assert (await store.get([known]))[known.id].status == "forgotten"
    assert await proposed(store, new) == ()


@pytest.mark.parametrize(
    "change", [{"text": "bake bread"}, {"tags": ("cake",)}, {"text": "bake bread", "redact": True}]
)
async def test_a_source_that_says_something_else_takes_its_tags_back(
    store: TextStore, change: dict[str, object]
) -> None:
    desk = Desk(store)
    known, new = await three_runs(store, desk.vectors)
    await desk.update(known, **change)
    assert await proposed(store, new) == ()


async def test_what_the_user_takes_away_does_not_come_back(store: TextStore) -> None:
    desk = Desk(store)
    _, new = await three_runs(store, desk.vectors)
    await desk.editor.bulk(BulkRequest(user_id="ann", ids=(new.id,), action="untag", tags=("sport",)))
    await desk.update(new, text="sprinted b")
    (again,) = await embed([new], store, desk.vectors)
    assert (again.embedding_state, again.neighbour_tags) == ("ready", ())


async def test_a_source_that_is_forgotten_while_its_tag_is_proposed_leaves_none(store: TextStore) -> None:
    vectors = FakeVectors()
    known, _ = await three_runs(store, vectors)

    async def forgotten_before(changes: Sequence[Change]) -> set[str]:
        await privacy.forget(ForgetRequest(user_id="ann", id=known.id), stores=places(store)[0], refuse_for=HOUR)
        return await store.replace(changes)

    (late,) = await store_entries(store, [an_entry("ann", "sprinted c", created_at=NOON + 2 * HOUR)])
    (late,) = await embed([late], cast(TextStore, Instead(store, replace=forgotten_before)), vectors)
    assert (late.embedding_state, late.neighbour_tags) == ("ready", ())
