"""Corrected entries: what follows from another text, and what is kept of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from contracts.v1.entries import Entry, Revision
from contracts.v1.turns import EntryType
from services.shared.dedup.repeats import prints_of
from services.shared.language.analysis import analyze
from services.shared.language.text import composed
from services.shared.lifecycle.decided_claims import still_decided
from services.shared.lifecycle.lineage import IN_USE
from services.shared.lifecycle.pinning import weighed
from services.shared.lifecycle.salience import SURE, importance

MOST_REVISIONS = 64
MOST_REVISED = 128 * 1024
"""Bytes of earlier texts that an entry keeps, the latest first: with them it still fits into a message."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to change about an entry; None stays as it is. `redact`: nothing is kept of what it said before."""

    text: str | None = None
    type: EntryType | None = None
    tags: tuple[str, ...] | None = None
    themes: tuple[str, ...] | None = None
    manually_saved: bool | None = None
    redact: bool = False
    by: str | None = None


def edited(entry: Entry, edit: Edit, now: datetime) -> Entry | None:
    """The entry with an edit; None when that changes nothing, or the entry is out of use."""
    if entry.status != "active":
        return None
    edit = replace(edit, text=None if edit.text is None else composed(edit.text))
    changed = entry.model_copy(update=_given(entry, edit))
    if edit.text is not None and edit.text != entry.text:
        changed = _said_otherwise(changed, edit, now)
    if edit.redact:
        changed = _without_words_of(entry, changed)
    if (changed.text, changed.type, changed.manually_saved) != (entry.text, entry.type, entry.manually_saved):
        changed = changed.model_copy(update=weighed(changed, _importance(changed)))
    if changed == entry:
        return None
    return changed.model_copy(update={"edited_version": entry.version + 1, "updated_at": now})


def _given(entry: Entry, edit: Edit) -> dict[str, Any]:
    given = {"type": edit.type, "tags": edit.tags, "themes": edit.themes, "manually_saved": edit.manually_saved}
    once = {name: _once(value) for name, value in given.items() if value is not None}
    if edit.tags is not None and (entry.neighbour_tags or once["tags"] != entry.tags):
        once |= {"tags_edited": True, "neighbour_tags": ()}
    return once


def _once(value: Any) -> Any:
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value


def _said_otherwise(entry: Entry, edit: Edit, now: datetime) -> Entry:
    """The entry with another text. What was read out of the old one goes, and is read anew by enrich and embed."""
    text = edit.text or ""
    return entry.model_copy(
        update={
            "text": text,
            "tags": entry.tags if edit.tags is not None else _still_told(entry.tags, entry.text, text),
            **asdict(prints_of(text, entry.created_at, entry.frame)),
            "revisions": _newest((_revision(entry), *entry.revisions)),
            "edited_at": now,
            "edited_by": edit.by,
            "last_said_at": max(entry.last_said_at, now),
            "decided_claims": still_decided(entry.decided_claims, entry.text, text),
            **UNREAD,
            **IN_USE,
            "source": "rollup" if entry.source == "rollup" else "turn",
        }
    )


UNREAD: dict[str, Any] = {
    "summary": None,
    "subject": "none",
    "entity_refs": (),
    "entity_label": None,
    "fact_type": None,
    "memory_key": None,
    "span": None,
    "holds_many": False,
    "neighbour_tags": (),
    "line_sources": (),
    "entities": (),
    "claims": (),
    "changes": (),
    "read_by": None,
    "metadata_confidence": 0.0,
    "enriched": False,
    "embedding_state": "pending",
    "embedding_error": None,
    "last_scores": None,
}
"""The fields of an entry whose text nobody has read yet."""


def _still_told(tags: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    """The tags without those whose words the old text has and the new one has not."""
    before, after = set(analyze(old)), set(analyze(new))
    words = {tag: set(analyze(tag)) for tag in tags}
    return tuple(tag for tag in tags if not words[tag] <= before or words[tag] <= after)


def _without_words_of(old: Entry, new: Entry) -> Entry:
    """The entry without its history, and without labels that hold a word which only an earlier text has."""
    former = " ".join([old.text, *(revision.text for revision in old.revisions)])
    gone = set(analyze(former)).difference(analyze(new.text))
    labels = {name: getattr(new, name) for name in ("tags", "themes", "source_ids")}
    clean = {name: tuple(one for one in its if gone.isdisjoint(analyze(one))) for name, its in labels.items()}
    return new.model_copy(update={**clean, "neighbour_tags": (), "revisions": ()})


def _revision(entry: Entry) -> Revision:
    return Revision(
        version=entry.version,
        at=entry.edited_at or entry.created_at,
        text=entry.text,
        by=entry.edited_by,
        exact_hash=entry.exact_hash,
        statement_hash=entry.statement_hash,
    )


def _newest(revisions: Sequence[Revision]) -> tuple[Revision, ...]:
    """As many as are kept."""
    kept: list[Revision] = []
    room = MOST_REVISED
    for revision in revisions[:MOST_REVISIONS]:
        room -= len(revision.text.encode())
        if room < 0:
            break
        kept.append(revision)
    return tuple(kept)


def _importance(entry: Entry) -> float:
    confidence = entry.metadata_confidence
    return importance(
        entry.text,
        type=entry.type,
        role=entry.role,
        manually_saved=entry.manually_saved,
        confidence=confidence,
        has_metadata=confidence >= SURE,
        repeat_count=entry.repeat_count,
    )
