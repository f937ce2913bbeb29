"""Erasing a user again and again while publishers go on, and what must be found and not found of them afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from uuid import uuid4

from nats.errors import Error as NatsError

from contracts.ports import Unavailable
from contracts.v1.commands import EraseReceipt, EraseRequest, ListRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.shared.client import MemoryClient, RequestFailed
from tests.polling import eventually

_FAILED = (Unavailable, RequestFailed, NatsError, OSError, TimeoutError)
_PAUSE = 0.05


@dataclass(slots=True)
class Midst:
    """Publishers of one user, and what the bus has promised them in which order."""

    user: str
    acknowledged: list[str] = field(default_factory=list)
    pause: float = 0.03
    """Seconds between two turns of one publisher."""
    numbers: count[int] = field(default_factory=count)

    async def publish(self, client: MemoryClient) -> None:
        """Publish one turn after the other until cancelled; one whose outcome is unknown is published again."""
        while True:
            number = next(self.numbers)
            turn_id = f"t{number}-{uuid4().hex[:8]}"
            turn = Turn(user_id=self.user, role="user", text=f"My locker {number} is green.", turn_id=turn_id)
            while True:
                with suppress(*_FAILED):
                    await client.publish(turn)
                    break
                await asyncio.sleep(_PAUSE)
            self.acknowledged.append(turn_id)
            await asyncio.sleep(self.pause)

    async def erase(self, client: MemoryClient, *, patience: float = 2.0) -> EraseReceipt:
        """Erase, and see that nothing is found that was acknowledged before: at once, and however often asked."""
        before = set(self.acknowledged)
        receipt = await self._erased(client, patience)
        await self.none_is_found(client, before)
        return receipt

    async def none_is_found(self, client: MemoryClient, before: Collection[str]) -> None:
        """See that none of these turns is found."""
        found = (await self.found(client)).intersection(before)
        assert not found, f"{len(found)} of {len(before)} turns of before an erase are found"

    async def _erased(self, client: MemoryClient, patience: float) -> EraseReceipt:
        while True:
            with suppress(*_FAILED):
                return (await client.erase(EraseRequest(user_id=self.user), patience=patience)).receipt
            await asyncio.sleep(_PAUSE)

    async def found(self, client: MemoryClient) -> set[str]:
        """The ids of the turns that are found of the user: listed, or answered."""
        while True:
            with suppress(*_FAILED):
                answer = await client.retrieve(RetrieveRequest(user_id=self.user, query="green locker", limit=100))
                return {str(item.turn_id) for item in answer.items} | await self._listed(client)
            await asyncio.sleep(_PAUSE)

    async def _listed(self, client: MemoryClient) -> set[str]:
        found: set[str] = set()
        cursor = None
        while True:
            page = await client.list(ListRequest(user_id=self.user, limit=1000, cursor=cursor))
            found |= {str(entry.turn_id) for entry in page.items}
            if (cursor := page.next_cursor) is None:
                return found

    async def finish(self, client: MemoryClient, receipt: EraseReceipt, *, within: float = 60.0) -> EraseReceipt:
        """Wait until an erasure is done; its last receipt."""

        async def look() -> EraseReceipt:
            with suppress(*_FAILED):
                asked = EraseRequest(user_id=self.user, requested_at=receipt.requested_at)
                return (await client.erase(asked, patience=2.0)).receipt
            return receipt

        return await eventually(look, lambda one: one.state == "done", within=within)

    async def remembered(self, client: MemoryClient, turn_ids: Sequence[str], *, within: float = 60.0) -> None:
        """Wait until all these are found: what was acknowledged after the last erasure is not lost."""
        await eventually(lambda: self.found(client), lambda found: found >= set(turn_ids), within=within)
