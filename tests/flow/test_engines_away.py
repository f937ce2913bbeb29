"""OpenSearch or Qdrant stopped, killed, hanging, read-only: nothing is lost, and recovery needs no hand.

One memorybus serves all of it; every test is a user of its own. OpenSearch is the one that all tests share, behind a
server that goes away or hangs in its place; a long run kills one of its own, too.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio

from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import Running, running
from services.shared import health
from services.shared.client import MemoryClient, memory_client
from services.shared.stores.opensearch import transport
from tests.flow.checker import check
from tests.flow.conftest import light
from tests.polling import eventually
from tests.servers import opensearch
from tests.servers.fickle import Fickle, fickle
from tests.servers.opensearch import OpenSearchNode, opensearch_node
from tests.servers.qdrant import StandIn, standin
from tests.sizes import LONG
from tests.stores.opensearch_openers import a_prefix

pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]
WAYS = ("hanging", "away", "killed") if LONG else ("hanging", "away")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearchNode | None]:
    """A server to kill, in a long run."""
    if not LONG:
        yield None
        return
    if lacking := opensearch.missing():
        pytest.skip(f"no OpenSearch to kill: {lacking}")
    with opensearch_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    with standin(tmp_path_factory.mktemp("qdrant")) as started:
        yield started


@pytest.fixture(scope="module")
def prefix(node: OpenSearchNode | None) -> Iterator[tuple[str, str]]:
    """The address of OpenSearch, and what the names of our indices begin with."""
    url, whence = (node.url, "") if node else opensearch.server_url()
    if url is None:
        pytest.skip(whence)
    with a_prefix(url) as prefix:
        yield url, prefix


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def between(prefix: tuple[str, str]) -> AsyncIterator[Fickle]:
    """What memorybus takes for OpenSearch."""
    address = urlsplit(prefix[0])
    async with fickle("well", (str(address.hostname), int(address.port or 80))) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def instance(
    between: Fickle,
    prefix: tuple[str, str],
    qdrant: StandIn,
    model_cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Running]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NO_PROXY", "127.0.0.1")
        patched.setenv("MEMORYBUS_RETRIEVE_LEG_TIMEOUT_SECONDS", "0.5")
        for patience in ("_LOOK_EVERY", "_STORE_PATIENCE"):
            patched.setattr(health, patience, 1.0)
        given = {
            "text_store": "opensearch", "opensearch_url": f"http://{between.netloc}", "opensearch_prefix": prefix[1],
            "vector_store": "qdrant", "qdrant_url": qdrant.url, "qdrant_grpc_port": qdrant.grpc_port,
        }  # fmt: skip
        data = tmp_path_factory.mktemp("data")
        async with running(light(data, **given, embedder="memorybus", cache=model_cache)) as up:
            yield up


@dataclass(frozen=True, slots=True)
class Person:
    """A user, and the memorybus that serves them."""

    client: MemoryClient
    instance: Running
    id: str

    async def says(self, first: int, last: int) -> list[Turn]:
        texts = {n: f"Number {n} is what I keep in the cellar." for n in range(first, last)}
        said = [Turn(user_id=self.id, role="user", text=text, turn_id=f"t{n}") for n, text in texts.items()]
        await self.client.publish_all(said)
        return said

    async def asks(self) -> RetrieveReply:
        asked = RetrieveRequest(user_id=self.id, query="what is in the cellar", min_score=0.0)
        return await self.client.retrieve(asked, patience=5)

    async def is_digested(self, turns: int) -> None:
        await eventually(
            lambda: self.client.status(self.id, patience=20.0), lambda s: (s.turns, s.pending) == (turns, 0), within=90
        )

    async def problems(self) -> list[str]:
        return await problems(self.instance)

    async def is_well_again(self, said: list[Turn]) -> None:
        await self.is_digested(len(said))
        verdict = await check(self.client, said)
        assert (verdict.lost, verdict.duplicated, verdict.without_vector) == (0, 0, 0)
        assert (await eventually(self.asks, lambda reply: reply.degraded == (), within=30)).items
        assert await eventually(self.problems, lambda found: not found, within=30) == []


async def problems(instance: Running) -> list[str]:
    async with httpx.AsyncClient(verify=False) as http:
        answer = (await http.get(f"{instance.http}/readyz")).json()
    return list(answer["problems"])


def waits(stage: str) -> Callable[[list[str]], bool]:
    """Whether a stage has tried in vain for as long as it does within one attempt."""
    return lambda found: any(stage in problem for problem in found)


@pytest_asyncio.fixture(loop_scope="module")
async def ann(instance: Running) -> AsyncIterator[Person]:
    async with memory_client(instance.nats) as client:
        yield Person(client, instance, f"ann-{uuid4().hex[:12]}")


@pytest.mark.parametrize("way", WAYS)
async def test_while_opensearch_is_away_turns_wait_and_meaning_answers(
    ann: Person, between: Fickle, node: OpenSearchNode | None, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await ann.says(0, 20)
    await ann.is_digested(20)
    monkeypatch.setattr(transport, "TIMEOUT", 5.0)  # seconds in place of thirty
    if node is not None and way == "killed":
        await asyncio.to_thread(node.kill)
    await between.become("hanging" if way == "hanging" else "away")
    try:
        meanwhile = await ann.says(20, 60)
        reply = await ann.asks()
        assert reply.degraded == ("lexical",)
        assert "cellar" in reply.context
        await eventually(ann.problems, waits("ingest"))
    finally:
        if node is not None and way == "killed":
            await asyncio.to_thread(node.start)
        await between.become("well")
    await ann.is_well_again(before + meanwhile)


async def test_who_has_no_work_notices_too_that_the_stores_are_away(
    instance: Running, between: Fickle, qdrant: StandIn
) -> None:
    await eventually(lambda: problems(instance), lambda found: not found)
    await between.become("hanging")
    qdrant.kill()
    try:
        found = await eventually(lambda: problems(instance), lambda found: len(found) == 2, within=30)
        assert sorted(problem.partition(":")[0] for problem in found) == ["text store", "vector store"]
    finally:
        await between.become("well")
        await asyncio.to_thread(qdrant.start)
    assert await eventually(lambda: problems(instance), lambda found: not found, within=60) == []


async def test_while_opensearch_takes_no_writes_turns_wait_and_it_still_answers(
    ann: Person, prefix: tuple[str, str]
) -> None:
    before = await ann.says(0, 20)
    await ann.is_digested(20)
    block(*prefix, read_only=True)
    try:
        meanwhile = await ann.says(20, 40)
        await eventually(ann.asks, lambda reply: reply.degraded == ())
        await eventually(ann.problems, waits("ingest"))
    finally:
        block(*prefix, read_only=None)
    await ann.is_well_again(before + meanwhile)


@pytest.mark.parametrize("way", ["killed", "hanging"] if LONG else ["killed"])
async def test_while_qdrant_is_away_only_vectors_wait_and_words_answer(ann: Person, qdrant: StandIn, way: str) -> None:
    before = await ann.says(0, 20)
    await ann.is_digested(20)
    qdrant.kill() if way == "killed" else qdrant.pause()
    try:
        meanwhile = await ann.says(20, 40)
        await eventually(lambda: ann.client.status(ann.id), lambda status: status.entries == 40)
        reply = await eventually(ann.asks, lambda found: found.total_count >= 40)
        assert reply.degraded == ("semantic",)
        found = await eventually(ann.problems, waits("embed"), within=60)
        assert all("embed" in problem or "vector store" in problem for problem in found)
        status = await ann.client.status(ann.id)
        assert (status.turns, status.entries, status.degraded) == (40, 40, ("semantic",))
    finally:
        await asyncio.to_thread(qdrant.start) if way == "killed" else qdrant.resume()
    await ann.is_well_again(before + meanwhile)


def block(url: str, prefix: str, *, read_only: bool | None) -> None:
    """What a disk that runs full makes OpenSearch do to its indices."""
    body = json.dumps({"index.blocks.read_only_allow_delete": read_only}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/{prefix}-*/_settings", data=body, headers=headers, method="PUT")
    urllib.request.urlopen(request, timeout=30).close()
