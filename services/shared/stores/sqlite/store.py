"""The system of record in one SQLite file: all seven ports around one thread that writes and a few that read."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path

from services.shared.stores.sqlite import compaction
from services.shared.stores.sqlite.connection import Readers, Synchronous, Writer, connect, translated
from services.shared.stores.sqlite.dedupe import SqliteDedupe
from services.shared.stores.sqlite.entries import SqliteEntries
from services.shared.stores.sqlite.log import SqliteLog
from services.shared.stores.sqlite.privacy import SqlitePrivacy
from services.shared.stores.sqlite.schema import migrate
from services.shared.stores.sqlite.search import SqliteIndex
from services.shared.stores.sqlite.upkeep import SqliteUpkeep
from services.shared.stores.sqlite.user_records import SqliteRecords


class SqliteTextStore(
    SqliteLog,
    SqliteDedupe,
    SqliteEntries,
    SqliteIndex,
    SqlitePrivacy,
    SqliteUpkeep,
    SqliteRecords,
):
    """`contracts.ports.TextStore` on SQLite. Several processes may open the same file; each writes in turn."""

    @classmethod
    async def open(cls, path: Path, *, synchronous: Synchronous = "full", readers: int = 2) -> SqliteTextStore:
        """Open the file, which is made when it is missing, and bring it up to date.

        Raises:
            UnusableFile: the file was written by a newer version or another program, or is damaged.
            Unavailable: the file cannot be opened or written now.
        """
        connection = await asyncio.to_thread(_prepared, path, synchronous)
        return cls(Writer(connection), Readers(partial(connect, path, synchronous=synchronous), readers))

    async def close(self) -> None:
        """Finish what is under way, move everything into the one file, and let go.

        When entries were forgotten, the file is written anew, so that nothing of them is left in it.
        """
        await self.readers.close()
        await self.writer.close(last=compaction.compact)


def _prepared(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    connection = connect(path, synchronous=synchronous)
    try:
        migrate(connection)
    except BaseException as error:
        connection.close()
        raise translated(error) from error
    return connection
