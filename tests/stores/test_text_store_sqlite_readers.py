"""Reading together: what is asked for at the same time shares a thread, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from contracts.ports import Unavailable
from services.shared.stores.sqlite.connection import Readers, connect

Work = Callable[[sqlite3.Connection], object]


@pytest.fixture
async def readers(path: Path) -> AsyncIterator[Readers]:
    opened = Readers(partial(connect, path, synchronous="normal"), 2)
    yield opened
    await opened.close()


def noting(told: list[str], what: str) -> Work:
    return lambda _: told.append(what)


def failing(error: BaseException) -> Work:
    def work(_: sqlite3.Connection) -> None:
        raise error

    return work


async def asked_at_once(readers: Readers, brief: list[Work], long: list[Work]) -> list[object]:
    asked = [readers.run(one, is_brief=is_brief) for its, is_brief in ((long, False), (brief, True)) for one in its]
    return await asyncio.gather(*asked, return_exceptions=True)


async def test_what_is_brief_is_read_in_the_order_asked_and_before_what_takes_long(readers: Readers) -> None:
    told: list[str] = []
    await asked_at_once(readers, [noting(told, "one"), noting(told, "two")], [noting(told, "long")])
    assert told == ["one", "two", "long"]


async def test_what_is_brief_does_not_wait_for_what_takes_long(readers: Readers) -> None:
    is_read, told = threading.Event(), list[str]()
    long = asyncio.create_task(readers.run(lambda _: is_read.wait(10)))
    await readers.run(noting(told, "brief"), is_brief=True)
    assert (told, long.done()) == (["brief"], False)
    is_read.set()
    assert await long


async def test_a_failure_is_its_own(readers: Readers) -> None:
    wrong, full = failing(ValueError("wrong")), failing(sqlite3.OperationalError("strange"))
    found = await asked_at_once(readers, [wrong, lambda db: db.execute("SELECT 1").fetchone(), full], [])
    assert [type(one) for one in found] == [ValueError, tuple, sqlite3.OperationalError]


async def test_nothing_is_read_for_whom_nobody_waits_any_more(readers: Readers) -> None:
    told: list[str] = []
    asked = [asyncio.create_task(readers.run(noting(told, name), is_brief=True)) for name in ("gone", "here")]
    await asyncio.sleep(0)
    asked[0].cancel()
    await asked[1]
    assert (told, asked[0].cancelled()) == (["here"], True)


async def test_what_waits_when_it_is_closed_is_read_and_nothing_after(readers: Readers) -> None:
    waiting = asyncio.create_task(readers.run(lambda _: "read"))
    await asyncio.sleep(0)
    await readers.close()
    assert await waiting == "read"
    with pytest.raises(Unavailable, match="closed"):
        await readers.run(lambda _: "late")
