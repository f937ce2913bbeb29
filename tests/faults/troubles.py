"""Faults that pass: something goes wrong while a file exists, and is well again when it is gone."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nats.aio.msg import Msg
from pydantic import BaseModel

from contracts.ports import Unavailable
from contracts.v1.entries import EntryEvent
from services.shared.bus.pull import PullConsumer
from services.shared.bus.worker import Stage, Worker
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite.connection import Readers, Writer
from tests.faults.patching import in_place_of

_SEED = 5
_HELD_BACK = 0.3
_LOST = 0.3


class Switch:
    """On while a file exists."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def is_on(self) -> bool:
        return self._file.exists()


def text_store_fails(switch: Switch) -> None:
    """What SQLite says of a broken disk, at every read and write."""
    for kind in (Writer, Readers):
        _fail_work(kind, switch)


def _fail_work(kind: type, switch: Switch) -> None:
    original: Callable[..., Awaitable[Any]] = vars(kind)["run"]

    @in_place_of(kind, "run")
    async def run(self: Any, work: Callable[[sqlite3.Connection], Any]) -> Any:
        def working(connection: sqlite3.Connection) -> Any:
            if switch.is_on:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                raise error
            return work(connection)

        return await original(self, working)


def vector_store_fails(switch: Switch) -> None:
    """Whatever is asked of the vector store."""
    original: Callable[..., Awaitable[Any]] = EdgeVectorStore._run

    @in_place_of(EdgeVectorStore, "_run")
    async def run(self: EdgeVectorStore, job: Callable[[], Any]) -> Any:
        if switch.is_on:
            raise Unavailable("the vector store failed writing: no space left on device")
        return await original(self, job)


def everything_twice(switch: Switch) -> None:
    """Every handler is run twice with the same messages, as after a lost acknowledgement."""

    def twice(stage: Stage[Any]) -> Stage[Any]:
        async def handle(models: Sequence[BaseModel]) -> Sequence[EntryEvent]:
            first = await stage.handle(models)
            return [*first, *await stage.handle(models)] if switch.is_on else first

        return replace(stage, handle=handle)

    _change_stages(twice)


def _change_stages(change: Callable[[Stage[Any]], Stage[Any]]) -> None:
    original: Callable[..., None] = Worker.__init__

    @in_place_of(Worker, "__init__")
    def init(self: Worker[Any], stage: Stage[Any], *args: Any, **kwargs: Any) -> None:
        original(self, change(stage), *args, **kwargs)


def messages_reordered(switch: Switch) -> None:
    """What has arrived is shuffled, and a part of it comes later than what arrives later."""
    original: Callable[..., Awaitable[list[Msg]]] = PullConsumer.next_batch
    chance = random.Random(_SEED)

    @in_place_of(PullConsumer, "next_batch")
    async def next_batch(self: PullConsumer) -> list[Msg]:
        batch = await original(self)
        if not switch.is_on:
            return batch
        chance.shuffle(batch)
        held = int(len(batch) * _HELD_BACK)
        self._waiting.extend(batch[:held])
        self.in_hand = batch[held:]
        return self.in_hand


def acknowledgements_lost(switch: Switch) -> None:
    """Every third acknowledgement never reaches the bus, which delivers the message again."""
    original: Callable[..., Awaitable[None]] = Msg.ack
    chance = random.Random(_SEED)

    @in_place_of(Msg, "ack")
    async def ack(self: Msg) -> None:
        if not switch.is_on or chance.random() > _LOST:
            await original(self)


TROUBLES: dict[str, Callable[[Switch], None]] = {
    "text-store-fails": text_store_fails,
    "vector-store-fails": vector_store_fails,
    "everything-twice": everything_twice,
    "messages-reordered": messages_reordered,
    "acknowledgements-lost": acknowledgements_lost,
}
