"""The conversation log: turns as they were said, and what each proposes to remember."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from contracts.ports import Conversation, LastTurn, LogRecord, Outcome, OutcomeKind, Place, ProposalRecord, Ref
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.shared.stores import moments
from services.shared.stores.decisions import owners
from services.shared.stores.moments import microseconds
from services.shared.stores.moments import moment as to_moment
from services.shared.stores.sqlite import compaction
from services.shared.stores.sqlite.engine import Engine, reading, writing
from services.shared.stores.sqlite.entries import position
from services.shared.stores.sqlite.keys import Keys, chunks, marks
from services.shared.stores.tombstones import unnamed

_TurnKey = tuple[str, str, str]

_END_OF_TIME = 2**63 - 1

_LATEST = """
SELECT session_id, created_at, turn, body ->> '$.frame_after' AS frame FROM turns
WHERE user_id = :user AND space = :space AND conversation_id = :{name} AND created_at <= :at
ORDER BY created_at DESC, turn DESC LIMIT 1"""

_MARK = f"""
SELECT session_id, created_at, frame FROM (
    SELECT * FROM ({_LATEST.format(name="talk")}) UNION SELECT * FROM ({_LATEST.format(name="unnamed")})
) ORDER BY created_at DESC, turn DESC LIMIT 1"""

_INSERT_TURN = """
INSERT INTO turns (turn, user_id, space, turn_id, conversation_id, session_id, created_at, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""

_INSERT_PROPOSAL = """
INSERT OR IGNORE INTO proposals (id, turn, scope, ordinal, logged_at, text) VALUES (?, ?, ?, ?, ?, ?)"""


_DELETE_EMPTY = "DELETE FROM scopes WHERE scope = ? AND turns = 0 AND numbered = 0"


class SqliteLog(Engine):
    """`contracts.ports.ConversationLog`."""

    @reading
    def last_turns(
        self, db: sqlite3.Connection, moments: Sequence[tuple[Conversation, datetime]]
    ) -> list[LastTurn | None]:
        latest = {talk: _mark(db, talk, moment=_END_OF_TIME) for talk, _ in moments}
        found: list[LastTurn | None] = []
        for talk, at in moments:
            mark = latest[talk]
            # Turns nearly always arrive in order, so the latest of all is usually the one before the moment, too.
            found.append(mark if mark is None or mark.at <= at else _mark(db, talk, moment=microseconds(at)))
        return found

    @writing
    def append(
        self, db: sqlite3.Connection, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]
    ) -> list[LoggedTurn]:
        keys = Keys(db)
        said, proposed = [_key(turn) for turn in turns], [_key(proposal.turn) for proposal in proposals]
        numbers = _numbers(db, {*said, *proposed})
        new: dict[_TurnKey, LoggedTurn] = {}
        for key, turn in zip(said, turns, strict=True):
            if key not in numbers:
                new.setdefault(key, turn)
        numbers |= _append_turns(db, keys, new)
        logged_at, rows = moments.now(), []
        for key, proposal in zip(proposed, proposals, strict=True):
            if key not in numbers:
                raise ValueError(f"proposal {proposal.id!r} is of a turn that was never logged")
            turn = proposal.turn
            scope = keys.scope(turn.user_id, turn.space, turn.persona_id)
            text = proposal.written if proposal.text != turn.text or proposal.fact else None
            rows.append((proposal.id, numbers[key], scope, proposal.ordinal, logged_at, text))
        db.executemany(_INSERT_PROPOSAL, rows)
        return list(new.values())

    @writing
    def withdraw(self, db: sqlite3.Connection, turns: Sequence[LoggedTurn]) -> None:
        keys = Keys(db)
        numbers = _numbers(db, map(_key, turns))
        for chunk in chunks(numbers.values()):
            db.execute(f"DELETE FROM proposals WHERE turn IN ({marks(chunk)})", chunk)
            db.execute(f"DELETE FROM turns WHERE turn IN ({marks(chunk)})", chunk)
        there = {_key(turn): turn for turn in turns if _key(turn) in numbers}
        scopes = _count_turns(db, keys, there.values(), -1)
        db.executemany(_DELETE_EMPTY, [(scope,) for scope in scopes])
        if numbers:
            compaction.note_old_words(db)

    @reading
    def pending(
        self, db: sqlite3.Connection, proposals: Sequence[Ref], *, may_lag: bool = False
    ) -> dict[str, ProposalRecord]:
        return _pending(db, owners(proposals))

    @writing
    def reopen(self, db: sqlite3.Connection, proposals: Sequence[Ref]) -> None:
        """Take back the outcomes of proposals, unless they are stored as the entries they became."""
        users = owners(proposals)
        found: list[tuple[str, str, OutcomeKind]] = []
        for chunk in chunks(users):
            rows = db.execute(
                f"""SELECT id, user_id, outcome FROM proposals JOIN scopes USING (scope)
                WHERE outcome IS NOT NULL AND id IN ({marks(chunk)}) AND NOT (
                    outcome = 'stored' AND EXISTS (SELECT 1 FROM entries WHERE entries.id = proposals.id))""",
                chunk,
            )
            found += [row for row in rows if users[row[0]] == row[1]]
        taken_back = {id_: Outcome(id_, kind) for id_, _, kind in found}
        count_outcomes(db, taken_back, -1)
        db.executemany(
            "UPDATE proposals SET outcome = NULL, entry_id = NULL, reason = NULL, decided_at = NULL WHERE id = ?",
            [(id_,) for id_ in taken_back],
        )

    @reading
    def export_log(self, db: sqlite3.Connection, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        rows = db.execute(
            """SELECT body FROM turns WHERE user_id = ? AND (created_at, space, turn_id) > (?, ?, ?)
            ORDER BY created_at, space, turn_id LIMIT ?""",
            (user_id, *position(after), limit),
        )
        turns = [LoggedTurn.model_validate_json(body) for (body,) in rows]
        records = _records(db, turns)
        return [LogRecord(turn, tuple(records[turn.space, turn.turn_id])) for turn in turns]


def _mark(connection: sqlite3.Connection, talk: Conversation, *, moment: int) -> LastTurn | None:
    where = {"user": talk.user_id, "space": talk.space, "talk": talk.conversation_id, "at": moment}
    where["unnamed"] = unnamed(talk.user_id, talk.conversation_id)  # turns that were forgotten have lost its name
    row = connection.execute(_MARK, where).fetchone()
    return LastTurn(row[0], to_moment(row[1]), row[2]) if row else None


def _key(turn: LoggedTurn) -> _TurnKey:
    return turn.user_id, turn.space, turn.turn_id


def _append_turns(connection: sqlite3.Connection, keys: Keys, turns: dict[_TurnKey, LoggedTurn]) -> dict[_TurnKey, int]:
    """Insert turns, and give each its number."""
    (last,) = connection.execute("SELECT coalesce(max(turn), 0) FROM turns").fetchone()
    numbers = {key: number for number, key in enumerate(turns, start=last + 1)}
    connection.executemany(_INSERT_TURN, [_row(numbers[key], turns[key]) for key in numbers])
    _count_turns(connection, keys, turns.values(), 1)
    return numbers


def _count_turns(connection: sqlite3.Connection, keys: Keys, turns: Iterable[LoggedTurn], sign: int) -> Iterable[int]:
    """Count turns in their scopes, or take them off the count; those scopes."""
    scopes = Counter(keys.scope(turn.user_id, turn.space, turn.persona_id) for turn in turns)
    counted = [(sign * count, scope) for scope, count in scopes.items()]
    connection.executemany("UPDATE scopes SET turns = turns + ? WHERE scope = ?", counted)
    return scopes


def _row(number: int, turn: LoggedTurn) -> tuple[object, ...]:
    said_at = microseconds(turn.created_at)
    return number, *_key(turn), turn.conversation_id, turn.session_id, said_at, turn.model_dump_json(exclude_none=True)


def _numbers(connection: sqlite3.Connection, keys: Iterable[_TurnKey]) -> dict[_TurnKey, int]:
    """The numbers of the turns that are logged already."""
    turn_ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    for user_id, space, turn_id in keys:
        turn_ids[user_id, space].append(turn_id)
    found: dict[_TurnKey, int] = {}
    for where, ids in turn_ids.items():
        for chunk in chunks(ids):
            rows = connection.execute(
                f"SELECT turn_id, turn FROM turns WHERE user_id = ? AND space = ? AND turn_id IN ({marks(chunk)})",
                (*where, *chunk),
            )
            found |= {(*where, turn_id): number for turn_id, number in rows}
    return found


def _pending(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, ProposalRecord]:
    """The logged proposals asked for as user by id, in the order asked, with what became of each."""
    found: dict[str, ProposalRecord] = {}
    for chunk in chunks(users):
        rows = connection.execute(
            f"""SELECT id, ordinal, text, body, outcome, CASE outcome WHEN 'stored' THEN id ELSE entry_id END, reason
            FROM proposals JOIN turns USING (turn) WHERE id IN ({marks(chunk)})""",
            chunk,
        )
        read = {row[0]: _record(*row) for row in rows}
        found |= {id_: read[id_] for id_ in chunk if id_ in read and read[id_].proposal.user_id == users[id_]}
    return found


def _record(
    id_: str, ordinal: int, text: str | None, body: str, kind: OutcomeKind | None, entry: str | None, reason: str | None
) -> ProposalRecord:
    turn = LoggedTurn.model_validate_json(body)
    proposal = Proposal.logged(id_, turn, ordinal, turn.text if text is None else text)
    return ProposalRecord(proposal, Outcome(id_, kind, entry, reason) if kind else None)


def outcomes(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, Outcome]:
    """What became of proposals, given as user by id, or of entries that came without; the undecided are missing."""
    found: dict[str, Outcome] = {}
    for chunk in chunks(users):
        rows = connection.execute(
            f"""SELECT user_id, id, outcome, CASE outcome WHEN 'stored' THEN id ELSE entry_id END, reason
            FROM proposals JOIN scopes USING (scope)
            WHERE outcome IS NOT NULL AND id IN ({marks(chunk)})
            UNION ALL SELECT user_id, id, 'stored', id, NULL FROM entries JOIN scopes USING (scope)
            WHERE id IN ({marks(chunk)}) AND NOT EXISTS (SELECT 1 FROM proposals WHERE proposals.id = entries.id)""",
            (*chunk, *chunk),
        )
        read = {row[1]: Outcome(*row[1:]) for row in rows if users[row[1]] == row[0]}
        found |= {id_: read[id_] for id_ in chunk if id_ in read}
    return found


def count_outcomes(connection: sqlite3.Connection, outcomes: Mapping[str, Outcome], change: int) -> None:
    """Count the turns, not the facts drawn from them, that ended as merged or refused."""
    for chunk in chunks(outcomes):
        rows = connection.execute(
            f"SELECT id, scope FROM proposals WHERE ordinal = 0 AND id IN ({marks(chunk)})", chunk
        ).fetchall()
        counted = Counter((outcomes[id_].kind, scope) for id_, scope in rows if outcomes[id_].kind != "stored")
        for (kind, scope), count in counted.items():
            connection.execute(f"UPDATE scopes SET {kind} = {kind} + ? WHERE scope = ?", (change * count, scope))


def _records(
    connection: sqlite3.Connection, turns: Sequence[LoggedTurn]
) -> dict[tuple[str, str], list[ProposalRecord]]:
    """By space and turn id, in the order of their ordinals. A turn's facts are numbered from 1 without gaps."""
    found: dict[tuple[str, str], list[ProposalRecord]] = defaultdict(list)
    ordinal, asked = 0, list(turns)
    while asked:
        by_id = {entry_id(turn.user_id, turn.space, turn.turn_id, ordinal): turn for turn in asked}
        records = _pending(connection, {id_: turn.user_id for id_, turn in by_id.items()})
        for id_, record in records.items():
            found[by_id[id_].space, by_id[id_].turn_id].append(record)
        asked = [turn for id_, turn in by_id.items() if id_ in records or ordinal == 0]
        ordinal += 1
    return found
