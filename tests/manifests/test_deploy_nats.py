"""The bus of deploy/, run here as compose runs it: three real servers, provisioned and used by the users of compose."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import nats
import pytest
from nats.aio.client import Client

from contracts import subjects
from services.shared.bus.permissions import accounts, users
from services.shared.bus.pull import PullConsumer
from services.shared.bus.server import find_executable, free_port, port_is_taken
from tests.manifests import deploy
from tests.polling import eventually

NATS = deploy.DEPLOY / "nats"
SERVERS = ("nats-1", "nats-2", "nats-3")
MEMORYBUS = Path(sys.executable).parent / "memorybus"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Three servers that run: where clients connect, and where each is asked about its health."""

    url: str
    monitors: tuple[int, ...]


def environment(name: str) -> dict[str, str]:
    """What compose gives this container, besides what every process has."""
    given = {key: str(value) for key, value in deploy.services()[name]["environment"].items()}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("MEMORYBUS_")}
    return inherited | given


def configuration(folder: Path) -> Path:
    """The configuration of deploy/nats with this folder in place of the volume."""
    folder.mkdir()
    for path in NATS.glob("*.conf"):
        (folder / path.name).write_text(path.read_text().replace("store_dir: /data", f"store_dir: {folder}"))
    return folder / "nats.conf"


@contextmanager
def servers(folder: Path) -> Iterator[Cluster]:
    """The servers of compose; only addresses and folders differ, as three share one machine here."""
    ports, routes, monitors = ([free_port() for _ in SERVERS] for _ in range(3))
    password = deploy.example()["NATS_ROUTES_PASSWORD"]
    peers = {
        f"NATS_ROUTE_{number}": f"nats://routes:{password}@127.0.0.1:{port}" for number, port in enumerate(routes, 1)
    }
    running = []
    try:
        for name, port, route, monitor in zip(SERVERS, ports, routes, monitors, strict=True):
            address = ["--addr", "127.0.0.1", "--port", str(port), "--http_port", str(monitor)]
            cluster = ["--cluster", f"nats://127.0.0.1:{route}"]
            with (folder / f"{name}.log").open("wb") as log:
                command = [find_executable(), "--config", str(configuration(folder / name)), *address, *cluster]
                running.append(subprocess.Popen(command, env=environment(name) | peers, stdout=log, stderr=log))
        yield Cluster(",".join(f"nats://127.0.0.1:{port}" for port in ports), tuple(monitors))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)


def asked(monitor: int, page: str) -> Any:
    """A page of a server's monitoring, None when it does not answer or is not well."""
    try:
        with urlopen(f"http://127.0.0.1:{monitor}/{page}", timeout=2) as answer:
            return json.load(answer)
    except OSError:
        return None


