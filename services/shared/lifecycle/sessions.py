"""Sessions of a user: turns between which there was no long silence, read off the active entries. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple, TypeAlias
from uuid import uuid5

from contracts.envelope import NAMESPACE
from contracts.v1.entries import Entry

SILENCE = timedelta(minutes=30)
"""After so much of it a session has ended."""


class Whose(NamedTuple):
    """A space of a user, and the persona that was spoken to; None is none."""

    user_id: str
    space: str
    persona_id: str | None


@dataclass(frozen=True, slots=True)
class Session:
    """What was said in one go, in whatever conversations; `entries` are in the order in which they were said.

    `ended_at` is None until the silence has passed. `turn_count` also counts turns that repeated an entry, as far as
    the entry names them.
    """

    id: str
    whose: Whose
    conversation_ids: tuple[str, ...]
    started_at: datetime
    last_activity_at: datetime
    ended_at: datetime | None
    turn_count: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class SessionState:
    """What a persona knows of its sessions with a user: how many, when the last, and which is not over yet."""

    whose: Whose
    sessions: int
    turns: int
    last_interaction: datetime
    present: str | None


class _Turn(NamedTuple):
    at: datetime
    place: str
    conversation_id: str | None
    entry: Entry


_Turns: TypeAlias = list[_Turn]


def sessions_of(entries: Iterable[Entry], *, now: datetime, silence: timedelta = SILENCE) -> tuple[Session, ...]:
    """The sessions in which these entries were said, the latest first.

    Turns that ingest put into one session stay together, whatever was forgotten between them; those of several
    conversations with the same persona are one session where less than `silence` lies between. The id is that of the
    first turn's session, or follows from it where a persona was spoken to.
    """
    turns: dict[Whose, dict[str, _Turns]] = defaultdict(lambda: defaultdict(list))
    for entry in (one for one in entries if one.source == "turn"):  # a fact that a model drew was not said
        whose = Whose(entry.user_id, entry.space, entry.persona_id)
        for turn in _turns(entry):
            turns[whose][turn.place].append(turn)
    found = [
        _session(whose, together, now, silence)
        for whose, places in turns.items()
        for together in _joined(places.values(), silence)
    ]
    return tuple(sorted(found, key=lambda one: (one.started_at, one.id), reverse=True))


def states_of(sessions: Iterable[Session]) -> tuple[SessionState, ...]:
    """The state of each space and persona, the one that was spoken to last first."""
    of: dict[Whose, list[Session]] = defaultdict(list)
    for session in sessions:
        of[session.whose].append(session)
    states = [_state(whose, own) for whose, own in of.items()]
    return tuple(sorted(states, key=lambda one: (one.last_interaction, repr(one.whose)), reverse=True))


def _state(whose: Whose, own: list[Session]) -> SessionState:
    latest = max(own, key=attrgetter("last_activity_at"))
    turns = sum(one.turn_count for one in own)
    return SessionState(whose, len(own), turns, latest.last_activity_at, latest.id if latest.ended_at is None else None)


def _turns(entry: Entry) -> Iterable[_Turn]:
    yield _Turn(entry.created_at, entry.session_id or entry.id, entry.conversation_id, entry)
    for saying in entry.repeated_in:  # an entry does not tell in which session it was repeated: the time does
        yield _Turn(saying.at, f"{saying.turn_id} of {entry.id}", saying.conversation_id, entry)


def _joined(places: Iterable[_Turns], silence: timedelta) -> Iterable[_Turns]:
    """The turns of places between which there was less than the silence, or none, joined."""
    in_order = [sorted(turns, key=_order) for turns in places]
    together: _Turns = []
    latest: datetime | None = None
    for turns in sorted(in_order, key=lambda turns: _order(turns[0])):
        if latest is not None and turns[0].at - latest >= silence:
            yield sorted(together, key=_order)
            together, latest = [], None
        together += turns
        latest = max(turns[-1].at, latest or turns[-1].at)
    if together:
        yield sorted(together, key=_order)


def _order(turn: _Turn) -> tuple[datetime, str, str]:
    return turn.at, turn.entry.id, turn.place


def _session(whose: Whose, turns: Sequence[_Turn], now: datetime, silence: timedelta) -> Session:
    first, last = turns[0], turns[-1]
    conversations = dict.fromkeys(turn.conversation_id for turn in turns if turn.conversation_id is not None)
    place = first.place
    if whose.persona_id is not None:
        place = str(uuid5(NAMESPACE, f"session\x1f{whose.persona_id}\x1f{place}"))
    return Session(
        id=place,
        whose=whose,
        conversation_ids=tuple(conversations),
        started_at=first.at,
        last_activity_at=last.at,
        ended_at=last.at if now - last.at >= silence else None,
        turn_count=len(turns),
        entries=tuple({turn.entry.id: turn.entry for turn in turns}.values()),
    )
