"""Turns, proposals and entries as documents, and the hashes they are found by.

A document keeps the whole model in one string, `body`; its other fields are what searches ask for, and are made anew
from the body whenever that changes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch.digest import digests
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.scopes import hashed, scope_key, scope_keys
from services.shared.stores.tombstones import digests_of
from services.shared.stores.words import words_of

# What documents of several kinds have.
KIND: Final = "kind"
USER: Final = "user_id"
SPACE: Final = "space"
PERSONA: Final = "persona_id"
SCOPE: Final = "scope"
SESSION: Final = "session"
BODY: Final = "body"
SEQ: Final = "seq"

# A logged turn, or a fact drawn from one.
CONVERSATION: Final = "conversation"
SAID_AT: Final = "said_at"
LOGGED_AT: Final = "logged_at"
ORDINAL: Final = "ordinal"
TURN: Final = "turn"
TURN_ID: Final = "turn_id"
PROPOSED: Final = "proposed"
PROPOSED_TEXT: Final = "text"
OUTCOME: Final = "outcome"
ENTRY: Final = "entry_id"
REASON: Final = "reason"
DECIDED_AT: Final = "decided_at"

# An entry.
ID: Final = "id"
CREATED_AT: Final = "created_at"
LAST_SAID_AT: Final = "last_said_at"
CONVERSATIONS: Final = "conversations"
UPDATED_AT: Final = "updated_at"
STATUS: Final = "status"
TYPE: Final = "type"
TAGS: Final = "tags"
THEMES: Final = "themes"
PINNED: Final = "pinned"
SAVED: Final = "manually_saved"
ENRICHED: Final = "enriched"
EMBEDDING: Final = "embedding_state"
VERSION: Final = "version"
IMPORTANCE: Final = "importance"
WORDS: Final = "words"
LENGTH: Final = "length"
DIGEST: Final = "digest"
TEXT: Final = "text"
MERGED: Final = "merged"
STAMP: Final = "stamp"
NEAR: Final = "near"

CHANGING: Final = (WORDS, LENGTH, DIGEST, NEAR, SESSION)
"""What an entry may have and have no more after a change."""

# What may not come back before a time.
ENTRIES: Final = "entries"
UNTIL: Final = "until"

_MOST_MERGED = 256
_LONGEST_WORD = 1024


def label(value: str) -> str:
    """What a filter asks for in place of a value: the value itself, or its hash when the engine would not take it."""
    return value if len(value) <= _LONGEST_WORD else hashed(value)


def session_key(user_id: str, space: str, session_id: str) -> str:
    """One keyword for a session."""
    return hashed(user_id, space, session_id)


def conversation_key(user_id: str, space: str, conversation_id: str) -> str:
    """One keyword for a conversation."""
    return hashed(user_id, space, conversation_id)


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def turn_document_id(turn: LoggedTurn) -> str:
    """The id of a turn's document: that of the entry it may become."""
    return entry_id(turn.user_id, turn.space, turn.turn_id)


def turn_document(turn: LoggedTurn, *, seq: int) -> Json:
    """A turn, not proposed yet."""
    return {
        KIND: "turn",
        USER: turn.user_id,
        SPACE: turn.space,
        SCOPE: scope_key(turn.user_id, turn.space, turn.persona_id),
        CONVERSATION: conversation_key(turn.user_id, turn.space, turn.conversation_id),
        TURN_ID: turn.turn_id,
        SAID_AT: microseconds(turn.created_at),
        LOGGED_AT: now(),
        SEQ: seq,
        ORDINAL: 0,
        PROPOSED: False,
        BODY: turn.model_dump_json(exclude_none=True),
    }


def proposed(proposal: Proposal) -> Json:
    """The fields by which a turn's document says that the turn proposes itself; its text, when it is another."""
    text = {PROPOSED_TEXT: proposal.text} if proposal.text != proposal.turn.text else {}
    return {PROPOSED: True, **text}


def fact_document(proposal: Proposal, *, seq: int) -> Json:
    """A fact drawn from a turn, which has a document of its own."""
    turn = proposal.turn
    return {
        KIND: "fact",
        USER: turn.user_id,
        SPACE: turn.space,
        SCOPE: scope_key(turn.user_id, turn.space, turn.persona_id),
        LOGGED_AT: now(),
        SEQ: seq,
        ORDINAL: proposal.ordinal,
        TURN: turn_document_id(turn),
        PROPOSED: True,
        PROPOSED_TEXT: proposal.text,
    }


def entry_document(entry: Entry, *, seq: int, merged: Sequence[str] = (), stamp: str = "") -> Json:
    """An entry; `merged` are the proposals counted in it, `stamp` names the write."""
    session = session_key(entry.user_id, entry.space, entry.session_id) if entry.session_id is not None else None
    document: Json = {
        ID: entry.id,
        USER: entry.user_id,
        SPACE: entry.space,
        SCOPE: scope_keys(entry),
        SEQ: seq,
        CREATED_AT: microseconds(entry.created_at),
        LAST_SAID_AT: microseconds(entry.last_said_at),
        CONVERSATIONS: list(map(label, entry.conversations)),
        UPDATED_AT: microseconds(entry.updated_at),
        STATUS: entry.status,
        TYPE: entry.type,
        TAGS: list(map(label, entry.tags)),
        THEMES: list(map(label, entry.themes)),
        PINNED: entry.pinned,
        SAVED: entry.manually_saved,
        ENRICHED: entry.enriched,
        EMBEDDING: entry.embedding_state,
        VERSION: entry.version,
        IMPORTANCE: entry.importance,
        TEXT: entry.text,
        MERGED: list(merged[-_MOST_MERGED:]),
        STAMP: stamp,
        BODY: entry.model_dump_json(exclude_none=True),
    }
    if entry.persona_id is not None:
        document[PERSONA] = entry.persona_id
    if session is not None:
        document[SESSION] = session
    if entry.status == "active":
        document |= _found_by(entry, session or hashed(entry.id), seq)
    return document


def _found_by(entry: Entry, session: str, seq: int) -> Json:
    words = words_of(entry)
    digest = digests(entry.id, session, microseconds(entry.created_at), seq, words)
    return {WORDS: " ".join(words), LENGTH: len(words), DIGEST: digest, NEAR: near_labels(entry)}


def statement_id(entry: Entry) -> str:
    """The id of the document that names who makes a statement, among those of one voice."""
    scope = scope_key(entry.user_id, entry.space, entry.persona_id)
    return hashed("claim", scope, entry.role, entry.speaker or "", entry.statement_hash)


def near_labels(entry: Entry) -> list[str]:
    """What near-copies of one voice share one of."""
    voice = (scope_key(entry.user_id, entry.space, entry.persona_id), entry.role, entry.speaker or "")
    return [hashed(*voice, key) for key in entry.near_keys]


def suppression_ids(entry: Entry) -> list[str]:
    """The documents that say, each by one digest, whether the statement of an entry may come back to its space."""
    return [hashed("forgotten", entry.user_id, entry.space, digest) for digest in digests_of(entry)]
