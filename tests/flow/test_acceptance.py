"""What users were promised of a memory that is theirs: each promise by its name, by what anybody may ask over the bus.

One memorybus for each text store serves all of it; every test is a user of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio

from contracts import flow
from contracts.flow import Q, R
from contracts.v1.audit import AuditRequest
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import CreateRequest, EraseRequest, ForgetRequest, GetRequest, ListRequest
from contracts.v1.control import IncognitoEndRequest, IncognitoStartRequest, SettingsChange, SettingsRequest
from contracts.v1.edits import PinRequest
from contracts.v1.entries import Entry
from contracts.v1.overview import ExportRequest, SummaryRequest
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared import preferences
from services.shared.client import MemoryClient, RequestFailed, memory_client
from tests.flow.conftest import a_text_store, light
from tests.flow.test_incognito import drained
from tests.polling import PatientClient, eventually
from tests.servers.embeddings import embedding_server
from tests.servers.fickle import fickle

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True, slots=True)
class Person:
    """A user, and a connection by which they are served."""

    client: MemoryClient
    id: str
    metrics: str = ""

    async def request(self, answer: flow.Answer[Q, R], body: Q) -> R:
        return await self.client.request(answer, body, patience=30.0)

    async def says(self, text: str, **fields: Any) -> None:
        await self.client.publish(Turn.model_validate({"user_id": self.id, "role": "user", "text": text, **fields}))

    async def has(self, count: int) -> tuple[Entry, ...]:
        """Their entries, as soon as there are so many, and all are digested."""
        await eventually(lambda: self.client.status(self.id), lambda s: (s.entries, s.pending) == (count, 0))
        return (await self.client.list(ListRequest(user_id=self.id))).items

    async def saves(self, text: str, **fields: Any) -> Entry:
        request = CreateRequest.model_validate({"user_id": self.id, "text": text, **fields})
        return (await self.client.create(request)).entry

    async def asks(self, query: str, **fields: Any) -> RetrieveReply:
        request = RetrieveRequest.model_validate({"user_id": self.id, "query": query, **fields})
        return await self.client.retrieve(request)

    async def finds(self, query: str, **fields: Any) -> tuple[RetrievedItem, ...]:
        """What is found in the end: words may take a second."""
        return (await eventually(lambda: self.asks(query, **fields), lambda r: bool(r.items) and not r.degraded)).items

    async def commands(self, text: str, **fields: Any) -> CommandReply:
        request = CommandRequest.model_validate({"user_id": self.id, "text": text, **fields})
        return await self.request(flow.COMMANDS, request)

    async def decides(self, **change: Any) -> None:
        await self.client.settings(SettingsRequest(user_id=self.id, change=SettingsChange.model_validate(change)))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "opensearch"])
async def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model_cache: Path
) -> AsyncIterator[Person]:
    with a_text_store(request.param) as chosen, pytest.MonkeyPatch.context() as patched:
        # A store that is late is taken for one that is away, and what was decided a moment ago is not known then.
        patched.setattr(preferences, "_PATIENCE", 40.0)
        data = tmp_path_factory.mktemp("accepted") / "data"
        settings = light(data, **chosen, cache=model_cache, embedder="memorybus")
        async with running(settings) as up, memory_client(up.nats) as client:
            yield Person(PatientClient(client.nats), "nobody", f"{up.http}/metrics")


@pytest.fixture
def ann(served: Person) -> Person:
    return Person(served.client, f"ann-{uuid4().hex[:12]}", served.metrics)


async def test_users_can_view_what_is_remembered(ann: Person) -> None:
    await ann.says("I prefer uv over pip.", conversation_id="c1")
    (entry,) = await ann.has(1)
    assert (await ann.client.get(GetRequest(user_id=ann.id, id=entry.id))).entry.text == "I prefer uv over pip."
    summary = await ann.request(flow.SUMMARY, SummaryRequest(user_id=ann.id))
    assert "1 memory" in summary.text
    export = await ann.request(flow.EXPORT, ExportRequest(user_id=ann.id))
    assert any("I prefer uv over pip." in line for line in export.lines)
    (found,) = await ann.finds("which package manager?", min_score=0.0)
    assert (found.id, found.conversation_id) == (entry.id, "c1")


async def test_users_can_pin(ann: Person) -> None:
    """Pinned is told with every answer, whatever was asked, and listed as pinned, until it is unpinned."""
    entry, _ = await ann.saves("My blood type is AB."), await ann.saves("The train to Ghent leaves at nine.")
    pin = PinRequest(user_id=ann.id, id=entry.id)
    assert (await ann.request(flow.PIN, pin)).entry.importance == 1.0
    listed = await ann.client.list(ListRequest(user_id=ann.id, pinned=True))
    assert [one.id for one in listed.items] == [entry.id]
    assert "blood type" in (await ann.asks("when does the train leave?")).context
    await ann.request(flow.UNPIN, pin)
    assert (await ann.client.list(ListRequest(user_id=ann.id, pinned=True))).items == ()


async def test_users_can_forget_and_it_does_not_come_back_for_a_day(ann: Person) -> None:
    entry = await ann.saves("My locker has the code 4007.")
    receipt = (await ann.client.forget(ForgetRequest(user_id=ann.id, id=entry.id))).receipt
    assert (receipt.turns, set(receipt.left.values())) == (1, {0})
    with pytest.raises(RequestFailed, match="forgotten") as refused:
        await ann.saves("my locker has the code 4007")
    assert refused.value.info.code == "refused"
    assert (receipt.refused_until - receipt.forgotten_at).total_seconds() == 24 * 3600
    assert (await ann.asks("locker code", min_score=0.0)).items == ()


async def test_users_can_disable_memory(ann: Person) -> None:
    """Off, nothing is kept and nothing answered, though what there is stays; on again, both."""
    await ann.saves("I prefer uv over pip.")
    await ann.decides(memory_enabled=False)
    assert (await ann.asks("uv or pip?")).degraded == ("disabled",)
    await ann.says("My locker has the code 4007.")
    with pytest.raises(RequestFailed, match="memory is off"):
        await ann.saves("I keep bees.")
    await drained(ann.client)
    await ann.decides(memory_enabled=True)
    await ann.says("The train to Ghent leaves at nine.")
    assert {one.text for one in await ann.has(2)} == {"I prefer uv over pip.", "The train to Ghent leaves at nine."}
    assert await ann.finds("uv or pip?")


async def test_users_can_start_incognito_sessions(ann: Person) -> None:
    """Nothing of the conversation is kept or answered until it ends; other conversations go on."""
    await ann.client.start_incognito(IncognitoStartRequest(user_id=ann.id, conversation_id="secret"))
    await ann.says("My locker has the code 4007.", conversation_id="secret")
    await ann.says("I keep bees.", conversation_id="open")
    await ann.has(1)
    assert (await ann.asks("bees", asked_in="secret")).degraded == ("incognito",)
    assert await ann.finds("bees", asked_in="open")
    await ann.client.end_incognito(IncognitoEndRequest(user_id=ann.id, conversation_id="secret"))
    await ann.says("The train to Ghent leaves at nine.", conversation_id="secret")
    assert {one.text for one in await ann.has(2)} == {"I keep bees.", "The train to Ghent leaves at nine."}


@pytest.mark.parametrize("how", ["memory off", "incognito"])
async def test_a_user_who_wants_nothing_kept_is_not_remembered_again_for_being_erased(ann: Person, how: str) -> None:
    """An erase takes everything but this, which is known by a hash alone; it holds until the user decides otherwise."""
    await ann.saves("My locker has the code 4007.")
    if how == "incognito":
        await ann.client.start_incognito(IncognitoStartRequest(user_id=ann.id, conversation_id="c1"))
    else:
        await ann.decides(memory_enabled=False, soft_cap=9)
    await ann.client.erase(EraseRequest(user_id=ann.id))
    await ann.says("I keep bees.", conversation_id="c1")
    refused = "incognito" if how == "incognito" else "disabled"
    assert (await ann.asks("bees?", asked_in="c1")).degraded == (refused,)
    if how == "incognito":
        await ann.client.end_incognito(IncognitoEndRequest(user_id=ann.id, conversation_id="c1"))
    else:
        shown = await ann.client.settings(SettingsRequest(user_id=ann.id))
        assert shown.own.model_dump(exclude_none=True) == {"memory_enabled": False}
        await ann.decides(memory_enabled=True)
    await ann.says("The train to Ghent leaves at nine.", conversation_id="c1")
    assert [one.text for one in await ann.has(1)] == ["The train to Ghent leaves at nine."]


async def test_users_can_say_so_in_the_chat(ann: Person) -> None:
    """Asking what is remembered, pinning and forgetting "that", and switching memory off: said, confirmed, done."""
    await ann.says("I prefer uv over pip.", conversation_id="c1")
    (entry,) = await ann.has(1)
    await ann.finds("uv or pip?")
    told = await ann.commands("what do you remember about uv?", conversation_id="c1")
    assert [one.id for one in told.items] == [entry.id]
    assert (await ann.commands("pin this", conversation_id="c1")).verb == "pin"
    assert not (await ann.commands("don't forget that I prefer uv", conversation_id="c1")).understood
    announced = await ann.commands("forget that", conversation_id="c1")
    assert announced.needs_confirmation
    await ann.commands("forget that", conversation_id="c1", confirm=announced.token)
    assert (await ann.client.list(ListRequest(user_id=ann.id))).items == ()
    assert (await ann.commands("start incognito for this chat", conversation_id="c1")).understood
    assert (await ann.asks("uv?", asked_in="c1")).degraded == ("incognito",)
    assert (await ann.commands("turn memory off", conversation_id="c2")).understood
    assert (await ann.asks("uv?", asked_in="c2")).degraded == ("disabled",)


async def test_what_users_do_is_auditable_and_counted(ann: Person) -> None:
    """Each action is told once, without a word of what it is about, and counted; an erase leaves that there was one."""
    entry = await ann.saves("My locker has the code 4007.")
    await ann.request(flow.PIN, PinRequest(user_id=ann.id, id=entry.id))
    await ann.asks("the locker")
    await ann.decides(memory_enabled=False)
    await ann.client.start_incognito(IncognitoStartRequest(user_id=ann.id, conversation_id="c1"))
    await ann.client.forget(ForgetRequest(user_id=ann.id, id=entry.id))
    page = await eventually(lambda: ann.client.audit(AuditRequest(user_id=ann.id)), lambda page: len(page.items) >= 6)
    assert [one.verb for one in page.items][::-1] == [
        "entries.create", "entries.pin", "retrieve", "memory.settings", "memory.incognito-start", "entries.forget",
    ]  # fmt: skip
    assert "locker" not in page.model_dump_json()
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        counted = (await http.get(ann.metrics)).text
    for action in ("entries.pin", "memory.off", "memory.incognito-start", "entries.forget"):
        assert f'memorybus_user_actions_total{{action="{action}",outcome="ok"}}' in counted
    await ann.client.erase(EraseRequest(user_id=ann.id))
    after = await ann.client.audit(AuditRequest(user_id=ann.id))
    assert (after.items, after.erased_at is not None) == ((), True)


async def test_near_duplicates_become_one_memory_that_counts_for_more(ann: Person) -> None:
    await ann.says("I drink my tea without sugar.")
    (once,) = await ann.has(1)
    for text in ("i drink my tea without sugar", "Well, I drink my tea without sugar!"):
        await ann.says(text)
    await eventually(lambda: ann.client.status(ann.id), lambda status: status.turns == 3 and status.pending == 0)
    (entry,) = await ann.has(1)
    assert entry.repeat_count == 2
    assert entry.importance > once.importance


async def test_nothing_waits_for_its_embedding_under_normal_load(ann: Person) -> None:
    things = ("umbrella", "kettle", "ladder", "violin", "lantern", "compass", "drill", "globe")
    for number, thing in enumerate(things):
        await ann.says(f"My {thing} is on shelf {number} in the cellar.")
    entries = await ann.has(len(things))
    assert {entry.embedding_state for entry in entries} == {"ready"}
    assert any(item.signals.semantic for item in await ann.finds("where do I keep the musical instrument?"))


async def test_retrieval_is_useful_while_embeddings_are_unavailable_and_they_are_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both searches answer together; by words alone while no vectors can be made; what waited is made up for."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with embedding_server() as model:
        port = int(model.url.split(":")[2].split("/")[0])
        async with fickle("well", ("127.0.0.1", port)) as server:
            embedder = {"embedder": "http", "embedder_url": f"http://{server.netloc}/v1", "embedder_model": "small"}
            async with running(light(tmp_path / "data", **embedder)) as up, memory_client(up.nats) as client:
                ann = Person(PatientClient(client.nats), "ann")
                await ann.says("My violin is in the attic.")
                await ann.has(1)
                (both,) = await ann.finds("violin attic")
                assert (both.signals.lexical, both.signals.semantic) == (True, True)
                await server.become("away")
                await ann.says("My ladder is in the garage.")
                found = await eventually(lambda: ann.asks("ladder garage"), lambda reply: bool(reply.items))
                assert found.degraded == ("semantic",)
                assert (found.items[0].text, found.items[0].embedding_state) == (
                    "My ladder is in the garage.",
                    "pending",
                )
                await server.become("well")
                assert {entry.embedding_state for entry in await ann.has(2)} == {"ready"}


async def test_relevance_recency_and_importance_choose_by_weights_that_can_be_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The total is their weighted sum, and other weights make another order."""
    settings = light(tmp_path / "data")
    first = {}
    for weighed, (alpha, gamma) in {"relevance": ("1", "0"), "importance": ("0", "1")}.items():
        monkeypatch.setenv("MEMORYBUS_RETRIEVE_ALPHA", alpha)
        monkeypatch.setenv("MEMORYBUS_RETRIEVE_BETA", "0.01")
        monkeypatch.setenv("MEMORYBUS_RETRIEVE_GAMMA", gamma)
        async with running(settings) as up, memory_client(up.nats) as client:
            ann = Person(PatientClient(client.nats), "ann")
            if weighed == "relevance":
                await ann.saves("The ladder leans at the garage door.", manually_saved=False)
                saved = await ann.saves("Remember the ladder course, a ladder is always to be kept dry.")
                await ann.request(flow.PIN, PinRequest(user_id="ann", id=saved.id))
                await ann.has(2)
            items = await ann.finds("ladder garage door", min_score=0.0)
            first[weighed] = items[0].text
            for item in items:
                scores = item.scores
                total = float(alpha) * scores.relevance + 0.01 * scores.recency + float(gamma) * scores.importance
                assert scores.total == pytest.approx(total)
    assert first["relevance"].startswith("The ladder leans")
    assert first["importance"].startswith("Remember the ladder")
