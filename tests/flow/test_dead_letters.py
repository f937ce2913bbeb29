"""Dead letters on a real bus: what died is seen, becomes memory exactly once when retried, or is gone for good."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from contracts import subjects
from contracts.v1.commands import ListRequest
from contracts.v1.dead import DeadLetter
from contracts.v1.entries import EntryProposed, EntryRef
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter, NotRetryable, StoredLetter
from services.shared.bus.streams import Bus
from services.shared.client import MemoryClient, memory_client
from tests.flow.conftest import light
from tests.flow.raw import contents
from tests.letters import a_letter
from tests.polling import digested, eventually
from tests.servers.nats_cluster import nats_server

LONG = "I keep the spare key under the third flower pot on the left. " * 4
DEAD, TURNS, EVENTS = (one.name for one in (subjects.DEAD_STREAM, subjects.TURNS_STREAM, subjects.EVENTS_STREAM))


@pytest.fixture
def letters(bus: Bus) -> DeadLetterQueue:
    return DeadLetterQueue(bus)


class Memory:
    """A memory on a bus that outlives it, so that it can start again with other settings."""

    def __init__(self, url: str, folder: Path) -> None:
        self._start = partial(light, folder, nats_url=url)
        self._stack = AsyncExitStack()

    async def start(self, **settings: Any) -> MemoryClient:
        await self._stack.aclose()
        up = await self._stack.enter_async_context(running(self._start(**settings)))
        return await self._stack.enter_async_context(memory_client(up.nats))

    async def stop(self) -> None:
        await self._stack.aclose()


@pytest.fixture(params=[1, 3], ids=["whole", "split"])
async def memory(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Memory]:
    monkeypatch.setenv("MEMORYBUS_TURNS_PARTITIONS", str(request.param))
    async with nats_server(tmp_path / "bus") as server:
        memory = Memory(server.url, tmp_path / "data")
        yield memory
        await memory.stop()


async def put(bus: Bus, letter: DeadLetter | bytes, stage: str = "ingest", share: str = "none") -> int:
    """Put a letter among the dead; its number."""
    body = letter if isinstance(letter, bytes) else letter.model_dump_json().encode()
    return (await bus.js.publish(subjects.dead(stage, share), body, stream=DEAD)).seq


def a_turn(user: str = "ann", text: str = LONG) -> Turn:
    return Turn(user_id=user, role="user", text=text, turn_id=f"t-{uuid4().hex[:8]}")


async def all_of(letters: DeadLetterQueue, wanted: LetterFilter = LetterFilter()) -> list[StoredLetter]:  # noqa: B008 - frozen
    return [kept async for kept in letters.newest_first(wanted)]


async def held(bus: Bus, stream: str) -> int:
    return (await bus.js.stream_info(stream)).state.messages


async def test_a_turn_that_was_too_long_becomes_memory_exactly_once_when_it_is_allowed(memory: Memory) -> None:
    client = await memory.start(max_text_bytes=100)
    await client.publish(a_turn("ann b."))  # a name that no subject token can hold as it is
    (dead,) = await eventually(lambda: all_of(DeadLetterQueue(client.bus)), lambda found: len(found) == 1)
    assert (dead.stage, dead.users, "are allowed" in dead.reason) == ("ingest", ("ann b.",), True)

    client = await memory.start()
    letters = DeadLetterQueue(client.bus)
    first, second = await asyncio.gather(letters.retry(dead.number), letters.retry(dead.number), return_exceptions=True)
    assert all(one is None or isinstance(one, NoSuchLetter) for one in (first, second))
    await digested(client, turns=1)
    with pytest.raises(NoSuchLetter, match="memorybus dead list"):
        await letters.retry(dead.number)
    assert await letters.numbers() == []
    (entry,) = (await client.list(ListRequest(user_id="ann b."))).items
    status = await client.status()
    assert (entry.text.strip(), entry.repeat_count) == (LONG.strip(), 0)
    assert (status.turns, status.entries, status.merged) == (1, 1, 0)


async def test_a_letter_that_is_retried_twice_before_it_is_gone_is_said_once(
    bus: Bus, letters: DeadLetterQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await put(bus, a_letter(b"original"))

    async def ended(self: DeadLetterQueue, number: int) -> None:
        raise ConnectionError("ended between the promise and the removal")

    with monkeypatch.context() as patched:
        patched.setattr(DeadLetterQueue, "drop", ended)
        with pytest.raises(ConnectionError):
            await letters.retry(number)
    assert await letters.numbers() == [number]
    await letters.retry(number)
    assert (await held(bus, TURNS), await letters.numbers()) == (1, [])


async def test_the_original_goes_out_to_the_byte_with_its_headers_but_none_that_command_the_bus(
    bus: Bus, letters: DeadLetterQueue
) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    await bus.publish("memory.v1.turns.bob", b"{}", message_id="same", stream=TURNS)
    headers = {
        "traceparent": trace,
        "Nats-Msg-Id": "same",  # within its window the bus would take the original for a repetition
        "nats-rollup": "all",
        "Nats-Expected-Last-Sequence": "999",
        "X-Mine": "ü",
    }
    number = await put(bus, a_letter(b"\x00\xff original", headers=headers))
    kept = await letters.get(number)
    await letters.retry(number)
    again = await bus.js.get_msg(TURNS, 2)
    assert kept.letter is not None
    assert kept.letter.trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert (again.subject, again.data) == ("memory.v1.turns.ann", b"\x00\xff original")
    assert again.headers is not None
    assert set(again.headers) == {"traceparent", "X-Mine", "Nats-Msg-Id", "Nats-Expected-Stream"}
    assert again.headers["traceparent"] == trace
    assert again.headers["Nats-Msg-Id"].startswith(f"retry:{number}:")


@pytest.mark.parametrize("consumer", [subjects.DEDUPE, subjects.ENRICH, subjects.EMBED], ids=lambda one: str(one.name))
async def test_an_event_is_retried_on_the_stream_of_events(
    bus: Bus, letters: DeadLetterQueue, consumer: subjects.Consumer
) -> None:
    event = EntryProposed.of([EntryRef(user_id=u, id=uuid4().hex) for u in ("ann", "bob")], at=datetime.now(UTC))
    body = event.model_dump_json().encode()
    number = await put(bus, a_letter(body, subject=consumer.subject, stream=EVENTS), stage=consumer.name)
    assert (await letters.get(number)).users == ("ann", "bob")
    await letters.retry(number)
    assert await bus.backlog(consumer) == 1
    assert (await held(bus, EVENTS), await held(bus, TURNS), await letters.numbers()) == (1, 0, [])


async def test_a_letter_from_a_part_of_the_turns_goes_back_to_where_turns_are_published(
    bus: Bus, letters: DeadLetterQueue
) -> None:
    await letters.retry(await put(bus, a_letter(subject="memory.v1.partition.2.ann")))
    assert (await bus.js.get_msg(TURNS, 1)).subject == "memory.v1.turns.ann"


NO_LETTERS = {
    "empty": b"",
    "list": b"[]",
    "types": b'{"subject": 5}',
    "no utf-8": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "no base64": a_letter().model_copy(update={"body": "not base64!"}).model_dump_json().encode(),
    "cut": a_letter().model_dump_json().encode()[:-20],
}


@pytest.mark.parametrize("body", NO_LETTERS.values(), ids=NO_LETTERS)
async def test_a_letter_that_is_none_of_ours_is_listed_kept_on_retry_and_can_be_dropped(
    bus: Bus, letters: DeadLetterQueue, body: bytes
) -> None:
    good = await put(bus, a_letter())
    bad = await put(bus, body)
    listed = await all_of(letters, LetterFilter(reason="unreadable"))
    assert [kept.number for kept in listed] == [bad]
    assert (listed[0].raw, listed[0].stage, listed[0].users) == (body, "ingest", ())
    with pytest.raises(NotRetryable, match="cannot be read"):
        await letters.retry(bad)
    assert await letters.numbers() == [bad, good]
    await letters.drop(bad)
    assert await letters.numbers() == [good]


@pytest.mark.parametrize(
    "subject",
    ["$JS.API.STREAM.PURGE.MEMORY_TURNS", "memory.v1.turns.*", "memory.v1.turns.a\r\nPUB x 0", "memory.v1.turns.",
     "memory.v1.turns.a.b", "memory.v1.entry.refused", ""],
)  # fmt: skip
async def test_a_letter_cannot_make_us_publish_where_no_stage_reads(
    bus: Bus, letters: DeadLetterQueue, subject: str
) -> None:
    number = await put(bus, a_letter(subject=subject))
    with pytest.raises(NotRetryable, match="no stage reads"):
        await letters.retry(number)
    assert await letters.numbers() == [number]


async def test_headers_that_cannot_be_sent_or_smuggle_another_do_no_harm(bus: Bus, letters: DeadLetterQueue) -> None:
    bad_name = await put(bus, a_letter(headers={"a b\r\nNats-Rollup": "all"}))
    with pytest.raises(NotRetryable):
        await letters.retry(bad_name)
    folded = await put(bus, a_letter(headers={"x": "one\r\nNats-Rollup: all"}))
    await letters.retry(folded)
    again = await bus.js.get_msg(TURNS, 1)
    assert again.headers is not None
    assert "Nats-Rollup" not in again.headers
    assert await letters.numbers() == [bad_name]


async def test_letters_are_found_by_stage_user_time_and_reason_newest_first(bus: Bus, letters: DeadLetterQueue) -> None:
    ann = await put(bus, a_letter(reason="the text has 9 bytes, 5 are allowed"))
    bob = await put(bus, a_letter(subject=subjects.turns("bob smith")))
    body = b'{"entries": [{"user_id": "ann"}, {"user_id": 5}, 7, null]}'
    event = await put(bus, a_letter(body, subject=subjects.ENTRY_ACCEPTED, stage="enrich"), stage="enrich")

    async def numbers(**given: Any) -> list[int]:
        return [kept.number for kept in await all_of(letters, LetterFilter(**given))]

    kept_at = (await letters.get(bob)).kept_at
    assert await numbers() == [event, bob, ann]
    assert await numbers(stage="enrich") == [event]
    assert await numbers(user="ann") == [event, ann]
    assert await numbers(user="bob smith") == [bob]
    assert await numbers(reason="BYTES, 5") == [ann]
    assert await numbers(since=kept_at) == [event, bob]
    assert await numbers(since=kept_at + timedelta(hours=1)) == []
    assert await numbers(user="ann", stage="ingest", reason="blank") == []


async def test_gaps_between_letters_cost_nothing_and_many_are_read_in_order(bus: Bus, letters: DeadLetterQueue) -> None:
    put_in = [await put(bus, a_letter(), share=f"{number % 10}") for number in range(150)]
    for number in put_in[5:145]:
        await letters.drop(number)
    looked: list[tuple[int, int]] = []
    left = put_in[:5] + put_in[145:]
    found = [
        kept.number
        async for kept in letters.newest_first(LetterFilter(), looked=lambda done, total: looked.append((done, total)))
    ]
    assert found == left[::-1]
    assert looked == [(10, 10)]
    for number in left:
        await letters.drop(number)
    assert await letters.numbers() == []


async def test_what_is_not_there_is_said_to_be_for_any_number(bus: Bus, letters: DeadLetterQueue) -> None:
    gone = await put(bus, a_letter())
    await put(bus, a_letter())
    await letters.drop(gone)
    for number in (gone, 99, 2**63 - 1):
        for act in (letters.get, letters.retry, letters.drop):
            with pytest.raises(NoSuchLetter, match=str(number)):
                await act(number)


async def test_a_dropped_letter_leaves_nothing_of_its_words_on_the_bus(
    bus: Bus, letters: DeadLetterQueue, tmp_path: Path
) -> None:
    marker = uuid4().hex.encode()
    number = await put(bus, json.dumps({"not": "ours", "marker": marker.decode()}).encode())
    await put(bus, a_letter())

    async def look() -> list[str]:
        return [file.name for file, data in contents(tmp_path / "bus") if file.suffix == ".blk" and marker in data]

    await eventually(look, bool)
    await letters.drop(number)
    await eventually(look, lambda found: not found)
