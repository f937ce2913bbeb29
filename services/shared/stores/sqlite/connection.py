"""Threads and connections: one writer that commits in groups, a few readers, errors told apart."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from contracts.errors import Unavailable, UnusableStore

Synchronous = Literal["full", "normal"]
"""full: a commit survives a power cut; normal: it survives the death of the process."""

T = TypeVar("T")

_BUSY_MILLISECONDS = 10_000
_CACHE_KIBIBYTES = 64 * 1024
_CHECKPOINT_PAGES = 4_000  # 16 MiB: a page changed by several batches is written back once
_MOST_JOBS = 64

_PASSING = {
    sqlite3.SQLITE_BUSY: "another process holds the database; try again",
    sqlite3.SQLITE_LOCKED: "another process holds the database; try again",
    sqlite3.SQLITE_PROTOCOL: "another process holds the database; try again",
    sqlite3.SQLITE_READONLY: "the database cannot be written: check the permissions of the data folder",
    sqlite3.SQLITE_CANTOPEN: "the database cannot be opened: check that the data folder exists and is writable",
    sqlite3.SQLITE_IOERR: "the disk reports an error: check the disk of the data folder",
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_INTERRUPT: "the operation was interrupted",
}


class UnusableFile(UnusableStore):
    """The file was written by a newer version of this program or by another program, or is damaged."""


def connect(path: Path, *, synchronous: Synchronous) -> sqlite3.Connection:
    """A connection in autocommit mode; what is deleted is overwritten.

    Raises:
        UnusableFile: it is not a database.
        Unavailable: the file cannot be opened now.
    """
    try:
        _make_private(path)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    except (OSError, sqlite3.OperationalError) as error:
        raise Unavailable(f"{_PASSING[sqlite3.SQLITE_CANTOPEN]} ({error})") from error
    try:
        for pragma in (
            f"busy_timeout = {_BUSY_MILLISECONDS}",
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            "secure_delete = ON",
            "temp_store = MEMORY",  # what is sorted does not reach a file elsewhere
            f"cache_size = -{_CACHE_KIBIBYTES}",
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error as error:
        connection.close()
        raise translated(error) from error
    return connection


def _make_private(path: Path) -> None:
    """Make the file, if it is missing, for its owner alone: what users said is nobody else's to read.

    One that exists is not opened. Closing a file takes all locks of this process on it away (POSIX), also those of the
    other connections, and the next process to close the database would remove the log of writes that is in use here.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def translated(error: BaseException) -> BaseException:
    """`Unavailable` for what may pass or be put right from outside, `UnusableFile` for a broken file, or the error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _PASSING:
        return Unavailable(f"{_PASSING[code]} ({error})")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return UnusableFile(
            f"memory.sqlite3 is damaged or no database: restore a backup, or choose another folder ({error})"
        )
    return error


class _Job(Generic[T]):
    """One write call: its work runs in a savepoint of its own, so that its failure is its own."""

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.future: Future[T] = Future()
        self._work = work
        self._value: T | None = None
        self._error: Exception | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        connection.execute("SAVEPOINT job")
        try:
            self._value = self._work(connection)
        except Exception as error:
            if not connection.in_transaction:  # a full or broken disk ends the whole transaction
                raise
            connection.execute("ROLLBACK TO job")
            self._error = error
        connection.execute("RELEASE job")

    def finish(self, failure: BaseException | None = None) -> None:
        error = failure or self._error
        if error is not None:
            self.future.set_exception(translated(error))
        else:
            self.future.set_result(self._value)  # type: ignore[arg-type]


class Writer:
    """The only connection that writes. Calls that wait for the thread share one transaction and one sync."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-writer")
        self._waiting: deque[_Job[object]] = deque()
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` in a transaction; when this returns, it is durable.

        Raises:
            Unavailable: the file could not be written now, or the store is closed.
        """
        job = _Job(work)
        self._waiting.append(job)  # type: ignore[arg-type]
        try:
            self._thread.submit(self._commit_waiting)
        except RuntimeError as error:
            raise Unavailable("the text store is closed") from error
        return await asyncio.wrap_future(job.future)

    def _commit_waiting(self) -> None:
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_JOBS))]
        jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
        if not jobs:
            return
        failure: BaseException | None = None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                job.run(self._connection)
            self._connection.execute("COMMIT")
        except BaseException as error:
            failure = error
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        for job in jobs:
            job.finish(failure)

    async def run_alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` between transactions, while what is to be written waits.

        Raises:
            Unavailable: the file could not be written now, or the store is closed.
        """
        try:
            future = self._thread.submit(work, self._connection)
        except RuntimeError as error:
            raise Unavailable("the text store is closed") from error
        try:
            return await asyncio.wrap_future(future)
        except sqlite3.Error as error:
            raise translated(error) from error

    async def close(self, *, last: Callable[[sqlite3.Connection], object]) -> None:
        """Finish what waits, do the `last` thing if possible, move the log into the file, and let go."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close, last)

    def _close(self, last: Callable[[sqlite3.Connection], object]) -> None:
        self._thread.shutdown()
        try:
            with contextlib.suppress(sqlite3.OperationalError):
                last(self._connection)
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise translated(error) from error
        finally:
            self._connection.close()


