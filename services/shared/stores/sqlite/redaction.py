"""Redaction of the log: who spoke when and what became of it stays, what was said does not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from contracts.v1.turns import WORDLESS, LoggedTurn
from services.shared.stores.sqlite.compaction import note_old_words
from services.shared.stores.sqlite.keys import chunks, marks
from services.shared.stores.tombstones import without_words

_TELLINGS = """
SELECT entry, told.id, turn, turn_id, turns.body, told.text FROM (
    SELECT id AS entry, id, turn, text FROM proposals WHERE id IN ({ids})
    UNION ALL SELECT entry_id, id, turn, text FROM proposals WHERE outcome = 'merged' AND entry_id IN ({ids})
) AS told JOIN turns USING (turn) ORDER BY turn"""


def redact_tellings(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Redact the turns that entries, given as user by id, were made of or that were merged into them.

    Returns the ids of these turns for each entry, in the order logged.
    """
    turn_ids: dict[str, dict[str, None]] = {id_: {} for id_ in users}
    turns: dict[int, LoggedTurn] = {}
    worded: list[str] = []
    for chunk in chunks(users):
        rows = connection.execute(_TELLINGS.format(ids=marks(chunk)), (*chunk, *chunk))
        for entry_id, proposal_id, number, turn_id, body, text in rows:
            turn = LoggedTurn.model_validate_json(body)
            if turn.user_id == users[entry_id]:
                turn_ids[entry_id][turn_id] = None
                turns[number] = turn
                worded += [proposal_id] if text is not None else []
    _redact(connection, turns, dict.fromkeys(worded))
    return {id_: tuple(told_by) for id_, told_by in turn_ids.items()}


def redact_refused(connection: sqlite3.Connection, proposals: Iterable[str]) -> None:
    """Redact proposals that were refused: with the turn itself its words, of a fact its own."""
    for chunk in chunks(proposals):
        rows = connection.execute(
            f"SELECT id, ordinal, turn, body FROM proposals JOIN turns USING (turn) WHERE id IN ({marks(chunk)})", chunk
        ).fetchall()
        turns = {number: LoggedTurn.model_validate_json(body) for _, ordinal, number, body in rows if ordinal == 0}
        _redact(connection, turns, {id_: WORDLESS if ordinal else None for id_, ordinal, _, _ in rows})


def _redact(connection: sqlite3.Connection, turns: Mapping[int, LoggedTurn], texts: Mapping[str, str | None]) -> None:
    """Leave turns, by number, without words, and give proposals another text; None is that of the turn."""
    redacted = {number: without_words(turn) for number, turn in turns.items()}
    changed = [
        (turn.model_dump_json(exclude_none=True), turn.conversation_id, number)
        for number, turn in redacted.items()
        if turn != turns[number]
    ]
    connection.executemany("UPDATE turns SET body = ?, conversation_id = ? WHERE turn = ?", changed)
    connection.executemany("UPDATE proposals SET text = ? WHERE id = ?", [(text, id_) for id_, text in texts.items()])
    if changed or texts:
        note_old_words(connection)
