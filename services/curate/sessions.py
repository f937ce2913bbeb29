"""Sessions, their summaries, and the spine of a space: made of active entries when asked for. Stores are ports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from contracts.errors import Unavailable
from contracts.ports import Scope, Selection, TextStore, Vector, VectorStore
from contracts.v1 import sessions as wire
from contracts.v1.entries import Entry
from contracts.v1.sessions import SessionsReply, SessionsRequest
from contracts.v1.turns import EVERY_PERSONA
from services.shared.core import sessions, summaries
from services.shared.core.loops import State
from services.shared.core.sessions import SILENCE, Session
from services.shared.decided import settled_of
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected

_PAGE = 500
_READ = 5000
"""Entries that are read at most, those said last."""

_SUMMED_UP = 1000
"""Entries that a summary or a spine is made of at most, those said last: more take longer than callers wait."""

_EMBEDDED = 300
"""Entries of a session whose vectors are looked at: the newest."""

_LOOKING = 1.0
_NAMED = 20
_IDS = 500
_STATES = 50


async def list_sessions(
    request: SessionsRequest,
    *,
    store: TextStore,
    vectors: VectorStore | None,
    silence: timedelta = SILENCE,
    now: datetime | None = None,
) -> SessionsReply:
    """The sessions of a user, or one of them with its summary.

    Raises:
        Rejected: there is no session of this id, or the cursor is not one of ours.
    """
    if request.rolling is not None and request.limit == 0:
        rolling = await _rolling(request, request.rolling, store, vectors)
        return SessionsReply(items=(), total_count=0, rolling=rolling, correlation_id=request.correlation_id)
    after = _place(request.cursor)
    selection = Selection(request.user_id, space=request.space, persona_id=_persona(request))
    entries, left_out = await read_newest(selection, store)
    at = now or datetime.now(UTC)
    found = await asyncio.to_thread(sessions.sessions_of, entries, now=at, silence=silence)
    reply = _page(request, found, after).model_copy(update={"left_out": left_out})
    if request.id is not None:
        reply = await _one(request, found, reply, vectors, await settled_of(request.user_id, store))
    if request.rolling is not None:
        reply = reply.model_copy(update={"rolling": await _rolling(request, request.rolling, store, vectors)})
    return reply


async def spine(user_id: str, space: str | None, *, store: TextStore) -> wire.Spine:
    """The spine of a space; null: of all of the user's."""
    entries, _ = await read_newest(Selection(user_id, space=space), store, _SUMMED_UP)
    settled = await settled_of(user_id, store)
    made = await asyncio.to_thread(summaries.spine_of, entries, settled)
    return wire.Spine(
        profile=_extracts(made.profile),
        projects=_extracts(made.projects),
        people=_extracts(made.people),
        open_loops=_extracts(made.open_loops),
    )


def _persona(request: SessionsRequest) -> str | None:
    return None if request.persona_id == EVERY_PERSONA else request.persona_id


async def read_newest(selection: Selection, store: TextStore, most: int = _READ) -> tuple[list[Entry], int]:
    """The entries said last, and how many more there are."""
    if await is_hidden(store, selection.user_id):
        return [], 0
    found: list[Entry] = []
    cursor: str | None = None
    while True:
        page = await store.page(selection, limit=min(_PAGE, most - len(found)), cursor=cursor)
        found += page.entries
        cursor = page.cursor
        if cursor is None or not page.entries or len(found) >= most:
            return found, max(0, page.total - len(found))


def _place(cursor: str | None) -> tuple[datetime, str] | None:
    if cursor is None:
        return None
    moment, _, id_ = cursor.partition(" ")
    try:
        return datetime.fromisoformat(moment).astimezone(UTC), id_
    except (ValueError, OverflowError) as error:
        raise Rejected("invalid_request", "cursor: not one of sessions: use that of the page before") from error


