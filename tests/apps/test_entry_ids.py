"""An entry is named by its id, or by a beginning that no other of its user has; and waited for, but not for long."""

from __future__ import annotations

import asyncio

import pytest

from contracts.ports import TextStore
from contracts.v1.commands import EntryReply, GetRequest
from services.curate.commands import get, once_embedded, whole_id
from services.shared.errors import Rejected
from tests.stores.builders import an_entry, store_entries
from tests.stores.changing import modify

IDS = [f"0badcafe-0000-5000-8000-{number:012d}" for number in range(8)]
ALONE = "deadbeef-0000-5000-8000-000000000000"


@pytest.fixture
async def filled(store: TextStore) -> TextStore:
    await store_entries(store, [an_entry("ann", f"statement number {id_}", id=id_) for id_ in [*IDS, ALONE]])
    await store_entries(store, [an_entry("eve", "a statement of eve", id="deadbeef-0000-5000-8000-999999999999")])
    return store


@pytest.mark.parametrize("beginning", [ALONE[:8], ALONE[:9], ALONE])
async def test_eight_characters_are_enough_where_no_other_begins_so(filled: TextStore, beginning: str) -> None:
    assert (await get(GetRequest(user_id="ann", id=beginning), store=filled)).entry.id == ALONE


async def test_several_that_begin_so_are_refused_and_named(filled: TextStore) -> None:
    with pytest.raises(Rejected, match="and more") as refusal:
        await whole_id("ann", IDS[0][:8], filled)
    assert refusal.value.info.code == "conflict"
    assert all(id_ in str(refusal.value) for id_ in IDS[:5])
    assert await whole_id("ann", IDS[3], filled) == IDS[3]


@pytest.mark.parametrize("id_", ["deadbeef-0000-5000-8000-9", IDS[0][:8]])
async def test_another_users_entry_is_neither_found_nor_named(filled: TextStore, id_: str) -> None:
    with pytest.raises(Rejected, match="there is no entry"):
        await get(GetRequest(user_id="bob", id=id_), store=filled)


@pytest.mark.parametrize("id_", ["", "deadbee"])
async def test_a_beginning_that_is_too_short_is_told_how_long_it_must_be(filled: TextStore, id_: str) -> None:
    with pytest.raises(Rejected, match=r"there is no entry '.*': give at least the first 8 characters of its id"):
        await get(GetRequest(user_id="ann", id=id_), store=filled)


@pytest.mark.parametrize("id_", ["", "deadbee", "deadbeef%", "DEADBEEF", "statement"])
async def test_what_is_no_beginning_is_taken_as_it_is(filled: TextStore, id_: str) -> None:
    assert await whole_id("ann", id_, filled) == id_


@pytest.mark.parametrize("change", [{"embedding_state": "ready"}, {"status": "archived"}])
async def test_an_answer_waits_a_moment_until_its_entry_is_found_by_its_meaning_or_out_of_use(
    store: TextStore, change: dict[str, str]
) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "I prefer uv over pip")])
    reply = EntryReply(entry=entry)
    assert await once_embedded(reply, store=store, within=0.02) == reply
    waiting = asyncio.create_task(once_embedded(reply, store=store, within=30))
    await asyncio.sleep(0)
    (changed,) = await modify(store, [entry], lambda one: one.model_copy(update=change))
    assert (await waiting).entry == changed
