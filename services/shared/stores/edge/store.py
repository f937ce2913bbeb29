"""`VectorStore` on the Qdrant engine in this process: exact cosine search, no server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as qdrant

from contracts.errors import Unavailable
from contracts.ports import Filters, Key, Scope, SemanticHit, StoredPoint, Vector, VectorPoint
from contracts.v1.entries import Entry
from services.shared.stores.edge.folder import engine_errors, open_current, open_shard
from services.shared.stores.edge.generations import Generations
from services.shared.stores.edge.known import Known, KnownPoints, PointNames, read_points
from services.shared.stores.edge.points import (
    cosines,
    payload_update,
    search_filter,
    stored_points,
    upserts,
    user_filter,
)
from services.shared.stores.points import (
    COMPARED,
    COPY,
    TURN,
    checked_vector,
    lacking,
    newest_entries,
    place_in_order,
    point_ids,
)

T = TypeVar("T")

FLUSH_EVERY = 20_000
"""Points written between two flushes. A flush takes some 0.2 s in which the process stands still; without any, the
log of writes grows by 2 KB a point, and is replayed after a crash."""

REWRITTEN_AT_ONCE = 128
"""Points copied into a new shard at a time, in some 10 ms, so that searches wait no longer than that."""


class EdgeVectorStore:
    """The `VectorStore` of contracts.ports in a folder that one process owns.

    The engine keeps the interpreter lock in every call, so one thread does all of them: a second would only wait,
    and a single one puts reads and writes into the order they were asked for. A write is in the engine's log when
    the call returns; it survives the death of the process, and after `close` or a flush that of the machine too.
    What is removed stays in the engine's files and log until `compact` writes all that remains into new ones.
    """

    def __init__(
        self, path: Path, shard: qdrant.EdgeShard, thread: ThreadPoolExecutor, dimensions: int, *, copies: bool
    ) -> None:
        self._generations = Generations(path)
        self._copies = copies
        self._shard = shard
        self._thread = thread
        self._dimensions = dimensions
        self._writing = asyncio.Lock()
        self._known = KnownPoints()
        self._names = PointNames()
        self._unflushed = 0
        self._closed = False

    @classmethod
    async def open(cls, path: str | Path, *, dimensions: int = 384, copies: bool = False) -> EdgeVectorStore:
        """Open the folder, or make it, for vectors of so many dimensions; with copies of the entries, or without.

        Raises:
            FolderInUse: another process has it open.
            FolderMismatch: its vectors have other dimensions, or it is of a former version.
            Unavailable: it cannot be read or written.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="vectors")
        opening = partial(open_current, Path(path), dimensions=dimensions)
        try:
            shard = await asyncio.get_running_loop().run_in_executor(thread, opening)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(Path(path), shard, thread, dimensions, copies=copies)

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        """Store points; one whose entry version is older than the stored one is left out.

        Raises:
            ValueError: an id is no UUID, or a vector has the wrong shape or numbers; nothing is stored then.
        """
        await self._change(partial(self._upsert, points))

    async def remove(self, ids: Sequence[str]) -> None:
        known = point_ids(ids)
        if known:
            await self._change(partial(self._remove, known))

    async def erase(self, user_id: str) -> None:
        """Remove all points of a user; an unknown one is no error, and leaves no trace in the log of writes."""
        if not await self.count(user_id):
            return
        await self._change(partial(self._erase, user_id))

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        """The points of the scope nearest to a unit vector by cosine, best first. The search is exact."""
        if limit < 1 or (ids is not None and not ids):
            return []
        vector, held = checked_vector(vector, self._dimensions), dict[str, Known]()
        if ids is not None and filters.empty:  # to multiply what is known takes a tenth of the time
            self._check_open()
            held = self._known.get(ids)
            ids = [id_ for id_ in ids if id_ not in held]
        found = await self._nearest(scope, vector, limit, filters, ids) if ids is None or ids else []
        if held:
            found = sorted([*found, *cosines(held, vector, scope)], key=lambda hit: -hit.cosine)
        return found[:limit]

    async def _nearest(
        self, scope: Scope, vector: Any, limit: int, filters: Filters, ids: Collection[str] | None
    ) -> list[SemanticHit]:
        # Without payload: it would take longer than the search. Scopes are checked again on the entries themselves.
        request = qdrant.QueryRequest(
            limit=limit,
            query=qdrant.Query.Nearest(vector, using=TURN),
            filter=search_filter(scope, filters, ids),
            with_payload=False,
        )
        points = await self._run(partial(self._read, lambda shard: shard.query(request)))
        scores = [point.score for point in points]
        if points and not -1.0 <= scores[-1] <= scores[0] <= 1.0:
            scores = [max(-1.0, min(1.0, score)) for score in scores]
        return list(map(SemanticHit, self._names.of(points), scores))

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        if copies:
            known = point_ids(ids)
            return stored_points(await self._run(partial(self._points, known, ["scope", COPY])), scope) if known else {}
        self._check_open()
        held = self._known.get(ids)
        if unknown := point_ids(id_ for id_ in ids if id_ not in held):
            held |= await self._run(partial(self._fetch, unknown))
        return stored_points(held, scope)

    async def count(self, user_id: str | None = None) -> int:
        counting = qdrant.CountRequest(exact=True, filter=None if user_id is None else user_filter(user_id))
        return await self._run(partial(self._read, lambda shard: shard.count(counting)))

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        if limit < 1:
            return []
        start = place_in_order(after)  # itself not wanted, but the engine begins with it where it is there
        page = qdrant.ScrollRequest(offset=start, limit=limit + 1, with_payload=["user_id"], with_vector=False)
        records, _ = await self._run(partial(self._read, lambda shard: shard.scroll(page)))
        keys = [Key((record.payload or {}).get("user_id", ""), str(record.id)) for record in records]
        return [key for key in keys if key.id != start][:limit]

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        known = point_ids(entry.id for entry in entries)
        read = partial(self._read, lambda shard: shard.retrieve(list(known), list(COMPARED), False))
        return lacking(entries, {str(record.id): record.payload for record in await self._run(read)})

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        if not entries:
            return set()
        async with self._writing:
            return await self._run(partial(self._refresh, newest_entries(entries)))

    async def compact(self) -> bool:
        """Write all points into new files when some were removed since the last time, and drop the old ones.

        Searches go on meanwhile; whatever writes waits. It takes about a second for 10,000 points.
        """
        async with self._writing:
            if await self._run(lambda: self._generations.holds_removed):
                await self._rewrite()
        return True

    async def _rewrite(self) -> None:
        """A failure or a death on the way leaves everything as it was, to be done again."""
        folder, fresh = await self._run(self._begin)
        try:
            place = None
            while True:
                place = await self._run(partial(self._copy_some, fresh, place))
                if place is None:
                    break
        except BaseException:
            fresh.close()
            raise
        await self._run(partial(self._switch, folder, fresh))

    def _begin(self) -> tuple[Path, qdrant.EdgeShard]:
        with engine_errors("making new files"):
            folder = self._generations.begin()
        return folder, open_shard(folder, dimensions=self._dimensions)

    def _copy_some(self, fresh: qdrant.EdgeShard, place: Any) -> Any:
        """Copy the points from this place on; the place where the next begin, None at the end."""
        page = qdrant.ScrollRequest(offset=place, limit=REWRITTEN_AT_ONCE, with_payload=True, with_vector=True)
        with engine_errors("rewriting its files"):
            records, following = self._shard.scroll(page)
            if records:
                points = [qdrant.Point(each.id, each.vector or {}, each.payload) for each in records]
                fresh.update(qdrant.UpdateOperation.upsert_points(points))
        return following

    def _switch(self, folder: Path, fresh: qdrant.EdgeShard) -> None:
        with engine_errors("changing to its new files"):
            fresh.flush()
            self._generations.choose(folder)
            former, self._shard, self._unflushed = self._shard, fresh, 0
            self._known.clear()
            former.close()
            self._generations.finish()

    async def ping(self) -> None:
        await self._run(partial(self._read, lambda shard: shard.info()))

    async def close(self) -> None:
        """Write out what is in memory and let go of the folder. Closing twice is no error."""
        if self._closed:
            return
        self._closed = True
        async with self._writing:
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            finally:
                self._thread.shutdown(wait=False)

    async def _change(self, job: Callable[[], None]) -> None:
        async with self._writing:
            await self._run(job)

    async def _run(self, job: Callable[[], T]) -> T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the vector store is closed")

    def _points(self, ids: Sequence[str], fields: Sequence[str]) -> dict[str, Known]:
        return read_points(self._read(lambda shard: shard.retrieve(list(ids), list(fields), [TURN])))

    def _fetch(self, ids: Sequence[str]) -> dict[str, Known]:
        found = self._points(ids, ["scope"])
        self._known.note(found)
        return found

    def _read(self, ask: Callable[[qdrant.EdgeShard], T]) -> T:
        with engine_errors("reading"):
            return ask(self._shard)

    def _upsert(self, points: Sequence[VectorPoint]) -> None:
        self._known.forget(point.entry.id for point in points)
        self._write(list(upserts(points, self._dimensions, copies=self._copies)), len(points))

    def _refresh(self, entries: dict[str, Entry]) -> set[str]:
        known: list[Any] = [*point_ids(entries)]
        held = self._read(lambda shard: shard.retrieve(known, ["version"], False))
        versions = {str(record.id): (record.payload or {}).get("version", 0) for record in held}
        self._known.forget(entries)
        outdated = [entries[id_] for id_, version in versions.items() if version <= entries[id_].version]
        self._write([payload_update(entry, copies=self._copies) for entry in outdated], len(outdated))
        return set(entries) - set(versions)

    def _remove(self, ids: Sequence[str]) -> None:
        self._known.forget(ids)
        self._note_removal()
        self._write([qdrant.UpdateOperation.delete_points(list(ids))], len(ids))

    def _erase(self, user_id: str) -> None:
        self._known.clear()
        self._names.clear()
        self._note_removal()
        self._write([qdrant.UpdateOperation.delete_points_by_filter(user_filter(user_id))], 1)

    def _note_removal(self) -> None:
        with engine_errors("writing"):
            self._generations.note_removal()

    def _write(self, operations: Sequence[qdrant.UpdateOperation], points: int) -> None:
        with engine_errors("writing"):
            for operation in operations:
                self._shard.update(operation)
        self._unflushed += points
        if self._unflushed >= FLUSH_EVERY:
            self._flush()

    def _flush(self) -> None:
        with engine_errors("writing out"):
            self._shard.flush()
        self._unflushed = 0

    def _close(self) -> None:
        if self._unflushed:
            self._flush()
        with engine_errors("closing"):
            self._shard.close()
