"""Forgetting one entry: remove it everywhere, then look again in every place. All places are ports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contracts.ports import Forgotten, InFlight, InFlightCounts, Key, Scope, TextStore, VectorStore
from contracts.v1.commands import ForgetReceipt, ForgetReply, ForgetRequest
from contracts.v1.entries import Entry
from services.curate.handler import no_entry


@dataclass(frozen=True, slots=True)
class DataStores:
    """Everywhere that something of a user may be."""

    store: TextStore
    vectors: VectorStore | None
    in_flight: InFlight


async def forget(request: ForgetRequest, *, places: DataStores, refuse_for: timedelta) -> ForgetReply:
    """Leave nothing of an entry but a tombstone, and refuse its statement for a while.

    Broken off at any point, the same request completes it.

    Raises:
        Rejected: the user has no such entry.
    """
    now = datetime.now(UTC)
    forgotten = await places.store.forget([Key(request.user_id, request.id)], until=now + refuse_for)
    if not forgotten:
        raise no_entry(request.id)
    (gone,) = forgotten
    vectors = await _vectors_of(gone.tombstone, places.vectors)
    if places.vectors is not None:
        await places.vectors.remove([gone.tombstone.id])
    dropped = await places.in_flight.drop(request.user_id, gone.turns)
    receipt = ForgetReceipt(
        id=request.id,
        forgotten_at=gone.tombstone.updated_at,
        refused_until=gone.tombstone.updated_at + refuse_for,  # what was forgotten before keeps its time
        turns=len(gone.turn_ids),
        vectors=vectors,
        messages=dropped.turns,
        dead_letters=dropped.dead_letters,
        left=await _left_of(gone, places),
    )
    return ForgetReply(receipt=receipt, correlation_id=request.correlation_id)


async def _left_of(gone: Forgotten, places: DataStores) -> dict[str, int]:
    entry = gone.tombstone
    kept = (await places.store.get([entry])).get(entry.id)
    in_flight = await places.in_flight.count(entry.user_id, gone.turns)
    return {
        "entries": int(kept is not None and kept.status != "forgotten"),
        "vectors": await _vectors_of(entry, places.vectors),
        **named(in_flight),
    }


async def _vectors_of(entry: Entry, vectors: VectorStore | None) -> int:
    if vectors is None:
        return 0
    return len(await vectors.fetch(Scope(entry.user_id, entry.space, entry.persona_id), [entry.id]))


def named(found: InFlightCounts) -> dict[str, int]:
    """What was found on the bus, by place."""
    return {"waiting messages": found.turns, "dead letters": found.dead_letters}


async def compact(places: DataStores) -> bool:
    """Have the files of both stores written without what was removed; whether nothing of it is left."""
    text_is_clean = await places.store.compact()
    return (places.vectors is None or await places.vectors.compact()) and text_is_clean
