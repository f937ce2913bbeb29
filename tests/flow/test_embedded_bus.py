"""The bus of one process lets in who can read its folder, and nobody else; and it works in a folder of any name."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import nats
import pytest

from contracts.ports import Unavailable
from services.bench.process import up_process
from services.shared.bus import server
from services.shared.bus.connection import connect
from services.shared.bus.server import free_port
from services.shared.client import memory_client
from services.shared.instance import FolderLock, Instance, NotRunning, find_instance
from tests.flow.conftest import bus_in
from tests.polling import digested, eventually

LIGHT = ("--embedder", "none", "--ner", "none")
TURN = {"user_id": "ann", "role": "user", "text": "I prefer uv over pip"}
ODD_NAMES = ("José", "two  words", 'it\'s "quoted"', "back\\slash\\n", "# no {comment} $HOME %s ; [x]", "日本語 🗄️")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def is_for_others(path: Path) -> bool:
    """Whether anybody but its owner may use a file; one that the bus has dropped meanwhile is nobody's."""
    with suppress(FileNotFoundError):
        return bool(mode(path) & 0o077)
    return False


def without_user(url: str) -> str:
    parts = urlsplit(url)
    return f"nats://{parts.hostname}:{parts.port}"


def password(url: str) -> str:
    found = urlsplit(url).password
    assert found is not None
    assert len(found) >= 32
    return found


async def published(url: str) -> int:
    bus = await nats.connect(url)
    try:
        return (await bus.jetstream().publish("memory.v1.turns.ann", json.dumps(TURN).encode())).seq
    finally:
        await bus.close()


async def test_the_address_outlives_a_restart_of_bus_and_process(tmp_path: Path) -> None:
    port = free_port()
    options = (*LIGHT, "--nats-port", str(port))
    async with up_process(tmp_path, options) as up:
        before = up.nats
        pid = int((tmp_path / "nats" / "nats.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        async with memory_client(before) as client:
            await eventually(client.status, lambda status: status.turns == 0)
    async with up_process(tmp_path, options) as up:
        assert up.nats == before
        assert find_instance(tmp_path).nats == before


async def test_two_buses_have_a_password_each_and_another_port_though_both_found_it_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bus_in(tmp_path / "one") as first:
        ports = iter([first.port, free_port()])
        monkeypatch.setattr(server, "free_port", lambda: next(ports))
        async with bus_in(tmp_path / "two") as second:
            assert second.port != first.port
            assert password(first.url) != password(second.url)
            await (await connect(second.url, name="test")).close()


@pytest.mark.usefixtures("as_users_start_it")
async def test_the_address_works_as_it_is_and_its_password_is_shown_to_nobody(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with (
        up_process(data, LIGHT) as up,
        httpx.AsyncClient(base_url=up.http, trust_env=False, verify=False) as http,
    ):
        assert await published(up.nats) == 1
        refused = [await _refused(url) for url in (without_user(up.nats), up.nats.replace(password(up.nats), "guess"))]
        pages = [await http.get(page) for page in ("/", "/asyncapi.json", "/readyz", "/healthz", "/metrics")]
        commands = _commands()
        secret = password(up.nats)
    document = pages[1].json()["servers"]["bus-1"]
    assert f"{document['protocol']}://{document['host']}" == without_user(up.nats)
    logs = [path.read_text(errors="replace") for path in data.rglob("*.log")]
    assert len(logs) == 2
    for text in (*(page.text for page in pages), *commands, *logs, *refused):
        assert secret not in text


async def _refused(url: str) -> str:
    with pytest.raises(Unavailable, match="does not let") as refusal:
        await connect(url, name="stranger")
    return str(refusal.value)


def _commands() -> list[str]:
    """The command lines of all processes, as everybody on the machine may read them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.append((process / "cmdline").read_bytes().decode(errors="replace"))
    return found


async def test_the_bus_listens_on_one_port_only(tmp_path: Path) -> None:
    async with bus_in(tmp_path / "bus") as bus:
        pid = int((tmp_path / "bus" / "nats.pid").read_text())
        assert _listening(pid) == {f"127.0.0.1:{bus.port}"}


def _listening(pid: int) -> set[str]:
    sockets = {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    found = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            address, _, port = fields[1].partition(":")
            found.add(".".join(str(octet) for octet in reversed(bytes.fromhex(address))) + f":{int(port, 16)}")
    return found


@pytest.mark.parametrize("beside", ["letter.txt", None], ids=["with other things in it", "that is an empty home"])
def test_a_folder_of_somebody_stays_as_open_as_it_is(
    tmp_path: Path, beside: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    tmp_path.chmod(0o755)
    if beside is not None:
        for name in (beside, "memory.sqlite3"):
            (tmp_path / name).touch(mode=0o644)
    lock = FolderLock(tmp_path)
    lock.acquire()
    lock.announce(Instance(pid=1, nats="nats://memorybus:secret@127.0.0.1:1", http="http://127.0.0.1:1"))
    seen = {path.name: mode(path) for path in tmp_path.iterdir()}
    lock.release()
    others = {beside: 0o644, "memory.sqlite3": 0o600} if beside else {}
    assert seen == {"lock": 0o600, "instance.json": 0o600, **others}
    assert mode(tmp_path) == 0o755


def test_a_folder_that_is_ours_alone_is_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    for name in ("memory.sqlite3", "lock"):
        (data / name).touch(mode=0o644)
    lock = FolderLock(data)
    lock.acquire()
    lock.release()
    assert [mode(path) for path in (data, data / "memory.sqlite3", data / "lock")] == [0o700, 0o600, 0o600]


def test_who_may_not_read_a_folder_is_told_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)  # a test that runs as root may read everything
    with pytest.raises(NotRunning, match="for its owner alone"):
        find_instance(tmp_path)


async def test_all_engines_work_in_a_folder_of_any_name_and_write_for_its_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / " ".join(ODD_NAMES)
    async with up_process(data, ("--ner", "none")) as up, memory_client(find_instance(data).nats) as client:
        await published(up.nats)
        await digested(client, turns=1)
        status = await client.status()
        made = [path for path in data.rglob("*") if path.name != "up.log"]
        assert len(made) > 10
        assert [path for path in made if is_for_others(path)] == []
    assert (status.turns, status.entries, status.vectors) == (1, 1, 1)


def typed(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "services.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, env={**os.environ, **environment})


async def test_the_command_line_finds_address_and_password_by_the_folder(tmp_path: Path) -> None:
    async with up_process(tmp_path, LIGHT) as up:
        printed = await asyncio.to_thread(typed, "address", "--data", tmp_path)
        counted = await asyncio.to_thread(typed, "status", "--json", "--data", tmp_path)
        elsewhere = {"MEMORYBUS_NATS_USER": "operator", "MEMORYBUS_NATS_PASSWORD": "of another bus"}
        besides = await asyncio.to_thread(lambda: typed("status", "--json", "--nats", up.nats, **elsewhere))
    assert printed.stdout == f"{up.nats}\n"
    assert json.loads(counted.stdout)["turns"] == 0
    assert json.loads(besides.stdout)["turns"] == 0
