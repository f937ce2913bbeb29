"""The system of record in one SQLite file: every method of the port, on the thread it belongs to."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from contracts.ports import (
    Conversation,
    Crowd,
    Decision,
    EmbeddingIdentity,
    Erasure,
    Filters,
    Forgotten,
    Key,
    LastTurn,
    LexicalHit,
    LogRecord,
    Outcome,
    Page,
    Place,
    Ref,
    Scope,
    Selection,
    SimilarityQuery,
    StageCounts,
    Stuck,
)
from contracts.v1.entries import EmbeddingState, Entry
from contracts.v1.turns import LoggedTurn, Proposal
from services.shared.stores.decisions import owners
from services.shared.stores.sqlite import (
    archive,
    counts,
    digests,
    erasing,
    forgetting,
    log,
    meta,
    paging,
    records,
    search,
    sessions,
    settle,
    similar,
    sweeping,
    upkeep,
)
from services.shared.stores.sqlite.connection import Readers, Synchronous, Writer, connect, translated
from services.shared.stores.sqlite.schema import migrate

_ERASED_TOGETHER = 500
"""Rows that are deleted in one step, which takes some 10 ms."""

_ERASED_AT_MOST = 50_000
"""Rows whose keys are looked up at once."""


class SqliteTextStore:
    """`contracts.ports.TextStore` on SQLite. Several processes may open the same file; each writes in turn."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    @classmethod
    async def open(cls, path: Path, *, synchronous: Synchronous = "full", readers: int = 2) -> SqliteTextStore:
        """Open the file, which is made when it is missing, and bring it up to date.

        Raises:
            UnusableFile: the file was written by a newer version or another program, or is damaged.
            Unavailable: the file cannot be opened or written now.
        """
        connection = await asyncio.to_thread(_prepared, path, synchronous)
        return cls(Writer(connection), Readers(partial(connect, path, synchronous=synchronous), readers))

    async def last_turns(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
        """For each conversation and moment, the latest logged turn at or before it."""
        return await self._readers.run(lambda db: log.last_turns(db, moments))

    async def append(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
        """Append turns and what they propose; those that are new. A known turn stays as it was first."""
        return await self._writer.run(lambda db: log.append(db, turns, proposals))

    async def undecided(self, proposals: Sequence[Ref]) -> list[Proposal]:
        """Of these proposals, the ones that have no outcome yet, in the order asked."""
        return await self._readers.run(lambda db: log.undecided(db, owners(proposals)))

    async def find_similar(self, queries: Sequence[SimilarityQuery]) -> list[list[Entry]]:
        """For each probe the active entries of the same scope, role and speaker that share one of its keys.

        Of those that share a key the newest 32 are looked at.
        """
        return await self._readers.run(lambda db: similar.similar(db, queries))

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry out decisions, in order; what has to be judged again is left out."""
        return await self._writer.run(lambda db: settle.apply(db, decisions))

    async def outcomes(self, proposals: Sequence[Ref]) -> dict[str, Outcome]:
        """What became of these proposals; the undecided are missing."""
        return await self._readers.run(lambda db: log.outcomes(db, owners(proposals)))

    async def entries(self, refs: Sequence[Ref]) -> dict[str, Entry]:
        """The stored entries by id, in any status, in the order asked; unknown or another user's are missing."""
        return await self._readers.run(lambda db: records.entries(db, owners(refs)))

    async def ids_beginning(self, user_id: str, beginning: str, *, limit: int) -> list[str]:
        """The ids of the user's entries, in any status, that begin so, in order."""
        return await self._readers.run(lambda db: records.ids_beginning(db, user_id, beginning, limit))

    async def modify(self, refs: Sequence[Ref], change: Callable[[Entry], Entry | None]) -> list[Entry]:
        """Replace each entry by `change(entry)`, version + 1, unless that is None; returns the ones replaced."""
        return await self._writer.run(lambda db: records.modify(db, owners(refs), change))

    async def page(self, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        """One page of entries, those said last first. Raises ValueError for a cursor it did not make."""
        return await self._readers.run(lambda db: paging.page(db, selection, limit=limit, cursor=cursor))

    async def search(self, scope: Scope, query: str, *, limit: int, filters: Filters) -> list[LexicalHit]:
        """The active entries of the scope that, or whose neighbours, share words with the query; best first."""
        return await self._readers.run(lambda db: search.search(db, scope, query, limit=limit, filters=filters))

    async def neighbours(self, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """The active entries around each known entry in its session: distance → id."""
        return await self._readers.run(lambda db: sessions.neighbours(db, owners(refs), reach=reach))

    async def unfinished(self, lacking: Stuck, *, before: datetime, limit: int) -> list[Key]:
        """What has lacked this since before a moment; the oldest first."""
        return await self._readers.run(lambda db: counts.unfinished(db, lacking, before, limit))

    async def with_embedding(self, state: EmbeddingState, *, limit: int) -> list[Entry]:
        """Some active entries, of whatever user, whose embedding is in this state."""
        return await self._readers.run(lambda db: records.with_embedding(db, state, limit=limit))

    async def counts(self, user_id: str | None = None) -> StageCounts:
        """Count what is stored, for one user or for all."""
        return await self._readers.run(lambda db: counts.counts(db, user_id))

    async def users(self, *, after: str, limit: int) -> list[str]:
        """The users of whom anything is stored and whose ids come after this one, in order."""
        return await self._readers.run(lambda db: archive.users(db, after, limit))

    async def export_log(self, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        """The logged turns of a user after a place, the oldest first."""
        return await self._readers.run(lambda db: archive.export_log(db, user_id, after, limit))

    async def kept(self, user_id: str, *, after: Place | None, limit: int) -> list[Entry]:
        """The entries of a user in any status after a place, the oldest first."""
        return await self._readers.run(lambda db: archive.kept(db, user_id, after, limit))

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        """Leave of each entry a tombstone, and of the turns that said it a log without their words."""
        return await self._writer.run(lambda db: forgetting.forget(db, owners(refs), until))

    async def forgotten(self, entries: Sequence[Entry]) -> set[str]:
        """Of these candidates, the ids of those whose statement may not come back now."""
        return await self._readers.run(lambda db: digests.barred(db, entries))

    async def reopen(self, proposals: Sequence[Ref]) -> None:
        """Take back outcomes, so that the proposals are judged again; those whose entry is there keep theirs."""
        await self._writer.run(lambda db: log.reopen(db, owners(proposals)))

    async def withdraw(self, turns: Sequence[LoggedTurn]) -> None:
        """Take turns off the log with all they propose; nothing was made of them yet."""
        await self._writer.run(lambda db: erasing.withdraw(db, turns))

    async def erasures(self, user_ids: Collection[str] | None = None) -> list[Erasure]:
        """The erasures of these users, or of anybody, that are not complete."""
        return await self._readers.run(lambda db: erasing.erasures(db, user_ids))

    async def erased(self, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
        """What the erasure asked for at this time removed, when it was completed in the last 24 hours."""
        return await self._readers.run(lambda db: erasing.erased(db, user_id, requested_at))

    async def record_erasure(self, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        """Replace the erasure of a user; False, and no change, when it is not the one held."""
        return await self._writer.run(lambda db: erasing.record(db, user_id, held, new))

    async def erase(self, user_id: str, *, mark: Erasure | None = None) -> None:
        """Remove everything of a user, some rows at a time: between two steps others write."""
        for table in erasing.TABLES:
            look = partial(erasing.keys_of, table=table, user_id=user_id, limit=_ERASED_AT_MOST)
            while keys := await self._readers.run(look):
                for start in range(0, len(keys), _ERASED_TOGETHER):
                    some = keys[start : start + _ERASED_TOGETHER]
                    delete = partial(erasing.erase_rows, table=table, keys=some, user_id=user_id, mark=mark)
                    if not await self._writer.run(delete):
                        return

    async def traces(self, user_id: str) -> Mapping[str, int]:
        """How many rows of each table are a user's, counted by looking through all of them."""
        return await self._readers.run(lambda db: erasing.traces(db, user_id))

    async def sweep(self) -> bool:
        """Leave nothing in the files of what was forgotten or erased; False when a reader was in the way.

        When there is something, the file is written anew, which takes as much free space again; writes wait.
        """
        return await self._writer.run_alone(sweeping.sweep)

    async def crowded(self, *, cap: int, limit: int) -> list[Crowd]:
        """Some spaces with more than `cap` active entries, the fullest first."""
        return await self._readers.run(lambda db: upkeep.crowded(db, cap, limit))

    async def aged(self, *, before: datetime, limit: int) -> list[Key]:
        """Active entries last said before a moment that are neither pinned nor manually saved, the oldest first."""
        return await self._readers.run(lambda db: upkeep.aged(db, before, limit))

    async def in_order(self, *, after: str, limit: int) -> list[Entry]:
        """The active entries of all users whose ids come after this one, in the order of ids."""
        return await self._readers.run(lambda db: upkeep.in_order(db, after, limit))

    async def recall_identity(self) -> EmbeddingIdentity | None:
        """The identity that the stored vectors were made by."""
        return await self._readers.run(meta.recall_identity)

    async def remember_identity(self, identity: EmbeddingIdentity | None) -> None:
        """Record the identity that vectors are made by from now on; None forgets it."""
        await self._writer.run(lambda db: meta.remember_identity(db, identity))

    async def ping(self) -> None:
        """Read from the file and reach the writing thread, or raise `Unavailable`."""
        await self._readers.run(lambda db: db.execute("SELECT count(*) FROM meta").fetchone())
        await self._writer.run(lambda db: None)

    async def close(self) -> None:
        """Finish what is under way, move everything into the one file, and let go.

        When entries were forgotten, the file is written anew, so that nothing of them is left in it.
        """
        await self._readers.close()
        await self._writer.close(last=sweeping.sweep)


def _prepared(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    connection = connect(path, synchronous=synchronous)
    try:
        migrate(connection)
    except BaseException as error:
        connection.close()
        raise translated(error) from error
    return connection
