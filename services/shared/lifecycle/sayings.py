"""When a statement was said, and what a repeat adds to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from contracts.v1.entries import MOST_SAYINGS, Entry, Saying
from services.shared.lifecycle.lineage import last_said
from services.shared.lifecycle.pinning import own_importance, weighed
from services.shared.lifecycle.salience import repeat_boost


def renewed(entry: Entry, repeat: Entry) -> Entry:
    """The entry, said once more by the turn of `repeat`.

    In whatever order turns arrive, the entry stands where the earliest of them said it, `created_at` is when that was,
    and `last_said_at` is when the latest did.
    """
    first, again = (repeat, entry) if repeat.created_at < entry.created_at else (entry, repeat)
    sayings = sorted((*again.sayings, *first.repeated_in), key=_newest_first)
    return entry.model_copy(
        update={
            **{name: getattr(first, name) for name in _FIRST},
            "repeat_count": entry.repeat_count + 1,
            "last_said_at": max(entry.last_said_at, repeat.last_said_at),
            "repeated_in": tuple(sayings[:MOST_SAYINGS]),
            "last_scores": None,  # they were those of what had not been said again
            "clock_ahead": entry.clock_ahead or repeat.clock_ahead,
        }
    )


_FIRST = ("conversation_id", "session_id", "turn_id", "ordinal", "created_at", "utc_offset")
"""What an entry has of the turn that said it first."""


def repeated_by(entry: Entry, repeat: Entry) -> Entry:
    """The entry with a repeat merged into it: renewed, importance boosted, metadata and intent joined."""
    step = repeat_boost(entry.repeat_count + 1) - repeat_boost(entry.repeat_count)
    return renewed(entry, repeat).model_copy(
        update={
            **weighed(entry, min(1.0, max(own_importance(entry), repeat.importance) + step)),
            "manually_saved": entry.manually_saved or repeat.manually_saved,
            "tags": tuple(dict.fromkeys((*entry.tags, *repeat.tags))),
            "source_ids": tuple(dict.fromkeys((*entry.source_ids, *repeat.source_ids))),
            "updated_at": max(entry.updated_at, repeat.updated_at),
        }
    )


def not_repeated(entry: Entry) -> Entry:
    """The entry without its last repeat, which turned out to be none."""
    return entry.model_copy(update={"repeat_count": entry.repeat_count - 1})


def _newest_first(saying: Saying) -> tuple[float, str]:
    return -saying.at.timestamp(), saying.turn_id


def is_said_within(entry: Entry, since: datetime | None, until: datetime | None) -> bool:
    """Whether an entry was said between two moments, for the first time, last, or by a turn that it names.

    Where it is not known in which zone the two are, they are taken to be in that of who said it.
    """
    known = (entry.created_at, entry.last_said_at, *(saying.at for saying in entry.repeated_in))
    moments = [as_there(at, entry, (since or until or at).tzinfo) for at in known]
    return any((since is None or at >= since) and (until is None or at < until) for at in moments)


def zone_there(entry: Entry, zone: tzinfo | None) -> tzinfo:
    """This time zone; where none is asked for, that in which the entry was said."""
    if zone not in (None, UTC) or entry.utc_offset is None:
        return zone or UTC
    return timezone(timedelta(minutes=entry.utc_offset))


def as_there(moment: datetime, entry: Entry, zone: tzinfo | None) -> datetime:
    """A moment with what clocks show where an entry was said, as if that were in the zone."""
    try:
        return moment.astimezone(zone_there(entry, zone)).replace(tzinfo=zone or UTC)
    except OverflowError:
        return moment


def told_in(entry: Entry, conversation_id: str | None) -> Entry:
    """The entry as the latest turn of a conversation said it; as it is where no conversation is asked for."""
    if conversation_id is None:
        return entry
    saying = next((saying for saying in entry.sayings if saying.conversation_id == conversation_id), None)
    if saying is None:
        return entry
    return entry.model_copy(update={"conversation_id": saying.conversation_id, "turn_id": saying.turn_id})


def is_said_elsewhere(entry: Entry, conversation_id: str) -> bool:
    """Whether the entry names a turn that said it outside of this conversation."""
    named = (entry.conversation_id, *(saying.conversation_id for saying in entry.repeated_in))
    return any(name != conversation_id for name in named)


def not_said_in(entry: Entry, conversation_id: str, now: datetime) -> Entry | None:
    """The entry without what was said in this conversation; None where it was not said there, or nowhere else.

    Where it was said there first, it stands where the earliest of the other turns said it.
    """
    if conversation_id not in entry.conversations or not is_said_elsewhere(entry, conversation_id):
        return None
    rest = tuple(saying for saying in entry.repeated_in if saying.conversation_id != conversation_id)
    first: dict[str, object] = {}
    if entry.conversation_id == conversation_id:
        rest, earliest = rest[:-1], rest[-1]
        place = {"conversation_id": earliest.conversation_id, "turn_id": earliest.turn_id, "created_at": earliest.at}
        first = {**place, "session_id": None, "ordinal": 0, "utc_offset": None}
    changed = entry.model_copy(update={**first, "repeated_in": rest, "updated_at": now})
    return changed.model_copy(update={"last_said_at": last_said(changed, rest, now)})
