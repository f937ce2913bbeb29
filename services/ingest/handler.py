"""Check a turn, find its session, log it, propose it as an entry. No bus, no clock, no client library."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import uuid5

from pydantic import BaseModel, Field

from contracts import subjects
from contracts.envelope import NAMESPACE
from contracts.errors import Unavailable
from contracts.ports import Conversation, Erasure, LastTurn, MissingFromStream, TextStore
from contracts.v1.entries import EntryProposed, EntryRef
from contracts.v1.turns import (
    EVERY_PERSONA,
    NO_PERSONA,
    DatedTurn,
    LoggedTurn,
    Proposal,
    Turn,
    derived_turn_id,
    entry_id,
)
from services.shared.erasures import LANDS_WITHIN, passed_seconds
from services.shared.errors import Poison
from services.shared.language.text import composed, why_unfit
from services.shared.privacy.frames import frame_after
from services.shared.privacy.wrappers import as_spoken
from services.shared.tasks import beside_the_loop

T = TypeVar("T")

_PAUSE = 0.5  # seconds

CLOCKS_DIFFER = timedelta(minutes=5)
"""How far the time of a turn may be ahead of the bus; what is further ahead was said when it arrived."""

Defer = Callable[[Collection[int]], Awaitable[None]]
"""Gives messages, by number, back to the bus, which delivers them again a moment later."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message on the turns subject, as the bus keeps it."""

    subject: str
    body: bytes
    stored_at: datetime


def read_turn(incoming: Incoming, *, longest: int) -> DatedTurn:
    """The turn in a message, identified and dated, its letters and their accents written as one, without what a program
    wrapped around what was said; a turn in which nothing was is whole, and `admit` refuses it.

    Raises:
        Poison: the text is too long or blank, the user is not the one in the subject, or the persona cannot be.
        ValidationError: the body is not a turn.
    """
    turn = Turn.model_validate_json(incoming.body)
    if subjects.turns(turn.user_id) != incoming.subject:
        raise Poison("the user_id in the body is not the user in the subject")
    if why := why_unfit(turn.text, longest):
        raise Poison(why)
    if turn.persona_id == EVERY_PERSONA:
        raise Poison(NO_PERSONA)
    is_ahead = turn.created_at is not None and turn.created_at - incoming.stored_at > CLOCKS_DIFFER
    said_at = incoming.stored_at if turn.created_at is None or is_ahead else turn.created_at
    dated = {"turn_id": turn.turn_id or derived_turn_id(turn), "created_at": said_at, "clock_ahead": is_ahead}
    said = as_spoken(turn) or turn
    written = {"text": composed(said.text), "speaker": turn.speaker and composed(turn.speaker)}
    return DatedTurn.model_validate(dict(turn) | dated | written)


class Arrived(BaseModel, frozen=True):
    """A turn, the number of its message in the stream, and when that was stored."""

    number: int
    turn: DatedTurn
    stored_at: datetime = Field(default_factory=lambda known: known["turn"].created_at)


async def log_turns(
    arrived: Sequence[Arrived],
    *,
    store: TextStore,
    missing_from_stream: MissingFromStream,
    defer: Defer,
    gap: timedelta,
) -> list[EntryProposed]:
    """Append turns to their conversations and propose each as an entry.

    What its user has had erased is left out, and what is newer than that is deferred until the text store holds nothing
    older. Whoever erases leaves a mark first, looks at the log a moment later, then at the bus; only then the mark
    goes. So what the bus does not hold any more when it is logged is taken back; and where that took so long that an
    erasure may have looked at the log before, what is marked by then.
    """
    began = passed_seconds()
    arrived = await _admitted(arrived, await _marks(arrived, store), missing_from_stream, defer)
    if not arrived:
        return []
    turns = [one.turn for one in arrived]
    latest = await store.last_turns([(_conversation(turn), turn.created_at) for turn in turns])
    logged = await beside_the_loop(partial(place_in_sessions, turns, latest, gap), sum(len(one.text) for one in turns))
    proposals = {turn: propose(turn) for turn in logged}
    new = await store.append(logged, list(proposals.values()))
    late: list[LoggedTurn] = []
    if new:
        is_prompt = passed_seconds() - began < LANDS_WITHIN

        async def look_again() -> list[Arrived]:
            marks = {} if is_prompt else await _marks(arrived, store)
            return await _admitted(arrived, marks, missing_from_stream, defer)

        admitted = await _until_done(look_again)
        held = {_identity(one.turn) for one in admitted}
        late = [turn for turn in new if _identity(turn) not in held]
    if late:
        await _until_done(lambda: store.withdraw(late))
    left = [proposals[turn] for turn in logged if turn not in late]
    refs = [EntryRef(user_id=p.turn.user_id, id=p.id) for p in left]
    return [EntryProposed.of(refs, at=max(turn.created_at for turn in logged))]


