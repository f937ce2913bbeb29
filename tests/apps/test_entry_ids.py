"""An entry is named by its id, or by a beginning of it that no other of the same user's entries has."""

from __future__ import annotations

import pytest

from contracts.ports import TextStore
from contracts.v1.commands import GetRequest
from services.curate.commands import get, whole_id
from services.shared.errors import Rejected
from tests.stores.builders import an_entry, store_entries

IDS = [f"0badcafe-0000-5000-8000-{number:012d}" for number in range(8)]
ALONE = "deadbeef-0000-5000-8000-000000000000"


@pytest.fixture
async def filled(store: TextStore) -> TextStore:
    await store_entries(store, [an_entry("ann", f"statement number {id_}", id=id_) for id_ in [*IDS, ALONE]])
    await store_entries(store, [an_entry("eve", "a statement of eve", id="deadbeef-0000-5000-8000-999999999999")])
    return store


async def test_eight_characters_are_enough_where_no_other_begins_so(filled: TextStore) -> None:
    for beginning in (ALONE[:8], ALONE[:9], ALONE[:20], ALONE):
        assert (await get(GetRequest(user_id="ann", id=beginning), store=filled)).entry.id == ALONE


async def test_several_that_begin_so_are_refused_and_named(filled: TextStore) -> None:
    with pytest.raises(Rejected) as refusal:
        await whole_id("ann", IDS[0][:8], filled)
    assert refusal.value.info.code == "conflict"
    assert all(id_ in str(refusal.value) for id_ in IDS[:5])
    assert "and more" in str(refusal.value)
    assert await whole_id("ann", IDS[3], filled) == IDS[3]


async def test_another_users_entry_is_neither_found_nor_named(filled: TextStore) -> None:
    assert await whole_id("ann", "deadbeef", filled) == ALONE
    for beginning in ("deadbeef-0000-5000-8000-9", IDS[0][:8]):
        with pytest.raises(Rejected, match="there is no entry"):
            await get(GetRequest(user_id="bob", id=beginning), store=filled)


@pytest.mark.parametrize("id_", ["", "deadbee"])
async def test_a_beginning_that_is_too_short_is_told_how_long_it_must_be(filled: TextStore, id_: str) -> None:
    with pytest.raises(Rejected, match=r"there is no entry '.*': give at least the first 8 characters of its id"):
        await get(GetRequest(user_id="ann", id=id_), store=filled)


@pytest.mark.parametrize("id_", ["", "d", "deadbee", "deadbeef%", "DEADBEEF", "statement"])
async def test_what_is_no_beginning_is_taken_as_it_is(filled: TextStore, id_: str) -> None:
    assert await whole_id("ann", id_, filled) == id_
