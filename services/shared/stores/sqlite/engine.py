"""What the parts of the text store share: one thread that writes and a few that read, and methods that run on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from services.shared.stores.sqlite.connection import Readers, Writer
from services.shared.stores.sqlite.recent import RecentEntries
from services.shared.stores.sqlite.sessions import SessionCache

P = ParamSpec("P")
T = TypeVar("T")


class Engine:
    """The base of the classes that fulfil the ports; a text store is all of them around one file."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self.writer = writer
        self.readers = readers
        self.recent = RecentEntries()
        self.sessions = SessionCache()


def reading(
    work: Callable[Concatenate[Any, sqlite3.Connection, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Make a method of what reads: it runs on a thread of its own, and sees one state of the file."""
    return _reading(work, is_brief=False)


def glancing(
    work: Callable[Concatenate[Any, sqlite3.Connection, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Make a method of what reads a little: it shares its thread with others that are asked for at the same time."""
    return _reading(work, is_brief=True)


def _reading(
    work: Callable[Concatenate[Any, sqlite3.Connection, P], T], *, is_brief: bool
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    @wraps(work)
    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        readers: Readers = self.readers
        return await readers.run(lambda db: work(self, db, *args, **kwargs), is_brief=is_brief)

    return method


def writing(
    work: Callable[Concatenate[Any, sqlite3.Connection, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Make a method of what writes: it runs in a transaction on the thread that writes, and is durable then."""

    @wraps(work)
    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        writer: Writer = self.writer
        return await writer.run(lambda db: work(self, db, *args, **kwargs))

    return method
