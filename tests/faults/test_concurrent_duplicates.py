"""Many say the same at the same moment, and several replicas of dedupe decide: it is remembered once, and counted."""

from __future__ import annotations

import asyncio
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from contracts.errors import Unavailable
from contracts.v1.commands import StatusReply
from contracts.v1.entries import Entry
from contracts.v1.turns import Turn
from services.shared.client import MemoryClient, memory_client
from services.shared.dedup.canonical import read
from services.shared.dedup.similarity import same_statement
from services.shared.errors import RequestFailed
from tests.faults.replicas import Replicas, replicas, send
from tests.flow.checker import all_entries
from tests.flow.conftest import a_text_store
from tests.polling import eventually
from tests.servers.workers import Worker
from tests.sizes import sized

SEED = 20261
CONNECTIONS = 20
IN_FLIGHT = 16
REPLICAS = 4
WITHIN = 400.0
TIMES = 100
NEVER = {"MEMORYBUS_CURATE_RESUME_EVERY_SECONDS": "86400"}
"""Nothing is set going again from outside: what the replicas leave undecided stays so, and is seen."""

OPENINGS = ("", "Oh, ", "Well, ", "um ", "Hey... ")
CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper, str.title)
ENDS = ("", ".", "!", " ...", " !!")
THINGS = ("locker", "bicycle lock", "garden gate", "front door", "office safe")

pytestmark = pytest.mark.timeout(600)


def sentences(count: int) -> list[str]:
    """So many sentences that all state something else, though they differ in a word or a number only."""
    pairs = [(thing, number) for number in range(count // len(THINGS)) for thing in THINGS]
    return [f"My {thing} at work has the code {4000 + 7 * number}" for thing, number in pairs]


def variations(sentence: str) -> list[str]:
    """The sentence in other case, with other punctuation, with and without an interjection: a hundred ways."""
    return [opening + case(sentence) + end for opening, case, end in product(OPENINGS, CASES, ENDS)]


def shuffled_turns(user_id: str, said: Sequence[str]) -> list[Turn]:
    """Every sentence a hundred times, in an order that mixes all."""
    texts = [text for sentence in said for text in variations(sentence)]
    random.Random(SEED).shuffle(texts)
    return [Turn(user_id=user_id, role="user", text=text, turn_id=str(uuid4())) for text in texts]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is stored when nothing waits any more."""

    status: StatusReply
    dead_letters: int
    entries: Sequence[Entry]
    shares: Sequence[int]
    """How many proposals each replica of dedupe has judged."""


async def published_at_once(running: Replicas, turns: Sequence[Turn]) -> Outcome:
    """Publish from all connections at once, wait until all is decided, look."""
    user_id = turns[0].user_id
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(memory_client(running.nats)) for _ in range(CONNECTIONS)]
        async with asyncio.TaskGroup() as publishing:
            publishing.create_task(begin_together(dedupes(running), clients[0]))
            for number, client in enumerate(clients):
                publishing.create_task(client.publish_all(turns[number::CONNECTIONS], in_flight=IN_FLIGHT))
        status = await all_decided(clients[0], user_id, len(turns))
        dead_letters = (await clients[0].backlog()).dead_letters
        entries = await all_entries(clients[0], user_id)
        shares = [await judged_in(worker) for worker in dedupes(running)]
        return Outcome(status, dead_letters, entries, shares)


def dedupes(running: Replicas) -> list[Worker]:
    """The replicas of dedupe."""
    return [worker for worker in running.workers if worker.service == "dedupe"]


async def begin_together(workers: Sequence[Worker], client: MemoryClient) -> None:
    """Hold the replicas until each has work, so that all of them meet every sentence for the first time at once."""
    for worker in workers:
        send(worker, signal.SIGSTOP)
    try:
        await eventually(client.backlog, lambda backlog: backlog.by_consumer["dedupe"] >= 2 * len(workers))
    finally:
        for worker in workers:
            send(worker, signal.SIGCONT)


async def all_decided(client: MemoryClient, user_id: str, turns: int) -> StatusReply:
    """Wait until so many turns are logged and every one of them is decided; what is stored then."""

    async def look() -> StatusReply:
        await asyncio.sleep(0.2)  # counting must not be what the replicas are busy with
        try:
            return await client.status(user_id)
        except RequestFailed as error:  # replicas that have the processor to themselves do not answer in time
            raise Unavailable(str(error)) from error

    return await eventually(look, lambda s: s.turns >= turns and s.pending == 0, within=WITHIN)


async def judged_in(worker: Worker) -> int:
    """How many proposals a replica has judged, after its own metrics."""
    async with httpx.AsyncClient(verify=False) as http:
        text = (await http.get(f"{worker.http}/metrics")).text
    found = re.search(r'^memorybus_items_total\{stage="dedupe"\} (\S+)', text, re.MULTILINE)
    return int(float(found[1])) if found else 0


def check(outcome: Outcome, said: Sequence[str]) -> None:
    """One entry for each sentence, every further turn counted at its own entry, none lost, none refused."""
    turns = len(said) * TIMES
    status = outcome.status
    assert (status.turns, status.entries, status.merged, status.refused) == (turns, len(said), turns - len(said), 0)
    assert outcome.dead_letters == 0
    of_sentence = {read(text).normal: sentence for sentence in said for text in variations(sentence)}
    assert Counter(of_sentence[read(entry.text).normal] for entry in outcome.entries) == Counter(said)
    assert {entry.repeat_count for entry in outcome.entries} == {TIMES - 1}
    assert sum(entry.repeat_count for entry in outcome.entries) == status.merged
    assert min(outcome.shares) > 0


def services() -> list[str]:
    """All but dedupe in one process, and every replica of dedupe in one of its own."""
    return ["ingest,enrich,embed,retrieve,curate", *["dedupe"] * REPLICAS]


def test_the_sentences_state_different_things_and_their_variations_the_same() -> None:
    said = sentences(sized(100))
    assert len({text for sentence in said for text in variations(sentence)}) == len(said) * TIMES
    assert all(same_statement(sentence, text) for sentence in said for text in variations(sentence))
    assert not any(same_statement(a, b) for number, a in enumerate(said) for b in said[:number])


@pytest.mark.parametrize("store", ["sqlite", "opensearch"])
async def test_near_duplicates_at_once_become_one_entry_each(tmp_path: Path, store: str) -> None:
    said = sentences(sized(50))
    with a_text_store(store) as chosen:
        environment = NEVER | {f"MEMORYBUS_{name.upper()}": value for name, value in chosen.items()}
        async with replicas(tmp_path, services(), environment) as running:
            outcome = await published_at_once(running, shuffled_turns(f"u-{uuid4().hex}", said))
    print(f"\nseed {SEED}: judged by each replica {list(outcome.shares)}")
    check(outcome, said)
