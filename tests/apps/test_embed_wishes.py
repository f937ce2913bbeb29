"""What its user does not want remembered, as only the reader understood, is set aside with what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from contracts.ports import Change, Selection, TextStore, Unavailable, VectorPoint
from contracts.v1.claims import Reading
from contracts.v1.entries import Entry, EntryEnriched, EntryRef
from services.embed.handler import embed_entries
from services.embed.wishes import SURE, Wishes
from services.shared.changes import change_entries
from services.shared.lifecycle.pinning import pinned
from services.shared.lifecycle.sayings import repeated_by
from tests.apps.fakes import FakeReader, FakeVectors
from tests.stores.builders import NOON, an_entry, store_entries

SAID, ANSWERED, ELSE = "the bit about my rent stays in this window", "As you wish.", "What is 900 a month for rent?"


class Stage:
    """The stage, over what is stored."""

    def __init__(self, store: TextStore, wish: float = SURE) -> None:
        self.store, self.vectors = store, FakeVectors()
        self.embedder = FakeReader(knows={SAID: Reading(wish=wish), ELSE: Reading(), ANSWERED: Reading(wish=1.0)})
        self.wishes = Wishes(store)

    async def set_aside(self) -> list[str]:
        """What is out of use for its user, until it is forgotten."""
        page = await self.store.page(Selection("ann", status="archived"), limit=100, cursor=None)
        marks = {mark.name for mark in await self.store.records("ann", "unwanted")}
        assert marks == {entry.id for entry in page.entries}
        assert all(entry.expires_at and entry.id not in self.vectors.points for entry in page.entries)
        return sorted(entry.text for entry in page.entries)

    async def embed(self, *entries: Entry) -> None:
        event = EntryEnriched.of([EntryRef(user_id=one.user_id, id=one.id) for one in entries], at=NOON)
        await embed_entries([event], store=self.store, vectors=self.vectors, embedder=self.embedder, wishes=self.wishes)


def said(minute: int, text: str, role: str = "user", **fields: Any) -> Entry:
    at = NOON + timedelta(minutes=minute)
    fields = {"conversation_id": "c1", "turn_id": f"turn {minute}", **fields}
    return an_entry("ann", text, role=role, created_at=at, last_said_at=at, **fields)


class Dying(FakeVectors):
    """The process dies where so many vectors were removed."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    async def remove(self, ids: Sequence[str]) -> None:
        if not self.left:
            raise Broken
        self.left -= 1


class Broken(Exception):
    """The process dies."""


async def stored(store: TextStore, *entries: Entry) -> Sequence[Entry]:
    return await store_entries(store, entries)


async def test_it_is_set_aside_and_gets_no_vector(store: TextStore) -> None:
    stage = Stage(store)
    await stage.embed(*await stored(store, said(0, SAID), said(1, ELSE)))
    assert await stage.set_aside() == [SAID]
    assert [point.entry.text for point in stage.vectors.points.values()] == [ELSE]


async def test_what_answers_it_goes_along_and_what_its_user_says_next_stays(store: TextStore) -> None:
    stage = Stage(store)
    entries = await stored(store, said(0, SAID), said(1, ANSWERED, "assistant"), said(2, ELSE), said(3, "900.", "tool"))
    await stage.embed(*entries)
    assert await stage.set_aside() == [ANSWERED, SAID]


@pytest.mark.parametrize("done", [0, 1])
async def test_a_wish_that_is_broken_off_leaves_no_answer(store: TextStore, done: int) -> None:
    wish, _ = await stored(store, said(0, SAID), said(1, ANSWERED, "assistant"))
    dying, again = Stage(store), Stage(store)
    dying.vectors = Dying(done)
    with pytest.raises(Broken):
        await dying.embed(wish)
    await again.embed(wish)
    assert await again.set_aside() == [ANSWERED, SAID]


async def test_an_answer_that_comes_later_is_set_aside_as_well(store: TextStore) -> None:
    stage = Stage(store)
    await stage.embed(*await stored(store, said(0, SAID)))
    await stage.embed(*await stored(store, said(1, ANSWERED, "assistant")))
    assert await stage.set_aside() == [ANSWERED, SAID]
    await stage.embed(*await stored(store, said(2, ELSE)))
    await stage.embed(*await stored(store, said(3, "It is for rent.", "assistant")))
    assert await stage.set_aside() == [ANSWERED, SAID]


def again(entry: Entry, minute: int, **fields: Any) -> Entry:
    """The entry, said once more by then."""
    return repeated_by(entry, said(minute, entry.text, entry.role, **fields))


