"""The requests to JetStream: publishing that ends with a promise, single messages, counts, and configurations.

The methods of `Bus` raise `Unavailable` when the bus does not answer, and `NotPermitted` when this user may not ask.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerInfo, RawStreamMsg, StreamState
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError
from tenacity import retry, retry_if_exception, stop_after_delay

from contracts import subjects
from contracts.errors import Unavailable
from contracts.subjects import Consumer, Stream
from contracts.v1.entries import EntryEvent
from contracts.v1.turns import Turn, message_id
from services.shared import tracing
from services.shared.backoff import wait_backoff
from services.shared.bus.connection import UNANSWERED, asking_for
from services.shared.bus.fairness import shares, written
from services.shared.bus.nats_patches import NotAllowed

Json = dict[str, Any]

PUBLISH_TIMEOUT = 5.0
HEADERS = 1024
"""Bytes of a message that are left to its headers."""

_OFFER_TIMEOUT = 1.0
_PURGED_WITHIN = 0.1  # seconds
_NO_SUCH_STREAM = 10059


def _has_unknown_outcome(error: BaseException) -> bool:
    """Whether the message may or may not be there; one that is refused never is."""
    return isinstance(error, UNANSWERED) and not isinstance(error, NotAllowed)


class Bus:
    """The streams of a bus: publishes until they acknowledge, reads single messages, counts."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.js: JetStreamContext = client.jetstream(timeout=PUBLISH_TIMEOUT)

    async def publish(self, subject: str, body: bytes, *, message_id: str | None, stream: str) -> bool:
        """Publish; an unknown outcome is tried again with the same message id.

        Returns False when the bus dropped the message, as it took in another of this id a moment ago.

        Raises:
            Unavailable: the bus did not acknowledge for 30 s, or refused: the stream is full, or not for this user.
            TooLarge: the bus takes no message of this size.
        """
        try:
            return await self._publish(subject, body, message_id, stream)
        except NotAllowed as error:
            raise Unavailable(str(error)) from error
        except APIError as error:
            raise Unavailable(f"the bus refused {subject}: {error.description}") from error
        except UNANSWERED as error:
            raise Unavailable(f"the bus did not acknowledge {subject}: {error!r}") from error

    @retry(
        retry=retry_if_exception(_has_unknown_outcome),
        wait=wait_backoff(longest=3),
        stop=stop_after_delay(30),
        reraise=True,
    )
    async def _publish(self, subject: str, body: bytes, message_id: str | None, stream: str) -> bool:
        headers = tracing.carried() | ({subjects.MSG_ID_HEADER: message_id} if message_id is not None else {})
        promise = await self.js.publish(subject, body, timeout=PUBLISH_TIMEOUT, stream=stream, headers=headers or None)
        return not promise.duplicate

    async def offer(self, subject: str, body: bytes, *, message_id: str, stream: str) -> bool:
        """Publish to a stream that may be full, or away: tried once, and not waited for; whether it was taken."""
        headers = {subjects.MSG_ID_HEADER: message_id, **tracing.carried()}
        try:
            await self.js.publish(subject, body, timeout=_OFFER_TIMEOUT, stream=stream, headers=headers)
        except (APIError, NotAllowed, *UNANSWERED):
            return False
        return True

    async def publish_events(self, events: Sequence[EntryEvent]) -> None:
        """Publish events that carry at least one entry, those of users with many entries apart from all others."""
        from services.shared.telemetry import MESSAGES  # who only asks need not wait for the metrics' library

        stream, room = subjects.EVENTS_STREAM.name, self.client.max_payload - HEADERS
        for share in (share for whole in events for share in shares(whole)):
            for event, body in written(share, room):
                await self.publish(event.subject, body, message_id=str(event.event_id), stream=stream)
                MESSAGES.labels(event.subject.rpartition(".")[2], "published").inc()

    async def publish_turn(self, turn: Turn) -> None:
        """Publish a turn; see `contracts.ports.TurnPublisher`.

        Dropped under an id that is in use it is published once more without: any publisher may have taken that id, and
        a true repetition changes nothing in the stores.
        """
        body = turn.model_dump_json(exclude_none=True).encode()
        subject, stream = subjects.turns(turn.user_id), subjects.TURNS_STREAM.name
        if not await self.publish(subject, body, message_id=message_id(turn), stream=stream):
            await self.publish(subject, body, message_id=None, stream=stream)

    async def publish_unkept(self, turn: Turn) -> None:
        """Publish a turn where no stream keeps it and no service hears it; returns when the bus has taken it."""
        with asking_for(subjects.INCOGNITO):
            await self.client.publish(
                subjects.incognito(turn.user_id), turn.model_dump_json(exclude_none=True).encode()
            )
            await self.client.flush()

    async def message(self, stream: str, number: int) -> RawStreamMsg | None:
        """The message of this number."""
        return await self._message(stream, seq=number)

    async def last_message(self, stream: str, subject: str) -> RawStreamMsg | None:
        """The newest message under a subject."""
        return await self._message(stream, subject=subject)

    async def next_message(self, stream: str, number: int, subject: str) -> RawStreamMsg | None:
        """The first message under a subject that has this number or a higher one."""
        return await self._message(stream, seq=number, subject=subject, next=True)

    async def _message(self, stream: str, **which: Any) -> RawStreamMsg | None:
        with asking_for(stream):
            try:
                return await self.js.get_msg(stream, **which)
            except NotFoundError as error:
                if error.err_code == _NO_SUCH_STREAM:
                    raise
                return None

    async def delete(self, stream: str, number: int) -> bool:
        """Delete a message and overwrite its bytes; False when it was not there any more."""
        with asking_for(stream):
            try:
                return await self.js.delete_msg(stream, number)
            except ServiceUnavailableError:
                raise
            except APIError:  # one server and a cluster refuse differently to delete a message that is gone
                span, removed = await self.numbers(stream)
                if number in span and number not in removed:
                    raise
                return False

    async def numbers(self, stream: str) -> tuple[range, frozenset[int]]:
        """The numbers of the messages from the first to the last, and those among them that were removed."""
        with asking_for(stream):
            return await JetStream(self.js).numbers(stream)

    async def oldest(self, stream: str) -> datetime | None:
        """When the oldest message of a stream was stored; None when it holds none."""
        with asking_for(stream):
            return await JetStream(self.js).oldest(stream)

    async def missing_from_stream(self, stream: str, numbers: Collection[int]) -> set[int]:
        """Those of these messages that a stream does not hold any more.

        While those before it are purged, the bus was seen to count a message as gone that it holds: a turn that was
        taken back for that would be lost. So it is asked twice.
        """
        if missing := await self._missing(stream, numbers):
            await asyncio.sleep(_PURGED_WITHIN)
            missing &= await self._missing(stream, missing)
        return missing

    async def _missing(self, stream: str, numbers: Collection[int]) -> set[int]:
        span, removed = await self.numbers(stream)
        return {number for number in numbers if number < span.start or number in removed}

    async def state(self, stream: str, subject: str | None = None) -> StreamState:
        """How many messages and bytes a stream holds; with `subject` also how many under each that matches."""
        with asking_for(stream):
            return (await self.js.stream_info(stream, subjects_filter=subject)).state

    async def is_full(self, subject: str, stream: Stream) -> bool:
        """Whether the next message on a subject of this stream pushes out the oldest there."""
        state = await self.state(stream.name, subject)
        return 0 < stream.share <= (state.subjects or {}).get(subject, 0)

    async def used(self, stream: Stream) -> float:
        """The part, 0 to 1, of the bytes that a stream may hold which it holds."""
        with asking_for(stream.name):
            info = await self.js.stream_info(stream.name)
        most = info.config.max_bytes or 0
        return info.state.bytes / most if most > 0 else 0.0

    async def purge_acked(self, consumer: Consumer) -> bool:
        """Remove from its stream the messages that this consumer, the only one of its subject, has acknowledged.

        Returns whether it has acknowledged everything. Once the stream is empty nothing is left on disk, not even as
        free space of a file.
        """
        info = await self._consumer(consumer)
        acked = info.ack_floor.stream_seq if info.ack_floor else 0
        if acked >= (await self.state(consumer.stream)).first_seq:
            only = consumer.subject if consumer.group else None
            with asking_for(consumer.stream):
                await self.js.purge_stream(consumer.stream, seq=acked + 1, subject=only)
        return not (info.num_pending or info.num_ack_pending)

    async def backlog(self, consumer: Consumer) -> int:
        """How many messages wait for this consumer or are in its hands."""
        info = await self._consumer(consumer)
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    async def backlogs(self) -> dict[str, int]:
        """How many messages wait for each service or are in its hands, whatever parts its work is split into."""
        waiting: dict[str, int] = {}
        for consumer in subjects.consumers(await self.partitions()):
            waiting[consumer.service] = waiting.get(consumer.service, 0) + await self.backlog(consumer)
        return waiting

    async def readers(self, consumer: Consumer) -> int:
        """How many replicas ask this consumer for messages right now."""
        return (await self._consumer(consumer)).num_waiting or 0

    async def partitions(self) -> int:
        """How many parts the turns of this bus are split into; a split that is not ours is `Unavailable`."""
        with asking_for(subjects.TURNS_STREAM.name):
            transform = (await self.js.stream_info(subjects.TURNS_STREAM.name)).config.subject_transform
        try:
            return subjects.partitions_of(transform.dest if transform else None)
        except ValueError as error:
            raise Unavailable(f"stream {subjects.TURNS_STREAM.name}: {error}") from error

    async def _consumer(self, consumer: Consumer) -> ConsumerInfo:
        with asking_for(consumer.stream):
            info: ConsumerInfo = await self.js.consumer_info(consumer.stream, consumer.name)
        return info


