"""Whether statements can be made: who makes the same one already, and which may not come back now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from contracts.ports import Accepted
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import records, statements, suppression
from services.shared.stores.sqlite.keys import NUMBER_BITS
from services.shared.stores.sqlite.statements import statement_number

_HEARD = """
SELECT scope, voice FROM scopes JOIN voices USING (scope)
WHERE user_id = ? AND space = ? AND persona_id = ? AND role = ? AND speaker = ?"""

Voice = tuple[str, str, str, str, str]
"""Who speaks where: user, space, persona, role, speaker; empty where there is none."""

Voices = Mapping[Voice, tuple[int, int]]
"""The numbers of scope and voice."""


def makers_of(connection: sqlite3.Connection, entries: Sequence[Entry], voices: Voices) -> list[set[int]]:
    """For each entry the documents of the active ones that have its statement key and voice."""
    keys = [
        (*voices[voice_of(entry)], statement_number(entry.statement_hash))
        if entry.statement_hash and voice_of(entry) in voices
        else None
        for entry in entries
    ]
    stored = statements.holders(connection, [key[1:] for key in keys if key])
    return [{key[0] << NUMBER_BITS | number for number in stored.get(key[1:], ())} if key else set() for key in keys]


def voices_of(connection: sqlite3.Connection, entries: Iterable[Entry]) -> Voices:
    """Those that have been heard."""
    found = {voice: connection.execute(_HEARD, voice).fetchone() for voice in set(map(voice_of, entries))}
    return {voice: numbers for voice, numbers in found.items() if numbers is not None}


def voice_of(entry: Entry) -> Voice:
    """Who an entry speaks as."""
    return entry.user_id, entry.space, entry.persona_id or "", entry.role, entry.speaker or ""


def find_overtaken(connection: sqlite3.Connection, accepted: Iterable[Accepted]) -> set[str]:
    """Of these entries, the ids of those whose statement others make by now, or that may not come back."""
    judged = [one for one in accepted if one.known_similar is not None]
    if not judged:
        return set()
    entries = [one.entry for one in judged]
    makers = makers_of(connection, entries, voices_of(connection, entries))
    ids = records.ids(connection, set().union(*makers))
    pairs = [(one, {ids[doc] for doc in docs}) for one, docs in zip(judged, makers, strict=True)]
    unseen = {one.entry.id for one, others in pairs if not others.issubset({one.entry.id, *(one.known_similar or ())})}
    return unseen | suppression.suppressed(connection, entries)
