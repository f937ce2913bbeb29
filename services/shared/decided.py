"""What users decided about names, conflicts and open loops: records without a word of theirs. The store is a port."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from contracts.ports import Record, RecordKey, Ref, UserRecords
from contracts.v1.entries import Entry
from contracts.v1.loops import State
from services.shared.changes import change_record
from services.shared.knowledge.people import Decisions, hash_of


async def read_decisions(user_id: str, records: UserRecords) -> Decisions:
    """All that a user decided about names."""
    return decisions_in(await records.records(user_id, "names"))


def decisions_in(records: Iterable[Record]) -> Decisions:
    """The decisions that records hold."""
    return {frozenset(record.name.split(":")): bool(record.body["same"]) for record in records}


async def read_both(user_id: str, records: UserRecords) -> frozenset[frozenset[str]]:
    """The pairs of statements, by id, of which a user decided that both hold."""
    bodies = [record.body for record in await records.records(user_id, "conflict")]
    return frozenset(frozenset((body["newer"], body["older"])) for body in bodies if body.get("kept") == "both")


async def keep_decision(user_id: str, slugs: tuple[str, str], same: bool | None, records: UserRecords) -> None:
    """Keep whether two names are of one person; None: take back what was decided.

    Raises:
        Unavailable: others keep deciding it, or the user is being erased.
    """
    name = ":".join(sorted(hash_of(user_id, slug) for slug in slugs))
    if same is None:
        await records.remove_records(user_id, "names", [name])
        return
    new = Record(user_id, "names", name, {"same": same}, datetime.now(UTC))
    key = RecordKey(user_id, "names", name)
    await change_record(records, key, lambda held: None if held is not None and held.body == new.body else new)


async def settled_of(user_id: str, records: UserRecords) -> dict[str, State]:
    """What a user decided of their open loops, by id."""
    return {
        f"{record.name}:{sentence}": state
        for record in await records.records(user_id, "loops")
        for sentence, state in record.body.items()
    }


async def keep_settled(entry: Entry, sentence: str, state: State | None, records: UserRecords) -> None:
    """Keep what became of what a sentence of an entry says is to be done; None: take back what was decided.

    Raises:
        Unavailable: others keep deciding it, or the user is being erased.
    """

    def decided(held: Record | None) -> Record | None:
        before = dict(held.body) if held else {}
        body = {name: one for name, one in before.items() if name != sentence}
        body |= {} if state is None else {sentence: state}
        return Record(entry.user_id, "loops", entry.id, body, datetime.now(UTC)) if body != before else None

    await change_record(records, RecordKey(entry.user_id, "loops", entry.id), decided)


async def drop_settled(entries: Iterable[Ref], records: UserRecords) -> None:
    """Keep nothing of what was decided about these entries, which are forgotten."""
    by_user: dict[str, list[str]] = {}
    for entry in entries:
        by_user.setdefault(entry.user_id, []).append(entry.id)
    for user_id, ids in by_user.items():
        await records.remove_records(user_id, "loops", ids)
