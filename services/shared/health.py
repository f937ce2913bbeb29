"""Health of a process over HTTP.

Alive depends on this process alone: starting it anew would bring back no bus and no store. A connection that nobody
tries to bring back is no life, nor is one that a bus which is there refuses for minutes: it may let a new process in.
Ready means that bus and stores answer, that nothing is stuck, and that what takes longer the first time was done once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from faststream.asgi import AsgiResponse, get
from nats.errors import Error as NatsError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from contracts.errors import Unavailable
from services.shared.bus.nats_patches import PatchedNatsClient
from services.shared.bus.worker import Worker
from services.shared.redaction import redact_text
from services.shared.site import Route

log = logging.getLogger(__name__)

_ROUND_TRIP = 2.0
_NO_PROGRESS = 60.0
_REFUSED_TOO_LONG = 300.0
_LOOK_EVERY = 5.0
_STORE_PATIENCE = 5.0


class Process(Protocol):
    """The parts of a process that health looks at."""

    @property
    def waits_for(self) -> str | None:
        """The server that its start still waits for, None once it has started."""
        ...

    @property
    def client(self) -> PatchedNatsClient:
        """The connection to the bus, once it has started."""
        ...

    @property
    def workers(self) -> Sequence[Worker[Any]]:
        """The stages that run here."""
        ...

    @property
    def troubles(self) -> Sequence[str]:
        """What else keeps its services from doing their work."""
        ...


class StoreProbe:
    """Asks the stores that are servers now and then whether they answer: who has no work would not notice else."""

    def __init__(self, asks: Mapping[str, Callable[[], Awaitable[object]]]) -> None:
        self._asks = asks
        self._away: dict[str, str] = {}

    @property
    def troubles(self) -> list[str]:
        """The stores that did not answer when they were asked last."""
        return [f"{store}: {why}" for store, why in self._away.items()]

    async def run(self) -> None:
        """Ask again and again, without end."""
        while self._asks:
            await asyncio.gather(*(self._look(store, ask) for store, ask in self._asks.items()))
            await asyncio.sleep(_LOOK_EVERY)

    async def _look(self, store: str, ask: Callable[[], Awaitable[object]]) -> None:
        try:
            async with asyncio.timeout(_STORE_PATIENCE):
                await ask()
        except Unavailable as error:
            why = str(error)
        except TimeoutError:
            why = f"no answer within {_STORE_PATIENCE:.0f} s"
        except Exception as error:  # whatever it is, the store does not answer as it should
            why = redact_text(repr(error))
        else:
            if self._away.pop(store, None):
                log.info("store_back", extra={"store": store})
            return
        if store not in self._away:
            log.warning("store_away", extra={"store": store, "cause": why})
        self._away[store] = why


def health_routes(process: Process) -> list[Route]:
    """`/healthz`, `/readyz` and `/metrics` of this process."""

    @get(include_in_schema=False)
    async def healthz(scope: Any) -> AsgiResponse:
        return _verdict([] if process.waits_for else [*deaf(process.client), *dead_stages(process.workers)])

    @get(include_in_schema=False)
    async def readyz(scope: Any) -> AsgiResponse:
        if process.waits_for:
            return _verdict([f"starting: {process.waits_for}"])
        problems = [*await bus_problems(process.client), *dead_stages(process.workers), *stuck_stages(process.workers)]
        problems += process.troubles
        return _verdict(problems)

    @get(include_in_schema=False)
    async def metrics(scope: Any) -> AsgiResponse:
        return AsgiResponse(generate_latest(), 200, {"content-type": CONTENT_TYPE_LATEST})

    return [("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics)]


async def bus_problems(client: PatchedNatsClient) -> list[str]:
    """A bounded round trip. Neither sign is enough alone: `flush` of a lost connection returns at once."""
    if not client.is_connected:
        return ["bus: not connected"]
    try:
        await client.flush(timeout=_ROUND_TRIP)  # type: ignore[arg-type]
    except (NatsError, TimeoutError, OSError) as error:
        return [f"bus: no round trip within {_ROUND_TRIP:.0f} s ({type(error).__name__})"]
    return []


def deaf(client: PatchedNatsClient) -> list[str]:
    """A connection that only a new process brings back, as far as one can tell."""
    if client.is_closed:
        return ["bus: the connection is closed for good"]
    if client.is_deaf:
        return ["bus: the connection reads no more"]
    away = time.monotonic() - client.away_since if client.away_since is not None else 0.0
    if away > _REFUSED_TOO_LONG and client.is_refused:
        return [f"bus: it lets this process in no more since {away:.0f} s"]
    return []


def dead_stages(workers: Sequence[Worker[Any]]) -> list[str]:
    """Stages whose loop has ended."""
    return [f"{worker.stage.name}: not running" for worker in workers if not worker.is_running]


def stuck_stages(workers: Sequence[Worker[Any]]) -> list[str]:
    """Stages that wait for something, or hold a batch without finishing it."""
    problems = []
    for worker in [one for one in workers if not one.stage.is_optional]:
        silent = time.monotonic() - worker.progress_at
        if worker.stuck is not None:
            problems.append(f"{worker.stage.name}: waits for {worker.stuck}")
        elif worker.is_busy and silent > _NO_PROGRESS:
            problems.append(f"{worker.stage.name}: no progress for {silent:.0f} s")
    return problems


def _verdict(problems: list[str]) -> AsgiResponse:
    body = json.dumps({"ok": not problems, "problems": [redact_text(problem) for problem in problems]}).encode()
    return AsgiResponse(body, 503 if problems else 200, {"content-type": "application/json"})
