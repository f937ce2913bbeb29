"""Carrying out verdicts: each proposal gets one outcome, once, together with its effect."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contracts.ports import Accepted, Merged, Refused, Settled, Verdict
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import digests, log, records, wiping
from services.shared.stores.sqlite.keys import Keys, chunks, marks
from services.shared.stores.sqlite.similar import overtaken
from services.shared.stores.verdicts import canonical_entries, owners, proposal_of
from services.shared.stores.versions import successor


def settle(connection: sqlite3.Connection, verdicts: Sequence[Verdict]) -> list[Settled]:
    """Carry out verdicts, in order; returns what holds for each, also when it was settled before.

    A proposal that is merged into an entry which is not active (any more), or not in the same scope, or that was
    never logged, or beside which a similar entry was accepted meanwhile, or whose statement was forgotten meanwhile,
    stays as it is and is missing from what is returned.
    """
    court = _Court(connection, verdicts)
    results = [court.carry_out(verdict) for verdict in verdicts]
    court.write()
    return [result for result in results if result is not None]


@dataclass(frozen=True, slots=True)
class _Open:
    """A proposal without an outcome."""

    user_id: str
    scope: int
    ordinal: int


class _Court:
    """Verdicts of one call: read everything first, decide in memory in order, then write everything."""

    def __init__(self, connection: sqlite3.Connection, verdicts: Sequence[Verdict]) -> None:
        self._connection = connection
        self._keys = Keys(connection)
        users = owners(map(proposal_of, verdicts))
        self._settled = log.outcomes(connection, users)
        self._open = _undecided(connection, {id_: user for id_, user in users.items() if id_ not in self._settled})
        self._stored = records.by_id(connection, users | canonical_entries(verdicts))
        self._entries = {id_: stored.entry for id_, stored in self._stored.items()}
        judged = [v for v in verdicts if isinstance(v, Accepted) and v.besides is not None and v.entry.id in self._open]
        self._outdated = overtaken(connection, judged) | digests.barred(connection, [v.entry for v in judged])
        self._new: list[Settled] = []
        self._touched: dict[str, None] = {}

    def carry_out(self, verdict: Verdict) -> Settled | None:
        """What holds for the proposal after this verdict; None when it stays open."""
        known = self._settled.get(proposal_of(verdict).id)
        if known is not None:
            return known
        match verdict:
            case Accepted():
                return self._accept(verdict)
            case Merged():
                return self._merge(verdict)
            case Refused():
                return self._refuse(verdict)

    def _accept(self, verdict: Accepted) -> Settled | None:
        entry = verdict.entry
        if entry.id not in self._entries:
            if verdict.besides is not None and (entry.id not in self._open or entry.id in self._outdated):
                return None
            self._put(entry)
        return self._decide(Settled(entry.id, "stored", entry.id))

    def _merge(self, verdict: Merged) -> Settled | None:
        proposal, canonical = self._open.get(verdict.proposal.id), self._entries.get(verdict.canonical_id)
        if proposal is None or canonical is None:
            return None
        if self._keys.scope(canonical.user_id, canonical.space, canonical.persona_id) != proposal.scope:
            return None
        if verdict.change is not None:
            if canonical.status != "active":
                return None
            self._put(successor(canonical, verdict.change(canonical)))
        return self._decide(Settled(verdict.proposal.id, "merged", canonical.id))

    def _refuse(self, verdict: Refused) -> Settled | None:
        if verdict.proposal.id not in self._open:
            return None
        return self._decide(Settled(verdict.proposal.id, "refused", None, verdict.reason))

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
            [_outcome_columns(settled, decided_at) for settled in self._new if settled.proposal_id in self._open],
        )
        wiping.wipe_refused(self._connection, [s.proposal_id for s in self._new if s.outcome == "refused"])
        self._count("merged")
        self._count("refused")

    def _count(self, outcome: str) -> None:
        """Count the turns, not the facts drawn from them, that ended this way."""
        proposals = [self._open[s.proposal_id] for s in self._new if s.outcome == outcome]
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


def _outcome_columns(settled: Settled, decided_at: int) -> tuple[object, ...]:
    elsewhere = settled.entry_id if settled.outcome == "merged" else None
    return settled.outcome, elsewhere, settled.reason, decided_at, settled.proposal_id
