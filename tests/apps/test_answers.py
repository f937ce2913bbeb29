"""Answers of curate: of the entry that an id begins, once that is found by its meaning, and as long as a message."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contracts.ports import TextStore
from contracts.v1.cards import CardsRequest
from contracts.v1.commands import EntryReply, GetRequest
from contracts.v1.loops import LoopsRequest
from contracts.v1.profile import ProfileRequest
from services.curate import cards, loops, profile
from services.curate.commands import get, once_embedded, shorten_items, whole_id
from services.shared.errors import Rejected
from services.shared.lifecycle.fitting import size_of
from tests.apps.telling import said, to_do
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


@pytest.mark.parametrize(
    ("request_", "ask", "shorten", "name"),
    [
        (CardsRequest(user_id="ann"), cards.cards, shorten_items, "items"),
        (LoopsRequest(user_id="ann"), loops.list_loops, shorten_items, "items"),
        (ProfileRequest(user_id="ann"), profile.profile, profile.shorten_profile, "facts"),
    ],
    ids=["cards", "loops", "profile"],
)
async def test_a_reply_that_does_not_fit_is_shortened(
    store: TextStore, request_: Any, ask: Any, shorten: Any, name: str
) -> None:
    homes = [said(f"Anna{letter} lives in Oslo", "Oslo", whose=f"Anna{letter}") for letter in "abcdefghi"]
    await store_entries(store, [*homes, *(to_do(f"I have to buy {n} stamps") for n in range(9))])
    whole = await ask(request_, store=store)
    room = size_of(whole) // 2
    short = await shorten(request_, whole, room)
    assert size_of(short) <= room
    assert short.truncated
    items, kept = getattr(whole, name), getattr(short, name)
    assert 0 < len(kept) < len(items) == 9
    assert kept == items[: len(kept)]
