"""A bus in memory that keeps its one promise, to hold on to what was not acknowledged, and no other.

Whoever reads it chooses what is delivered: anything that was ever said to a stage, in any order and company, as often
as it likes, and long after it was acknowledged, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from contracts import subjects
from contracts.ports import NO_TRACES, InFlightCounts, Traces, TurnKey
from contracts.v1.entries import EntryEvent
from contracts.v1.turns import Turn

STAGE_OF = {consumer.subject: consumer.service for consumer in subjects.CONSUMERS}
STAGES = tuple(STAGE_OF.values())


@dataclass(slots=True, eq=False)
class Message:
    """Something said to a stage; `turn` is what it says where that is a turn."""

    stage: str
    body: bytes
    turn: Turn | None = None
    is_open: bool = True


class MisbehavingBus:
    """Holds every message of every stage for ever, but for what `drop` removes. It is an `InFlight`, too."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._numbers: dict[Message, int] = {}
        self.said: list[EntryEvent] = []

    def publish_turn(self, turn: Turn) -> None:
        body = turn.model_dump_json(exclude_none=True).encode()
        self._messages.append(message := Message("ingest", body, turn))
        self._numbers[message] = len(self._numbers) + 1

    def number(self, message: Message) -> int:
        """The number of a turn in its stream."""
        return self._numbers[message]

    async def last(self) -> int:
        return len(self._numbers)

    def publish(self, event: EntryEvent) -> None:
        if not event.entries:
            return
        self.said.append(event)
        if stage := STAGE_OF.get(event.subject):
            self._messages.append(Message(stage, event.model_dump_json().encode()))

    def of(self, stage: str) -> list[Message]:
        """All that was ever said to a stage."""
        return [message for message in self._messages if message.stage == stage]

    def open(self, stage: str) -> list[Message]:
        """What a stage has not acknowledged."""
        return [message for message in self.of(stage) if message.is_open]

    def holds(self, message: Message) -> bool:
        """Whether it was not removed."""
        return any(one is message for one in self._messages)

    def said_nothing_of(self, user_id: str) -> None:
        """Leave out of `said` what names this user."""
        self.said = [event for event in self.said if all(ref.user_id != user_id for ref in event.entries)]

    async def drop(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        found = list(self._about(user_id, turns, before))
        self._messages = [message for message in self._messages if message not in found]
        return InFlightCounts(len(found), 0)

    async def count(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        return InFlightCounts(len(list(self._about(user_id, turns, before))), 0)

    async def is_drained(self) -> bool:
        return not self.of("ingest")

    def _about(self, user_id: str, turns: Collection[TurnKey] | None, before: int | None) -> Iterator[Message]:
        for message in self._messages:
            turn = message.turn
            if turn is None or turn.user_id != user_id or (before and self._numbers[message] > before):
                continue
            if turns is None or (turn.space, turn.turn_id) in turns:
                yield message
