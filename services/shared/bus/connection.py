"""The connection to NATS, and publishing that is only done when the bus has promised."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random_exponential

from contracts import subjects
from contracts.ports import Unavailable
from contracts.v1.entries import EntryEvent
from contracts.v1.turns import Turn, derived_turn_id
from services.shared import telemetry
from services.shared.bus.access import NOBODY, Access, servers_of
from services.shared.bus.fairness import shares
from services.shared.bus.jetstream import JetStream
from services.shared.bus.nats_patches import EncryptedClient, NotAllowed, NotEncrypted, PatchedNatsClient
from services.shared.redaction import redact_address

log = logging.getLogger(__name__)

PUBLISH_TIMEOUT = 5.0
_KNOCK_EVERY = 0.25
_CLOSE_PATIENCE = 0.5
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


async def connect(url: str, *, name: str, access: Access = NOBODY, patience: float = 5.0) -> PatchedNatsClient:
    """Connect to the bus at `url`, one server or several separated by commas, as whom `access` says.

    Raises:
        Unavailable: nobody answers there within `patience` seconds, or the bus does not let us in.
    """
    servers, options = servers_of(url), access.options()
    kind = EncryptedClient if access.wants_tls else PatchedNatsClient
    try:
        async with asyncio.timeout(patience):
            await _knock(kind, servers, options)
            return await _connected(kind, servers, {**connection_options(name), **options})
    except (TimeoutError, OSError, NatsError) as error:
        raise Unavailable(_why_not(error, url, access)) from None  # the cause may carry the address with a password


async def _knock(kind: type[PatchedNatsClient], servers: Sequence[str], options: dict[str, Any]) -> None:
    """Wait for a server that lets us in; what is kept for ever is only a connection that once stood."""
    once = {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.01, "error_cb": _quiet}
    while True:
        for server in servers:
            try:
                await (await _connected(kind, [server], {**once, **options})).close()
                return
            except (NatsError, OSError, TimeoutError) as error:
                if _is_refusal(error):
                    raise
        await asyncio.sleep(_KNOCK_EVERY)


async def _connected(kind: type[PatchedNatsClient], servers: list[str], options: dict[str, Any]) -> PatchedNatsClient:
    client = kind()
    try:
        await client.connect(servers, **options)
    except BaseException:
        with suppress(NatsError, OSError, TimeoutError, AssertionError):  # it asserts that it once had a connection
            async with asyncio.timeout(_CLOSE_PATIENCE):  # a broken handshake is waited for without end
                await client.close()
        raise
    return client


def _is_refusal(error: Exception) -> bool:
    """Whether somebody is there and will not let us in; anything else may be a server that starts or stops."""
    return isinstance(error, ssl.SSLError | NotEncrypted) or "authorization" in str(error).lower()


def _why_not(error: Exception, url: str, access: Access) -> str:
    where = redact_address(url)
    files = "MEMORYBUS_NATS_CA, MEMORYBUS_NATS_CERT and MEMORYBUS_NATS_KEY"
    if "authorization" in str(error).lower():
        who = f"user {access.user!r}" if access.user else "us"
        return (
            f"the bus at {where} does not let {who} in: check MEMORYBUS_NATS_USER and MEMORYBUS_NATS_PASSWORD, "
            "or MEMORYBUS_NATS_CREDS"
        )
    if _is_refusal(error):
        return f"no secure connection to the bus at {where}: {error}; check {files}"
    hint = f"; if it runs, it may not accept {files}" if access.wants_tls else ""
    return f"no bus answers at {where}: start one with `memorybus up`, or name another with --nats{hint}"


async def _quiet(_: Exception) -> None:
    """Keep the client from printing what is raised anyway."""


def _has_unknown_outcome(error: BaseException) -> bool:
    """Whether the message may or may not be there; one that is too large for the bus, or refused, never is."""
    return isinstance(error, _UNKNOWN_OUTCOME) and not isinstance(error, MaxPayloadError | NotAllowed)


class Bus:
    """Publishes until the bus acknowledges; an unknown outcome is tried again with the same message id."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.js: JetStreamContext = client.jetstream(timeout=PUBLISH_TIMEOUT)

    async def publish(self, subject: str, body: bytes, *, message_id: str | None, stream: str) -> bool:
        """Publish; False when the bus dropped it, as it took in a message of this id a moment ago.

        Raises:
            Unavailable: the bus did not acknowledge for 30 s, or refused: the stream is full, or not for this user.
        """
        try:
            return await self._publish(subject, body, message_id, stream)
        except NotAllowed as error:
            raise Unavailable(str(error)) from error
        except APIError as error:
            raise Unavailable(f"the bus refused {subject}: {error.description}") from error
        except _UNKNOWN_OUTCOME as error:
            raise Unavailable(f"the bus did not acknowledge {subject}: {error!r}") from error

    @retry(
        retry=retry_if_exception(_has_unknown_outcome),
        wait=wait_random_exponential(multiplier=0.1, max=3),
        stop=stop_after_delay(30),
        reraise=True,
    )
    async def _publish(self, subject: str, body: bytes, message_id: str | None, stream: str) -> bool:
        headers = {subjects.MSG_ID_HEADER: message_id} if message_id is not None else None
        promise = await self.js.publish(subject, body, timeout=PUBLISH_TIMEOUT, stream=stream, headers=headers)
        return not promise.duplicate

    async def publish_events(self, events: Sequence[EntryEvent]) -> None:
        """Publish events that carry at least one entry, those of users with many entries apart from all others."""
        for whole in events:
            for event in shares(whole):
                body = event.model_dump_json().encode()
                stream = subjects.EVENTS_STREAM.name
                await self.publish(event.subject, body, message_id=str(event.event_id), stream=stream)
                telemetry.MESSAGES.labels(event.subject.rpartition(".")[2], "published").inc()

    async def publish_turn(self, turn: Turn) -> None:
        """Publish a turn; see `contracts.ports.TurnPublisher`.

        Said under an id that is in use it is said once more without: any publisher may have taken that id, and of a
        true repetition the stores make nothing.
        """
        turn_id = turn.turn_id or derived_turn_id(turn)
        body = turn.model_dump_json(exclude_none=True).encode()
        subject, stream = subjects.turns(turn.user_id), subjects.TURNS_STREAM.name
        message_id = f"{subjects.user_token(turn.user_id)}/{turn.space}/{turn_id}"
        if not await self.publish(subject, body, message_id=message_id, stream=stream):
            await self.publish(subject, body, message_id=None, stream=stream)

    async def is_idle(self, consumer: subjects.Consumer) -> bool:
        """Whether nothing waits for this consumer, and nothing is in its hands."""
        return await self.backlog(consumer) == 0

    async def missing_from_stream(self, stream: str, numbers: Collection[int]) -> set[int]:
        """Which of these messages a stream does not hold any more.

        Raises:
            Unavailable: the bus does not answer.
        """
        try:
            return await JetStream(self.js).missing_from_stream(stream, numbers)
        except _UNKNOWN_OUTCOME as error:
            raise Unavailable(f"the bus did not answer for {stream}: {error!r}") from error

    async def is_full(self, subject: str, stream: subjects.Stream) -> bool:
        """Whether what is published next on a subject of this stream pushes out the oldest there.

        Raises:
            Unavailable: the bus does not answer.
        """
        try:
            state = (await self.js.stream_info(stream.name, subjects_filter=subject)).state
        except _UNKNOWN_OUTCOME as error:
            raise Unavailable(f"the bus did not answer for {stream.name}: {error!r}") from error
        return 0 < stream.share <= (state.subjects or {}).get(subject, 0)

    async def used(self, stream: subjects.Stream) -> float:
        """The part, 0 to 1, of the bytes that a stream may hold which it holds."""
        info = await self.js.stream_info(stream.name)
        most = info.config.max_bytes or 0
        return info.state.bytes / most if most > 0 else 0.0

    async def purge_acked(self, consumer: subjects.Consumer) -> bool:
        """Remove from its stream what this consumer, the only one of its subject, has finished with.

        Returns whether it has finished with everything it was given. Once the stream is empty nothing is left on disk,
        not even as free space of a file.
        """
        info = await self.js.consumer_info(consumer.stream, consumer.name)
        done = info.ack_floor.stream_seq if info.ack_floor else 0
        first = (await self.js.stream_info(consumer.stream)).state.first_seq
        if done >= first:
            only = consumer.subject if consumer.group else None
            await self.js.purge_stream(consumer.stream, seq=done + 1, subject=only)
        return not (info.num_pending or info.num_ack_pending)

    async def backlog(self, consumer: subjects.Consumer) -> int:
        """How many messages wait for this consumer or are in its hands."""
        info = await self.js.consumer_info(consumer.stream, consumer.name)
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    async def readers(self, consumer: subjects.Consumer) -> int:
        """How many replicas ask this consumer for messages right now."""
        return (await self.js.consumer_info(consumer.stream, consumer.name)).num_waiting or 0

    async def backlogs(self) -> dict[str, int]:
        """How many messages wait for each service or are in its hands, whatever parts its work is split into."""
        waiting: dict[str, int] = {}
        for consumer in subjects.consumers(await self.partitions()):
            waiting[consumer.service] = waiting.get(consumer.service, 0) + await self.backlog(consumer)
        return waiting

    async def partitions(self) -> int:
        """How many parts the turns of this bus are split into.

        Raises:
            Unavailable: they are split in a way that is not ours.
        """
        transform = (await self.js.stream_info(subjects.TURNS_STREAM.name)).config.subject_transform
        try:
            return subjects.partitions_of(transform.dest if transform else None)
        except ValueError as error:
            raise Unavailable(f"stream {subjects.TURNS_STREAM.name}: {error}") from error
