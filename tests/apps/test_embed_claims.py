"""What entries state is written with the mark that they are embedded, and goes with their text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import TextStore, Vector
from contracts.v1.claims import Reading
from contracts.v1.entries import Entry, EntryEnriched, EntryRef
from services.embed.handler import embed_entries
from services.shared.commands.transfer import read_archive, write_archive
from services.shared.context.rollups import without
from services.shared.lifecycle.editing import Edit, edited
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.vectors.reindexer import Reindexer
from tests.apps.fakes import FakeEmbedder, FakeReader, FakeVectors, home
from tests.stores.builders import NOON, an_entry, store_entries
from tests.stores.changing import modify

NOW = datetime(2026, 2, 1, tzinfo=UTC)
GHENT = "I live in Ghent."


async def embedded(
    store: TextStore, entries: Sequence[Entry], embedder: FakeEmbedder, vectors: FakeVectors | None = None
) -> list[Entry]:
    event = EntryEnriched.of([EntryRef(user_id=entry.user_id, id=entry.id) for entry in entries], at=NOW)
    await embed_entries([event], store=store, vectors=vectors or FakeVectors(), embedder=embedder)
    found = await store.get(entries)
    return [found[entry.id] for entry in entries]


async def test_claims_are_written_in_the_write_that_marks_ready(store: TextStore) -> None:
    (stored,) = await store_entries(store, [an_entry("ann", GHENT)])
    (entry,) = await embedded(store, [stored], FakeReader())
    assert entry.claims == (home(GHENT),)
    assert entry.read_by == "reader-1"
    assert entry.embedding_state == "ready"
    assert entry.version == stored.version + 1
    assert entry.updated_at == stored.updated_at


STATES_NOTHING: dict[str, dict[str, Any]] = {
    "an assistant": {"role": "assistant"},
    "a tool": {"role": "tool"},
    "a fact that a model drew": {"source": "model"},
    "a roll-up": {"source": "rollup"},
    "a role play": {"frame": "fiction"},
}


@pytest.mark.parametrize("fields", STATES_NOTHING.values(), ids=STATES_NOTHING.keys())
async def test_of_what_states_nothing_there_are_no_claims(store: TextStore, fields: dict[str, Any]) -> None:
    (entry,) = await embedded(store, await store_entries(store, [an_entry("ann", GHENT, **fields)]), FakeReader())
    assert (entry.claims, entry.read_by, entry.embedding_state) == ((), "reader-1", "ready")


async def test_a_model_that_reads_nothing_writes_no_claims(store: TextStore) -> None:
    (entry,) = await embedded(store, await store_entries(store, [an_entry("ann", GHENT)]), FakeEmbedder())
    assert (entry.claims, entry.read_by, entry.embedding_state) == ((), None, "ready")


async def test_a_delivery_that_comes_twice_is_read_once(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", GHENT)])
    reader, vectors = FakeReader(), FakeVectors()
    first = await embedded(store, entries, reader, vectors)
    assert await embedded(store, entries, reader, vectors) == first
    assert reader.has_read == [GHENT]


async def test_another_text_of_the_entry_is_read_anew(store: TextStore) -> None:
    (entry,) = await embedded(store, await store_entries(store, [an_entry("ann", GHENT)]), FakeReader())
    moved = "I live in Bruges now, by the sea."
    await modify(store, [entry], lambda one: edited(one, Edit(text=moved, by="ann"), NOW))
    (between,) = (await store.get([entry])).values()
    assert (between.claims, between.read_by) == ((), None)
    (after,) = await embedded(store, [entry], FakeReader())
    assert after.claims == (home(moved),)


async def test_a_text_that_changes_while_it_is_read_gets_no_claims_of_the_former(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", GHENT)])

    class Late(FakeReader):
        async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
            found = await super().embed_and_read(texts)
            await modify(store, [entry], lambda one: edited(one, Edit(text="I am off to Rome.", by="ann"), NOW))
            return found

    (after,) = await embedded(store, [entry], Late())
    assert (after.claims, after.read_by, after.embedding_state) == ((), None, "pending")


async def test_tags_that_change_leave_the_claims(store: TextStore) -> None:
    (entry,) = await embedded(store, await store_entries(store, [an_entry("ann", GHENT)]), FakeReader())
    changed = edited(entry, Edit(tags=("home",)), NOW)
    assert changed is not None
    assert changed.claims == entry.claims


async def test_what_is_forgotten_claims_nothing(store: TextStore) -> None:
    (entry,) = await embedded(store, await store_entries(store, [an_entry("ann", GHENT)]), FakeReader())
    await store.forget([entry], until=None)
    (gone,) = (await store.get([entry])).values()
    assert (gone.status, gone.claims) == ("forgotten", ())


def test_a_roll_up_without_a_source_is_to_be_read_anew() -> None:
    first, second = an_entry("ann", GHENT), an_entry("ann", "I like tea.")
    rolled = an_entry(
        "ann",
        f"{GHENT}\nI like tea.",
        source="rollup",
        source_ids=(first.id, second.id),
        line_sources=((first.id,), (second.id,)),
        claims=(home(GHENT),),
        read_by="reader-1",
    )
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
    entries = await store_entries(store, [*said, told])
    vectors, reader = FakeVectors(), FakeReader()
    await embedded(store, entries, FakeEmbedder(), vectors)
    await Reindexer(store, vectors, reader).settle()
    assert await read_by(store) == {
        **{one.text: ("reader-1", 1) for one in said},
        told.text: ("reader-1", 0),
    }
    assert told.text not in reader.has_read
    versions = {entry.id: entry.version for entry in await store.scan(after="", limit=9)}
    await Reindexer(store, vectors, reader).settle()
    assert {entry.id: entry.version for entry in await store.scan(after="", limit=9)} == versions
    assert len(reader.has_read) == 3


async def test_going_back_to_a_model_that_reads_nothing_keeps_what_was_read_and_only_new_texts_are_read_then(
    store: TextStore,
) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", GHENT)])
    vectors, reader = FakeVectors(), FakeReader()
    await embedded(store, [entry], reader, vectors)
    await Reindexer(store, vectors, FakeEmbedder()).settle()
    new = await store_entries(store, [an_entry("ann", "I live in Rome.")])
    await embedded(store, new, FakeEmbedder(), vectors)
    assert await read_by(store) == {GHENT: ("reader-1", 1), "I live in Rome.": (None, 0)}
    await Reindexer(store, vectors, reader).settle()
    assert await read_by(store) == {GHENT: ("reader-1", 1), "I live in Rome.": ("reader-1", 1)}
    assert reader.has_read == [GHENT, "I live in Rome."]


async def test_what_another_reader_read_is_read_anew(store: TextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", GHENT)])
    vectors = FakeVectors()
    await embedded(store, entries, FakeReader("reader-1"), vectors)
    await Reindexer(store, vectors, FakeReader("reader-2")).settle()
    assert await read_by(store) == {GHENT: ("reader-2", 1)}


async def test_an_export_has_no_claims_and_an_import_makes_them_anew(store: TextStore, tmp_path: Path) -> None:
    await embedded(store, await store_entries(store, [an_entry("ann", GHENT)]), FakeReader())
    file = tmp_path / "export.jsonl"
    with file.open("w+b") as opened:
        await write_archive(store, opened, str(file), None)
    assert b"reader-1" not in file.read_bytes()
    assert b'"claims"' not in file.read_bytes()
    target = await SqliteTextStore.open(tmp_path / "target.sqlite3", synchronous="normal")
    try:
        await read_archive(target, file)
        (moved,) = await target.scan(after="", limit=9)
        assert (moved.claims, moved.read_by, moved.embedding_state) == ((), None, "pending")
        (entry,) = await embedded(target, [moved], FakeReader("reader-2"))
        assert (entry.claims, entry.read_by) == ((home(GHENT),), "reader-2")
    finally:
        await target.close()


async def test_an_import_believes_no_claims_of_a_file(store: TextStore, tmp_path: Path) -> None:
    await store_entries(store, [an_entry("ann", GHENT, created_at=NOON)])
    file = tmp_path / "export.jsonl"
    with file.open("w+b") as opened:
        await write_archive(store, opened, str(file), None)
    forged = home(GHENT).model_dump_json().encode()
    text = b'"text":"' + GHENT.encode() + b'"'
    assert text in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(text, text + b',"read_by":"somebody","claims":[' + forged + b"]"))
    target = await SqliteTextStore.open(tmp_path / "target.sqlite3", synchronous="normal")
    try:
        await read_archive(target, file)
        (moved,) = await target.scan(after="", limit=9)
        assert (moved.claims, moved.read_by) == ((), None)
    finally:
        await target.close()
