"""Have entries read anew that another reader read, or none: a few at a time, while all else goes on. Ports only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from contracts.ports import TextStore
from contracts.v1.entries import Entry, EntryEnriched, EntryRef
from services.shared.changes import change_entries
from services.shared.context.embedding import embed_again, is_to_be_read

_PAGE = 64
"""Entries that are on their way at once: a turn that comes meanwhile waits for no more."""

_LOOK_EVERY = 0.5
_PATIENCE = 60.0

Say = Callable[[Sequence[EntryEnriched]], Awaitable[None]]


async def read_anew(reader: str, store: TextStore, say: Say) -> int:
    """Look through all entries once, and have those embedded once more that this reader has not read; how many."""
    after, count = "", 0
    while page := await store.scan(after=after, limit=_PAGE):
        after = page[-1].id
        again = await change_entries(store, [one for one in page if is_to_be_read(one, reader)], embed_again)
        if again:
            await say([EntryEnriched.of(_refs(again), at=datetime.now(UTC), cause=reader)])
            await _until_done(again, store)
            count += len(again)
    return count


async def _until_done(entries: Sequence[Entry], store: TextStore) -> None:
    """Wait until they are embedded; not for ever: a worker that is away finds them on the bus later."""
    for _ in range(int(_PATIENCE / _LOOK_EVERY)):
        found = await store.get(entries)
        if all(one.embedding_state != "pending" for one in found.values()):
            return
        await asyncio.sleep(_LOOK_EVERY)


def _refs(entries: Sequence[Entry]) -> list[EntryRef]:
    return [EntryRef(user_id=entry.user_id, id=entry.id) for entry in entries]
