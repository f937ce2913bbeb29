"""The lineage of statements that changed: an entry out of use for a newer one, in use again, and as it once was."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from contracts.ports import Key, RecordKey
from contracts.v1.entries import Entry, Saying
from contracts.v1.facts import MOST_ORDINAL
from contracts.v1.turns import entry_id

_KEY_TAG = re.compile("k[0-9a-f]{12}")


IN_USE: Mapping[str, Any] = {"superseded_by": None, "valid_until": None, "outdated": ()}
"""The fields of an entry that nothing has superseded, not even in part."""


def conflict_key(newer: Entry, older_id: str) -> RecordKey:
    """The record of a newer entry and an older one that cannot both be true."""
    return RecordKey(newer.user_id, "conflict", f"{newer.id}:{older_id}")


def fact_keys(entry: Entry) -> list[Key]:
    """Where the facts are that an older version drew from what an entry says, if any were."""
    if entry.turn_id is None or entry.ordinal > 0:
        return []
    ids = (entry_id(entry.user_id, entry.space, entry.turn_id, n) for n in range(1, MOST_ORDINAL + 1))
    return [Key(entry.user_id, id_) for id_ in ids]


def is_key_tag(tag: str) -> bool:
    """Whether a tag may be one that an older version gave facts of a key, to find them by."""
    return _KEY_TAG.fullmatch(tag) is not None


def superseded(entry: Entry, by: Entry) -> Entry:
    """The entry out of use, replaced by another one."""
    update = {
        "status": "superseded",
        "superseded_by": by.id,
        "valid_until": max(entry.created_at, by.created_at),
        "neighbour_tags": (),
        "embedding_state": "pending",
        "updated_at": datetime.now(UTC),
    }
    return entry.model_copy(update=update)


def superseded_if_active(entry: Entry, by: Entry) -> Entry | None:
    """The same of an entry in use; None of any other."""
    return superseded(entry, by) if entry.status == "active" else None


def superseded_in_part(entry: Entry, by: Entry, outdated: Collection[str]) -> Entry | None:
    """An entry in use that goes on, but for these facts, which another one replaced; None of any other."""
    if entry.status != "active":
        return None
    update = {
        "superseded_by": by.id,
        "valid_until": max(entry.created_at, by.created_at),
        "outdated": tuple(sorted(outdated)),
    }
    new = entry.model_copy(update=update)
    return new.model_copy(update={"updated_at": datetime.now(UTC)}) if new != entry else None


def changed_in_part_by(entry: Entry) -> str | None:
    """The id of what replaced a part of an entry in use, which was not said again since."""
    until = entry.valid_until if entry.status == "active" else None
    return entry.superseded_by if until is not None and entry.last_said_at <= until else None


def outdated_facts(entry: Entry) -> tuple[str, ...]:
    """The texts of the facts in an entry in use that are so no longer."""
    return entry.outdated if changed_in_part_by(entry) else ()


def rejected_facts(entry: Entry) -> tuple[str, ...]:
    """The texts of what an entry says and its user decided is not so."""
    rejected = (one.claim for one in entry.decided_claims if not one.is_so)
    return tuple(entry.text[slice(*one.value)] for one in rejected if one.is_within((0, len(entry.text))))


def superseded_after(entry: Entry, moment: datetime) -> bool:
    """Whether an entry that is superseded now was in use at a moment."""
    until = entry.valid_until if entry.status == "superseded" else None
    return until is not None and entry.created_at <= moment < until


def was_rejected(entry: Entry) -> bool:
    """Whether its user decided that what an entry says was never so: an older statement took its place.

    Of what a model drew from a turn that is not known: a correction of the turn looks the same.
    """
    until = entry.valid_until if entry.status == "superseded" and entry.source != "model" else None
    return until is not None and until <= entry.created_at


def restored(entry: Entry) -> Entry:
    """The entry in use again as a whole that another one had superseded."""
    return entry.model_copy(update={"status": "active", **IN_USE, "updated_at": datetime.now(UTC)})


def restored_from(entry: Entry, by: Entry) -> Entry | None:
    """The same of one that this other superseded, be it in part; None of any other."""
    return restored(entry) if entry.status in ("active", "superseded") and entry.superseded_by == by.id else None


def as_of(entry: Entry, moment: datetime | None) -> Entry:
    """The entry without what was said of it after a moment, in use again where it was; as it is when there is none.

    Of repeats that it does not name any more, the older ones, nothing is known: where all that it names are later,
    only the first time counts.
    """
    if moment is None:
        return entry
    until = entry.valid_until if changed_in_part_by(entry) else None
    if superseded_after(entry, moment) or (until is not None and moment < until):
        entry = entry.model_copy(update={"status": "active", **IN_USE})
    if entry.last_said_at <= moment:
        return entry
    before = tuple(saying for saying in entry.repeated_in if saying.at <= moment)
    later = len(entry.repeated_in) - len(before)
    return entry.model_copy(
        update={
            "repeated_in": before,
            "repeat_count": max(0, entry.repeat_count - later) if before else 0,
            "last_said_at": last_said(entry, before, moment),
        }
    )


def last_said(entry: Entry, again: Sequence[Saying], until: datetime) -> datetime:
    """When an entry was said last up to a moment, of its repeats by these."""
    corrected = [entry.edited_at] if entry.edited_at and entry.edited_at <= until else []
    return max([entry.created_at, *corrected, *(saying.at for saying in again)])
