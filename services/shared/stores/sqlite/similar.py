"""Which active entries share a fingerprint: the candidates for being the same statement."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from contracts.ports import Probe
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import records
from services.shared.stores.sqlite.fingerprints import holders, keys_of
from services.shared.stores.sqlite.keys import NUMBER_BITS


def similar(connection: sqlite3.Connection, probes: Sequence[Probe]) -> list[list[Entry]]:
    """For each probe the active entries of the same voice that share one of its keys, in the order stored."""
    asked = [keys_of(probe.keys) for probe in probes]
    by_voice: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, where in _voices(connection, probes).items():
        by_voice[where].append(index)
    docs: list[set[int]] = [set() for _ in probes]
    for (scope, voice), indexes in by_voice.items():
        found = holders(connection, voice, set().union(*(asked[index] for index in indexes)))
        for index in indexes if found else ():
            numbers = (number for key in asked[index] & found.keys() for number in found[key])
            docs[index] = {scope << NUMBER_BITS | number for number in numbers}
    entries = records.by_doc(connection, set().union(*docs))
    return [
        [entries[doc] for doc in sorted(near) if _shares(probe, entries[doc])]
        for probe, near in zip(probes, docs, strict=True)
    ]


def _voices(connection: sqlite3.Connection, probes: Sequence[Probe]) -> dict[int, tuple[int, int]]:
    """(scope, voice) by the index of each probe whose voice has been heard."""
    known: dict[tuple[str, ...], tuple[int, int] | None] = {}
    found = {}
    for index, probe in enumerate(probes):
        scope = probe.scope
        key = (scope.user_id, scope.space, scope.persona_id or "", probe.role, probe.speaker or "")
        if key not in known:
            known[key] = connection.execute(
                """SELECT scope, voice FROM scopes JOIN voices USING (scope)
                WHERE user_id = ? AND space = ? AND persona_id = ? AND role = ? AND speaker = ?""",
                key,
            ).fetchone()
        if (voice := known[key]) is not None:
            found[index] = voice
    return found


def _shares(probe: Probe, entry: Entry) -> bool:
    return not set(probe.keys).isdisjoint(entry.fingerprint_keys)
