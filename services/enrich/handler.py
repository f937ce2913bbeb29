"""Entities, tags, importance. No bus, no client library; what reads texts and what stores them are ports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from contracts.ports import Annotation, Annotator, TextStore
from contracts.v1.entries import Entry, EntryAccepted, EntryEnriched, EntryRef, cause_of
from services.shared.changes import change_entries
from services.shared.lifecycle.pinning import weighed
from services.shared.lifecycle.salience import importance, repeat_boost

_MOST_TAGS = 24
_SURE_ENOUGH = 0.6


async def enrich_entries(
    events: Sequence[EntryAccepted], *, store: TextStore, annotator: Annotator | None
) -> list[EntryEnriched]:
    """Enrich every entry of the events once, and pass all of them on; without an annotator as they are."""
    refs = {ref.id: ref for event in events for ref in event.entries}
    found = await store.get(list(refs.values()), may_lag=_is_active)
    if annotator is not None:
        await _annotate([entry for entry in found.values() if needs_enriching(entry)], store, annotator)
    going_on = [EntryRef(**dict(ref)) for ref_id, ref in refs.items() if _is_active(found.get(ref_id))]
    return [EntryEnriched.of(going_on, at=datetime.now(UTC), cause=cause_of(events))]


async def _annotate(todo: Sequence[Entry], store: TextStore, annotator: Annotator) -> None:
    if todo:
        annotations = await annotator.annotate([entry.text for entry in todo])
        by_id = {entry.id: (entry.text, notes) for entry, notes in zip(todo, annotations, strict=True)}
        now = datetime.now(UTC)

        def with_notes(entry: Entry) -> Entry | None:
            text, notes = by_id[entry.id]
            return enriched(entry, notes, now) if entry.text == text else None  # another text is on its way once more

        await change_entries(store, todo, with_notes)


def needs_enriching(entry: Entry) -> bool:
    """Whether nobody has done it yet, and it still matters."""
    return entry.status == "active" and not entry.enriched


def enriched(entry: Entry, notes: Annotation, now: datetime) -> Entry | None:
    """The entry with what was read out of its text; None when it was enriched meanwhile."""
    if not needs_enriching(entry):
        return None
    confidence = metadata_confidence(notes)
    base = _base(entry, notes, confidence)
    return entry.model_copy(
        update={
            "entities": notes.entities,
            "tags": merged_tags(entry.tags, notes),
            "metadata_confidence": confidence,
            **weighed(entry, min(1.0, base + repeat_boost(entry.repeat_count))),
            "enriched": True,
            "embedding_state": "pending",  # a vector made before was not filtered by these tags
            "updated_at": now,
        }
    )


def _base(entry: Entry, notes: Annotation, confidence: float) -> float:
    return importance(
        entry.text,
        type=entry.type,
        role=entry.role,
        manually_saved=entry.manually_saved,
        confidence=confidence,
        has_metadata=bool(notes.entities or notes.phrases),
    )


def metadata_confidence(notes: Annotation) -> float:
    """The mean confidence of all that was detected, 0 when nothing was."""
    found = [entity.confidence for entity in notes.entities] + [sure for _, sure in notes.phrases]
    return min(1.0, max(0.0, sum(found) / len(found))) if found else 0.0


def merged_tags(given: Sequence[str], notes: Annotation) -> tuple[str, ...]:
    """The tags that came with the turn, then names and key phrases that are sure enough, without repeats."""
    names = [entity.text.lower() for entity in notes.entities if entity.confidence >= _SURE_ENOUGH]
    phrases = [phrase.lower() for phrase, sure in notes.phrases if sure >= _SURE_ENOUGH]
    return tuple(dict.fromkeys((*given, *names, *phrases)))[: max(_MOST_TAGS, len(given))]


def _is_active(entry: Entry | None) -> bool:
    return entry is not None and entry.status == "active"
