"""Facts that a model draws while memorybus is killed: each remembered turn has its own, once, and the newest holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from contracts.ports import LogRecord, Outcome, OutcomeKind
from contracts.v1.entries import Entry
from tests.faults.findings import Findings
from tests.stores.drawing import a_fact

_STATED = re.compile(r"called (qq\w+) has the code (\d+)", re.IGNORECASE)


def facts_of(text: str) -> list[dict[str, Any]]:
    """What a model that is right draws from a turn of the load."""
    said = _STATED.search(" ".join(text.split()))
    return [a_fact(said[0], said[2], "code", said[1], kind="event")] if said else []


def said_only(records: Iterable[LogRecord]) -> list[LogRecord]:
    """The log without the facts in it."""
    return [
        LogRecord(record.turn, tuple(one for one in record.proposals if one.proposal.ordinal == 0))
        for record in records
    ]


def check_facts(
    records: Sequence[LogRecord],
    entries: Sequence[Entry],
    *,
    gone: Collection[str],
    unsure: Collection[str],
    findings: Findings,
) -> None:
    """Compare facts with the turns they are of. The markers `gone` are of what was forgotten or erased; users who are
    `unsure` decided that nothing is kept.
    """
    in_use = {entry.id: entry for entry in entries if entry.status == "active"}
    for record in records:
        outcomes = {one.proposal.ordinal: one.outcome for one in record.proposals}
        entry = in_use.get(_entry_id(outcomes.get(0), "stored"))
        if entry is None or entry.edited_at is not None or entry.user_id in unsure or not facts_of(entry.text):
            continue
        if not _entry_id(outcomes.get(1), "stored", "merged") or len(outcomes) != 2:
            findings.add("lost", f"turn {record.turn.turn_id} of {entry.user_id!r} has {len(outcomes) - 1} facts")
    facts = [entry for entry in entries if entry.source == "model"]
    values = Counter((one.user_id, one.space, one.memory_key) for one in facts if one.status == "active")
    for key, times in values.items():
        if times > 1:
            findings.add("duplicated", f"{key} has {times} values")
    for fact in facts:
        if any(marker in fact.model_dump_json().lower() for marker in gone):
            findings.add("zombie", f"fact {fact.id} of what was forgotten keeps its words, and is {fact.status}")


def _entry_id(outcome: Outcome | None, *kinds: OutcomeKind) -> str:
    return (outcome.entry_id or "") if outcome is not None and outcome.kind in kinds else ""
