"""Sessions, their summaries, and the spine of a space: made of active entries when asked for. Stores are ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from contracts.ports import Selection, TextStore
from contracts.v1 import sessions as wire
from contracts.v1.entries import Entry
from contracts.v1.loops import State
from contracts.v1.sessions import SessionsReply, SessionsRequest
from contracts.v1.turns import EVERY_PERSONA
from services.curate.summary_writer import SummaryWriter
from services.shared.context import summaries
from services.shared.context.model_summaries import ROLLING_FORM, SESSION_FORM, SPINE_FORM
from services.shared.decided import settled_of
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.knowledge.summaries import session_summary, spine_of
from services.shared.lifecycle import sessions
from services.shared.lifecycle.sessions import SILENCE, Session
from services.shared.tasks import apart
from services.shared.told import read_told

_PAGE = 500
_READ = 5000
"""Entries that are read at most, those said last."""

_SUMMED_UP = 1000
"""Entries that a summary or a spine is made of at most, those said last: more take longer than callers wait."""

_ROLLING = 300
"""Entries that a rolling summary is made of at most, those said last."""

_NAMED = 20
_IDS = 500
_STATES = 50


async def list_sessions(
    request: SessionsRequest,
    *,
    store: TextStore,
    silence: timedelta = SILENCE,
    now: datetime | None = None,
    writer: SummaryWriter | None = None,
) -> SessionsReply:
    """The sessions of a user, or one of them with its summary, of which the `writer` may have written a better one.

    Raises:
        Rejected: there is no session of this id, or the cursor is not one of ours.
    """
    if request.rolling is not None and request.limit == 0:
        rolling = await _rolling(request, request.rolling, store, writer)
        return SessionsReply(items=(), total_count=0, rolling=rolling)
    after = _place(request.cursor)
    selection = Selection(request.user_id, space=request.space, persona_id=_persona(request))
    entries, left_out = await read_newest(selection, store)
    at = now or datetime.now(UTC)
    found = await apart(sessions.sessions_of, entries, now=at, silence=silence)
    reply = _page(request, found, after).model_copy(update={"left_out": left_out})
    if request.id is not None:
        reply = await _one(request, found, reply, await settled_of(request.user_id, store), writer)
    if request.rolling is not None:
        reply = reply.model_copy(update={"rolling": await _rolling(request, request.rolling, store, writer)})
    return reply


async def spine(
    user_id: str, space: str | None, persona_id: str, *, store: TextStore, writer: SummaryWriter | None = None
) -> wire.Spine:
    """The spine of a space, null: of all of the user's, of what a persona sees."""
    entries, _ = await read_newest(Selection(user_id, space=space, persona_id=persona_id), store, _SUMMED_UP)
    entries = await read_told(entries, store)
    settled = await settled_of(user_id, store)
    made = await apart(spine_of, entries, settled)
    spine = wire.Spine(
        profile=_extracts(made.profile),
        projects=_extracts(made.projects),
        people=_extracts(made.people),
        open_loops=_extracts(made.open_loops),
    )
    told = {id_ for one in (*made.profile, *made.projects, *made.people) for id_ in one.source_ids}
    place = ("spine", user_id, repr((space, persona_id)))
    kept = writer.of(place, SPINE_FORM, _newest_last(entries, told), entries) if writer else None
    if kept is None:
        return spine
    cited = {id_ for its in kept.written.sections.values() for one in its for id_ in one.source_ids}
    sections = {
        name: _extracts(its) or tuple(one for one in getattr(spine, name) if cited.isdisjoint(one.source_ids))
        for name, its in kept.written.sections.items()
    }
    return spine.model_copy(update={**sections, "made_by": "model"})


def _newest_last(entries: Sequence[Entry], ids: Collection[str]) -> list[Entry]:
    return sorted((one for one in entries if one.id in ids), key=lambda one: (one.created_at, one.id))


def _persona(request: SessionsRequest) -> str | None:
    return None if request.persona_id == EVERY_PERSONA else request.persona_id


async def read_newest(selection: Selection, store: TextStore, most: int = _READ) -> tuple[list[Entry], int]:
    """The entries said last, and how many more there are."""
    return ([], 0) if await is_hidden(store, selection.user_id) else await newest_in(selection, store, most)


