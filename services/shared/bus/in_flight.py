"""The messages of a user that the bus still holds: found, counted, and removed so that no byte of them stays."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from contracts import subjects
from contracts.ports import NO_TRACES, InFlightCounts, Traces, TurnKey
from contracts.v1.turns import Turn, derived_turn_id
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter, is_named
from services.shared.bus.streams import Bus
from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import fingerprint
from services.shared.tasks import beside_the_loop

_STREAM = subjects.TURNS_STREAM.name
_FIELD = re.compile(r'"([^"\\]*)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)
_NO_TEXT = Turn.model_fields.keys() - {"text"}


class NatsInFlight:
    """`contracts.ports.InFlight` on JetStream. Every method raises `Unavailable` when the bus does not answer.

    Messages are deleted one by one, which overwrites their bytes; purged ones would stay readable in the file of the
    stream for as long as it holds anything else.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._letters = DeadLetterQueue(bus)

    async def drop(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        """Remove a user's messages, those of some turns or all, with `before` up to a number; how many there were.

        Dead letters also where they have one of the traces. Messages removed before an error stay removed.
        """
        waiting = letters = 0
        async for number in self._turns(user_id, turns, before):
            waiting += await self._bus.delete(_STREAM, number)
        async for number in self._about(user_id, turns, before, traces):
            with suppress(NoSuchLetter):
                await self._letters.drop(number)
                letters += 1
        return InFlightCounts(waiting, letters)

    async def count(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        """How many of these messages are there, counted by looking."""
        if turns is None and before is None:
            states = [await self._bus.state(_STREAM, subject) for subject in _kept_under(user_id)]
            waiting = sum(sum((state.subjects or {}).values()) for state in states)
        else:
            waiting = len([number async for number in self._turns(user_id, turns, before)])
        letters = [number async for number in self._about(user_id, turns, before, traces)]
        return InFlightCounts(waiting, len(letters))

    async def last(self) -> int:
        """The number of the last turn that the bus has promised to keep."""
        return (await self._bus.state(_STREAM)).last_seq

    async def oldest(self) -> datetime | None:
        """When the bus took the oldest turn that it still holds."""
        return await self._bus.oldest(_STREAM)

    async def is_drained(self) -> bool:
        """Whether the bus holds no turns and no events at all: of these a file stays while anything in it is held."""
        for stream in (subjects.TURNS_STREAM, subjects.EVENTS_STREAM, subjects.EXTRACT_STREAM):
            if (await self._bus.state(stream.name)).messages:
                return False
        return True

    async def _turns(self, user_id: str, turns: Collection[TurnKey] | None, before: int | None) -> AsyncIterator[int]:
        """The numbers of the user's turns that are there at the beginning: later ones are not run after."""
        last = await self.last() if before is None else before
        for subject in _kept_under(user_id):
            number = 0
            while (found := await self._bus.next_message(_STREAM, number + 1, subject)) is not None:
                number = found.seq or last + 1
                if number > last:
                    break
                if turns is None or turn_in(found.data or b"") in turns:
                    yield number

    async def _about(
        self, user_id: str, turns: Collection[TurnKey] | None, before: int | None, traces: Traces
    ) -> AsyncIterator[int]:
        """The numbers of the dead letters that are about the user."""
        async for stored in self._letters.newest_first(LetterFilter(user=user_id)):
            if before is not None and stored.is_of_turn_after(before):
                continue
            look = partial(has_trace, stored.body, traces)
            if turns is None or turn_in(stored.body) in turns or await beside_the_loop(look, len(stored.body)):
                yield stored.number


def turn_in(body: bytes) -> TurnKey | None:
    """The key of the turn in a message, as ingest makes it; a body that is no valid turn may still name one."""
    try:
        turn = Turn.model_validate_json(body)
    except ValidationError:
        return _claimed_turn(body)
    return turn.space, turn.turn_id or derived_turn_id(turn)


def _claimed_turn(body: bytes) -> TurnKey | None:
    said = _fields(body)
    space, turn_id = said.get("space", "default"), said.get("turn_id")
    return (space, turn_id) if isinstance(space, str) and isinstance(turn_id, str) else None


def has_trace(body: bytes, traces: Traces) -> bool:
    """Whether a message that nobody could handle says what was forgotten, or is of a conversation that was."""
    said = _fields(body)
    space = said.get("space", "default") if said else None
    where = space if isinstance(space, str) else None  # not to be known, it may be any
    if traces.conversation is not None and where in (traces.space or where, None):
        named = said.get("conversation_id") == traces.conversation
        if named or is_named(body, "conversation_id", traces.conversation):
            return True
    hashes = {hash_ for its_space, hash_ in traces.said if where in (its_space, None)}
    return bool(hashes) and any(not hashes.isdisjoint(_hashes(text)) for text in _texts(body))


def _hashes(text: str) -> tuple[str, str]:
    reading = read(text)
    prints = fingerprint(reading.normal, reading.words)
    return prints.exact_hash, prints.statement_hash


def _texts(body: bytes) -> Iterator[str]:
    """What JSON says in a field that may be the text of a turn, misspelt or not, also where it is no whole JSON."""
    for name, literal in _FIELD.findall(body.decode(errors="replace")):
        with suppress(ValueError):
            if name not in _NO_TEXT:
                yield json.loads(literal, strict=False)


def _fields(body: bytes) -> dict[str, Any]:
    """The fields of a message; none where it is no JSON object."""
    try:
        said: Any = from_json(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _kept_under(user_id: str) -> tuple[str, str]:
    return subjects.turns(user_id), f"{subjects.PARTITION}.*.{subjects.user_token(user_id)}"
