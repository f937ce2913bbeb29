"""What a Qdrant engine is told of an entry, wherever the engine runs: ids, scope keys, payload, checked vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from contracts.ports import Filters, Scope, Vector, VectorPoint
from contracts.v1.entries import Entry
from services.shared.stores.scopes import hashed, scope_keys, visible_keys

TURN = "turn"
"""The name of the vector of an entry's own text: the only one that a point has."""

COPY = "copy"
"""The field of a payload that holds the entry itself."""

TAGS, THEMES, CONVERSATIONS = "tag_keys", "theme_keys", "conversation_keys"
"""The fields of a payload that stand for words of the user. They hold hashes: what an engine was told once may stay
readable in its files long after it was removed."""

FORMER_FIELD = "tags"
"""An index that only collections of a former layout have: they hold the words themselves."""

_NOT_COPIED = {"revisions", "claims", "decided_claims", "changes", "read_by"}
"""What an entry holds that no answer is made of while the text store is away."""

_TIMES = ("created_at", "last_said_at")

FILTERED = ("user_id", "scope", "type", TAGS, THEMES, CONVERSATIONS, *_TIMES)
"""The fields that a search may ask for."""

TEXT = "text_key"
"""The field of a payload that says by a hash which text the vector was made of."""

COMPARED = (*FILTERED, TEXT)
"""The fields that tell whether a point is of an entry as it is now."""

_A_MICROSECOND = 1e-6
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def point_id(entry_id: str) -> str | None:
    """The id as the engine knows it; None for one that no point can have, as only canonical UUIDs are stored."""
    return entry_id if _UUID.fullmatch(entry_id) else None


def point_ids(entry_ids: Iterable[str]) -> list[str]:
    """Those of the ids that a point can have, each once, in the order given."""
    return list(dict.fromkeys(key for key in map(point_id, entry_ids) if key is not None))


def newest(points: Sequence[VectorPoint]) -> list[VectorPoint]:
    """Of points with the same id the one of the highest version; of equal versions the last."""
    latest: dict[str, VectorPoint] = {}
    for point in points:
        known = latest.get(point.entry.id)
        if known is None or known.entry.version <= point.entry.version:
            latest[point.entry.id] = point
    return list(latest.values())


def newest_entries(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The entries by id, each in its highest version."""
    return {entry.id: entry for entry in sorted(entries, key=lambda entry: entry.version)}


def check_point(point: VectorPoint, dimensions: int) -> None:
    """Make sure that the point can be stored where vectors have these dimensions.

    Raises:
        ValueError: its id is no canonical UUID, or its vector is not as it must be.
    """
    if point_id(point.entry.id) is None:
        raise ValueError(f"entry id {point.entry.id!r} is no canonical UUID")
    checked_vector(point.vector, dimensions)


def checked_vector(vector: Vector, dimensions: int) -> Any:
    """The vector as the engine takes it.

    Raises:
        ValueError: wrong shape, or numbers that are not finite.
    """
    if vector.shape != (dimensions,):
        raise ValueError(f"the vector has shape {vector.shape}, not ({dimensions},)")
    if not np.isfinite(vector).all():
        raise ValueError("the vector has numbers that are not finite")
    return np.asarray(vector, dtype=np.float32)


def place_in_order(after: str) -> str | None:
    """The id after which points are wanted; None for all of them.

    Raises:
        ValueError: it is neither empty nor the id of a point.
    """
    if after and point_id(after) is None:
        raise ValueError(f"points are in the order of UUIDs, and {after!r} is none")
    return after or None


def word_keys(user_id: str, words: Iterable[str]) -> list[str]:
    """What stands for words of a user, other than for the same words of another."""
    return [hashed(user_id, word) for word in words]


def word_filters(scope: Scope, filters: Filters) -> dict[str, list[str]]:
    """The fields that must hold one of these keys for a point to pass what the filters ask of words."""
    asked = {
        TAGS: filters.tags,
        THEMES: filters.theme and [filters.theme],
        CONVERSATIONS: filters.conversation_id and [filters.conversation_id],
    }
    return {field: word_keys(scope.user_id, words) for field, words in asked.items() if words}


def payload(entry: Entry, *, with_copy: bool = False) -> dict[str, Any]:
    """What points are filtered by; and, if wanted, a copy of the entry to answer with while the text store is away."""
    filtered_by = {
        "user_id": entry.user_id,
        "scope": scope_keys(entry),
        "type": entry.type,
        TAGS: word_keys(entry.user_id, entry.tags),
        THEMES: word_keys(entry.user_id, entry.themes),
        CONVERSATIONS: word_keys(entry.user_id, entry.conversations),
        "created_at": entry.created_at.timestamp(),
        "last_said_at": entry.last_said_at.timestamp(),
        "version": entry.version,
        TEXT: hashed(entry.user_id, entry.text),
    }
    if not with_copy:
        return filtered_by
    return filtered_by | {COPY: entry.model_dump_json(exclude_none=True, exclude=_NOT_COPIED)}


def lacking(entries: Iterable[Entry], payloads: Mapping[str, Mapping[str, Any] | None]) -> set[str]:
    """The ids of the entries without a payload, or with one of another text or filtered by something else than now."""
    return {entry.id for entry in entries if not _is_filtered_by(entry, payloads.get(entry.id) or {})}


def _is_filtered_by(entry: Entry, held: Mapping[str, Any]) -> bool:
    wanted = payload(entry)
    same_times = all(_is_same_moment(held.get(field), wanted[field]) for field in _TIMES)
    if held.get(TEXT, wanted[TEXT]) != wanted[TEXT]:  # points of a former version do not say it
        return False
    return same_times and all(held.get(field) == wanted[field] for field in FILTERED if field not in _TIMES)


def _is_same_moment(held: object, wanted: float) -> bool:
    return isinstance(held, float | int) and math.isclose(held, wanted, rel_tol=0, abs_tol=_A_MICROSECOND)


def is_visible(payload: Mapping[str, Any], scope: Scope) -> bool:
    """Whether the scope sees a point with this payload."""
    held = payload.get("scope") or ()
    return any(key in held for key in visible_keys(scope))  # a single keyword is as long as any other


def copied_entry(payload: Mapping[str, Any] | None, scope: Scope) -> Entry | None:
    """The copy of an entry in a payload, if there is one that the scope sees."""
    if payload is None or COPY not in payload or not is_visible(payload, scope):
        return None
    return Entry.model_validate_json(payload[COPY])
