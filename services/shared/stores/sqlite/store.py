"""The system of record in one SQLite file: all six ports around one thread that writes and a few that read."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from contracts.ports import (
    Conversation,
    Decision,
    LastTurn,
    LogRecord,
    Outcome,
    Place,
    ProposalRecord,
    Ref,
    Similar,
)
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal
from services.shared.stores.decisions import owners, plan
from services.shared.stores.sqlite import compaction, dedupe, log
from services.shared.stores.sqlite.connection import Readers, Synchronous, Writer, connect, translated
from services.shared.stores.sqlite.engine import Engine, reading, writing
from services.shared.stores.sqlite.entries import SqliteEntries
from services.shared.stores.sqlite.privacy import SqlitePrivacy
from services.shared.stores.sqlite.schema import migrate
from services.shared.stores.sqlite.search import SqliteIndex
from services.shared.stores.sqlite.upkeep import SqliteUpkeep


class SqliteLog(Engine):
    """`contracts.ports.ConversationLog`."""

    @reading
    def last_turns(
        self, db: sqlite3.Connection, moments: Sequence[tuple[Conversation, datetime]]
    ) -> list[LastTurn | None]:
        return log.last_turns(db, moments)

    @writing
    def append(
        self, db: sqlite3.Connection, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]
    ) -> list[LoggedTurn]:
        return log.append(db, turns, proposals)

    @writing
    def withdraw(self, db: sqlite3.Connection, turns: Sequence[LoggedTurn]) -> None:
        before = db.total_changes
        log.withdraw(db, turns)
        if db.total_changes > before:
            compaction.note_old_words(db)

    @reading
    def pending(
        self, db: sqlite3.Connection, proposals: Sequence[Ref], *, may_lag: bool = False
    ) -> dict[str, ProposalRecord]:
        return log.pending(db, owners(proposals))

    @writing
    def reopen(self, db: sqlite3.Connection, proposals: Sequence[Ref]) -> None:
        log.reopen(db, owners(proposals))

    @reading
    def export_log(self, db: sqlite3.Connection, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        return log.export_log(db, user_id, after, limit)


class SqliteDedupe(Engine):
    """`contracts.ports.DedupeStore`."""

    @reading
    def find_similar(self, db: sqlite3.Connection, candidates: Sequence[Entry]) -> list[Similar]:
        return dedupe.find_similar(db, candidates)

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        without: set[str] = set()
        while True:
            read = await self.readers.run(lambda db: dedupe.read(db, decisions))
            planned = plan(decisions, read.known, without=without)
            rows = await dedupe.prepared(planned, read.stored)
            overtaken = await self.writer.run(partial(dedupe.write, planned=planned, rows=rows))
            if overtaken is None:
                return planned.of(decisions)
            without |= overtaken


class SqliteTextStore(SqliteLog, SqliteDedupe, SqliteEntries, SqliteIndex, SqlitePrivacy, SqliteUpkeep):
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