async def _marks(arrived: Sequence[Arrived], store: TextStore) -> dict[str, Erasure]:
    """The erasures of these users by user. Read before the bus is asked: one that ended has taken its messages off."""
    return {mark.user_id: mark for mark in await store.erasures({one.turn.user_id for one in arrived})}


async def _admitted(
    arrived: Sequence[Arrived], marks: Mapping[str, Erasure], missing_from_stream: MissingFromStream, defer: Defer
) -> list[Arrived]:
    """What may be logged now: not erased, nor newer than an erasure that is not through with the text store."""
    missing = await missing_from_stream([one.number for one in arrived])
    there = [one for one in arrived if one.number not in missing and not _is_erased(one, marks)]
    deferred = [one for one in there if one.turn.user_id in marks and not marks[one.turn.user_id].cleared]
    if deferred:
        await defer([one.number for one in deferred])
    return [one for one in there if one not in deferred]


def _is_erased(one: Arrived, marks: Mapping[str, Erasure]) -> bool:
    mark = marks.get(one.turn.user_id)
    return mark is not None and one.number <= mark.before


def _identity(turn: DatedTurn) -> tuple[str, str, str]:
    return turn.user_id, turn.space, turn.turn_id


async def _until_done(do: Callable[[], Awaitable[T]]) -> T:
    """Wait for as long as it takes: begun anew, it would not be known any more what was logged just now."""
    while True:
        try:
            return await do()
        except Unavailable:
            await asyncio.sleep(_PAUSE)


def propose(turn: LoggedTurn) -> Proposal:
    """The turn itself as a proposed entry."""
    return Proposal(id=entry_id(turn.user_id, turn.space, turn.turn_id), turn=turn, text=turn.text)


def place_in_sessions(turns: Sequence[DatedTurn], marks: Sequence[LastTurn | None], gap: timedelta) -> list[LoggedTurn]:
    """Give every turn its session and frame: those of the turn before it, unless more than `gap` lies between."""
    latest: dict[Conversation, LastTurn] = {}
    placed: dict[int, LoggedTurn] = {}
    for index in sorted(range(len(turns)), key=lambda i: turns[i].created_at):
        turn, where = turns[index], _conversation(turns[index])
        at = turn.created_at
        before = max(filter(None, (marks[index], latest.get(where))), key=lambda mark: mark.at, default=None)
        goes_on = before if before and at - before.at <= gap else LastTurn(_new_session(turn), at)
        session_id, frame = goes_on.session_id, goes_on.frame
        after = frame_after(turn.text, turn.role, frame)
        latest[where] = LastTurn(session_id, at, after)
        placed[index] = LoggedTurn(**dict(turn), session_id=session_id, frame=frame, frame_after=after)
    return [placed[index] for index in range(len(turns))]


def _new_session(turn: DatedTurn) -> str:
    parts = ("session", turn.user_id, turn.space, turn.conversation_id, turn.turn_id)
    return str(uuid5(NAMESPACE, "\x1f".join(parts)))


def _conversation(turn: Turn) -> Conversation:
    return Conversation(turn.user_id, turn.space, turn.conversation_id)
