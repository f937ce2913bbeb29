"""The JetStream API in its own JSON: the client knows neither priority groups nor every field of a newer server."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

Json = dict[str, Any]


class JetStream:
    """Streams and consumers as the bus holds them. A missing one is None; other refusals raise `APIError`."""

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js

    async def stream(self, name: str) -> Json | None:
        """The configuration of a stream."""
        return await self._config(f"STREAM.INFO.{name}")

    async def messages(self, name: str) -> int:
        """How many messages a stream holds."""
        return int((await self._ask(f"STREAM.INFO.{name}"))["state"]["messages"])

    async def missing_from_stream(self, name: str, numbers: Collection[int]) -> set[int]:
        """Which of these messages a stream does not hold any more."""
        span, removed = await self.numbers(name)
        return {number for number in numbers if number < span.start or number in removed}

    async def numbers(self, name: str) -> tuple[range, frozenset[int]]:
        """The numbers of the messages from the first to the last, and those among them that were removed."""
        state = (await self._ask(f"STREAM.INFO.{name}"))["state"]
        if state.get("num_deleted"):
            state = (await self._ask(f"STREAM.INFO.{name}", {"deleted_details": True}))["state"]
        first = state["first_seq"] if state["messages"] else state["last_seq"] + 1
        return range(first, state["last_seq"] + 1), frozenset(state.get("deleted") or ())

    async def make_stream(self, config: Json) -> None:
        """Create a stream."""
        await self._ask(f"STREAM.CREATE.{config['name']}", config)

    async def change_stream(self, config: Json) -> None:
        """Replace the whole configuration of a stream."""
        await self._ask(f"STREAM.UPDATE.{config['name']}", config)

    async def next_message(self, stream: str, number: int, subject: str) -> tuple[int, str, bytes] | None:
        """The first message from a number on under a subject: its number, its own subject, its bytes."""
        try:
            found = await self._js.get_msg(stream, seq=number, subject=subject, next=True)
        except NotFoundError:
            return None
        return int(found.seq or 0), found.subject or "", found.data or b""

    async def publish(self, stream: str, subject: str, body: bytes) -> None:
        """Publish, and wait until it is kept."""
        await self._js.publish(subject, body, stream=stream, timeout=5.0)

    async def delete_message(self, stream: str, number: int) -> None:
        """Delete one message, and overwrite it."""
        await self._js.delete_msg(stream, number)

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
        return await self._js._api_request(f"$JS.API.{subject}", request, timeout=5.0)