async def healthy(cluster: Cluster) -> None:
    """Wait until the health check of compose would say of every server that it is well."""
    (page,) = {deploy.services()[name]["healthcheck"]["test"][-1].rpartition("/")[2] for name in SERVERS}

    async def look() -> list[Any]:
        return [await asyncio.to_thread(asked, monitor, page) for monitor in cluster.monitors]

    await eventually(look, lambda seen: all(answer == {"status": "ok"} for answer in seen), within=30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three healthy servers, provisioned by the command of the image `provision`."""
    with servers(tmp_path_factory.mktemp("nats")) as started:
        asyncio.run(healthy(started))
        given = environment("provision") | {"MEMORYBUS_NATS_URL": started.url}
        run = subprocess.run([MEMORYBUS, "provision"], env=given, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        yield started


@asynccontextmanager
async def connected(cluster: Cluster, user: str) -> AsyncIterator[Client]:
    """A connection as one of the users."""

    async def quiet(_: Exception) -> None:
        """What is refused is raised as well."""

    client = await nats.connect(
        cluster.url.split(","),
        user=user,
        password=deploy.example()[f"MEMORYBUS_NATS_PASSWORD_{user.upper()}"],
        inbox_prefix=subjects.inbox(user),
        allow_reconnect=False,
        error_cb=quiet,
    )
    try:
        yield client
    finally:
        await client.close()


def test_the_users_are_those_that_the_code_asks_for() -> None:
    printed = accounts(users()).strip()
    assert (NATS / "users.conf").read_text().strip() == printed, (
        "run `memorybus provision --permissions > deploy/nats/users.conf`"
    )


def test_every_server_is_given_what_its_configuration_takes_from_the_environment() -> None:
    text = "".join(re.sub(r"#.*", "", path.read_text()) for path in NATS.glob("*.conf"))
    wanted = set(re.findall(r"(?<![\w\"$])\$([A-Z]\w+)", text))
    for name in SERVERS:
        assert wanted == set(deploy.services()[name]["environment"])


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_keeps_its_streams_in_a_volume_of_its_own(name: str) -> None:
    assert "store_dir: /data\n" in (NATS / "nats.conf").read_text()
    assert deploy.services()[name]["volumes"] == [f"{name}:/data"]


def test_a_server_without_a_password_for_a_user_does_not_start() -> None:
    given = environment("nats-1")
    del given["MEMORYBUS_NATS_PASSWORD_EMBED"]
    command = [find_executable(), "-t", "--config", str(NATS / "nats.conf")]
    run = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "MEMORYBUS_NATS_PASSWORD_EMBED" in run.stderr


def test_every_server_syncs_before_it_acknowledges(cluster: Cluster) -> None:
    for monitor in cluster.monitors:
        assert asked(monitor, "jsz")["config"]["sync_interval"] > 0
        assert asked(monitor, "jsz")["config"]["sync_always"] is True


async def test_every_stream_has_a_copy_on_every_server_and_may_grow_as_far_as_these_have_room(cluster: Cluster) -> None:
    async with connected(cluster, "provision") as client:
        configs = [(await client.jetstream().stream_info(stream.name)).config for stream in subjects.STREAMS]
    assert {config.num_replicas for config in configs} == {len(SERVERS)}
    room = asked(cluster.monitors[0], "jsz")["config"]["max_storage"]
    assert sum(config.max_bytes or 0 for config in configs) <= room


async def test_a_turn_reaches_ingest_from_whichever_server_leads_its_part(cluster: Cluster) -> None:
    partitions = int(environment("ingest")["MEMORYBUS_TURNS_PARTITIONS"])
    async with connected(cluster, "assistant") as assistant, connected(cluster, "ingest") as ingest:
        pulls = [PullConsumer(ingest, part, max_batch=8) for part in subjects.ingest_consumers(partitions)]
        for pull in pulls:
            await pull.start()
        users = {f"user-{number}" for number in range(24)}
        for user in users:
            await assistant.jetstream(timeout=5).publish(subjects.turns(user), b"{}")
        seen: set[str] = set()

        async def look() -> set[str]:
            for pull in pulls:
                for msg in pull.take_back():
                    seen.add(subjects.user_of(msg.subject.rpartition(".")[2]))
                    await msg.ack()
            return seen

        await eventually(look, lambda found: found >= users)
        for pull in pulls:
            await pull.stop()


@pytest.mark.parametrize(("password", "answer"), [("wrong", b"-ERR 'Authorization Violation'"), (None, b"PONG")])
async def test_only_the_right_password_is_let_in(cluster: Cluster, password: str | None, answer: bytes) -> None:
    port = int(cluster.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert (await reader.readline()).startswith(b"INFO")
    right = deploy.example()["MEMORYBUS_NATS_PASSWORD_INGEST"]
    said = json.dumps({"user": "ingest", "pass": password or right, "verbose": False, "pedantic": False})
    writer.write(f"CONNECT {said}\r\nPING\r\n".encode())
    assert (await reader.readline()).strip() == answer
    writer.close()
    await writer.wait_closed()


async def test_the_example_of_the_readme_runs_as_it_stands(cluster: Cluster) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (deploy.DEPLOY / "README.md").read_text(), flags=re.DOTALL)
    published = re.findall(r"nats://127.0.0.1:\d+", code)
    assert [url.rpartition(":")[2] for url in published] == [deploy.example()[f"NATS_PORT_{n}"] for n in (1, 2, 3)]
    for here, there in zip(published, cluster.url.split(","), strict=True):
        code = code.replace(here, there)
    given = os.environ | {"MEMORYBUS_NATS_PASSWORD_ASSISTANT": deploy.example()["MEMORYBUS_NATS_PASSWORD_ASSISTANT"]}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=given, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 0
    assert said.startswith(b"kept as number ")


async def test_the_gateway_is_ready_with_what_compose_gives_it(cluster: Cluster) -> None:
    port = str(free_port())
    given = environment("gateway") | {"MEMORYBUS_NATS_URL": cluster.url, "MEMORYBUS_HTTP_PORT": port}
    command = json.loads(deploy.last("gateway", "CMD"))
    check = [sys.executable, str(deploy.DEPLOY / "healthcheck.py")]
    process = await asyncio.create_subprocess_exec(MEMORYBUS, *command, env=given)
    try:
        await eventually(lambda: asyncio.sleep(0, port_is_taken("127.0.0.1", int(port))), bool)

        async def look() -> int | None:
            asking = await asyncio.create_subprocess_exec(*check, env=given, stderr=asyncio.subprocess.DEVNULL)
            return await asking.wait()

        await eventually(look, lambda code: code == 0)
    finally:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0