class JetStream:
    """Configurations in the JSON of the bus: the client knows neither priority groups nor every newer field.

    A stream or consumer that is missing is None; other refusals raise `APIError`.
    """

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js

    async def stream(self, name: str) -> Json | None:
        """The configuration of a stream."""
        return await self._config(f"STREAM.INFO.{name}")

    async def messages(self, name: str) -> int:
        """How many messages a stream holds."""
        return int((await self._ask(f"STREAM.INFO.{name}"))["state"]["messages"])

    async def numbers(self, name: str) -> tuple[range, frozenset[int]]:
        """The numbers of the messages from the first to the last, and those among them that were removed."""
        state = (await self._ask(f"STREAM.INFO.{name}"))["state"]
        if state.get("num_deleted"):
            state = (await self._ask(f"STREAM.INFO.{name}", {"deleted_details": True}))["state"]
        first = state["first_seq"] if state["messages"] else state["last_seq"] + 1
        return range(first, state["last_seq"] + 1), frozenset(state.get("deleted") or ())

    async def oldest(self, name: str) -> datetime | None:
        """When the oldest message of a stream was stored; None when it holds none."""
        state = (await self._ask(f"STREAM.INFO.{name}"))["state"]
        return datetime.fromisoformat(state["first_ts"]) if state["messages"] else None

    async def make_stream(self, config: Json) -> None:
        """Create a stream."""
        await self._ask(f"STREAM.CREATE.{config['name']}", config)

    async def change_stream(self, config: Json) -> None:
        """Replace the whole configuration of a stream."""
        await self._ask(f"STREAM.UPDATE.{config['name']}", config)

    async def consumers(self, stream: str) -> list[str]:
        """The names of the durable consumers of a stream."""
        names: list[str] = []
        while True:
            page = await self._ask(f"CONSUMER.NAMES.{stream}", {"offset": len(names)})
            names += page["consumers"] or []
            if len(names) >= int(page["total"]) or not page["consumers"]:
                return names

    async def consumer(self, stream: str, name: str) -> Json | None:
        """The configuration of a consumer."""
        return await self._config(f"CONSUMER.INFO.{stream}.{name}")

    async def make_consumer(self, stream: str, config: Json) -> None:
        """Create a consumer, or change the one of this name."""
        body = {"stream_name": stream, "config": config}
        await self._ask(f"CONSUMER.DURABLE.CREATE.{stream}.{config['durable_name']}", body)

    async def remove_consumer(self, stream: str, name: str) -> None:
        """Delete a consumer."""
        await self._ask(f"CONSUMER.DELETE.{stream}.{name}")

    async def _config(self, subject: str) -> Json | None:
        try:
            config: Json = (await self._ask(subject))["config"]
        except NotFoundError:
            return None
        return config

    async def _ask(self, subject: str, body: Json | None = None) -> Json:
        # The client has no public way to send a request of the API in JSON; this one also turns errors into APIError.
        request = json.dumps(body).encode() if body is not None else b""
        return await self._js._api_request(f"$JS.API.{subject}", request, timeout=PUBLISH_TIMEOUT)
