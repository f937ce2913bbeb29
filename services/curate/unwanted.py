"""What was set aside because its user may not want it remembered is forgotten, unless they take it back into use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from contracts.ports import Key, Record
from services.curate.stores import Stores
from services.shared.lifecycle.unwanted import SET_ASIDE_FOR, is_set_aside
from services.shared.paging import pages

_PAGE = 200


async def forget_unwanted(stores: Stores, forget: Callable[[Key], Awaitable[object]]) -> int:
    """Forget what was set aside for as long as it is kept; how many entries. Broken off, the next time goes on."""
    gone, text, now = 0, stores.text, datetime.now(UTC)
    async for page in pages(lambda at: text.page_records("unwanted", user_id=None, limit=_PAGE, cursor=at)):
        for mark in page.records:
            if now - mark.at >= SET_ASIDE_FOR:
                gone += await _forgotten(mark, stores, forget)
    return gone


async def _forgotten(mark: Record, stores: Stores, forget: Callable[[Key], Awaitable[object]]) -> bool:
    entry = await stores.entry(Key(mark.user_id, mark.name))
    is_unwanted = entry is not None and is_set_aside(entry)
    if is_unwanted:
        await forget(Key(mark.user_id, mark.name))
    await stores.text.remove_records(mark.user_id, "unwanted", [mark.name])
    return is_unwanted
