"""Erasing a user over the bus: asked again until nothing is left anywhere, or nothing comes of it any more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from contracts.errors import Unavailable
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest, StatusReply
from services.shared.errors import RequestFailed

_PATIENCE = 15.0
_PAUSE = 0.5


class Erasing(Protocol):
    """What erasing needs of a client."""

    async def status(self, user_id: str | None = None) -> StatusReply: ...

    async def erase(self, request: EraseRequest) -> EraseReply: ...


async def erased(
    client: Erasing,
    user: str,
    *,
    patience: float = _PATIENCE,
    pause: float = _PAUSE,
    tell: Callable[[EraseReceipt], None] = lambda receipt: None,
) -> EraseReceipt:
    """Erase until nothing is left in any place or file, or nothing came of it for `patience` seconds.

    What is under way is waited for as long as it takes, and never asked for anew: what the user publishes meanwhile
    stays. Returns the receipt of all attempts.

    Raises:
        RequestFailed: the request was refused.
        Unavailable: memorybus, a store or the bus did not answer in all that time.
    """
    deadline, receipt = time.monotonic() + patience, None
    while True:
        try:
            since = receipt.requested_at if receipt else None
            found = (await client.erase(EraseRequest(user_id=user, requested_at=since))).receipt
            receipt = together(receipt, found) if receipt else found
            tell(receipt)
            if receipt.state == "under_way":
                deadline = time.monotonic() + patience
            elif is_complete(receipt) or time.monotonic() > deadline:
                return receipt
        except (RequestFailed, Unavailable) as error:
            if not _may_heal(error):
                raise
            if time.monotonic() > deadline:
                raise Unavailable(f"{error}; what is removed is gone: erase again for the rest") from error
        await asyncio.sleep(pause)


def _may_heal(error: RequestFailed | Unavailable) -> bool:
    return isinstance(error, Unavailable) or error.info.retryable


def together(before: EraseReceipt, after: EraseReceipt) -> EraseReceipt:
    """One receipt of two attempts: what the second found beyond what the first had left came in between.

    Receipts of one erasure all count what it removed.
    """
    if before.state == "under_way" or before.requested_at == after.requested_at is not None:
        return after.model_copy(update={"removed": before.removed or after.removed})
    came = {place: max(0, found - before.left.get(place, 0)) for place, found in after.removed.items()}
    places = {**before.removed, **came}
    removed = {place: before.removed.get(place, 0) + came.get(place, 0) for place in places}
    return after.model_copy(update={"removed": removed})


def is_complete(receipt: EraseReceipt) -> bool:
    """Whether nothing is found in any place, nor readable in any file."""
    return receipt.state == "done" and receipt.drained and receipt.swept and not any(receipt.left.values())
