"""Of the facts that a model drew the newest of each key supersedes the others.

Every step may be done again: the newer one first names what it supersedes, then the older one goes out of use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from contracts.ports import Filters, Key, Scope, Selection, TextStore
from contracts.v1.entries import Entry, EntryRef
from contracts.v1.turns import entry_id
from services.shared.changes import change_entries
from services.shared.core.capacity import is_protected
from services.shared.core.extraction import is_borne_out
from services.shared.core.lineage import key_tag, superseded_if_active
from services.shared.lineage import joined, put_away

_CANDIDATES = 24
"""Older facts that a fact is compared with."""


async def settle_facts(entries: Iterable[Entry], *, store: TextStore) -> list[EntryRef]:
    """Of the facts that a model drew, let the newest of each key supersede the others; those, whose vectors go.

    A protected one stays, and one of a key that holds many values stands beside the others. One whose turn was
    corrected while it was decided is superseded by what that says now.
    """
    drawn = [one for one in entries if one.source == "model" and one.status == "active"]
    outdated = await _put_away_outdated(drawn, store)
    gone = [EntryRef(user_id=one.user_id, id=one.id) for one in outdated]
    left = [one for one in drawn if not one.holds_many and one.id not in {ref.id for ref in gone}]
    for entry in sorted(left, key=_place):
        *former, newest = sorted([*await _of_same_key(entry, store), entry], key=_place)
        older = [one.id for one in former if not is_protected(one)]
        if older:
            gone += [EntryRef(user_id=one.user_id, id=one.id) for one in await _superseded_by(newest, older, store)]
    return gone


async def _put_away_outdated(facts: Sequence[Entry], store: TextStore) -> list[Entry]:
    """Take facts out of use whose turn does not say so any more; those."""
    if not facts:
        return []
    source_of = {one.id: entry_id(one.user_id, one.space, one.turn_id or "") for one in facts}
    said = await store.get([Key(one.user_id, source_of[one.id]) for one in facts])

    def put_away(one: Entry) -> Entry | None:
        source = said.get(source_of[one.id])
        if source is None or source.status != "active" or is_borne_out(one, source):
            return None
        return superseded_if_active(one, source)

    return await change_entries(store, facts, put_away)


def _place(entry: Entry) -> tuple[datetime, datetime, str]:
    return entry.last_said_at, entry.created_at, entry.id


async def _of_same_key(entry: Entry, store: TextStore) -> list[Entry]:
    """The other active facts of its key, by a search for it, and among the latest: a search may lag a moment."""
    scope, tag = Scope(entry.user_id, entry.space, entry.persona_id), key_tag(entry.memory_key or "")
    hits = await store.search(scope, tag, limit=_CANDIDATES, filters=Filters(tags=(tag,)))
    found = await store.get([Key(entry.user_id, hit.id) for hit in hits])
    latest = Selection(entry.user_id, entry.space, entry.persona_id or "")
    found |= {one.id: one for one in (await store.page(latest, limit=_CANDIDATES, cursor=None)).entries}

    def is_other(one: Entry) -> bool:
        same = (one.persona_id, one.memory_key, one.source) == (entry.persona_id, entry.memory_key, "model")
        return same and one.status == "active" and one.id != entry.id

    return [one for one in found.values() if is_other(one)]


async def _superseded_by(newest: Entry, older: Sequence[str], store: TextStore) -> list[Entry]:
    """Have the newest fact name these, and put them out of use; all that are."""

    def named(one: Entry) -> Entry | None:
        if one.status != "active" or one.text != newest.text:
            return None
        update = {"supersedes": joined(one.supersedes, older), "valid_from": one.valid_from or one.created_at}
        new = one.model_copy(update=update)
        return new if new != one else None

    (stored,) = await change_entries(store, [newest], named) or [newest]
    return await put_away(stored, store)
