"""What was forgotten, erased or refused is in no byte of the embedded store's files, while the store stays open."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.ports import Accepted, Filters, Refused, Scope, Selection, Unavailable
from contracts.v1.entries import NeighbourTag
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import (
    a_proposal,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    log_texts,
    store_entries,
    suppressed,
    tomorrow,
    yesterday,
)
from tests.stores.changing import modify
from tests.stores.sqlite_secrets import QUOTED, fill, found, full_entry, left_of, spread_and_forget, store_a_told, told


@pytest.fixture
def store(sqlite_store: SqliteTextStore) -> SqliteTextStore:
    return sqlite_store


@pytest.mark.parametrize("marker", ["zanzibarium", QUOTED])
async def test_what_was_forgotten_is_in_no_byte(store: SqliteTextStore, path: Path, user: str, marker: str) -> None:
    kept = await fill(store, "keptword")
    entry = await store_a_told(store, user, marker)
    (archived,) = await store_entries(store, [full_entry(told(user, marker), marker)])
    await modify(store, [archived], lambda e: e.model_copy(update={"status": "archived"}))
    assert found(path, marker)
    await store.forget([entry, archived], until=tomorrow())
    assert found(path, marker)  # what nobody sees any more is still in the bytes
    assert await store.compact()
    assert found(path, marker) == 0
    assert found(path, "keptword7x")
    assert list(await store.get(kept)) == [entry.id for entry in kept]
    assert (await store.get([entry]))[entry.id].status == "forgotten"
    assert await suppressed(store, [entry]) == {entry.id}


async def test_what_was_refused_is_in_no_byte(store: SqliteTextStore, path: Path, user: str) -> None:
    await fill(store, "keptword")
    proposal = told(user, QUOTED)
    fact = a_proposal(a_turn(user, "a turn that is kept"), ordinal=1, text=f"fact of {QUOTED}")
    await store.append([proposal.turn, fact.turn], [proposal, a_proposal(fact.turn), fact])
    assert found(path, QUOTED)
    await store.apply([Refused(proposal, "forgotten"), Refused(fact, "forgotten")])
    assert await store.compact()
    assert found(path, QUOTED) == 0
    assert found(path, "a turn that is kept")


async def test_a_statement_that_was_not_accepted_leaves_no_name(store: SqliteTextStore, path: Path, user: str) -> None:
    (said,) = await store_entries(store, [an_entry(user, "the same", statement_hash="h")])
    await store.forget([said], until=tomorrow())
    proposal = told(user, "zanzibarium")
    await store.append([proposal.turn], [proposal])
    judged = entry_of(proposal, statement_hash="h", minhash_bands=("b",))
    assert await store.apply([Accepted(judged, known_similar=frozenset())]) == []
    await store.apply([Refused(proposal, "forgotten")])
    assert await store.compact()
    assert found(path, "zanzibarium") == 0


async def test_who_was_erased_is_in_no_byte(store: SqliteTextStore, path: Path) -> None:
    await fill(store, "keptword")
    user = a_user()
    await store_a_told(store, user, QUOTED)
    await log_texts(store, user, "undecided secret")
    assert found(path, user)
    assert found(path, QUOTED)
    await store.erase(user)
    assert await store.compact()
    assert (found(path, user), found(path, QUOTED), found(path, "undecided secret")) == (0, 0, 0)
    assert found(path, "keptword7x")


async def test_many_small_secrets_among_what_stays_are_gone(store: SqliteTextStore, path: Path) -> None:
    entries = await fill(store, "secretword", 400)
    await spread_and_forget(store, entries)
    assert left_of(path, entries) == list(range(400))
    assert await store.compact()
    assert left_of(path, entries) == list(range(0, 400, 3))


async def test_a_speaker_of_what_is_still_remembered_stays(store: SqliteTextStore, path: Path, user: str) -> None:
    entries = [an_entry(user, f"text {i}", speaker="Zenobia", statement_hash=f"h{i}") for i in range(2)]
    await store_entries(store, entries)
    await store.forget(entries[:1], until=None)
    assert await store.compact()
    assert found(path, "Zenobia")
    assert (await store.get(entries[1:]))[entries[1].id] == entries[1]
    await store.forget(entries[1:], until=None)
    assert await store.compact()
    assert found(path, "Zenobia") == 0


async def test_a_store_goes_on_after_sweeping(store: SqliteTextStore, path: Path, user: str) -> None:
    for round_ in range(3):
        entry = await store_a_told(store, user, f"secret{round_}secret")
        hits = await store.search(Scope(user), f"secret{round_}secret", limit=5, filters=Filters())
        assert [hit.id for hit in hits] == [entry.id]
        await store.forget([entry], until=tomorrow())
        assert await store.compact()
        assert found(path, f"secret{round_}secret") == 0
    counted = await store.counts(user)
    assert (counted.turns, counted.entries, counted.inactive, counted.merged) == (6, 0, 3, 3)
    assert (await store.page(Selection(user, status="forgotten"), limit=9, cursor=None)).total == 3


async def test_nothing_is_written_anew_when_nothing_was_forgotten(store: SqliteTextStore, path: Path) -> None:
    await fill(store, "keptword")
    log = path.with_name(f"{path.name}-wal")
    before = log.stat().st_size
    assert await store.compact()
    assert log.stat().st_size == before > 0


async def test_what_could_not_be_swept_before_a_restart_is_swept_after_it(path: Path, user: str) -> None:
    """The file is copied with its log as a killed process leaves them."""
    store = await SqliteTextStore.open(path, synchronous="normal")
    entry = await store_a_told(store, user, "zanzibarium")
    await store.forget([entry], until=None)
    left = path.parent / "left"
    left.mkdir()
    for file in path.parent.glob("memory.sqlite3*"):
        (left / file.name).write_bytes(file.read_bytes())
    await store.close()
    assert found(left / path.name, "zanzibarium")
    again = await SqliteTextStore.open(left / path.name)
    try:
        assert await again.compact()
        assert found(left / path.name, "zanzibarium") == 0
    finally:
        await again.close()


async def test_a_closed_store_has_swept(store: SqliteTextStore, path: Path, user: str) -> None:
    entry = await store_a_told(store, user, "zanzibarium")
    await store.forget([entry], until=None)
    await store.close()
    assert found(path, "zanzibarium") == 0
    with pytest.raises(Unavailable, match="closed"):
        await store.compact()


async def test_hashes_whose_time_is_over_are_dropped(store: SqliteTextStore, path: Path, user: str) -> None:
    entries = [an_entry(user, statement_hash=f"{marker}hash") for marker in ("zanzibarium", "quillonate")]
    await store_entries(store, entries)
    await store.forget(entries[:1], until=yesterday())
    await store.forget(entries[1:], until=tomorrow())
    assert (await store.count_remaining(user))["digests"] == 2
    assert await store.compact()
    assert (await store.count_remaining(user))["digests"] == 1
    assert found(path, "zanzibariumhash") == 0
    assert found(path, "quillonatehash")


async def test_a_tag_that_is_not_proposed_any_more_is_in_no_byte(store: SqliteTextStore, path: Path, user: str) -> None:
    tag = NeighbourTag(tag="zanzibarium", confidence=0.5, source_ids=("a", "b"))
    (entry,) = await store_entries(store, [an_entry(user, neighbour_tags=(tag,))])
    assert await store.compact()
    await modify(store, [entry], lambda e: e.model_copy(update={"neighbour_tags": ()}))
    assert await store.compact()
    assert found(path, "zanzibarium") == 0
