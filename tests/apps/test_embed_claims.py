"""What entries state is written with the mark that they are embedded, and goes with their text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import TextStore, Vector
from contracts.v1.claims import Reading
from contracts.v1.entries import Entry
from services.shared.commands.transfer import read_archive, write_archive
from services.shared.context.rollups import without
from services.shared.lifecycle.editing import Edit, edited
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.vectors.reindexer import Reindexer
from tests.apps.fakes import FakeEmbedder, FakeReader, FakeVectors, home
from tests.apps.settling import settle
from tests.stores.builders import an_entry, store_entries
from tests.stores.changing import modify

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
