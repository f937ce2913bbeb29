"""What users decided about names: records without a word of theirs, each of a pair of hashes. The store is a port."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from contracts.ports import Record, RecordKey, UserRecords
from services.shared.changes import change_record
from services.shared.core.aliases import Decisions, hash_of


async def read_decisions(user_id: str, records: UserRecords) -> Decisions:
    """All that a user decided about names."""
    return decisions_in(await records.records(user_id, "names"))


def decisions_in(records: Iterable[Record]) -> Decisions:
    """The decisions that records hold."""
    return {frozenset(record.name.split(":")): bool(record.body["same"]) for record in records}


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
