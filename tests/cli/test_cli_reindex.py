"""`memorybus reindex` where nothing runs: by any model, gone on with after a kill, refused where it must be."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from contracts.ports import EmbeddingIdentity, TextStore, Unavailable
from services.cli import reindex
from services.shared.commands.reindexing import rebuild
from services.shared.instance import FolderLock, Instance
from services.shared.settings import Settings
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.vectors.folders import VectorFolders
from tests.polling import eventually
from tests.servers.embeddings import MODELS, EmbeddingServer, embedding_server, word
from tests.sizes import LONG
from tests.stores.builders import an_entry, store_entries

FEW, PAGE, MANY = 40, 256, 400  # of entries: some, what is read at once, and more


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with embedding_server() as started:
        yield started


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setenv("COLUMNS", "200")
    app = typer.Typer(rich_markup_mode="rich")
    app.command(epilog=reindex.EPILOG)(reindex.reindex)
    return app


@asynccontextmanager
async def text_store(settings: Settings) -> AsyncIterator[TextStore]:
    store = await SqliteTextStore.open(settings.sqlite_path, synchronous="normal")
    yield store
    await store.close()


async def filled(folder: Path, server: EmbeddingServer, count: int = FEW) -> Settings:
    settings = Settings(data=folder, embedder="http", embedder_url=server.url, embedder_model="small")
    async with text_store(settings) as store:
        await store_entries(store, [an_entry("ann", f"About {word('alpha', n)}") for n in range(count)])
    return settings


async def recorded_in(settings: Settings) -> EmbeddingIdentity | None:
    async with text_store(settings) as store:
        return await store.get_embedding_identity()


async def check(settings: Settings, model: str, generation: int) -> None:
    """Every entry, and nothing else, has a vector of this model, in the only place that is left."""
    async with text_store(settings) as store:
        recorded = await store.get_embedding_identity()
        entries = await store.scan(after="", limit=2 * MANY)
    assert recorded == EmbeddingIdentity("http", model, MODELS[model])
    assert recorded
    assert recorded.generation == generation
    place = VectorFolders(settings.vectors_path).of(recorded)
    assert os.listdir(settings.vectors_path) == [place.name]
    vectors = await EdgeVectorStore.open(place, dimensions=MODELS[model])
    assert [key.id for key in await vectors.scan(after="", limit=2 * MANY)] == [e.id for e in entries]
    await vectors.close()
    assert {(entry.embedding_state, entry.embedding_model) for entry in entries} == {("ready", model)}


async def test_vectors_are_made_by_one_model_then_by_another_then_again(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    settings = await filled(tmp_path, server)
    assert await rebuild(settings) == FEW
    await check(settings, "small", 1)
    assert await rebuild(settings.model_copy(update={"embedder_model": "large"})) == FEW
    await check(settings, "large", 2)
    assert await rebuild(Settings(data=tmp_path)) == FEW  # nothing named: the same model again
    await check(settings, "large", 3)
    assert len(server.embedded["large"]) == 2 * FEW + 2  # and one to learn the dimensions, each time


@asynccontextmanager
async def reindexing(settings: Settings) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command in a process of its own, killed in the end."""
    options = ["--data", str(settings.data), "--embedder", "http", "--embedder-url", settings.embedder_url]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.cli", "reindex", *options, "--embedder-model", "large"),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@contextmanager
def held(server: EmbeddingServer, after: int) -> Iterator[Event]:
    """Answer no request to the other model from so many texts on, until the block ends; set once one waits."""
    reached, go_on, answer = Event(), Event(), server.answer

    def answered(model: str, texts: list[str], key: str | None) -> tuple[int, Any]:
        if model == "large" and len(server.embedded[model]) > after:
            reached.set()
            go_on.wait()
        return answer(model, texts, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "answer", answered)
        try:
            yield reached
        finally:
            go_on.set()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("after", [1, 300] if LONG else [300])
