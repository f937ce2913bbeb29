"""Where memorybus can be made to die: before and after each of its effects, named `<who>.<effect>.<when>`."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from services.ingest.turns_stream import StreamPurger
from services.shared.bus.pull import PullConsumer
from services.shared.bus.requests import RequestMiddleware
from services.shared.bus.streams import Bus
from services.shared.bus.worker import Worker
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.opensearch.transport import Client as OpenSearchClient
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.stores.sqlite.connection import Writer
from tests.faults.patching import in_place_of

Method = Callable[..., Awaitable[Any]]

TEXT_WRITES = (
    *("append", "apply", "replace", "forget", "redact", "reopen", "withdraw"),
    *("record_erasure", "erase", "compact", "put_record", "add_records"),
)
VECTOR_WRITES = ("upsert", "remove", "erase", "compact")
SETTLINGS = ("ack", "nak", "term")

_ACTION = re.compile(rb'^{"(create|index|update|delete)":{"_index":"[^"]*-([a-z]+)"', re.MULTILINE)

_who: ContextVar[str] = ContextVar("who", default="background")
_effect: ContextVar[str] = ContextVar("effect", default="other")


class Trap:
    """Kills this process when a point has been passed so many times; counts all of them when `survey` names a file."""

    def __init__(self, point: str = "", nth: int = 1, survey: Path | None = None) -> None:
        self.passed: Counter[str] = Counter()
        self._point = point
        self._nth = nth
        self._survey = survey

    def passing(self, effect: str, when: str) -> None:
        """Pass one point."""
        name = f"{_who.get()}.{effect}.{when}"
        self.passed[name] += 1
        if self._survey is not None:
            with self._survey.open("a") as file:
                file.write(f"{name}\n")
        if name == self._point and self.passed[name] == self._nth:
            os.kill(os.getpid(), signal.SIGKILL)


def set_traps(trap: Trap) -> None:
    """Let every effect of this process pass the trap before and after."""
    _name_who_acts()
    _surround_text_store(trap)
    _surround_bus(trap)
    for name in VECTOR_WRITES:
        _surround(EdgeVectorStore, name, trap, f"vectors_{name}")
    _surround_opensearch(trap)


def _name_who_acts() -> None:
    _as(Worker, "_run", lambda worker: worker.stage.name)
    _as(RequestMiddleware, "consume_scope", lambda middleware: middleware.handler.answer.name.split(".")[-1])
    _as(StreamPurger, "run", lambda _: "purger")


def _as(kind: type, method: str, name_of: Callable[[Any], str]) -> None:
    original: Method = getattr(kind, method)

    @in_place_of(kind, method)
    async def named(self: Any, *args: Any, **kwargs: Any) -> Any:
        _who.set(name_of(self))
        return await original(self, *args, **kwargs)


def _surround(kind: type, method: str, trap: Trap, effect: str, finish: Method | None = None) -> None:
    """Pass the trap before and after a method; `finish` makes sure that what it did has reached the other side."""
    original: Method = getattr(kind, method)

    @in_place_of(kind, method)
    async def surrounded(self: Any, *args: Any, **kwargs: Any) -> Any:
        trap.passing(effect, "before")
        token = _effect.set(effect)
        try:
            result = await original(self, *args, **kwargs)
        finally:
            _effect.reset(token)
        if finish is not None:
            await finish(self)
        trap.passing(effect, "after")
        return result


def _surround_text_store(trap: Trap) -> None:
    for name in TEXT_WRITES:
        _surround(SqliteTextStore, name, trap, name)
    original: Method = Writer.run

    @in_place_of(Writer, "run")
    async def run(self: Writer, work: Callable[[sqlite3.Connection], Any]) -> Any:
        who, effect = _who.get(), _effect.get()

        def working(connection: sqlite3.Connection) -> Any:
            value = work(connection)
            _who.set(who)  # of this thread
            trap.passing(effect, "uncommitted")
            return value

        return await original(self, working if effect in TEXT_WRITES else work)


def _surround_bus(trap: Trap) -> None:
    for name in SETTLINGS:
        _surround(Msg, name, trap, name, _delivered)
    _surround(JetStreamContext, "purge_stream", trap, "purge")
    _surround(JetStreamContext, "delete_msg", trap, "delete_message")
    _surround_publishing(trap)
    _surround_reading(trap)


async def _delivered(msg: Msg) -> None:
    with suppress(NatsError, asyncio.TimeoutError):
        await msg._client.flush()


def _surround_publishing(trap: Trap) -> None:
    original: Method = Bus.publish

    @in_place_of(Bus, "publish")
    async def publish(self: Bus, subject: str, body: bytes, **kwargs: str) -> None:
        what = published(subject)
        trap.passing(what, "before")
        await original(self, subject, body, **kwargs)
        trap.passing(what, "after")


def published(subject: str) -> str:
    """What is said, and not about whom: `say_proposed`, `say_dead`, `say_turn`."""
    parts = subject.split(".")
    return f"say_{parts[3] if parts[2] == 'entry' else parts[2].removesuffix('s')}"


def _surround_reading(trap: Trap) -> None:
    original: Method = PullConsumer.next_batch

    @in_place_of(PullConsumer, "next_batch")
    async def next_batch(self: PullConsumer) -> list[Msg]:
        batch: list[Msg] = await original(self)
        trap.passing("read", "after")
        return batch


def _surround_opensearch(trap: Trap) -> None:
    original: Method = OpenSearchClient.request

    @in_place_of(OpenSearchClient, "request")
    async def request(self: OpenSearchClient, method: str, path: str, **kwargs: Any) -> Any:
        effect = written_by(path, kwargs.get("body"))
        if effect:
            trap.passing(effect, "before")
        answer = await original(self, method, path, **kwargs)
        if effect:
            trap.passing(effect, "after")
        return answer


def written_by(path: str, body: object) -> str:
    """What a request to OpenSearch writes: `create_turns`, `index_entries_update_statements`; "" for one that reads."""
    verb = path.rpartition("/")[2]
    if verb == "_delete_by_query":
        return "delete_by_query"
    if verb != "_bulk" or not isinstance(body, bytes):
        return ""
    kinds = {f"{verb.decode()}_{kind.decode()}" for verb, kind in _ACTION.findall(body)}
    return "_".join(sorted(kinds))
