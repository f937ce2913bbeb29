"""The places where anything of a user may be, and the ways in which all of curate goes through and changes them."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from contracts.ports import InFlight, Record, RecordKey, Ref, Scope, Selection, TextStore, Vector, VectorStore
from contracts.v1.entries import Entry, EntryEvent, EntryRef
from contracts.v1.turns import EVERY_PERSONA
from services.shared.changes import change_entries
from services.shared.errors import Rejected
from services.shared.paging import P, pages
from services.shared.ranking.neighbour_tags import source_label, without_sources

T = TypeVar("T")
Say = Callable[[Sequence[EntryEvent]], Awaitable[None]]
"""Publishes events."""

Pause = Callable[[float], Awaitable[None]]
"""Waits after a step of background work that took so many seconds."""

_PAGE = 200
_FETCHED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Stores:
    """Both stores and the bus; there may be no vectors. What is told of entries is `say`."""

    text: TextStore
    vectors: VectorStore | None
    in_flight: InFlight
    say: Say

    async def entry(self, key: Ref) -> Entry | None:
        """The entry, whatever its status."""
        return (await self.text.get([key])).get(key.id)

    async def record(self, key: RecordKey) -> Record | None:
        """The record as it is now."""
        return (await self.text.get_records([key])).get(key)

    async def tell(self, event: type[EntryEvent], of: Iterable[Ref], cause: str | None = None) -> None:
        """Send entries on their way. Without a cause it is told anew, however often it was told."""
        refs, now = [EntryRef(user_id=one.user_id, id=one.id) for one in of], datetime.now(UTC)
        if refs:
            await self.say([event.of(refs, at=now, cause=cause or now.isoformat())])

    async def remove_vectors(self, ids: Sequence[str]) -> None:
        """Have no vectors of these."""
        if self.vectors is not None and ids:
            await self.vectors.remove(ids)

    async def refresh_vectors(self, entries: Iterable[Entry]) -> None:
        """Have the vectors of entries filtered by what these are now."""
        ready = [entry for entry in entries if entry.embedding_state == "ready"]
        if self.vectors is not None and ready:
            await self.vectors.refresh(ready)

    async def vectors_of(self, entries: Sequence[Entry]) -> dict[str, Vector]:
        """The vectors of entries, by id; none where there is no vector store."""
        places, found = defaultdict[Scope, list[str]](list), dict[str, Vector]()
        for entry in entries if self.vectors is not None else ():
            places[Scope(entry.user_id, entry.space, EVERY_PERSONA)].append(entry.id)
        for scope, ids in places.items():
            for some in in_steps(ids, _FETCHED_AT_ONCE):
                assert self.vectors is not None
                found |= {id_: point.vector for id_, point in (await self.vectors.fetch(scope, some)).items()}
        return found

    async def take_back_tags(self, sources: Iterable[Ref]) -> None:
        """Take back the tags that others were given because of entries which are forgotten or say something else now.

        Broken off, the same call completes it.
        """
        of = defaultdict[str, set[str]](set)
        for source in sources:
            of[source.user_id].add(source.id)
        for user_id, gone in of.items():
            selection = Selection(user_id, tags=tuple(map(source_label, sorted(gone))))
            async for entries in entries_in(selection, self.text):
                changed = await change_entries(self.text, entries, partial(without_sources, gone=gone))
                await self.refresh_vectors(changed)


def in_steps(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """These, so many at a time."""
    return [items[start : start + size] for start in range(0, len(items), size)]


async def at_once(_: float) -> None:
    """Do not wait after a step: somebody waits for it."""


async def pause_after(seconds: float) -> None:
    """Leave stores and processors to others for twice as long as a step took."""
    await asyncio.sleep(2 * seconds)


async def timed(step: Awaitable[T], pause: Pause) -> T:
    """What a step gives, after a pause that fits it."""
    started = time.perf_counter()
    done = await step
    await pause(time.perf_counter() - started)
    return done


async def entries_in(selection: Selection, store: TextStore, pause: Pause = at_once) -> AsyncIterator[Sequence[Entry]]:
    """All entries of a selection, a page at a time, with a pause after each."""
    async for page in pages(lambda at: timed(store.page(selection, limit=_PAGE, cursor=at), pause)):
        yield page.entries


async def asked_for(page: Awaitable[P]) -> P:
    """The page that a request asks for.

    Raises:
        Rejected: its cursor is not one of ours.
    """
    try:
        return await page
    except ValueError as error:
        raise Rejected("invalid_request", f"cursor: {error}") from error
