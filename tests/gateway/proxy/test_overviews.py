"""What is read after an exchange for the next one: when, how long it holds, and what ends it. No bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from contracts.errors import Unavailable
from contracts.flow import Answer
from contracts.v1.sessions import Extract, RollingSummary, SessionsReply
from services.gateway.api import Edge
from services.gateway.callers import Caller
from services.gateway.proxy import overviews
from services.gateway.proxy.conversations import Key
from services.gateway.proxy.overviews import Overviews
from services.gateway.proxy.settings import ProxySettings
from services.gateway.removals import Removals
from tests.stores.builders import NOON

ANN = Caller("ann")
HERS = Key("ann", "default", "c1")


class Memory:
    """An edge behind which every conversation has a summary of one sentence, which says how often it was read."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.characters = 10_000
        self.gate = asyncio.Event()
        self.gate.set()
        self.heard = asyncio.Event()
        self.is_away = False
        self.removals = Removals()

    async def reply(
        self, caller: Caller, answer: Answer[Any, Any], values: dict[str, Any], *, patience: float
    ) -> SessionsReply:
        self.asked.append(values)
        self.heard.set()
        await self.gate.wait()
        if self.is_away:
            raise Unavailable("nobody answers")
        said = Extract(text=f"Read {len(self.asked)}.", source_ids=("e1",), role="user", said_at=NOON)
        rolling = RollingSummary(
            conversation_id=values["rolling"], text=said.text, turns=4, characters=self.characters, sentences=(said,)
        )
        return SessionsReply(items=(), total_count=0, rolling=rolling, correlation_id="c")


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
async def held(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Overviews]:
    monkeypatch.setattr(overviews, "_AFTER", 0.0)
    made = Overviews(cast(Edge, memory), ProxySettings(proxy_cards=False))
    yield made
    await made.close()


async def read(held: Overviews) -> list[str]:
    """What is known once all that is being read is there."""
    places = held.places(ANN, HERS, is_named=True)
    await asyncio.gather(*held.begin(ANN, places))
    return [line.words for line in held.known(places)]


def aged(held: Overviews, seconds: float, took: float) -> None:
    """As if what is held had been read so long ago, and had taken so long."""
    held._held[HERS] = overviews._Read(held._held[HERS].lines, held._held[HERS].at - seconds, took)


async def test_what_is_not_known_is_read_at_once_and_again_after_an_exchange(held: Overviews, memory: Memory) -> None:
    assert await read(held) == ["Read 1."]
    assert await read(held) == ["Read 1."]
    assert memory.asked[0]["limit"] == 0
    aged(held, 10, took=0.1)
    held.renew(ANN, held.places(ANN, HERS, is_named=True))
    (renewing,) = held._reading.values()
    assert held.begin(ANN, [HERS]) == [], "what is known is not waited for while it is read again"
    await renewing
    assert await read(held) == ["Read 2."]


async def test_what_takes_long_is_read_seldom(held: Overviews, memory: Memory) -> None:
    await read(held)
    aged(held, 10, took=2.0)
    held.renew(ANN, held.places(ANN, HERS, is_named=True))
    assert await read(held) == ["Read 1."]
    assert len(memory.asked) == 1


async def test_what_is_old_is_not_told_and_what_took_long_not_waited_for(held: Overviews, memory: Memory) -> None:
    await read(held)
    aged(held, overviews.FRESH_SECONDS, took=2.0)
    assert await read(held) == []
    aged(held, 0, took=0.0)
    assert await read(held) == ["Read 2."]


async def test_what_is_being_read_when_something_is_forgotten_is_dropped(held: Overviews, memory: Memory) -> None:
    memory.gate.clear()
    places = held.places(ANN, HERS, is_named=True)
    (reading,) = held.begin(ANN, places)
    await memory.heard.wait()
    memory.removals.removed("bob")
    assert held.begin(ANN, places) == [reading]
    memory.removals.removed("ann")
    await asyncio.wait([reading])
    assert held.known(places) == []
    memory.gate.set()
    assert await read(held) == ["Read 2."]
    memory.removals.removed("ann")
    assert held.known(places) == []


async def test_a_short_conversation_and_one_without_a_name_have_no_summary(held: Overviews, memory: Memory) -> None:
    memory.characters = 3999
    assert await read(held) == []
    assert held.places(ANN, HERS, is_named=False) == []


async def test_with_the_memory_away_nothing_is_known(held: Overviews, memory: Memory) -> None:
    memory.is_away = True
    assert await read(held) == []


async def test_so_many_are_held_and_no_more(held: Overviews, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overviews, "_MOST", 3)
    for number in range(5):
        await asyncio.gather(*held.begin(ANN, [Key("ann", "default", f"c{number}")]))
    assert [key.name for key in held._held] == ["c2", "c3", "c4"]


def test_a_credential_that_does_not_open_them_gets_none(held: Overviews) -> None:
    closed = Caller("ann", verbs=frozenset({"retrieve"}))
    assert held.places(closed, HERS, is_named=True) == []
