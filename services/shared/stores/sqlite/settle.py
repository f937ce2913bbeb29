"""Carrying out decisions: each proposal gets one outcome, once, together with its effect."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contracts.ports import Accepted, Decision, Merged, Outcome, Refused
from contracts.v1.entries import Entry
from contracts.values import successor
from services.shared.stores.decisions import canonical_entries, owners, proposal_of
from services.shared.stores.sqlite import log, records, suppression, wiping
from services.shared.stores.sqlite.keys import Keys, chunks, marks
from services.shared.stores.sqlite.similar import overtaken


def apply(connection: sqlite3.Connection, decisions: Sequence[Decision]) -> list[Outcome]:
    """Carry out decisions, in order; returns what holds for each, also when it was settled before.

    A proposal that is merged into an entry which is not active (any more), or not in the same scope, or that was
    never logged, or beside which a similar entry was accepted meanwhile, or whose statement was forgotten meanwhile,
    stays as it is and is missing from what is returned.
    """
    court = _Court(connection, decisions)
    results = [court.carry_out(decision) for decision in decisions]
    court.write()
    return [result for result in results if result is not None]


@dataclass(frozen=True, slots=True)
class _Open:
    """A proposal without an outcome."""

    user_id: str
    scope: int
    ordinal: int


class _Court:
    """Decisions of one call: read everything first, decide in memory in order, then write everything."""

    def __init__(self, connection: sqlite3.Connection, decisions: Sequence[Decision]) -> None:
        self._connection = connection
        self._keys = Keys(connection)
        users = owners(map(proposal_of, decisions))
        self._settled = log.outcomes(connection, users)
        self._open = _undecided(connection, {id_: user for id_, user in users.items() if id_ not in self._settled})
        self._stored = records.by_id(connection, users | canonical_entries(decisions))
        self._entries = {id_: stored.entry for id_, stored in self._stored.items()}
        judged = [
            v for v in decisions if isinstance(v, Accepted) and v.known_similar is not None and v.entry.id in self._open
        ]
        self._outdated = overtaken(connection, judged) | suppression.suppressed(connection, [v.entry for v in judged])
        self._new: list[Outcome] = []
        self._touched: dict[str, None] = {}

    def carry_out(self, decision: Decision) -> Outcome | None:
        """What holds for the proposal after this decision; None when it stays open."""
        known = self._settled.get(proposal_of(decision).id)
        if known is not None:
            return known
        match decision:
            case Accepted():
                return self._accept(decision)
            case Merged():
                return self._merge(decision)
            case Refused():
                return self._refuse(decision)

    def _accept(self, decision: Accepted) -> Outcome | None:
        entry = decision.entry
        if entry.id not in self._entries:
            if decision.known_similar is not None and (entry.id not in self._open or entry.id in self._outdated):
                return None
            self._put(entry)
        return self._decide(Outcome(entry.id, "stored", entry.id))

    def _merge(self, decision: Merged) -> Outcome | None:
        proposal, canonical = self._open.get(decision.proposal.id), self._entries.get(decision.canonical_id)
        if proposal is None or canonical is None:
            return None
        if self._keys.scope(canonical.user_id, canonical.space, canonical.persona_id) != proposal.scope:
            return None
        if decision.change is not None:
            if canonical.status != "active":
                return None
            self._put(successor(canonical, decision.change(canonical)))
        return self._decide(Outcome(decision.proposal.id, "merged", canonical.id))

    def _refuse(self, decision: Refused) -> Outcome | None:
        if decision.proposal.id not in self._open:
            return None
        return self._decide(Outcome(decision.proposal.id, "refused", None, decision.reason))

    def _put(self, entry: Entry) -> None:
        self._entries[entry.id] = entry
        self._touched[entry.id] = None

    def _decide(self, settled: Outcome) -> Outcome:
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
            [_outcome_columns(settled, decided_at) for settled in self._new if settled.proposal_id in self._open],
        )
        wiping.wipe_refused(self._connection, [s.proposal_id for s in self._new if s.kind == "refused"])
        self._count("merged")
        self._count("refused")

    def _count(self, outcome: str) -> None:
        """Count the turns, not the facts drawn from them, that ended this way."""
        proposals = [self._open[s.proposal_id] for s in self._new if s.kind == outcome]
        self._connection.executemany(
            f"UPDATE scopes SET {outcome} = {outcome} + 1 WHERE scope = ?",
            [(proposal.scope,) for proposal in proposals if proposal.ordinal == 0],
        )


def _undecided(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, _Open]:
    found: dict[str, _Open] = {}
    for chunk in chunks(users):
        rows = connection.execute(
            f"""SELECT id, user_id, scope, ordinal FROM proposals JOIN scopes USING (scope)
            WHERE outcome IS NULL AND id IN ({marks(chunk)})""",
            chunk,
        )
        found |= {row[0]: _Open(*row[1:]) for row in rows if users[row[0]] == row[1]}
    return found


def _outcome_columns(settled: Outcome, decided_at: int) -> tuple[object, ...]:
    elsewhere = settled.entry_id if settled.kind == "merged" else None
    return settled.kind, elsewhere, settled.reason, decided_at, settled.proposal_id
