"""Carries out a load through the bus, as a client does, and notes in the journal what was promised."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice

from nats.errors import Error as NatsError

from contracts import flow, subjects
from contracts.ports import Unavailable
from contracts.v1.commands import EraseRequest, ForgetRequest, ListRequest
from contracts.v1.control import IncognitoStartRequest, SettingsChange, SettingsRequest
from contracts.v1.edits import PinRequest, UpdateRequest
from services.shared.client import MemoryClient, RequestFailed
from tests.faults.journal import Journal, Promise
from tests.faults.loads import Statement, Step

_PAUSE = 0.05
_PATIENCE = 5.0
_FAILED = (Unavailable, RequestFailed, NatsError, OSError, TimeoutError)


class Loader:
    """Begins steps in order, several at a time; one whose outcome is unknown is done again, with the same ids."""

    def __init__(self, steps: Iterable[Step], journal: Journal) -> None:
        self._steps = iter(steps)
        self._journal = journal
        self._again: deque[Step] = deque()
        self._under_way: Counter[str] = Counter()
        self._turn = False
        self._entries: dict[str, str] = {}
        self._ways: dict[str, Callable[[MemoryClient, Step], Awaitable[None]]] = {
            "say": self._say,
            "spoil": self._spoil,
            "create": self._create,
            "pin": self._pin,
            "update": self._update,
            "forget": self._forget,
            "erase": self._erase,
            "incognito": self._incognito,
            "settings": self._settings,
        }

    @property
    def unfinished(self) -> Counter[str]:
        """How many steps of each kind were begun and not acknowledged."""
        return Counter(step.kind for step in self._again)

    async def run(self, clients: Sequence[MemoryClient], *, lanes: int, steps: int | None, pause: float = 0.0) -> None:
        """Carry out so many further steps, or without end, and those whose outcome is unknown, until none is left."""
        fresh = islice(self._steps, steps)
        async with asyncio.TaskGroup() as group:
            for number in range(lanes):
                group.create_task(self._lane(clients[number % len(clients)], fresh, pause))

    async def _lane(self, client: MemoryClient, fresh: Iterator[Step], pause: float) -> None:
        while (step := self._next(fresh)) is not None:
            self._under_way[step.user_id] += 1
            done = False
            try:
                done = await self._carry_out(client, step)
            finally:
                self._under_way[step.user_id] -= 1
                if not done:
                    self._again.append(step)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                return  # the bus's client takes some cancellations for time that ran out
            await asyncio.sleep(pause if done else _PAUSE)

    def _next(self, fresh: Iterator[Step]) -> Step | None:
        """A fresh step and one whose outcome is unknown in turn, so that neither keeps the other waiting."""
        self._turn = not self._turn
        if self._turn and self._again:
            return self._again.popleft()
        return next(fresh, None) or (self._again.popleft() if self._again else None)

    async def _carry_out(self, client: MemoryClient, step: Step) -> bool:
        """Whether it was acknowledged."""
        if step.kind == "erase" and self._is_busy(step.user_id):
            return False
        try:
            await self._ways[step.kind](client, step)
        except _FAILED:
            return False
        return True

    def _is_busy(self, user_id: str) -> bool:
        """Whether anything of a user is under way beside the step that asks."""
        return self._under_way[user_id] > 1 or any(
            one.user_id == user_id and one.kind != "erase" for one in self._again
        )

    async def _say(self, client: MemoryClient, step: Step) -> None:
        assert step.turn is not None
        body = step.turn.model_dump_json(exclude_none=True).encode()
        await self._publish(client, step, body)
        self._note(step)

    async def _spoil(self, client: MemoryClient, step: Step) -> None:
        await self._publish(client, step, step.body)
        self._journal.note(Promise("spoil", step.user_id, letter=letter_of(step.body)))

    async def _publish(self, client: MemoryClient, step: Step, body: bytes) -> None:
        stream = subjects.TURNS_STREAM.name
        await client.bus.publish(subjects.turns(step.user_id), body, message_id=step.message_id, stream=stream)

    async def _create(self, client: MemoryClient, step: Step) -> None:
        assert step.create is not None
        try:
            await client.create(step.create, patience=_PATIENCE)
        except RequestFailed as failed:
            if failed.info.retryable:
                raise  # else it was decided: whether it should have been, the checker sees
        self._note(step)

    def _note(self, step: Step) -> None:
        turn, said = step.turn, step.statement
        assert turn is not None
        assert said is not None
        self._journal.note(
            Promise(step.kind, turn.user_id, turn.space, turn.turn_id or "", said.key, said.marker),
        )

    async def _forget(self, client: MemoryClient, step: Step) -> None:
        said, id_ = await self._entry(client, step)
        await client.forget(ForgetRequest(user_id=said.user_id, id=id_), patience=_PATIENCE)
        self._journal.note(Promise("forget", said.user_id, said.space, "", said.key, said.marker))

    async def _pin(self, client: MemoryClient, step: Step) -> None:
        said, id_ = await self._entry(client, step)
        try:
            await client.request(flow.PIN, PinRequest(user_id=said.user_id, id=id_), patience=_PATIENCE)
        except RequestFailed as failed:
            if failed.info.code == "not_found":
                return  # it was forgotten, or its user erased, meanwhile
            raise
        self._journal.note(Promise("pin", said.user_id, said.space, "", said.key, said.marker))

    async def _update(self, client: MemoryClient, step: Step) -> None:
        said, id_ = await self._entry(client, step)
        request = UpdateRequest(user_id=said.user_id, id=id_, text=said.corrected)
        await client.request(flow.UPDATE, request, patience=_PATIENCE)
        self._journal.note(Promise("update", said.user_id, said.space, "", said.key, said.marker))

    async def _incognito(self, client: MemoryClient, step: Step) -> None:
        assert step.turn is not None
        chat = step.turn.conversation_id
        request = IncognitoStartRequest(user_id=step.user_id, conversation_id=chat)
        await client.start_incognito(request, patience=_PATIENCE)
        await self._say_in_vain(client, step)

    async def _settings(self, client: MemoryClient, step: Step) -> None:
        change = SettingsChange(memory_enabled=False)
        await client.settings(SettingsRequest(user_id=step.user_id, space="*", change=change), patience=_PATIENCE)
        await self._say_in_vain(client, step)

    async def _say_in_vain(self, client: MemoryClient, step: Step) -> None:
        """Publish what must not be kept from now on, where turns are kept."""
        said, turn = step.statement, step.turn
        assert said is not None
        assert turn is not None
        await self._publish(client, step, turn.model_dump_json(exclude_none=True).encode())
        self._journal.note(Promise(step.kind, said.user_id, said.space, "", said.key, said.marker))

    async def _entry(self, client: MemoryClient, step: Step) -> tuple[Statement, str]:
        """What the step is about, and the id of the entry that says it."""
        said = step.statement
        assert said is not None
        id_ = self._entries[said.key] = self._entries.get(said.key) or await self._find(client, said)
        return said, id_

    async def _find(self, client: MemoryClient, said: Statement) -> str:
        """The id of the entry that says this, for it may have been any of its repeats that came first."""
        cursor = None
        while True:
            request = ListRequest(user_id=said.user_id, space=said.space, limit=1000, cursor=cursor)
            page = await client.list(request, patience=_PATIENCE)
            for entry in page.items:
                words = set(re.findall(r"\w+", entry.text.lower()))
                if entry.source == "turn" and {said.marker, str(said.number)} <= words:
                    return entry.id
            if (cursor := page.next_cursor) is None:
                raise Unavailable(f"{said.text!r} is not yet known")

    async def _erase(self, client: MemoryClient, step: Step) -> None:
        request = EraseRequest(user_id=step.user_id)
        await client.erase(request, patience=4 * _PATIENCE)
        self._journal.note(Promise("erase", step.user_id))


def letter_of(body: bytes) -> str:
    """What a spoiled message is known by in the dead letters."""
    return hashlib.sha256(body).hexdigest()[:16]
