"""Turns are sent as they come, failures say what was done, and waiting ends when nothing waits or nothing moves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from io import StringIO

import pytest
from rich.console import Console

from contracts.ports import Unavailable
from contracts.v1.commands import StatusReply
from contracts.v1.turns import Turn
from services.cli.common import bars
from services.shared.commands.formats import FormatError
from services.shared.commands.progress import Progress
from services.shared.commands.publishing import (
    Bus,
    Stalled,
    Tally,
    as_they_come,
    at_once,
    digest,
    publish_turns,
    until_digested,
)
from tests.cli.fake_memory import FakeMemory
from tests.polling import eventually


def turns(count: int) -> Iterator[Turn]:
    for number in range(count):
        yield Turn(user_id="u1", role="user", text=f"number {number}", turn_id=f"t{number}")


async def send(client: Bus, batches: AsyncIterator[Iterable[Turn]], in_flight: int) -> Tally:
    tally = Tally()
    await publish_turns(client, batches, tally, in_flight=in_flight)
    return tally


def broken_after(count: int) -> Iterator[Turn]:
    yield from turns(count)
    raise FormatError("file:7: is not JSON")


async def test_all_turns_are_sent_once_and_counted() -> None:
    memory = FakeMemory()
    tally = await send(memory, at_once(turns(100)), in_flight=8)
    assert sorted(turn.turn_id or "" for turn in memory.turns) == sorted(f"t{n}" for n in range(100))
    assert tally.turns == 100
    assert tally.rate == pytest.approx(100 / tally.seconds)


async def test_a_terminal_shows_how_far_it_is_and_a_file_shows_nothing() -> None:
    for terminal in (True, False):
        console = Console(file=StringIO(), force_terminal=terminal, width=120)
        with bars(console) as progress:
            await publish_turns(FakeMemory(), at_once(turns(3)), Tally(), total=3, in_flight=1, progress=progress)
            await digest(FakeMemory(), progress)
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        assert ("publishing" in shown and "3/3" in shown and "digesting" in shown) is terminal
        assert bool(shown) is terminal


async def test_what_a_slow_pipe_has_brought_is_sent_before_the_next_line_comes() -> None:
    memory, go_on = FakeMemory(), threading.Event()

    def pipe() -> Iterator[Turn]:
        yield from turns(2)
        assert go_on.wait(30)
        yield Turn(user_id="u1", role="user", text="late")

    sending = asyncio.create_task(send(memory, as_they_come(pipe()), in_flight=4))

    async def sent() -> int:
        return len(memory.turns)

    await eventually(sent, lambda count: count == 2)
    assert not sending.done()
    go_on.set()
    assert (await sending).turns == 3
    assert [turn.text for turn in memory.turns] == ["number 0", "number 1", "late"]


async def test_a_pipe_brings_more_than_is_read_ahead() -> None:
    memory = FakeMemory()
    tally = await send(memory, as_they_come(turns(3000)), in_flight=64)
    assert tally.turns == len(memory.turns) == 3000


async def test_a_bad_line_in_a_pipe_is_told_with_what_was_published_before_it() -> None:
    memory = FakeMemory()
    with pytest.raises(FormatError, match=r"^file:7: is not JSON \(published before: 5; .* harmless\)$"):
        await send(memory, as_they_come(broken_after(5)), in_flight=2)
    assert len(memory.turns) == 5


async def test_any_failure_of_a_pipe_ends_the_sending() -> None:
    def pipe() -> Iterator[Turn]:
        yield from turns(1)
        raise ValueError("unexpected")

    with pytest.raises(ValueError, match="unexpected"):
        await send(FakeMemory(), as_they_come(pipe()), in_flight=2)


async def test_a_bad_line_in_a_file_is_one_error_not_a_group() -> None:
    with pytest.raises(FormatError, match=r"^file:7: is not JSON"):
        await send(FakeMemory(), at_once(broken_after(5)), in_flight=4)


async def test_a_bus_that_gives_up_is_one_error_that_says_how_far_it_came() -> None:
    memory = FakeMemory()
    memory.fail_after = 3
    with pytest.raises(Unavailable, match=r"did not acknowledge \(published before: 3;"):
        await send(memory, at_once(turns(10)), in_flight=1)


async def test_waiting_ends_when_nothing_waits_in_any_stage() -> None:
    told: list[tuple[int, int | None]] = []
    progress: Progress = lambda what, done, total=None, *, note="": told.append((done, total))  # noqa: E731
    memory = FakeMemory(waiting=[{"ingest": 2, "embed": 1}, {"embed": 1}, {"ingest": 0, "embed": 0}])
    await until_digested(memory, progress, every=0)
    assert told == [(0, 3), (2, 3), (3, 3)]


async def test_waiting_goes_on_while_the_stores_are_unfinished() -> None:
    class Finishing(FakeMemory):
        async def status(self, user_id: str | None = None) -> StatusReply:
            self.pending -= 1
            return await super().status(user_id)

    told: list[tuple[int, int | None]] = []
    progress: Progress = lambda what, done, total=None, *, note="": told.append((done, total))  # noqa: E731
    await until_digested(Finishing(pending=3), progress, every=0)
    assert told == [(0, 2), (1, 2), (2, 2)]


async def test_a_stage_where_nothing_moves_is_named() -> None:
    memory = FakeMemory(waiting=[{"ingest": 5, "embed": 1200}, {"ingest": 0, "embed": 1200}])
    with pytest.raises(Stalled, match=r"nothing moved for 0 s: embed has 1,200 waiting; the log of"):
        await until_digested(memory, every=0, stall=0.01)


async def test_unfinished_entries_without_anything_on_the_bus_are_named() -> None:
    with pytest.raises(Stalled, match="7 entries are unfinished although nothing waits"):
        await until_digested(FakeMemory(pending=7), every=0, stall=0.01)


async def test_an_instance_that_stops_answering_is_named() -> None:
    class MissingFromStream(FakeMemory):
        async def status(self, user_id: str | None = None) -> StatusReply:
            raise Unavailable("nobody answers")

    with pytest.raises(Stalled, match="memorybus does not answer"):
        await until_digested(MissingFromStream(), every=0, stall=0.01)