async def test_a_wish_that_is_found_late_takes_what_answered_it_and_nothing_else(store: TextStore) -> None:
    stage = Stage(store)
    thanks = again(said(1, "Thanks!"), 4)
    before = again(said(0, "You are welcome.", "assistant"), 90)
    pinned = said(3, "Here is what I said of it.", "assistant", pinned=True)
    elsewhere = again(said(3, "As you like.", "assistant", conversation_id="another"), 3, conversation_id="c1")
    later = [said(5 + n, f"number {n}", "user" if n % 2 else "assistant") for n in range(80)]
    entries = await stored(
        store, before, thanks, said(2, SAID), said(3, ANSWERED, "assistant"), pinned, elsewhere, *later
    )
    await stage.embed(entries[2])
    assert await stage.set_aside() == [ANSWERED, SAID]


async def test_an_answer_that_comes_once_its_user_went_on_stays_though_that_was_said_before(store: TextStore) -> None:
    stage = Stage(store)
    thanks, wish = await stored(store, said(0, "Thanks!"), said(1, SAID))
    await stage.embed(thanks, wish)
    await store.replace([Change(thanks, again(thanks, 5, conversation_id="another"))])
    await stage.embed(*await stored(store, said(2, ANSWERED, "assistant")))
    assert await stage.set_aside() == [ANSWERED, SAID]
    (thanks,) = (await store.get([thanks])).values()
    await store.replace([Change(thanks, again(thanks, 6))])
    await stage.embed(*await stored(store, said(7, "You are welcome.", "assistant")))
    assert await stage.set_aside() == [ANSWERED, SAID]


async def test_an_old_turn_that_is_read_once_more_does_not_hide_a_wish(store: TextStore) -> None:
    stage = Stage(store)
    older, other, wish = await stored(store, said(0, SAID), said(1, ELSE), said(2, SAID))
    for entry in (wish, older, other):
        await stage.embed(entry)
    await stage.embed(*await stored(store, said(3, ANSWERED, "assistant")))
    assert await stage.set_aside() == [ANSWERED, SAID, SAID]


async def test_outside_of_a_conversation_nothing_answers_it(store: TextStore) -> None:
    stage = Stage(store)
    await stage.embed(*await stored(store, said(0, SAID, conversation_id=None)))
    await stage.embed(*await stored(store, said(1, "Of something else.", "assistant", conversation_id=None)))
    assert await stage.set_aside() == [SAID]


KEPT: dict[str, dict[str, Any]] = {
    "saved on purpose": {"manually_saved": True},
    "pinned": {"pinned": True},
    "corrected since": {"edited_at": NOON},
    "of an assistant": {"role": "assistant"},
    "a roll-up": {"source": "rollup"},
}


@pytest.mark.parametrize("fields", KEPT.values(), ids=KEPT.keys())
async def test_what_somebody_wants_kept_or_only_repeats_stays(store: TextStore, fields: dict[str, Any]) -> None:
    stage = Stage(store)
    await stage.embed(*await stored(store, said(0, SAID, **fields)))
    assert await stage.set_aside() == []


async def test_in_doubt_it_stays(store: TextStore) -> None:
    stage = Stage(store, wish=SURE - 0.01)
    await stage.embed(*await stored(store, said(0, SAID)))
    assert await stage.set_aside() == []


async def test_while_the_vectors_are_away_it_waits_without_one(store: TextStore) -> None:
    stage = Stage(store)
    entries = await stored(store, said(0, SAID))
    stage.vectors.fails = True
    with pytest.raises(Unavailable):
        await stage.embed(*entries)
    stage.vectors.fails = False
    await stage.embed(*entries)
    assert await stage.set_aside() == [SAID]


async def test_what_was_found_by_meaning_before_is_no_wish_to_another_reader(store: TextStore) -> None:
    stage = Stage(store)
    await stage.embed(*await stored(store, said(0, SAID, embedding_model="former")))
    assert await stage.set_aside() == []


async def test_what_somebody_pins_meanwhile_stays_with_its_vector(store: TextStore) -> None:
    stage = Stage(store)
    (before,) = await stored(store, said(0, SAID))
    (now,) = await change_entries(store, [before], lambda one: pinned(one, NOON))
    await stage.vectors.upsert([VectorPoint(now, np.ones(3, np.float32))])
    assert await stage.wishes.obey([before], {now.id: Reading(wish=1)}, stage.vectors) == set()
    assert now.id in stage.vectors.points
    assert (await store.get([now]))[now.id] == now
