"""Older entries go out of use for a newer one, or are flagged as in conflict with it. Stores are ports.

Every step may be done again: the newer entry names the older ones first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from contracts.ports import Key, Record, TextStore
from contracts.v1.entries import Entry
from services.shared import telemetry
from services.shared.changes import change_entries
from services.shared.knowledge.changes import effect, outdated_by
from services.shared.lifecycle.lineage import conflict_key, fact_keys, superseded_if_active, superseded_in_part
from services.shared.ranking.capacity import is_protected

MOST_NAMED = 8
"""Entries that one supersedes, or conflicts with, at most."""


def joined(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """The ids of entries that one names, with further ones."""
    return tuple(dict.fromkeys((*known, *more)))[:MOST_NAMED]


async def undecided(entry: Entry, others: Iterable[str], store: TextStore) -> set[str]:
    """Of the ids of older entries those about which the user has not decided yet."""
    keys = {conflict_key(entry, id_): id_ for id_ in others}
    records = await store.get_records(list(keys)) if keys else {}
    return {id_ for key, id_ in keys.items() if key not in records or not records[key].body.get("kept")}


async def flag(entry: Entry, conflicts: Sequence[Entry], store: TextStore) -> None:
    """Note each conflict with an older entry that the entry names; one that is noted already stays as it was."""
    named = [one for one in conflicts if one.id in entry.conflicts_with]
    body, now = {"space": entry.space, "newer": entry.id}, datetime.now(UTC)
    keys = [(conflict_key(entry, one.id), one) for one in named]
    records = [Record(key.user_id, "conflict", key.name, {**body, "older": one.id}, now) for key, one in keys]
    if records:
        await store.add_records(records)
        await change_entries(store, named, lambda one: _in_conflict_with(one, entry))
        telemetry.CHANGES.labels("conflict").inc(len(records))


def _in_conflict_with(one: Entry, entry: Entry) -> Entry | None:
    """An older entry that leads to the newer one, which a question may not find by its words."""
    new = one.model_copy(update={"conflicts_with": joined(one.conflicts_with, [entry.id])})
    return new if one.status == "active" and new != one else None


async def put_away(entry: Entry, store: TextStore) -> list[Entry]:
    """Take what the entry supersedes out of use, be it in part; those of which no vector may be left.

    Of two changes at the same moment the first one has it. What is protected stays, and so does what its user decided.
    """
    older = await store.get([Key(entry.user_id, id_) for id_ in entry.supersedes]) if entry.supersedes else {}
    free = await undecided(entry, older, store)
    left = [one for one in older.values() if one.id in free and not is_protected(one)]
    done = await change_entries(store, left, lambda one: out_of_use_by(one, entry))
    telemetry.CHANGES.labels("superseded").inc(len(done))
    current = (await store.get(list(older.values()))).values() if older else ()
    gone = [one for one in current if one.status == "superseded"]
    return [*gone, *await put_away_facts(gone, entry, store)]


def out_of_use_by(one: Entry, by: Entry) -> Entry | None:
    """An entry in use, without what another one changes; None where that is nothing. Where it names no part, it is
    all."""
    named = [change for change in by.changes if change.entry_id == one.id]
    how = effect(one, named) if named else "superseded"
    if how == "in part":
        return superseded_in_part(one, by, outdated_by(one, named))
    return superseded_if_active(one, by) if how else None


async def put_away_facts(said: Collection[Entry], by: Entry, store: TextStore) -> list[Entry]:
    """The facts that a model had drawn from entries which are superseded now: they go the same way."""
    keys = [key for one in said for key in fact_keys(one)]
    facts = await store.get(keys) if keys else {}

    def gone(one: Entry) -> Entry | None:
        return None if is_protected(one) else superseded_if_active(one, by)

    return await change_entries(store, facts.values(), gone)
