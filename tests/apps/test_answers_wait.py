"""An answer about an entry waits until that is found by its meaning, but only for a moment."""

from __future__ import annotations

import asyncio

from contracts.ports import TextStore
from contracts.v1.commands import EntryReply
from services.curate.commands import once_embedded
from tests.stores.builders import an_entry, store_entries
from tests.stores.changing import modify


async def test_an_answer_waits_for_the_meaning_of_its_entry_for_a_moment(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "I prefer uv over pip")])
    reply = EntryReply(entry=entry)
    assert await once_embedded(reply, store=store, within=0.02) == reply
    waiting = asyncio.create_task(once_embedded(reply, store=store, within=30))
    await asyncio.sleep(0)
    await modify(store, [entry], lambda one: one.model_copy(update={"embedding_state": "ready"}))
    assert (await waiting).entry.embedding_state == "ready"


async def test_what_went_out_of_use_is_not_waited_for(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "I prefer uv over pip")])
    waiting = asyncio.create_task(once_embedded(EntryReply(entry=entry), store=store, within=30))
    await asyncio.sleep(0)
    await modify(store, [entry], lambda one: one.model_copy(update={"status": "archived"}))
    assert (await waiting).entry.status == "archived"
