"""Forgetting: of an entry a tombstone is left, of the turns that said it a log without their words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from contracts.ports import Forgotten
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import digests, records, wiping
from services.shared.stores.tombstones import tombstone

_UNHEARD = """
DELETE FROM voices WHERE scope IN (SELECT scope FROM scopes WHERE user_id = ? AND space = ?)
AND NOT EXISTS (SELECT 1 FROM fingerprints WHERE fingerprints.voice = voices.voice)"""


def forget(connection: sqlite3.Connection, users: Mapping[str, str], until: datetime | None) -> list[Forgotten]:
    """Forget the known ones of these entries, given as user by id; what is forgotten already stays as it is."""
    stored = records.by_id(connection, users)
    remembered = [known for known in stored.values() if known.entry.status != "forgotten"]
    if until is not None:
        digests.keep(connection, (known.entry for known in remembered), until)
    tombstones = _bury(connection, remembered)
    _forget_voices(connection, tombstones.values())
    turn_ids = wiping.wipe_tellings(connection, {id_: known.entry.user_id for id_, known in stored.items()})
    return [Forgotten(tombstones.get(id_, known.entry), turn_ids[id_]) for id_, known in stored.items()]


def _bury(connection: sqlite3.Connection, remembered: Iterable[records.Stored]) -> dict[str, Entry]:
    at, writer = datetime.now(UTC), records.EntryWriter(connection)
    tombstones = {}
    for known in remembered:
        tombstones[known.entry.id] = tombstone(known.entry, at)
        writer.replace(known, tombstones[known.entry.id])
    writer.flush()
    return tombstones


def _forget_voices(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """A speaker by whom no entry is looked up any more is not known by name any more."""
    connection.executemany(_UNHEARD, {(entry.user_id, entry.space) for entry in entries})
