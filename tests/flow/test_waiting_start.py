"""A service of many waits for bus and stores, says what it waits for, and counts as alive all the while."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.runtime import running
from services.shared.bus.connection import connect
from services.shared.bus.provisioning import provision
from services.shared.bus.server import NatsServer, free_port
from services.shared.health import deaf
from services.shared.settings import Settings, UnusableSetting
from tests.flow.conftest import bus_in, light
from tests.polling import eventually
from tests.servers.forks import Forked, fork_command

PATIENCE = 60.0


async def looked_at(url: str, page: str) -> tuple[int, list[str]]:
    """Status and problems of a page of health; 0 while nothing listens."""
    try:
        async with httpx.AsyncClient(trust_env=False, verify=False) as http:
            answer = await http.get(f"{url}/{page}")
    except httpx.HTTPError:
        return 0, []
    problems: list[str] = answer.json()["problems"]
    return answer.status_code, problems


@asynccontextmanager
async def ingest_alone(folder: Path, port: int, **environment: str) -> AsyncIterator[Forked]:
    command = ["up", "--only", "ingest", "--http-port", str(port)]
    given = {f"MEMORYBUS_{name}": value for name, value in environment.items()}
    process = await fork_command(command, log=folder / "log", environment={**given, "MEMORYBUS_DATA": str(folder)})
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


def names(*words: str) -> Any:
    return lambda looked: looked[0] == 503 and all(word in " ".join(looked[1]) for word in words)


async def test_a_service_waits_for_bus_and_store_and_is_alive_meanwhile(tmp_path: Path) -> None:
    port, nats_port, nowhere = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    bus = NatsServer(tmp_path / "nats", port=nats_port, sync="interval")
    store = {"TEXT_STORE": "opensearch", "OPENSEARCH_URL": f"http://127.0.0.1:{nowhere}"}
    async with ingest_alone(tmp_path, port, NATS_URL=bus.url, **store) as process:
        await eventually(lambda: looked_at(url, "readyz"), names("no bus answers", str(nats_port)), within=PATIENCE)
        assert await looked_at(url, "healthz") == (200, [])
        await bus.start()
        try:
            await eventually(lambda: looked_at(url, "readyz"), names("OpenSearch"), within=PATIENCE)
            assert await looked_at(url, "healthz") == (200, [])
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 10) == 0, "a start that waits ends when it is asked to"
        finally:
            await bus.stop()


async def test_a_service_that_waits_for_provisioning_names_what_is_missing_and_then_starts(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    given = {"TEXT_STORE": "sqlite", "PROVISION": "false"}
    async with bus_in(tmp_path / "nats") as bus, ingest_alone(tmp_path, port, NATS_URL=bus.url, **given):
        waits = names("create stream MEMORY_TURNS", "memorybus provision --nats")
        _, problems = await eventually(lambda: looked_at(url, "readyz"), waits, within=PATIENCE)
        assert "no bus answers" not in problems[0]
        client = await connect(bus.url, name="operator")
        await provision(client.jetstream(), Settings())
        await client.close()
        await eventually(lambda: looked_at(url, "readyz"), lambda looked: looked == (200, []), within=PATIENCE)


async def test_without_a_bus_a_process_is_alive_and_not_ready(tmp_path: Path) -> None:
    async with bus_in(tmp_path / "nats") as bus:
        settings = light(tmp_path / "data", nats_url=bus.url, text_store="sqlite")
        async with running(settings, ["ingest", "curate"]) as instance:
            await eventually(lambda: looked_at(instance.http, "readyz"), lambda looked: looked == (200, []))
            await bus.stop()
            await eventually(lambda: looked_at(instance.http, "readyz"), names("bus"))
            assert await looked_at(instance.http, "healthz") == (200, [])


async def test_a_connection_that_stands_and_reads_no_more_is_no_life(tmp_path: Path) -> None:
    async with bus_in(tmp_path / "nats") as bus:
        client = await connect(bus.url, name="test")
        assert deaf(client) == []
        assert client._reading_task is not None
        client._reading_task.cancel()  # as an error ends it, which nobody sees
        await eventually(lambda: asyncio.sleep(0, deaf(client)), bool)
        assert client.is_connected
        await client.close()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("MEMORYBUS_NATS_URL", "http://127.0.0.1:4222", "is no address of a bus: write one like nats://"),
        ("MEMORYBUS_NATS_CREDS", "/nowhere/nats.creds", "MEMORYBUS_NATS_CREDS"),
        ("MEMORYBUS_NATS_CA", "/nowhere/ca.crt", "no file /nowhere/ca.crt, which MEMORYBUS_NATS_CA names"),
        ("MEMORYBUS_OPENSEARCH_CA", "/nowhere/ca.crt", "check MEMORYBUS_OPENSEARCH_CA"),
    ],
)
async def test_what_no_waiting_mends_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    async with bus_in(tmp_path / "nats") as bus:
        nats = bus.url if "OPENSEARCH" in variable else "nats://127.0.0.1:1"  # a password in it would go before files
        given = {"NATS_URL": nats, "TEXT_STORE": "opensearch", "OPENSEARCH_URL": "https://127.0.0.1:1"}
        for name, content in given.items():
            monkeypatch.setenv(f"MEMORYBUS_{name}", content)
        monkeypatch.setenv(variable, value)
        with pytest.raises(UnusableSetting, match=re.escape(said)):
            async with asyncio.timeout(20), running(Settings(data=tmp_path / "data", http_port=0), ["ingest"]):
                pass
