"""A poison message: given up after five deliveries, kept with all that explains it, and no burden to its neighbours."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from contracts import subjects
from contracts.v1.turns import LoggedTurn, Proposal, Turn
from services.shared.bus.worker import MAX_ATTEMPTS
from services.shared.client import MemoryClient
from services.shared.stores.sqlite import SqliteTextStore
from tests.polling import digested, eventually

POISON = "This sentence breaks whoever logs it."
PLUG = "This sentence keeps ingest busy until all others wait."
NEIGHBOURS = tuple(f"Neighbour {n} lives in house {n * 7919} of street {n * 104729}." for n in range(40))


@dataclass(slots=True)
class Log:
    """What the text store was asked to log, in order: how many at once, and whether it failed."""

    calls: list[tuple[tuple[str, ...], bool, float]] = field(default_factory=list)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def failures(self) -> list[int]:
        """The calls that failed on the poison alone."""
        return [at for at, (texts, failed, _) in enumerate(self.calls) if failed and texts == (POISON,)]

    def logged_at(self, text: str) -> int:
        """The call that logged this text."""
        (at,) = (at for at, (texts, failed, _) in enumerate(self.calls) if not failed and text in texts)
        return at


@pytest.fixture(autouse=True)  # before memorybus starts
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """A text store that fails, for a reason that nobody foresaw, whenever the poison is among what it is to log."""
    kept, log_truly = Log(), SqliteTextStore.append

    async def picky(
        store: SqliteTextStore, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]
    ) -> list[LoggedTurn]:
        texts = tuple(turn.text for turn in turns)
        if PLUG in texts:
            await kept.may_go_on.wait()
        failed = POISON in texts
        kept.calls.append((texts, failed, time.monotonic()))
        if failed:
            raise RuntimeError("nobody foresaw this")
        return await log_truly(store, turns, proposals)

    monkeypatch.setattr(SqliteTextStore, "append", picky)
    return kept


async def test_a_bad_message_that_is_said_again_under_its_id_is_set_aside_once(client: MemoryClient) -> None:
    """As by a publisher that did not hear the promise."""
    for body in (b"[1", b"[1", b"[2"):
        await client.bus.js.publish(subjects.turns("ann"), body, headers={subjects.MSG_ID_HEADER: "the-same"})
        await asyncio.sleep(0.2)  # the bus itself forgets the id
    letters = await eventually(lambda: dead_letters(client), lambda letters: len(letters) >= 2)
    await eventually(client.backlog, lambda backlog: backlog.total == 0)
    assert len(letters) == len(await dead_letters(client)) == 2


async def test_poison_is_delivered_five_times_and_kept_with_its_body_headers_reason_and_origin(
    client: MemoryClient, log: Log
) -> None:
    body = a_turn(POISON).model_dump_json().encode()
    headers = {"X-Trace": "4bf92f35", subjects.MSG_ID_HEADER: "the-poison"}
    ack = await client.bus.js.publish(subjects.turns("ann"), body, headers=headers)

    (letter,) = await eventually(lambda: dead_letters(client), lambda letters: len(letters) == 1)

    assert len(log.failures) == MAX_ATTEMPTS == 5
    assert letter["attempts"] == 5
    assert (letter["stream"], letter["sequence"], letter["subject"]) == (ack.stream, ack.seq, subjects.turns("ann"))
    assert (letter["stage"], letter["permanent"]) == ("ingest", False)
    assert letter["reason"] == "nobody foresaw this"
    assert base64.b64decode(letter["body"]) == body
    assert headers.items() <= letter["headers"].items()
    await eventually(client.backlog, lambda backlog: backlog.total == 0)
    assert len(log.failures) == 5


async def test_the_neighbours_of_poison_in_the_same_batch_are_digested_while_it_is_still_retried(
    client: MemoryClient, log: Log
) -> None:
    await client.publish(a_turn(PLUG))
    await client.publish_all(a_turn(text) for text in (*NEIGHBOURS[:20], POISON, *NEIGHBOURS[20:]))
    log.may_go_on.set()

    await digested(client, turns=len(NEIGHBOURS) + 1)
    assert await dead_letters(client) == []
    await eventually(lambda: dead_letters(client), lambda letters: len(letters) == 1)

    (first_failure, *_) = (at for at, (texts, failed, _) in enumerate(log.calls) if failed)
    assert set(log.calls[first_failure][0]) == {*NEIGHBOURS, POISON}, "they were not in the same batch"
    last_neighbour = max(map(log.logged_at, NEIGHBOURS))
    assert last_neighbour < log.failures[1], "a neighbour had to wait for a redelivery of the poison"
    assert (await client.status()).turns == len(NEIGHBOURS) + 1


def a_turn(text: str) -> Turn:
    return Turn(user_id="ann", role="user", text=text, turn_id=f"t-{text}")


async def dead_letters(client: MemoryClient) -> list[dict[str, Any]]:
    stream = subjects.DEAD_STREAM.name
    state = (await client.bus.js.stream_info(stream)).state
    if not state.messages:
        return []
    messages = [await client.bus.js.get_msg(stream, seq) for seq in range(state.first_seq, state.last_seq + 1)]
    return [json.loads(message.data or b"{}") for message in messages]