class _Reading(NamedTuple):
    """One read call, and who waits for it."""

    work: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    is_brief: bool


_Done = tuple[asyncio.Future[Any], Any, BaseException | None]
"""Who waits for a read call, what it has read, and why it could not."""


class Readers:
    """A few threads with a connection each; every call sees one state of the file.

    What is asked for at the same time goes to one thread together, as far as it is brief: to wake a thread, and the
    event loop for what it has read, takes as long.
    """

    def __init__(self, open_connection: Callable[[], sqlite3.Connection], count: int) -> None:
        self._open = open_connection
        self._threads = ThreadPoolExecutor(max_workers=count, thread_name_prefix="sqlite-reader")
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._waiting: list[_Reading] = []
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T], *, is_brief: bool = False) -> T:
        """Do `work` on a snapshot; what is brief may wait for others that are.

        Raises:
            Unavailable: the file could not be read now, or the store is closed.
        """
        if self._closed:
            raise Unavailable("the text store is closed")
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._hand_over)
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Reading(work, future, is_brief))
        return await future

    def _hand_over(self) -> None:
        """Give what waits to threads: to one all that is brief, and behind it what is not."""
        waiting, self._waiting = self._waiting, []
        brief = [one for one in waiting if one.is_brief]
        long = [[one] for one in waiting if not one.is_brief]
        for groups in filter(any, ([brief, *long[:1]], *([one] for one in long[1:]))):
            try:
                self._threads.submit(self._read_all, groups)
            except RuntimeError as error:
                away = Unavailable(f"no thread can be had to read ({error})")
                _finish((one.future, None, away) for group in groups for one in group)

    def _read_all(self, groups: Sequence[Sequence[_Reading]]) -> None:
        """Read for all who still wait, and tell those of each group together."""
        for group in groups:
            done = [(one.future, *self._outcome(one.work)) for one in group if not one.future.cancelled()]
            if done:
                done[0][0].get_loop().call_soon_threadsafe(_finish, done)

    def _outcome(self, work: Callable[[sqlite3.Connection], T]) -> tuple[T | None, BaseException | None]:
        try:
            return self._read(work), None
        except BaseException as error:
            return None, error

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise translated(error) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._open()
            connection.execute("PRAGMA query_only = ON")
            self._connections.append(connection)
            self._local.connection = connection
        return connection

    async def close(self) -> None:
        """Finish what is under way and let go."""
        self._closed = True
        self._hand_over()
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._connections:
            connection.close()


def _finish(done: Iterable[_Done]) -> None:
    for future, value, error in done:
        if future.done():  # nobody waits any more
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
