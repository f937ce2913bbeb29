"""The rule that entries of a user who is being erased are not shown."""

from __future__ import annotations

from contracts.ports import Privacy


async def is_hidden(store: Privacy, user_id: str) -> bool:
    """Whether everything stored of a user is about to be erased. Ask before reading: it may be gone afterwards.

    Raises:
        Unavailable: the store does not answer.
    """
    return any(not mark.cleared for mark in await store.erasures([user_id]))
