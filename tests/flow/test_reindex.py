"""All vectors are made anew while memory answers, also by another model and in other dimensions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient

from contracts.ports import Key, Unavailable
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.cli import reindex
from services.runtime import Running, running
from services.shared.app import IdentityMismatch
from services.shared.client import MemoryClient, memory_client
from services.shared.commands import reindexing
from services.shared.commands.reindexing import rebuild
from services.shared.settings import Settings
from services.shared.vectors import watcher
from services.shared.vectors.folders import VectorFolders
from tests.flow.conftest import light, typed
from tests.flow.raw import contents
from tests.polling import digested, eventually
from tests.servers.embeddings import MODELS, EmbeddingServer, embedding_server, word
from tests.servers.qdrant import standin

ENTRIES = 60


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with embedding_server() as started:
        yield started


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "LOOK_EVERY", 0.2)
    monkeypatch.setenv("MEMORYBUS_RETRIEVE_LEG_TIMEOUT_SECONDS", "20")  # what is asked for is right, not fast


@pytest.fixture
def settings(tmp_path: Path, server: EmbeddingServer) -> Settings:
    return chosen(tmp_path, server, "small")


def chosen(folder: Path, server: EmbeddingServer, model: str) -> Settings:
    return light(folder / "data", embedder="http", embedder_url=server.url, embedder_model=model)


@asynccontextmanager
async def remembering(settings: Settings) -> AsyncIterator[tuple[Running, MemoryClient]]:
    async with running(settings) as up, memory_client(up.nats) as client:
        yield up, client


async def tell(client: MemoryClient, first: int, last: int) -> None:
    """Publish statements, each about another thing."""
    await client.publish_all(
        Turn(user_id="ann", role="user", text=f"We spoke of {word('alpha', n)}.", conversation_id=f"c{n}")
        for n in range(first, last)
    )


@dataclass
class Questions:
    """Asks for one statement after the other, by a word that only a model knows to mean the same."""

    client: MemoryClient
    statements: int = ENTRIES
    answered: int = 0
    wrong: list[str] = field(default_factory=list)

    async def ask(self, number: int) -> None:
        query = f"{word('omega', number)}"
        request = RetrieveRequest(user_id="ann", query=query, limit=3, min_score=0.0)
        reply = await self.client.retrieve(request, patience=20.0)
        wanted = f"We spoke of {word('alpha', number)}."
        if reply.degraded or not reply.items or reply.items[0].text != wanted or not reply.items[0].signals.semantic:
            self.wrong.append(f"{query}: {reply.degraded} {[item.text for item in reply.items]}")
        self.answered += 1

    @asynccontextmanager
    async def all_the_time(self) -> AsyncIterator[None]:
        """Ask without a pause, in four lanes, as long as the block takes."""
        going_on = True

        async def lane(number: int) -> None:
            while going_on:
                number = (number + 7) % self.statements
                await self.ask(number)

        async with asyncio.TaskGroup() as lanes:
            for start in range(4):
                lanes.create_task(lane(start))
            try:
                yield
            finally:
                going_on = False


async def in_use(up: Running) -> str:
    embedder = await up.host.embedder()
    assert embedder is not None
    return embedder.identity.model


@pytest.mark.parametrize("model", ["large", "other", "small"])
async def test_memory_answers_right_before_during_and_after_the_change_to_another_model_and_nothing_else_is_left(
    settings: Settings, server: EmbeddingServer, model: str
) -> None:
    async with remembering(settings) as (up, client):
        await tell(client, 0, ENTRIES)
        await digested(client, turns=ENTRIES)
        server.pause = 0.01
        questions = Questions(client)
        async with questions.all_the_time():
            await eventually(lambda: asyncio.sleep(0, questions.answered), lambda answered: answered > 20)
            making = asyncio.create_task(rebuild(chosen(settings.data.parent, server, model)))
            await tell(client, ENTRIES, ENTRIES + 20)
            await making
            answered = questions.answered
            await eventually(lambda: asyncio.sleep(0, questions.answered), lambda now: now > answered + 20)
        await digested(client, turns=ENTRIES + 20)
        for number in range(ENTRIES, ENTRIES + 20):  # said meanwhile
            await questions.ask(number)
        assert questions.wrong == []
        assert await in_use(up) == model
        status = await client.status()
        assert (status.entries, status.vectors, status.pending) == (ENTRIES + 20, ENTRIES + 20, 0)
        entries = await (await up.host.text_store()).scan(after="", limit=ENTRIES + 20)
        labels = {(entry.embedding_state, entry.embedding_model, entry.embedding_dimensions) for entry in entries}
        assert labels == {("ready", model, MODELS[model])}
        assert len(await asyncio.to_thread(lambda: list(settings.vectors_path.iterdir()))) == 1


async def test_on_a_qdrant_server_the_former_collection_goes_once_all_have_changed_over(
    settings: Settings, server: EmbeddingServer, tmp_path: Path
) -> None:
    with standin(tmp_path / "qdrant") as qdrant:
        on_server = {"vector_store": "qdrant", "qdrant_url": qdrant.url, "qdrant_grpc_port": qdrant.grpc_port}
        settings = settings.model_copy(update=on_server)
        async with remembering(settings) as (up, client):
            await tell(client, 0, 40)
            await digested(client, turns=40)
            questions = Questions(client, statements=40)
            async with questions.all_the_time():
                large = settings.model_copy(update={"embedder_model": "large"})
                making = asyncio.create_task(rebuild(large, grace=2.0))
                await tell(client, 40, 50)
                assert await making == 50
            await digested(client, turns=50)
            for number in range(40, 50):
                await questions.ask(number)
            assert questions.wrong == []
            assert await in_use(up) == "large"
        admin = AsyncQdrantClient(url=qdrant.url, check_compatibility=False)
        (collection,) = (await admin.get_collections()).collections
        (alias,) = (await admin.get_aliases()).aliases
        assert (alias.alias_name, alias.collection_name) == ("memorybus", collection.name)
        assert collection.name.startswith("memorybus.large.96.")
        assert collection.name.endswith(".g1")
        await admin.close()


async def test_what_is_forgotten_meanwhile_is_not_brought_back(settings: Settings, server: EmbeddingServer) -> None:
    async with remembering(settings) as (up, client):
        await tell(client, 0, 30)
        await digested(client, turns=30)
        text, vectors = await up.host.text_store(), await up.host.vector_store()
        assert vectors is not None
        gone = (await text.scan(after="", limit=5))[4]
        server.pause = 0.2
        making = asyncio.create_task(rebuild(chosen(settings.data.parent, server, "large")))
        await eventually(lambda: asyncio.sleep(0, server.embedded["large"]), lambda texts: gone.text in texts)
        await text.forget([gone], until=None)
        await vectors.remove([gone.id])
        await making
        assert gone.id not in {key.id for key in await vectors.scan(after="", limit=100)}
        assert await vectors.count() == 29


async def test_the_next_start_uses_the_recorded_model_unless_the_settings_name_another(
    settings: Settings, server: EmbeddingServer
) -> None:
    async with remembering(settings) as (_, client):
        await tell(client, 0, 10)
        await digested(client, turns=10)
    await rebuild(chosen(settings.data.parent, server, "large"))
    with pytest.raises(IdentityMismatch, match=r"MEMORYBUS_EMBEDDER=http .*MEMORYBUS_EMBEDDER_MODEL=large"):
        async with remembering(settings):
            pass
    unnamed = Settings(data=settings.data, nats_port=0, http_port=0, ner="none", log_level="error")
    async with remembering(unnamed) as (up, client):
        assert await in_use(up) == "large"
        questions = Questions(client, statements=10)
        await questions.ask(3)
        assert questions.wrong == []


async def test_a_process_without_the_key_goes_on_with_the_former_model(
    settings: Settings, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reindexing, "PATIENCE", 2.0)
    with embedding_server() as other:
        other.key = "s3cret"
        async with remembering(settings) as (up, client):
            await tell(client, 0, 10)
            await digested(client, turns=10)
            monkeypatch.setenv("MEMORYBUS_EMBEDDER_API_KEY", "s3cret")
            with pytest.raises(Unavailable, match="its log says why"):
                await rebuild(chosen(settings.data.parent, other, "large"))
            assert "MEMORYBUS_EMBEDDER_API_KEY" in caplog.records[-1].__dict__["reason"]
            assert await in_use(up) == "small"
            questions = Questions(client, statements=10)
            async with questions.all_the_time():
                await tell(client, 10, 20)
                await digested(client, turns=20)
            assert questions.wrong == []
        async with remembering(chosen(settings.data.parent, other, "large")) as (up, client):
            assert await in_use(up) == "large"
            text, vectors = await up.host.text_store(), await up.host.vector_store()
            assert vectors is not None
            keys = [Key(entry.user_id, entry.id) for entry in await text.scan(after="", limit=100)]
            await eventually(lambda: vectors.scan(after="", limit=100), lambda held: held == keys)
    written = b"".join(data for _, data in contents(settings.data))
    assert b"s3cret" not in written


async def test_what_a_process_left_undone_after_the_change_is_done_by_the_next(
    settings: Settings, server: EmbeddingServer
) -> None:
    async with remembering(settings) as (_, client):
        await tell(client, 0, 10)
        await digested(client, turns=10)
    await rebuild(chosen(settings.data.parent, server, "large"))
    folders = VectorFolders(settings.vectors_path)
    async with remembering(chosen(settings.data.parent, server, "large")) as (up, _):
        text, vectors = await up.host.text_store(), await up.host.vector_store()
        assert vectors is not None
        recorded = await text.get_embedding_identity()
        assert recorded is not None
        entries = await text.scan(after="", limit=3)
        await vectors.remove([entry.id for entry in entries])  # as embedded by the former model at the last moment
    former = settings.vectors_path / "x.48.0123456789.g0"
    await asyncio.to_thread(former.mkdir)
    assert folders.former(recorded) == [former]
    async with remembering(chosen(settings.data.parent, server, "large")) as (up, _):
        vectors = await up.host.vector_store()
        assert vectors is not None
        await eventually(vectors.count, lambda count: count == 10)
        await eventually(lambda: asyncio.to_thread(folders.former, recorded), lambda left: left == [])


async def test_the_memorybus_on_a_bus_is_asked_first_and_waited_for_at_the_end(
    settings: Settings, tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "nice", lambda _: None)
    large = ("--embedder", "http", "--embedder-url", server.url, "--embedder-model", "large")
    again = partial(typed, reindex.reindex, "--data", settings.data, *large, "--nats")

    async with remembering(settings) as (up, client):
        await tell(client, 0, 20)
        await digested(client, turns=20)
        elsewhere = await again("nats://ann:s3cret@127.0.0.1:1")
        done = await again(up.nats)
    assert elsewhere.exit_code == 1
    assert "no bus answers at" in elsewhere.output
    assert "s3cret" not in elsewhere.output
    assert done.exit_code == 0, done.output
    assert "20 vectors made anew and in use" in done.output
