"""The connection to NATS, and publishing that is only done when the bus has promised."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random_exponential

from contracts import subjects
from contracts.ports import Unavailable
from contracts.v1.entries import EntryEvent
from contracts.v1.turns import Turn, derived_turn_id
from services.shared import telemetry

log = logging.getLogger(__name__)

PUBLISH_TIMEOUT = 5.0
_UNKNOWN_OUTCOME = (NatsError, NoStreamResponseError, asyncio.TimeoutError, OSError)


def connection_options(name: str) -> dict[str, Any]:
    """Options of every connection: reconnect for ever, notice a half-open one within seconds."""

    async def on_error(error: Exception) -> None:
        log.warning("bus_error", extra={"connection": name, "cause": repr(error)})

    return {
        "name": name,
        "error_cb": on_error,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": 0.25,
        "ping_interval": 5,
        "max_outstanding_pings": 2,
        "pending_size": 16 * 1024 * 1024,
    }


async def connect(url: str, *, name: str, patience: float = 5.0) -> Client:
    """Connect to the bus at `url`.

    Raises:
        Unavailable: nobody answers there within `patience` seconds.
    """
    try:
        async with asyncio.timeout(patience):
            # The first attempt must end by itself; only a connection that once stood is kept for ever.
            probe = await nats.connect(url, allow_reconnect=False, max_reconnect_attempts=0, error_cb=_quiet)
            await probe.close()
            return await nats.connect(url, **connection_options(name))
    except (TimeoutError, OSError, NatsError) as error:
        raise Unavailable(
            f"no bus answers at {url}: start one with `memorybus up`, or name another with --nats"
        ) from error


async def _quiet(_: Exception) -> None:
    """Keep the client from printing what is raised anyway."""


class Bus:
    """Publishes until the bus acknowledges; an unknown outcome is tried again with the same message id."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.js: JetStreamContext = client.jetstream(timeout=PUBLISH_TIMEOUT)

    async def publish(self, subject: str, body: bytes, *, message_id: str, stream: str) -> None:
        """Publish once.

        Raises:
            Unavailable: the bus did not acknowledge for 30 s, or refused because the stream is full.
        """
        try:
            await self._publish(subject, body, message_id, stream)
        except APIError as error:
            raise Unavailable(f"the bus refused {subject}: {error.description}") from error
        except _UNKNOWN_OUTCOME as error:
            raise Unavailable(f"the bus did not acknowledge {subject}: {error!r}") from error

    @retry(
        retry=retry_if_exception_type(_UNKNOWN_OUTCOME),
        wait=wait_random_exponential(multiplier=0.1, max=3),
        stop=stop_after_delay(30),
        reraise=True,
    )
    async def _publish(self, subject: str, body: bytes, message_id: str, stream: str) -> None:
        headers = {subjects.MSG_ID_HEADER: message_id}
        await self.js.publish(subject, body, timeout=PUBLISH_TIMEOUT, stream=stream, headers=headers)

    async def publish_events(self, events: Sequence[EntryEvent]) -> None:
        """Publish events that carry at least one entry."""
        for event in events:
            if event.entries:
                body = event.model_dump_json().encode()
                stream = subjects.EVENTS_STREAM.name
                await self.publish(event.subject, body, message_id=str(event.event_id), stream=stream)
                telemetry.MESSAGES.labels(event.subject.rpartition(".")[2], "published").inc()

    async def publish_turn(self, turn: Turn) -> None:
        """Publish a turn; see `contracts.ports.TurnPublisher`."""
        turn_id = turn.turn_id or derived_turn_id(turn)
        body = turn.model_dump_json(exclude_none=True).encode()
        message_id = f"{subjects.user_token(turn.user_id)}/{turn.space}/{turn_id}"
        await self.publish(subjects.turns(turn.user_id), body, message_id=message_id, stream=subjects.TURNS_STREAM.name)

    async def is_idle(self, consumer: subjects.Consumer) -> bool:
        """Whether nothing waits for this consumer, and nothing is in its hands."""
        return await self.backlog(consumer) == 0

    async def drop_done(self, consumer: subjects.Consumer) -> None:
        """Remove from its stream what this consumer, the only one there, has finished with.

        Once everything is finished nothing is left on disk, not even as free space of a file.
        """
        info = await self.js.consumer_info(consumer.stream, consumer.name)
        done = info.ack_floor.stream_seq if info.ack_floor else 0
        first = (await self.js.stream_info(consumer.stream)).state.first_seq
        if done >= first:
            await self.js.purge_stream(consumer.stream, seq=done + 1)

    async def backlog(self, consumer: subjects.Consumer) -> int:
        """How many messages wait for this consumer or are in its hands."""
        info = await self.js.consumer_info(consumer.stream, consumer.name)
        return (info.num_pending or 0) + (info.num_ack_pending or 0)
