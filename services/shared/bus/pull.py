"""Reads a durable consumer in batches: the messages that have arrived, at once, up to a size, users in turn.

The client's own `fetch` either waits for a batch to fill or asks once per message; both cost time that a pipeline
of several stages cannot spare. Here one pull request is always open: the next batch arrives while this one is handled.

A consumer with a group has one reader at a time, which the bus pins: it hands out a pin with each message, wants it
back in each request, and pins another reader when requests fail to come for `PIN_SECONDS`. Others wait with an open
request. The bus promises affinity, not exclusivity: the work of two readers at the same moment must still be harmless.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from contracts.subjects import Consumer
from services.shared.backoff import backoff_seconds
from services.shared.bus.declarations import PIN_SECONDS
from services.shared.bus.fairness import Lanes, LoadOf, load_of_turn

log = logging.getLogger(__name__)

_EXPIRES = 30.0
_HEARTBEAT = 2.0
_SILENCE = 3 * _HEARTBEAT
_PIN_HEADER = "Nats-Pin-Id"
_GROUP_EXPIRES = 0.4 * PIN_SECONDS  # an idle reader keeps its pin by asking again well in time
_NOTHING_CAME, _LOST_PIN, _HEARTBEAT_STATUS = "408", "423", "100"


class PullConsumer:
    """One reader of a durable consumer. `held` are the messages not yet acknowledged: the batch in hand, and the rest.

    A batch is at most `max_batch` of load, or one message. `window` messages may wait here, and among them no user
    waits for another's.
    """

    def __init__(
        self,
        client: Client,
        consumer: Consumer,
        *,
        max_batch: int,
        window: int = 512,
        load_of: LoadOf = load_of_turn,
    ) -> None:
        self._client = client
        self._consumer = consumer
        self._max_batch = max_batch
        self._ask_for = max(1, window // 2)
        self._pin: str | None = None
        self._refusals = 0
        self._waiting = Lanes(load_of)
        self._arrived = asyncio.Event()
        self._asked = 0  # messages that the open pull request may still bring
        self._heard_at = time.monotonic()
        self._connection = 0  # the number of the connection on which it was asked last
        self._subscription: Subscription | None = None
        self._inbox = ""
        self.in_hand: list[Msg] = []

    @property
    def held(self) -> list[Msg]:
        """Messages delivered here and not yet done with."""
        return [*self.in_hand, *self._waiting]

    @property
    def is_pinned(self) -> bool:
        """Whether the bus gives the messages of this consumer to nobody else, as far as is known here."""
        return self._pin is not None

    async def start(self) -> None:
        """Subscribe to the replies and ask for the first batch."""
        self._inbox = self._client.new_inbox()
        self._subscription = await self._client.subscribe(
            self._inbox, cb=self._on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
        )
        await self._ask()

    async def next_batch(self) -> list[Msg]:
        """The messages that have arrived, at least one, at most a batch; the next ones are already asked for."""
        while not self._waiting:
            await self._wait()
        self.in_hand = self._waiting.take(self._max_batch)
        if self._asked == 0 and len(self._waiting) <= self._ask_for:
            await self._ask()
        return self.in_hand

    async def stop(self) -> None:
        """Ask for nothing more; messages that are held come to another reader after the acknowledgement time."""
        if self._subscription is not None and not self._client.is_closed:
            await self._subscription.unsubscribe()
        self._subscription = None

    def take_back(self) -> list[Msg]:
        """The messages that have arrived and are not in hand; they are no longer held."""
        return self._waiting.clear()

    async def unpin(self) -> None:
        """Let the bus pin another reader at once, if one is waiting."""
        if self._pin is None or self._client.is_closed:
            return
        subject = f"$JS.API.CONSUMER.UNPIN.{self._consumer.stream}.{self._consumer.name}"
        body = json.dumps({"group": self._consumer.group}).encode()
        with suppress(NatsError, TimeoutError):  # it happens by itself a little later
            await self._client.request(subject, body, timeout=1.0)
        self._pin = None

    async def _wait(self) -> None:
        self._arrived.clear()
        try:
            async with asyncio.timeout(_HEARTBEAT):
                await self._arrived.wait()
        except TimeoutError:
            if self._connection != self._client.stats["reconnects"] or time.monotonic() - self._heard_at > _SILENCE:
                self._asked = 0  # the request was lost with the connection or the server
        if self._asked == 0 and not self._waiting:
            await self._ask()

    async def _ask(self) -> None:
        if self._refusals:
            await asyncio.sleep(backoff_seconds(self._refusals, longest=_HEARTBEAT))
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._consumer.stream}.{self._consumer.name}"
        try:
            await self._client.publish(subject, json.dumps(self._request()).encode(), reply=self._inbox)
        except NatsError as error:
            log.warning("pull_failed", extra={"cause": repr(error)})
            await asyncio.sleep(_HEARTBEAT)
            return
        self._asked = self._ask_for
        self._connection = self._client.stats["reconnects"]
        self._heard_at = time.monotonic()

    def _request(self) -> dict[str, int | str]:
        request: dict[str, int | str] = {
            "batch": self._ask_for,
            "expires": int((_GROUP_EXPIRES if self._consumer.group else _EXPIRES) * 1e9),
            "idle_heartbeat": int(_HEARTBEAT * 1e9),
        }
        if self._consumer.group:
            request["group"] = self._consumer.group
        if self._pin is not None:
            request["id"] = self._pin
        return request

    async def _on_message(self, msg: Msg) -> None:
        self._heard_at = time.monotonic()
        status = msg.headers.get("Status") if msg.headers and not msg.reply.startswith("$JS.ACK") else None
        if status is None:
            self._asked = max(0, self._asked - 1)
            self._refusals = 0
            if self._consumer.group:  # elsewhere a publisher may have written that header
                self._pin = (msg.headers or {}).get(_PIN_HEADER, self._pin)
            self._waiting.extend([msg])
            self._arrived.set()
        elif status == _HEARTBEAT_STATUS:
            self._refusals = 0
        else:  # anything but a heartbeat ends the request
            self._end_request(status)

    def _end_request(self, status: str) -> None:
        self._asked = 0
        if status == _LOST_PIN:
            self._pin = None
        elif status == _NOTHING_CAME:
            self._refusals = 0
        else:  # no such consumer, no leader, too many requests: asking again at once would be refused at once
            self._refusals += 1
            self._pin = None
        self._arrived.set()
