"""`memorybus up` as a process: starts, stops, restarts, is killed, says what is wrong."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import UnusableStore
from contracts.v1.turns import Turn
from services.bench.process import up_process
from services.runtime import refuse_unshared_stores, running
from services.shared.app import check_not_emptied
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter
from services.shared.client import memory_client
from services.shared.instance import FolderLock, FolderUnusable, find_instance
from services.shared.settings import Settings, UnusableSetting
from tests.flow.conftest import bus_in, light
from tests.polling import digested, eventually
from tests.servers.forks import fork_command

LIGHT = ("--embedder", "none", "--ner", "none")


def turns(count: int, start: int = 0) -> list[Turn]:
    return [
        Turn(user_id=f"u{n % 3}", role="user", text=f"Number {n} is what I remember.", turn_id=f"t{n}")
        for n in range(start, start + count)
    ]


async def refused_start(data: Path, options: Sequence[str], log: Path, **environment: str) -> tuple[int, str]:
    command = ["up", "--data", str(data), *LIGHT, *options]
    process = await fork_command(command, log=log, environment={**environment, "COLUMNS": "400"})
    code = await asyncio.wait_for(process.wait(), 30)
    return code, await asyncio.to_thread(log.read_text)


async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, engine: dict[str, str]) -> None:
    async with up_process(tmp_path, LIGHT, environment=engine) as up, memory_client(up.nats) as client:
        await client.publish_all(turns(150))
        os.kill(up.pid, signal.SIGKILL)
    async with up_process(tmp_path, LIGHT, environment=engine) as up, memory_client(up.nats) as client:
        await client.publish_all(turns(50, start=150))
        await digested(client, turns=200)
        status = await client.status()
        backlog = await eventually(client.backlog, lambda waiting: waiting.total == 0)
    assert (status.turns, status.entries + status.merged, status.pending) == (200, 200, 0)
    assert backlog.dead_letters == 0


async def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    async with up_process(tmp_path, LIGHT) as up:
        assert find_instance(tmp_path).nats == up.nats
        code, said = await refused_start(tmp_path, ("--nats-port", "0", "--http-port", "0"), tmp_path / "second.log")
    assert code == 1
    assert f"in use by process {up.pid}" in said
    assert "--data" in said


async def test_a_folder_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.touch()
    folders = (file, file / "below", Path("/proc/memory"))
    starts = await asyncio.gather(
        *(refused_start(folder, ("--nats-port", "0"), tmp_path / f"{n}.log") for n, folder in enumerate(folders))
    )
    for folder, (code, said) in zip(folders, starts, strict=True):
        assert (code, said.count("\n")) == (1, 1)
        assert said.startswith(f"error: the data folder {folder} cannot be used: ")
        assert "--data" in said


async def test_a_misspelt_setting_is_named_without_its_value(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    wrong = {"MEMORYBUS_NATS_PASWORD": "walnut", "MEMORYBUS_OPENAI_BASE_ULR": "walnut"}
    _, said = await refused_start(tmp_path / "file", [], tmp_path / "log", **wrong)
    assert '"variable": "MEMORYBUS_OPENAI_BASE_ULR", "did_you_mean": "MEMORYBUS_OPENAI_BASE_URL"' in said
    assert '"variable": "MEMORYBUS_NATS_PASWORD", "did_you_mean": "MEMORYBUS_NATS_PASSWORD"' in said
    assert "walnut" not in said


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no right"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_a_folder_in_which_nothing_can_be_written_is_told_from_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("services.shared.instance.fcntl.flock", refuse)
    with pytest.raises(FolderUnusable, match=reason):
        FolderLock(tmp_path).acquire()


def test_a_file_that_was_emptied_beside_its_vectors_is_refused(tmp_path: Path) -> None:
    file, vectors = tmp_path / "memory.sqlite3", tmp_path / "vectors"
    file.touch()
    check_not_emptied(file, vectors)
    (vectors / "some").mkdir(parents=True)
    with pytest.raises(UnusableStore, match="is empty, but there are vectors"):
        check_not_emptied(file, vectors)
    file.write_bytes(b"SQLite")
    check_not_emptied(file, vectors)


def test_a_disk_without_room_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(FolderUnusable, match="the disk is full, or nearly: make room"):
        FolderLock(tmp_path).acquire(room=1 << 62)
    lock = FolderLock(tmp_path)
    lock.acquire(room=1)
    lock.release()


@pytest.fixture
async def taken_port() -> AsyncIterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


@pytest.mark.parametrize("which", ["nats", "http"])
async def test_a_taken_port_is_named_with_the_option_that_helps(tmp_path: Path, taken_port: int, which: str) -> None:
    ports = {"nats": "0", "http": "0", which: str(taken_port)}
    options = ("--nats-port", ports["nats"], "--http-port", ports["http"])
    code, said = await refused_start(tmp_path / "data", options, tmp_path / "log")
    assert code == 1
    assert str(taken_port) in said
    assert f"--{which}-port" in said
    assert "Traceback" not in said


async def test_one_service_alone_takes_its_part_of_the_work(tmp_path: Path) -> None:
    async with bus_in(tmp_path / "bus") as bus:
        shared = (*LIGHT, "--nats", bus.url, "--text-store", "sqlite")
        async with (
            up_process(tmp_path / "data", (*shared, "--only", "ingest,enrich,embed,curate")),
            up_process(tmp_path / "data", (*shared, "--only", "dedupe")),
            memory_client(bus.url) as client,
        ):
            await client.publish_all(turns(20))
            await digested(client, turns=20)
            status = await client.status()
    assert (status.turns, status.entries) == (20, 20)


async def test_one_service_of_many_is_refused_a_store_of_its_own(tmp_path: Path) -> None:
    options = ("--nats", "nats://127.0.0.1:1", "--only", "ingest")
    code, refusal = await refused_start(tmp_path / "data", options, tmp_path / "log")
    assert (code, "MEMORYBUS_TEXT_STORE=opensearch" in refusal, "Traceback" in refusal) == (1, True, False), refusal


@pytest.mark.parametrize(
    ("only", "named", "said"),
    [
        (("ingest", "dedupe", "enrich", "embed", "retrieve"), {}, "MEMORYBUS_TEXT_STORE=opensearch"),
        (("embed",), {"text_store": "opensearch", "embedder": "minilm"}, "MEMORYBUS_VECTOR_STORE=qdrant"),
    ],
)
def test_some_who_share_a_store_with_others_are_told_to_name_it(
    only: tuple[str, ...], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(UnusableSetting, match=said):
        refuse_unshared_stores(Settings(nats_url="nats://bus", **named), only)


@pytest.mark.parametrize(
    ("only", "named"),
    [
        ((), {}),
        (("gateway",), {}),
        (("ingest", "dedupe", "enrich", "embed", "retrieve", "curate"), {}),
        (("ingest",), {"text_store": "sqlite"}),
        (("embed",), {"text_store": "opensearch", "vector_store": "qdrant"}),
        (("curate",), {"text_store": "opensearch", "embedder": "none"}),
    ],
)
def test_who_shares_no_store_or_names_it_is_let_in(only: tuple[str, ...], named: dict[str, Any]) -> None:
    refuse_unshared_stores(Settings(nats_url="nats://bus", **named), only)


async def test_turns_that_went_into_another_store_are_in_the_dead_letters(tmp_path: Path) -> None:
    async with bus_in(tmp_path / "bus") as bus:
        given = {"nats_url": bus.url, "text_store": "sqlite"}
        here, elsewhere = (light(tmp_path / name, **given) for name in ("here", "elsewhere"))
        async with (
            running(here, ["dedupe", "enrich", "embed", "curate"]),
            running(elsewhere, ["ingest"]),
            memory_client(bus.url) as client,
        ):
            await client.publish(turns(1)[0])
            await eventually(client.backlog, lambda backlog: backlog.dead_letters == 1, within=60)
            (letter,) = [found async for found in DeadLetterQueue(client.bus).newest_first(LetterFilter())]
    assert "do all services use one text store?" in letter.reason
