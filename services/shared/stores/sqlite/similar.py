"""Which active entries share a fingerprint: the candidates for being the same statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence

from contracts.ports import Accepted, SimilarityQuery
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import fingerprints, records
from services.shared.stores.sqlite.keys import NUMBER_BITS

_HEARD = """
SELECT scope, voice FROM scopes JOIN voices USING (scope)
WHERE user_id = ? AND space = ? AND persona_id = ? AND role = ? AND speaker = ?"""

Voice = tuple[str, str, str, str, str]
"""Who speaks where: user, space, persona, role, speaker; empty where there is none."""


def similar(connection: sqlite3.Connection, queries: Sequence[SimilarityQuery]) -> list[list[Entry]]:
    """For each probe the active entries of the same voice that share one of its keys, in the order stored."""
    docs = _docs(connection, [(_voice(probe), probe.keys) for probe in queries])
    entries = records.by_doc(connection, set().union(*docs))
    return [
        [entries[doc] for doc in sorted(near) if _shares(entries[doc], probe.keys)]
        for probe, near in zip(queries, docs, strict=True)
    ]


def overtaken(connection: sqlite3.Connection, decisions: Sequence[Accepted]) -> set[str]:
    """The ids of accepted entries that are similar to a stored active one which they were not compared with."""
    entries, known_similar = (
        [decision.entry for decision in decisions],
        [decision.known_similar or () for decision in decisions],
    )
    docs = _docs(connection, [(_voice_of(entry), entry.fingerprint_keys) for entry in entries])
    ids = records.ids(connection, set().union(*docs))
    unseen = [{doc for doc in near if ids[doc] not in seen} for near, seen in zip(docs, known_similar, strict=True)]
    others = records.by_doc(connection, set().union(*unseen))  # few, while those compared with may be many
    return {
        entry.id
        for entry, near in zip(entries, unseen, strict=True)
        if any(_shares(others[doc], entry.fingerprint_keys) for doc in near)
    }


def _docs(connection: sqlite3.Connection, asked: Sequence[tuple[Voice, Collection[str]]]) -> list[set[int]]:
    """For each voice and keys the active entries of the voice that have, or seem to have, one of the keys."""
    voices = _numbers(connection, {voice for voice, _ in asked})
    pairs = [fingerprints.pairs_of(voices[voice][1], keys) if voice in voices else () for voice, keys in asked]
    holders = fingerprints.holders(connection, set().union(*pairs))
    return [
        {voices[voice][0] << NUMBER_BITS | number for pair in of_voice for number in holders.get(pair, ())}
        for (voice, _), of_voice in zip(asked, pairs, strict=True)
    ]


def _numbers(connection: sqlite3.Connection, voices: Iterable[Voice]) -> dict[Voice, tuple[int, int]]:
    """(scope, voice) of those that have been heard."""
    found = {voice: connection.execute(_HEARD, voice).fetchone() for voice in voices}
    return {voice: numbers for voice, numbers in found.items() if numbers is not None}


def _voice(probe: SimilarityQuery) -> Voice:
    scope = probe.scope
    return scope.user_id, scope.space, scope.persona_id or "", probe.role, probe.speaker or ""


def _voice_of(entry: Entry) -> Voice:
    return entry.user_id, entry.space, entry.persona_id or "", entry.role, entry.speaker or ""


def _shares(entry: Entry, keys: Collection[str]) -> bool:
    """Different keys may be stored as the same number, so what is found must be checked."""
    return not set(keys).isdisjoint(entry.fingerprint_keys)
