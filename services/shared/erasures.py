"""Whether what is stored of a user may be shown."""

from __future__ import annotations

from contracts.ports import TextStore


async def is_hidden(store: TextStore, user_id: str) -> bool:
    """Whether all that is stored of a user is about to be erased. Ask before reading: what is erased is gone then.

    Raises:
        Unavailable: the store does not answer.
    """
    return any(not mark.cleared for mark in await store.erasures([user_id]))
