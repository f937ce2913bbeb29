"""Carrying out verdicts: each proposal gets one outcome, once, together with its effect."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from contracts.ports import Accepted, Merged, Refused, Settled, Verdict
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import log, records
from services.shared.stores.sqlite.keys import Keys, chunks, marks


def settle(connection: sqlite3.Connection, verdicts: Sequence[Verdict]) -> list[Settled]:
    """Carry out verdicts, in order; returns what holds for each, also when it was settled before.

    A proposal that is merged into an entry which is not active (any more), or not in the same scope, or that was
    never logged, stays as it is and is missing from what is returned.
    """
    court = _Court(connection, verdicts)
    results = [court.carry_out(verdict) for verdict in verdicts]
    court.write()
    return [result for result in results if result is not None]


@dataclass(frozen=True, slots=True)
class _Open:
    """A proposal without an outcome."""

    scope: int
    ordinal: int


class _Court:
    """Verdicts of one call: read everything first, decide in memory in order, then write everything."""

    def __init__(self, connection: sqlite3.Connection, verdicts: Sequence[Verdict]) -> None:
        self._connection = connection
        self._keys = Keys(connection)
        ids = [_proposal_id(verdict) for verdict in verdicts]
        self._settled = log.outcomes(connection, ids)
        self._open = _undecided(connection, [id_ for id_ in ids if id_ not in self._settled])
        self._stored = records.by_id(connection, [*self._open, *_canonical_ids(verdicts)])
        self._entries = {id_: stored.entry for id_, stored in self._stored.items()}
        self._new: list[Settled] = []
        self._touched: dict[str, None] = {}

    def carry_out(self, verdict: Verdict) -> Settled | None:
        """What holds for the proposal after this verdict; None when it stays open."""
        known = self._settled.get(_proposal_id(verdict))
        if known is not None:
            return known
        match verdict:
            case Accepted():
                return self._accept(verdict.entry)
            case Merged():
                return self._merge(verdict)
            case Refused():
                return self._refuse(verdict)

    def _accept(self, entry: Entry) -> Settled:
        if entry.id not in self._entries:
            self._put(entry)
        return self._decide(Settled(entry.id, "stored", entry.id))

    def _merge(self, verdict: Merged) -> Settled | None:
        proposal, canonical = self._open.get(verdict.proposal_id), self._entries.get(verdict.canonical_id)
        if proposal is None or canonical is None or canonical.status != "active":
            return None
        if self._keys.scope(canonical.user_id, canonical.space, canonical.persona_id) != proposal.scope:
            return None
        self._put(records.successor(canonical, verdict.change(canonical)))
        return self._decide(Settled(verdict.proposal_id, "merged", canonical.id))

    def _refuse(self, verdict: Refused) -> Settled | None:
        if verdict.proposal_id not in self._open:
            return None
        return self._decide(Settled(verdict.proposal_id, "refused", None, verdict.reason))

    def _put(self, entry: Entry) -> None:
        self._entries[entry.id] = entry
        self._touched[entry.id] = None

    def _decide(self, settled: Settled) -> Settled:
        self._settled[settled.proposal_id] = settled
        self._new.append(settled)
        return settled

    def write(self) -> None:
        """Store new and changed entries, outcomes and counters."""
        writer = records.EntryWriter(self._connection)
        for id_ in self._touched:
            if id_ in self._stored:
                writer.replace(self._stored[id_], self._entries[id_])
            else:
                writer.insert(self._entries[id_])
        writer.flush()
        decided_at = log.now()
        self._connection.executemany(
            "UPDATE proposals SET outcome = ?, entry_id = ?, reason = ?, decided_at = ? WHERE id = ?",
            [_outcome_columns(settled, decided_at) for settled in self._new],
        )
        self._count("merged")
        self._count("refused")

    def _count(self, outcome: str) -> None:
        """Count the turns, not the facts drawn from them, that ended this way."""
        proposals = [self._open[s.proposal_id] for s in self._new if s.outcome == outcome]
        self._connection.executemany(
            f"UPDATE scopes SET {outcome} = {outcome} + 1 WHERE scope = ?",
            [(proposal.scope,) for proposal in proposals if proposal.ordinal == 0],
        )


def _proposal_id(verdict: Verdict) -> str:
    return verdict.entry.id if isinstance(verdict, Accepted) else verdict.proposal_id


def _canonical_ids(verdicts: Sequence[Verdict]) -> list[str]:
    return [verdict.canonical_id for verdict in verdicts if isinstance(verdict, Merged)]


def _undecided(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, _Open]:
    found: dict[str, _Open] = {}
    for chunk in chunks(ids):
        rows = connection.execute(
            f"SELECT id, scope, ordinal FROM proposals WHERE outcome IS NULL AND id IN ({marks(chunk)})", chunk
        )
        found |= {id_: _Open(scope, ordinal) for id_, scope, ordinal in rows}
    return found


def _outcome_columns(settled: Settled, decided_at: int) -> tuple[object, ...]:
    elsewhere = settled.entry_id if settled.outcome == "merged" else None
    return settled.outcome, elsewhere, settled.reason, decided_at, settled.proposal_id
