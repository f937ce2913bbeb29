"""What one user does step by step, told again from the beginning after a kill, and what must be true of it then."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from nats.errors import Error as NatsError

from contracts import flow
from contracts.ports import Unavailable
from contracts.v1.commands import ForgetRequest, ListRequest
from contracts.v1.entries import Entry, Status
from contracts.v1.rollups import RollUp, RollUpRequest, RollUpsRequest, RollUpUndoRequest
from contracts.v1.sessions import SessionsReply, SessionsRequest
from contracts.v1.turns import Turn, entry_id
from services.shared.client import MemoryClient, RequestFailed
from tests.polling import eventually

FAILED = (Unavailable, RequestFailed, NatsError, OSError, TimeoutError)
_PATIENCE = 10.0
_WITHIN = 60.0
_LETTERS = "bcdfghjklmnpqrstvwxz"
_FIRST = datetime(2026, 2, 1, 12, tzinfo=UTC)


class Story(Protocol):
    """Steps of a user, each of which may be repeated; `within` are those who do what it is about."""

    @property
    def acknowledged(self) -> Counter[str]:
        """How many of its turns the bus has promised not to lose, by user."""
        ...

    @property
    def within(self) -> tuple[str, ...]:
        """The beginnings of the points at which it is killed."""
        ...

    async def tell(self, client: MemoryClient, user: str) -> None:
        """Do all of it, or what is left of it."""
        ...

    async def survives(self, client: MemoryClient, user: str) -> None:
        """See that what was done by then is whole, though nobody goes on with it."""
        ...

    async def ends(self, client: MemoryClient, user: str) -> None:
        """See that all of it is done, and nothing twice."""
        ...

    def gone(self, user: str) -> str | None:
        """A word that must be in no file any more."""
        ...


def marker(user: str, of: str) -> str:
    """A word that only this statement of the user has."""
    number = int.from_bytes(f"{user}/{of}".encode(), "big") % len(_LETTERS) ** 7
    return "qq" + "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(7))


async def entries_of(client: MemoryClient, user: str, *statuses: Status) -> list[Entry]:
    """The entries of a user in these statuses."""
    found: list[Entry] = []
    for status in statuses or ("active", "archived", "superseded", "forgotten"):
        found += (await client.list(ListRequest(user_id=user, status=status, limit=200), patience=_PATIENCE)).items
    return found


async def known(client: MemoryClient, user: str, count: int) -> None:
    """Wait until at least so many turns of a user have become entries, and those in use have vectors."""

    def is_so(entries: list[Entry]) -> bool:
        turns = {one.turn_id for one in entries if one.source == "turn"}
        return len(turns) >= count and all(one.embedding_state == "ready" for one in entries if one.status == "active")

    await eventually(lambda: entries_of(client, user), is_so, within=_WITHIN)


class _Told:
    """What is common to stories: turns with ids of their own, which are published again when it is told again."""

    def __init__(self) -> None:
        self.acknowledged: Counter[str] = Counter()

    async def say(self, client: MemoryClient, user: str, texts: Sequence[str], *, silent_before: int = 0) -> None:
        """Publish texts a minute apart, each once the one before is known; before one of them lie hours."""
        for number, text in enumerate(texts):
            at = _FIRST + timedelta(hours=3 * (0 < silent_before <= number), minutes=number)
            turn = Turn(user_id=user, role="user", text=text, turn_id=f"t{number}", created_at=at, conversation_id="c1")
            await client.publish(turn)
            self.acknowledged[user] = max(self.acknowledged[user], number + 1)
            await known(client, user, number + 1)  # so that the points are passed as often each time

    def gone(self, user: str) -> str | None:
        return None


class RollingUp(_Told):
    """Old memories of a topic are rolled up, one of them is forgotten, and the roll-up taken back."""

    within = ("roll-up.", "roll-up-undo.", "forget.")
    _TEXTS = ("starter lives in the {} jar", "bread baked in the {} pot", "loaf number {} was flat", "flour from {}")

    def _texts(self, user: str) -> list[str]:
        said = [f"The sourdough {text.format(marker(user, str(n)))}" for n, text in enumerate(self._TEXTS)]
        return [*said, f"My train to {marker(user, 'train')} was late"]

    def gone(self, user: str) -> str | None:
        return marker(user, "0")

    async def tell(self, client: MemoryClient, user: str) -> None:
        texts = self._texts(user)
        await self.say(client, user, texts)
        if not any(one.state in ("done", "undone") for one in await self._roll_ups(client, user)):
            topic = RollUpRequest(user_id=user, topic="sourdough")
            await client.request(flow.ROLL_UP, topic, patience=_PATIENCE)
        first = ForgetRequest(user_id=user, id=entry_id(user, "default", "t0"))
        await client.request(flow.FORGET, first, patience=_PATIENCE)
        for one in await self._roll_ups(client, user):
            undo = RollUpUndoRequest(user_id=user, id=one.id or "")
            await client.request(flow.ROLL_UP_UNDO, undo, patience=_PATIENCE)

    async def survives(self, client: MemoryClient, user: str) -> None:
        await known(client, user, self.acknowledged[user])

        async def lacking() -> str:
            roll_ups = await self._roll_ups(client, user)
            if under_way := [one for one in roll_ups if one.state not in ("done", "undone")]:
                return f"{under_way} is not completed"
            return self._missing(await entries_of(client, user))

        await eventually(lacking, lambda why: not why, within=_WITHIN)

    def _missing(self, entries: list[Entry]) -> str:
        """What is neither in use nor in exactly one roll-up that is."""
        made = [one for one in entries if one.source == "rollup" and one.status == "active"]
        held = Counter(id_ for one in made for id_ in one.source_ids)
        for one in entries:
            if one.source == "turn" and one.status != "forgotten" and held[one.id] != (one.status == "archived"):
                return f"{one.text!r} is {one.status}, and in {held[one.id]} roll-ups"
        return ""

    async def ends(self, client: MemoryClient, user: str) -> None:
        texts = self._texts(user)
        await known(client, user, len(texts))
        in_use = Counter(one.text for one in await entries_of(client, user, "active"))
        assert in_use == Counter(texts[1:]), f"in use at the end: {in_use}"
        assert not await entries_of(client, user, "archived", "superseded")
        assert {one.state for one in await self._roll_ups(client, user)} == {"undone"}

    async def _roll_ups(self, client: MemoryClient, user: str) -> tuple[RollUp, ...]:
        return (await client.request(flow.ROLL_UPS, RollUpsRequest(user_id=user), patience=_PATIENCE)).items


class Superseding(_Told):
    """A user says something, and then that it has changed."""

    within = ("enrich.", "embed.")
    _TEXTS = ("My dentist appointment is on Tuesday", "My dentist appointment has moved to Thursday")

    async def tell(self, client: MemoryClient, user: str) -> None:
        await self.say(client, user, self._TEXTS)
        await self.survives(client, user)

    async def survives(self, client: MemoryClient, user: str) -> None:
        """Nobody publishes it again: what is known of it goes its way to the end."""
        await known(client, user, self.acknowledged[user])

        def is_whole(entries: list[Entry]) -> bool:
            both = len(entries) == len(self._TEXTS)
            newest = max(entries, key=lambda one: one.turn_id or "", default=None)
            told = newest is not None and (not both or bool(newest.supersedes))
            return told and all(one.status == "superseded" or one.embedding_state == "ready" for one in entries)

        await eventually(lambda: entries_of(client, user), is_whole, within=_WITHIN)

    async def ends(self, client: MemoryClient, user: str) -> None:
        before, after = self._TEXTS
        entries = await entries_of(client, user)
        told = {one.text: (one.status, one.superseded_by, one.supersedes) for one in entries}
        old, new = entry_id(user, "default", "t0"), entry_id(user, "default", "t1")
        assert told == {before: ("superseded", new, ()), after: ("active", None, (old,))}, f"at the end: {told}"
        assert len(entries) == len(told)


class Sessions(_Told):
    """A user talks, is silent, and talks again: the first session is over, and summed up."""

    within = ("ingest.", "dedupe.")
    _SAID = ("I planted {} in the garden", "The {} needs water every day", "I will buy {} on Friday")

    def _texts(self, user: str) -> list[str]:
        return [text.format(marker(user, f"{n}")) for n, text in enumerate((*self._SAID, *self._SAID))]

    async def tell(self, client: MemoryClient, user: str) -> None:
        texts = self._texts(user)
        await self.say(client, user, texts, silent_before=len(self._SAID))
        await self._asked(client, SessionsRequest(user_id=user))

    async def survives(self, client: MemoryClient, user: str) -> None:
        """A session that is over is what was said in it by then, each turn once."""
        await known(client, user, self.acknowledged[user])
        counts = [one.turn_count for one in (await self._asked(client, SessionsRequest(user_id=user))).items]
        assert all(count <= len(self._SAID) for count in counts), f"sessions of {counts} turns"

    async def ends(self, client: MemoryClient, user: str) -> None:
        texts = self._texts(user)
        listed = (await self._asked(client, SessionsRequest(user_id=user))).items
        assert [one.turn_count for one in listed] == [len(self._SAID)] * 2, f"at the end: {listed}"
        assert all(one.ended_at is not None for one in listed)
        for session, said in zip(reversed(listed), (texts[:3], texts[3:]), strict=True):
            reply = await self._asked(client, SessionsRequest(user_id=user, id=session.id))
            assert reply.summary is not None
            mattered = [one.text for one in reply.summary.what_mattered]
            assert sorted(mattered) == sorted(said), f"summed up as {mattered}"
            assert len(reply.entry_ids) == len(set(reply.entry_ids)) == len(said)

    async def _asked(self, client: MemoryClient, request: SessionsRequest) -> SessionsReply:
        return await client.request(flow.SESSIONS, request, patience=_PATIENCE)


async def told(story: Story, client: MemoryClient, user: str) -> None:
    """Tell a story until it is told to the end, though some of its steps fail."""
    deadline = asyncio.get_running_loop().time() + _WITHIN
    while True:
        try:
            return await story.tell(client, user)
        except FAILED:
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.1)
