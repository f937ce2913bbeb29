"""What was set aside, as its user may not want it remembered, is forgotten, unless they take it back into use."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from contracts.errors import Unavailable
from contracts.ports import Key, Record
from services.curate.stores import Stores
from services.shared.lifecycle.set_aside import SET_ASIDE_FOR, is_over, is_set_aside
from services.shared.paging import pages

log = logging.getLogger(__name__)

_PAGE = 200
_AFTERWARDS = timedelta(minutes=1)
"""Time after which nobody may keep it any more by whatever clock: from then on it is forgotten."""


async def forget_set_aside(stores: Stores, forget: Callable[[Key], Awaitable[object]]) -> int:
    """Forget what was set aside for as long as it is kept; how many entries. Broken off, the next time goes on."""
    gone, text = 0, stores.text
    async for page in pages(lambda at: text.page_records("unwanted", user_id=None, limit=_PAGE, cursor=at)):
        for mark in page.records:
            try:
                gone += await _forgotten(mark, stores, forget)
            except Unavailable as error:  # the others go on
                log.warning("not_forgotten", extra={"entry": mark.name, "cause": str(error)})
    return gone


async def _forgotten(mark: Record, stores: Stores, forget: Callable[[Key], Awaitable[object]]) -> bool:
    """Whether the entry of a mark is forgotten by now; its mark goes last, and where there is nothing to forget."""
    now, key = datetime.now(UTC) - _AFTERWARDS, Key(mark.user_id, mark.name)
    if now - mark.at < SET_ASIDE_FOR:
        return False
    entry = await stores.entry(key)
    if entry is not None and is_set_aside(entry) and not is_over(entry, now):
        return False
    is_gone = entry is not None and (is_set_aside(entry) or entry.status == "forgotten")  # perhaps half of it
    if is_gone:
        await forget(key)
    await stores.text.remove_records(mark.user_id, "unwanted", [mark.name])
    return is_gone
