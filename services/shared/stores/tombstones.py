"""What is left of what was forgotten, whatever the engine: ids, places and times, and no words."""

from __future__ import annotations

import re
from datetime import datetime

from contracts.v1.entries import Entry
from contracts.v1.turns import WORDLESS, LoggedTurn
from services.shared.dedup.fingerprint import all_digests_of, digests_of
from services.shared.stores.scopes import hashed

_ID = re.compile(r"#?[0-9a-f-]+")


def tombstone(entry: Entry, at: datetime) -> Entry:
    """The entry without anything that it said, or that was read out of it; its version is one higher."""
    return Entry(
        id=entry.id,
        user_id=entry.user_id,
        space=entry.space,
        conversation_id=entry.conversation_id and unnamed(entry.user_id, entry.conversation_id),
        session_id=entry.session_id,
        turn_id=entry.turn_id,
        ordinal=entry.ordinal,
        role=entry.role,
        persona_id=entry.persona_id,
        text="",
        type=entry.type,
        source=entry.source,
        rolled_up_into=entry.rolled_up_into,
        repeat_count=entry.repeat_count,
        status="forgotten",
        created_at=entry.created_at,
        last_said_at=entry.last_said_at,
        clock_ahead=entry.clock_ahead,
        updated_at=at,
        version=entry.version + 1,
    )


def without_words(turn: LoggedTurn) -> LoggedTurn:
    """The turn as the log keeps it once its words are gone."""
    conversation = unnamed(turn.user_id, turn.conversation_id)
    gone = {"text": WORDLESS, "redacted": True, "tags": (), "source_ids": (), "speaker": None, "correlation_id": None}
    return turn.model_copy(update={**gone, "conversation_id": conversation})


def unnamed(user_id: str, conversation_id: str) -> str:
    """What stays of the name of a conversation: an id as it is, else a hash, as it may be words."""
    return conversation_id if _ID.fullmatch(conversation_id) else f"#{hashed(user_id, conversation_id)}"


Digest = tuple[str, str, str]
"""User, space, hash: of what may not be said in a space."""


def suppressed_by(old: Entry, new: Entry | None = None) -> list[Digest]:
    """What may not come back once an entry says something else, or nothing, in place of what it said."""
    still = digests_of(new) if new is not None else ()
    return [(old.user_id, old.space, digest) for digest in all_digests_of(old) if digest not in still]