def _page(request: SessionsRequest, found: Sequence[Session], after: tuple[datetime, str] | None) -> SessionsReply:
    left = [one for one in found if after is None or (one.started_at, one.id) < after]
    shown = left[: request.limit]
    more = bool(shown) and len(left) > len(shown)
    return SessionsReply(
        items=tuple(map(_shown, shown)),
        next_cursor=f"{shown[-1].started_at.isoformat()} {shown[-1].id}" if more else None,
        total_count=len(found),
        states=tuple(map(_state, sessions.states_of(found)[:_STATES])),
        correlation_id=request.correlation_id,
    )


async def _one(
    request: SessionsRequest,
    found: Sequence[Session],
    reply: SessionsReply,
    vectors: VectorStore | None,
    settled: Mapping[str, State],
) -> SessionsReply:
    session = next((one for one in found if one.id == request.id), None)
    if session is None:
        raise Rejected("not_found", f"there is no session {request.id!r}: list them without id")
    known = await _vectors(session.entries, vectors)
    made = await asyncio.to_thread(summaries.session_summary, session.entries[-_SUMMED_UP:], known, settled)
    summary = wire.SessionSummary(
        one_liner=_extract(made.one_liner) if made.one_liner else None,
        what_mattered=_extracts(made.what_mattered),
        open_loops=_extracts(made.open_loops),
        commitments=_extracts(made.commitments),
        people=_extracts(made.people),
    )
    ids = tuple(entry.id for entry in session.entries[:_IDS])
    only = {"items": (_shown(session),), "next_cursor": None, "states": (), "summary": summary, "entry_ids": ids}
    return reply.model_copy(update=only)


async def _rolling(
    request: SessionsRequest, conversation_id: str, store: TextStore, vectors: VectorStore | None
) -> wire.RollingSummary:
    persona = _persona(request)
    selection = Selection(request.user_id, request.space, persona, conversation_id=conversation_id)
    entries, more = await read_newest(selection, store, _EMBEDDED)
    known = await _vectors(entries, vectors)
    made = await asyncio.to_thread(
        summaries.rolling_summary, entries, known, turns=len(entries) + more, length=request.rolling_length
    )
    return wire.RollingSummary(
        conversation_id=conversation_id,
        text=made.text,
        turns=made.turns,
        characters=sum(len(entry.text) for entry in entries),
        sentences=_extracts(made.sentences),
    )


async def _vectors(entries: Sequence[Entry], vectors: VectorStore | None) -> dict[str, Vector]:
    """The vectors of the newest entries; without the vector store none, and words alone tell what is central."""
    if vectors is None or not entries:
        return {}
    newest = [entry for entry in entries[-_EMBEDDED:] if entry.embedding_state == "ready"]
    known: dict[str, Vector] = {}
    try:
        async with asyncio.timeout(_LOOKING):
            for space in sorted({entry.space for entry in newest}):
                ids = [entry.id for entry in newest if entry.space == space]
                points = await vectors.fetch(Scope(newest[0].user_id, space, EVERY_PERSONA), ids)
                known |= {id_: point.vector for id_, point in points.items()}
    except (Unavailable, TimeoutError):
        return {}
    return known


def _shown(session: Session) -> wire.Session:
    return wire.Session(
        id=session.id,
        space=session.whose.space,
        persona_id=session.whose.persona_id,
        conversation_ids=session.conversation_ids[:_NAMED],
        started_at=session.started_at,
        last_activity_at=session.last_activity_at,
        ended_at=session.ended_at,
        turn_count=session.turn_count,
    )


def _state(state: sessions.SessionState) -> wire.SessionState:
    return wire.SessionState(
        space=state.whose.space,
        persona_id=state.whose.persona_id,
        sessions=state.sessions,
        turns=state.turns,
        last_interaction=state.last_interaction,
        present=state.present,
    )


def _extract(sentence: summaries.Sentence) -> wire.Extract:
    return wire.Extract(
        text=sentence.text, source_ids=sentence.source_ids, role=sentence.role, said_at=sentence.said_at
    )


def _extracts(sentences: Sequence[summaries.Sentence]) -> tuple[wire.Extract, ...]:
    return tuple(map(_extract, sentences))
