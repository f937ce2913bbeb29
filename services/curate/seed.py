"""What is known of a user from the start: each fact becomes an entry of its own, once, however often it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from contracts.errors import Unavailable
from contracts.v1.commands import CreateRequest, EntryReply
from contracts.v1.profile import SeededFact, SeedReply, SeedRequest
from services.shared.errors import Rejected, outward

SOURCE = "seeded_profile"
"""The source of entries that were given at the start."""

_AT_ONCE = 8


async def seed(request: SeedRequest, *, create: Callable[[CreateRequest], Awaitable[EntryReply]]) -> SeedReply:
    """Remember these facts; of what cannot be remembered, or not in time, the reason is told."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(text: str) -> SeededFact:
        async with room:
            try:
                reply = await create(_creation(request, text))
            except Rejected as error:
                return SeededFact(text=text, refused=str(error))
            except Unavailable as error:
                return SeededFact(text=text, refused=outward(str(error)))
            return SeededFact(text=text, id=reply.entry.id)

    found = await asyncio.gather(*(one(text) for text in dict.fromkeys(request.facts)))
    return SeedReply(items=tuple(found), correlation_id=request.correlation_id)


def _creation(request: SeedRequest, text: str) -> CreateRequest:
    return CreateRequest(
        user_id=request.user_id,
        text=text,
        space=request.space,
        persona_id=request.persona_id,
        source_ids=(SOURCE,),
        manually_saved=True,
        correlation_id=SOURCE,
    )
