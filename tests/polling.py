"""Waiting for what must come true, with a deadline instead of a sleep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from contracts.flow import Answer, Q, R
from contracts.ports import Unavailable
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.shared.client import MemoryClient

T = TypeVar("T")


class PatientClient(MemoryClient):
    """Waits half a minute for what usually takes milliseconds: a busy machine answers late."""

    async def ask(self, answer: Answer[Q, R], body: Q, *, patience: float, credential: str | None = None) -> bytes:
        return await super().ask(answer, body, patience=max(patience, 30.0), credential=credential)


async def eventually(look: Callable[[], Awaitable[T]], is_so: Callable[[T], bool], *, within: float = 60.0) -> T:
    """Look again and again until it is so; the last look is shown in the end.

    Who is not there yet is asked again.
    """
    deadline, pause = time.monotonic() + within, 0.02
    while True:
        seen: T | Unavailable
        try:
            seen = await look()
        except Unavailable as error:
            seen = error
        else:
            if is_so(seen):
                return seen
        assert time.monotonic() < deadline, f"not so within {within} s, last seen: {seen!r}"
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.25)  # who looks all the time has others wait longer


async def digested(client: MemoryClient, *, turns: int, within: float = 120.0) -> None:
    """Wait until so many turns are logged and nothing is pending."""
    await eventually(client.status, lambda s: s.turns >= turns and s.pending == 0, within=within)


async def answered(client: MemoryClient, request: RetrieveRequest) -> RetrieveReply:
    """The whole answer to a question: asked again while a leg comes too late, as it may on a busy machine."""
    return await eventually(lambda: client.retrieve(request, patience=20.0), lambda reply: not reply.degraded)
