"""Reading a whole memory out, oldest first, so that it can be moved elsewhere."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from contracts.ports import LogRecord, Outcome, Place, ProposalRecord
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite.keys import chunks, marks

_START = (-(2**63), "", "")


def users(connection: sqlite3.Connection, after: str, limit: int) -> list[str]:
    """The users of whom anything is stored, in order, after this one."""
    rows = connection.execute(
        "SELECT DISTINCT user_id FROM scopes WHERE user_id > ? ORDER BY user_id LIMIT ?", (after, limit)
    )
    return [user_id for (user_id,) in rows]


def export_log(connection: sqlite3.Connection, user_id: str, after: Place | None, limit: int) -> list[LogRecord]:
    """The logged turns of a user with what they proposed, oldest first."""
    rows = connection.execute(
        """SELECT body FROM turns WHERE user_id = ? AND (created_at, space, turn_id) > (?, ?, ?)
        ORDER BY created_at, space, turn_id LIMIT ?""",
        (user_id, *_position(after), limit),
    )
    turns = [LoggedTurn.model_validate_json(body) for (body,) in rows]
    decisions = _decisions(connection, turns)
    return [LogRecord(turn, tuple(decisions[turn.space, turn.turn_id])) for turn in turns]


def kept(connection: sqlite3.Connection, user_id: str, after: Place | None, limit: int) -> list[Entry]:
    """The entries of a user in any status, oldest first."""
    rows = connection.execute(
        """SELECT body FROM entries JOIN scopes USING (scope)
        WHERE user_id = ? AND (created_at, space, id) > (?, ?, ?) ORDER BY created_at, space, id LIMIT ?""",
        (user_id, *_position(after), limit),
    )
    return [Entry.model_validate_json(body) for (body,) in rows]


def _position(after: Place | None) -> tuple[int, str, str]:
    return _START if after is None else (microseconds(after.at), after.space, after.id)


def _decisions(
    connection: sqlite3.Connection, turns: Sequence[LoggedTurn]
) -> dict[tuple[str, str], list[ProposalRecord]]:
    """By space and turn id, in the order of their ordinals. A turn's facts are numbered from 1 without gaps."""
    found: dict[tuple[str, str], list[ProposalRecord]] = defaultdict(list)
    ordinal, asked = 0, list(turns)
    while asked:
        by_id = {entry_id(turn.user_id, turn.space, turn.turn_id, ordinal): turn for turn in asked}
        decided = {id_: decision for chunk in chunks(by_id) for id_, decision in _read(connection, chunk, by_id)}
        for id_, decision in decided.items():
            found[by_id[id_].space, by_id[id_].turn_id].append(decision)
        asked = [turn for id_, turn in by_id.items() if id_ in decided or ordinal == 0]
        ordinal += 1
    return found


def _read(
    connection: sqlite3.Connection, ids: Sequence[str], turns: dict[str, LoggedTurn]
) -> list[tuple[str, ProposalRecord]]:
    rows = connection.execute(
        f"""SELECT id, ordinal, text, outcome, CASE outcome WHEN 'stored' THEN id ELSE entry_id END, reason
        FROM proposals WHERE id IN ({marks(ids)})""",
        tuple(ids),
    )
    read = []
    for id_, ordinal, text, outcome, entry, reason in rows:
        turn = turns[id_]
        proposal = Proposal(id=id_, turn=turn, ordinal=ordinal, text=turn.text if text is None else text)
        read.append((id_, ProposalRecord(proposal, Outcome(id_, outcome, entry, reason) if outcome else None)))
    return read