async def newest_in(selection: Selection, store: TextStore, most: int) -> tuple[list[Entry], int]:
    """The same, whoever asks having seen that the user is not being erased."""
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
    )


async def _one(
    request: SessionsRequest,
    found: Sequence[Session],
    reply: SessionsReply,
    settled: Mapping[str, State],
    writer: SummaryWriter | None,
) -> SessionsReply:
    session = next((one for one in found if one.id == request.id), None)
    if session is None:
        raise Rejected("not_found", f"there is no session {request.id!r}: list them without id")
    made = await apart(session_summary, session.entries[-_SUMMED_UP:], settled)
    summary = wire.SessionSummary(
        one_liner=_extract(made.one_liner) if made.one_liner else None,
        what_mattered=_extracts(made.what_mattered),
        open_loops=_extracts(made.open_loops),
        commitments=_extracts(made.commitments),
        people=_extracts(made.people),
    )
    if writer is not None and session.ended_at is not None:
        summary = _rewritten(summary, session, writer)
    ids = tuple(entry.id for entry in session.entries[:_IDS])
    only = {"items": (_shown(session),), "next_cursor": None, "states": (), "summary": summary, "entry_ids": ids}
    return reply.model_copy(update=only)


def _rewritten(summary: wire.SessionSummary, session: Session, writer: SummaryWriter) -> wire.SessionSummary:
    """The summary of a session that has ended as a model wrote it, as far as it did."""
    place = ("session", session.whose.user_id, session.id)
    kept = writer.of(place, SESSION_FORM, session.entries, session.entries)
    if kept is None:
        return summary
    line, matters = kept.written.sections["one_liner"], kept.written.sections["what_mattered"]
    written: dict[str, Any] = {"made_by": "model"}
    if line:
        written["one_liner"] = _extract(line[0])
    if matters:
        written["what_mattered"] = _extracts(matters)
    return summary.model_copy(update=written)


async def _rolling(
    request: SessionsRequest,
    conversation_id: str,
    store: TextStore,
    writer: SummaryWriter | None,
) -> wire.RollingSummary:
    persona = _persona(request)
    selection = Selection(request.user_id, request.space, persona, conversation_id=conversation_id)
    entries, more = await read_newest(selection, store, _ROLLING)
    entries += await _rolled_up(selection, store, _ROLLING - len(entries))
    made = _written_rolling(request, conversation_id, entries, len(entries) + more, writer)
    made_by: wire.MadeBy = "model" if made else "rules"
    if made is None:
        made = await apart(summaries.rolling_summary, entries, turns=len(entries) + more, length=request.rolling_length)
    return wire.RollingSummary(
        conversation_id=conversation_id,
        text=made.text,
        turns=made.turns,
        characters=sum(len(entry.text) for entry in entries),
        sentences=_extracts(made.sentences),
        made_by=made_by,
    )


async def _rolled_up(selection: Selection, store: TextStore, most: int) -> list[Entry]:
    """What was said of a conversation and is rolled up, the latest so many at most: it stays part of it."""
    if most < 1:
        return []
    archived, _ = await read_newest(replace(selection, status="archived"), store, most)
    return [one for one in archived if one.rolled_up_into is not None]


def _written_rolling(
    request: SessionsRequest,
    conversation_id: str,
    entries: Sequence[Entry],
    count: int,
    writer: SummaryWriter | None,
) -> summaries.Rolling | None:
    """The rolling summary as a model wrote it last, as much of it as there is room for."""
    if writer is None:
        return None
    said, turns = summaries.rolled_up(entries, count)
    place = ("rolling", request.user_id, repr(request.space), repr(_persona(request)), conversation_id)
    kept = writer.of(place, ROLLING_FORM, said, entries, turns=turns)
    fitting = summaries.within(kept.written.sections["sentences"], request.rolling_length) if kept else []
    return summaries.Rolling(tuple(fitting), kept.turns) if kept and fitting else None


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
    return wire.Extract(**asdict(sentence))


def _extracts(sentences: Sequence[summaries.Sentence]) -> tuple[wire.Extract, ...]:
    return tuple(map(_extract, sentences))