async def test_killed_at_any_time_it_goes_on_where_it_was(tmp_path: Path, server: EmbeddingServer, after: int) -> None:
    async def kill(process: asyncio.subprocess.Process) -> None:
        process.send_signal(signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL

    settings = await filled(tmp_path, server, MANY)
    await rebuild(settings)
    with held(server, after) as reached:
        async with reindexing(settings) as process:
            assert await asyncio.to_thread(reached.wait, 90)
            await kill(process)
    made = len(server.embedded["large"])
    async with reindexing(settings) as process:
        await eventually(lambda: recorded_in(settings), lambda it: it is not None and it.model == "large", within=90)
        await kill(process)  # the change is made, and not everything that follows from it
    again = len(server.embedded["large"]) - made
    assert again <= MANY + 1 - after // PAGE * PAGE + 32, "no page that was made is made again; a request was under way"
    await rebuild(settings.model_copy(update={"embedder_model": "large"}))
    await check(settings, "large", 3)


async def test_a_command_that_was_overtaken_does_not_switch_back(tmp_path: Path, server: EmbeddingServer) -> None:
    settings = await filled(tmp_path, server)
    await rebuild(settings)
    faster = EmbeddingIdentity("http", "other", 48, generation=2)
    with held(server, 1) as reached:  # one text is embedded to learn the dimensions
        making = asyncio.create_task(rebuild(settings.model_copy(update={"embedder_model": "large"})))
        assert await asyncio.to_thread(reached.wait, 60)
        async with text_store(settings) as store:
            await store.set_embedding_identity(faster)
    with pytest.raises(Unavailable, match="another `memorybus reindex` was faster"):
        await making
    assert await recorded_in(settings) == faster


async def test_the_next_start_still_sees_that_a_process_died(tmp_path: Path, server: EmbeddingServer) -> None:
    settings = await filled(tmp_path, server)
    died = FolderLock(tmp_path)
    died.acquire()
    died.announce(Instance(pid=1, nats="nats://127.0.0.1:1", http="http://127.0.0.1:1"))
    assert died._file is not None
    died._file.close()
    await rebuild(settings)
    following = FolderLock(tmp_path)
    following.acquire()
    assert not following.was_clean
    following.release()


async def test_former_plain_vectors_are_replaced(tmp_path: Path, server: EmbeddingServer) -> None:
    settings = await filled(tmp_path, server)
    folder = settings.vectors_path
    (folder / "segments").mkdir(parents=True)
    (folder / "edge_config.json").write_text('{"vectors": {"turn": {"size": 48}}}')
    async with text_store(settings) as store:
        await store.set_embedding_identity(EmbeddingIdentity("http", "small", 48))
    await rebuild(settings)
    await check(settings, "small", 1)


async def test_a_text_that_the_model_refuses_does_not_hold_up_the_others(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    settings = await filled(tmp_path, server)
    server.refuses = word("alpha", 37)
    assert await rebuild(settings) < FEW
    async with text_store(settings) as store:
        refused = [e for e in await store.scan(after="", limit=MANY) if e.embedding_state != "ready"]
    assert {entry.embedding_state for entry in refused} == {"pending"}  # nobody has asked for these before
    assert {server.refuses in entry.text for entry in refused} == {True}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "there is no memory in"),
        (["--embedder", "none"], "nothing to index without an embedder"),
        (["--vector-store", "none"], "nothing to index without an embedder"),
        (["--embedder", "http", "--embedder-url", "http://me:pw@x/v1"], "MEMORYBUS_EMBEDDER_API_KEY"),
        (["--embedder", "nonsense"], "embedder (MEMORYBUS_EMBEDDER): Input should be"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said_in_one_line(
    app: typer.Typer, tmp_path: Path, options: list[str], words: str
) -> None:
    if "http" in options:
        (tmp_path / "memory.sqlite3").touch()
    result = CliRunner().invoke(app, ["--data", str(tmp_path), *options])
    assert result.exit_code == 1
    assert words in result.output.replace("\n", " ")
    assert "pw@" not in result.output


async def test_the_command_gives_way_to_a_running_memorybus_and_says_how_many_were_made(
    app: typer.Typer, tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_way: list[int] = []
    monkeypatch.setattr(os, "nice", given_way.append)
    settings = await filled(tmp_path, server)
    options = ["--embedder", "http", "--embedder-url", server.url, "--embedder-model", "small"]
    result = await asyncio.to_thread(CliRunner().invoke, app, ["--data", str(settings.data), *options])
    assert result.exit_code == 0, result.output
    assert f"{FEW} vectors made anew and in use" in result.output
    assert given_way[0] == 10
    assert set(given_way) == {10}  # threads that read do so, too
    await check(settings, "small", 1)
