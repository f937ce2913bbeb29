"""Letting every statement in once: looking for what is similar, and carrying decisions out.

What a decision comes to is thought through on what a reader found. The transaction that writes it only checks that
this is still so: versions, open proposals, and that nobody makes the same statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from contracts.ports import Decision, Outcome, Similar
from contracts.v1.entries import Entry
from services.shared.dedup.fingerprint import near_keys
from services.shared.stores import moments
from services.shared.stores.decisions import Known, Plan, canonical_entries, owners, plan, proposal_of
from services.shared.stores.scopes import scope_key
from services.shared.stores.sqlite import log, records, redaction, statements, suppression
from services.shared.stores.sqlite.engine import Engine, reading
from services.shared.stores.sqlite.keys import NUMBER_BITS, chunks, marks
from services.shared.stores.sqlite.uniqueness import find_overtaken, makers_of, voice_of, voices_of
from services.shared.stores.words import Rewording, reworded, words_of
from services.shared.tasks import beside_the_loop

_OPEN = """
SELECT id, user_id, space, persona_id FROM proposals JOIN scopes USING (scope)
WHERE outcome IS NULL AND id IN ({ids})"""

_NOTE = "UPDATE proposals SET outcome = ?, entry_id = ?, reason = ?, decided_at = ? WHERE id = ?"


class SqliteDedupe(Engine):
    """`contracts.ports.DedupeStore`."""

    @reading
    def find_similar(self, db: sqlite3.Connection, candidates: Sequence[Entry]) -> list[Similar]:
        voices = voices_of(db, candidates)
        docs = makers_of(db, candidates, voices)
        for candidate, its in zip(candidates, docs, strict=True):
            if (voice := voices.get(voice_of(candidate))) is not None:
                near = statements.nearest(db, voice[1], near_keys(candidate))
                its.update(voice[0] << NUMBER_BITS | number for number in near)
        found = records.by_doc(db, set().union(*docs))
        suppressed = suppression.suppressed(db, candidates)
        return [
            Similar(tuple(found[doc] for doc in sorted(its) if doc in found), candidate.id in suppressed)
            for candidate, its in zip(candidates, docs, strict=True)
        ]

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        without: set[str] = set()
        while True:
            found = await self.readers.run(lambda db: _read(db, decisions))
            planned = plan(decisions, found.known, without=without)
            rows = await _prepared(planned, found.stored)
            overtaken = await self.writer.run(partial(_write, planned=planned, rows=rows))
            if overtaken is None:
                return planned.of(decisions)
            without |= overtaken


@dataclass(frozen=True, slots=True)
class _Read:
    """What is stored about the proposals and entries of some decisions."""

    known: Known
    stored: Mapping[str, records.Stored]


def _read(connection: sqlite3.Connection, decisions: Sequence[Decision]) -> _Read:
    """Read all that decisions rest on."""
    users = owners(map(proposal_of, decisions))
    outcomes = log.outcomes(connection, users)
    stored = records.by_id(connection, users | canonical_entries(decisions))
    entries = {id_: its.entry for id_, its in stored.items()}
    return _Read(Known(outcomes, _open(connection, users), entries), stored)


def _open(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, str]:
    """The scopes of the proposals, given as user by id, that have no outcome."""
    rows = (row for chunk in chunks(users) for row in connection.execute(_OPEN.format(ids=marks(chunk)), chunk))
    return {id_: scope_key(user, space, persona) for id_, user, space, persona in rows if users[id_] == user}


@dataclass(frozen=True, slots=True)
class _Row:
    """An entry to be stored, beside the stored one that it replaces, and what becomes of its words."""

    entry: Entry
    stored: records.Stored | None
    words: Rewording


async def _prepared(planned: Plan, stored: Mapping[str, records.Stored]) -> list[_Row]:
    """What is planned to be written, with its words."""

    def row(entry: Entry) -> _Row:
        old = stored.get(entry.id)
        return _Row(entry, old, reworded(old.entry, entry) if old else Rewording(words_of(entry), instead=True))

    entries = planned.written.values()
    return await beside_the_loop(lambda: list(map(row, entries)), sum(len(entry.text) for entry in entries))


def _write(connection: sqlite3.Connection, planned: Plan, rows: Sequence[_Row]) -> set[str] | None:
    """Store what was planned, unless what it rests on has changed.

    Returns None when it is stored. Otherwise nothing is, and what has to be judged again is returned: accepted entries
    whose statement somebody else makes by now, or has forgotten; none of them when it is enough to plan anew.
    """
    overtaken = find_overtaken(connection, planned.accepted.values())
    if overtaken or not _is_as_read(connection, planned, rows):
        return overtaken
    writer = records.EntryWriter(connection)
    for row in rows:
        if row.stored is None:
            writer.insert(row.entry, row.words.words)
        else:
            writer.replace(row.stored, row.entry, row.words)
    writer.flush()
    _note(connection, planned.noted)
    return None


def _is_as_read(connection: sqlite3.Connection, planned: Plan, rows: Sequence[_Row]) -> bool:
    """Whether proposals are still open, and entries have the versions that the plan rests on."""
    undecided: set[str] = set()
    for chunk in chunks(planned.noted):
        query = f"SELECT id FROM proposals WHERE outcome IS NULL AND id IN ({marks(chunk)})"
        undecided.update(id_ for (id_,) in connection.execute(query, chunk))
    expected = {row.entry.id: row.stored.entry.version if row.stored else None for row in rows}
    return undecided == planned.noted.keys() and records.versions(connection, expected) == expected


def _note(connection: sqlite3.Connection, outcomes: Mapping[str, Outcome]) -> None:
    """Note outcomes with their proposals, count them, and take the words of what is refused out of the log."""
    decided_at = moments.now()
    elsewhere = {id_: outcome.entry_id if outcome.kind == "merged" else None for id_, outcome in outcomes.items()}
    connection.executemany(
        _NOTE, [(its.kind, elsewhere[id_], its.reason, decided_at, id_) for id_, its in outcomes.items()]
    )
    redaction.redact_refused(connection, [id_ for id_, outcome in outcomes.items() if outcome.kind == "refused"])
    log.count_outcomes(connection, outcomes, 1)
