"""What a user said and the bus still holds: found by user, counted, and removed so that no byte of it stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError, NotFoundError
from pydantic import ValidationError
from pydantic_core import from_json

from contracts import subjects
from contracts.ports import InFlightCounts, TurnKey, Unavailable
from contracts.v1.turns import Turn, derived_turn_id
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter
from services.shared.bus.failures import NO_MEMORYBUS

_STREAM = subjects.TURNS_STREAM.name
_NO_SUCH_STREAM = 10059


class NatsInFlight:
    """`contracts.ports.InFlight` on JetStream.

    Messages are deleted one by one, which overwrites their bytes; what a purge removes stays readable in its file for
    as long as the stream holds anything else.
    """

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js
        self._letters = DeadLetterQueue(js)

    async def drop(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None
    ) -> InFlightCounts:
        """Remove a user's messages, those of some turns or all, with `before` up to a number; how many there were.

        Raises:
            Unavailable: the bus does not answer, or does not let us; what was removed until then is gone.
        """
        waiting = letters = 0
        async for number in self._turns(user_id, turns, before):
            waiting += await self._remove(number)
        async for number in self._about(user_id, turns, before):
            with suppress(NoSuchLetter):
                await self._letters.drop(number)
                letters += 1
        return InFlightCounts(waiting, letters)

    async def count(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None
    ) -> InFlightCounts:
        """How many of these messages are there, counted by looking.

        Raises:
            Unavailable: the bus does not answer, or does not let us look.
        """
        if turns is None and before is None:
            waiting = await self._waiting(user_id)
        else:
            waiting = len([number async for number in self._turns(user_id, turns, before)])
        letters = [number async for number in self._about(user_id, turns, before)]
        return InFlightCounts(waiting, len(letters))

    async def last(self) -> int:
        """The number of the last turn that the bus has promised to keep.

        Raises:
            Unavailable: the bus does not answer.
        """
        with _asking():
            return (await self._js.stream_info(_STREAM)).state.last_seq

    async def _waiting(self, user_id: str) -> int:
        """How many turns of a user are there, as the bus counts them."""
        found = 0
        for subject in _kept_under(user_id):
            with _asking():
                state = (await self._js.stream_info(_STREAM, subjects_filter=subject)).state
            found += sum((state.subjects or {}).values())
        return found

    async def is_drained(self) -> bool:
        """Whether the bus holds no turns at all.

        Raises:
            Unavailable: the bus does not answer.
        """
        with _asking():
            return (await self._js.stream_info(_STREAM)).state.messages == 0

    async def _turns(self, user_id: str, turns: Collection[TurnKey] | None, before: int | None) -> AsyncIterator[int]:
        """The numbers of the user's turns, of those that are there now: who goes on publishing is not run after."""
        last = await self.last() if before is None else before
        for subject in _kept_under(user_id):
            number = 0
            while (found := await self._next(subject, number + 1)) is not None:
                number = found.seq or last + 1
                if number > last:
                    break
                if turns is None or turn_in(found.data or b"") in turns:
                    yield number

    async def _about(self, user_id: str, turns: Collection[TurnKey] | None, before: int | None) -> AsyncIterator[int]:
        """The numbers of the dead letters that are about the user."""
        async for kept in self._letters.newest_first(LetterFilter(user=user_id)):
            if before is not None and kept.is_of_turn_after(before):
                continue
            if turns is None or turn_in(kept.body) in turns:
                yield kept.number

    async def _next(self, subject: str, number: int) -> RawStreamMsg | None:
        """The first message under a subject that has this number or a higher one."""
        with _asking():
            try:
                return await self._js.get_msg(_STREAM, seq=number, subject=subject, next=True)
            except NotFoundError as error:
                if error.err_code == _NO_SUCH_STREAM:
                    raise
                return None

    async def _remove(self, number: int) -> bool:
        """Delete a turn; False when ingest has dropped it meanwhile."""
        with _asking():
            try:
                return await self._js.delete_msg(_STREAM, number)
            except APIError:
                if await self._is_there(number):  # one server and a cluster refuse differently to delete what is gone
                    raise
                return False

    async def _is_there(self, number: int) -> bool:
        try:
            await self._js.get_msg(_STREAM, number)
        except NotFoundError:
            return False
        return True


def turn_in(body: bytes) -> TurnKey | None:
    """The turn in a message, as ingest names it; what is no turn may still say which one it was meant as."""
    try:
        turn = Turn.model_validate_json(body)
    except ValidationError:
        return _claimed_turn(body)
    return turn.space, turn.turn_id or derived_turn_id(turn)


def _claimed_turn(body: bytes) -> TurnKey | None:
    try:
        said: Any = from_json(body)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    space, turn_id = said.get("space", "default"), said.get("turn_id")
    return (space, turn_id) if isinstance(space, str) and isinstance(turn_id, str) else None


def _kept_under(user_id: str) -> tuple[str, str]:
    """The subjects that the turns of a user are kept under, however the bus splits them."""
    return subjects.turns(user_id), f"{subjects.PARTITION}.*.{subjects.user_token(user_id)}"


@contextmanager
def _asking() -> Iterator[None]:
    """Turn what the client raises into one helpful line."""
    try:
        yield
    except NotFoundError as error:
        raise Unavailable(NO_MEMORYBUS) from error
    except (NatsError, TimeoutError, OSError) as error:
        raise Unavailable(
            f"the bus did not answer for the turns it holds ({error!r}): try again, what is removed is gone; a bus "
            "with users must let this one look at the stream of turns and remove from it"
        ) from error
