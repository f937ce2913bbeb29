"""A service of many waits for bus and stores, says what it waits for, and counts as alive all the while."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.runtime import running
from services.shared.bus.connection import connect
from services.shared.bus.server import NatsServer, die_with_parent, free_port
from services.shared.health import deaf
from services.shared.settings import Settings, UnusableSetting
from tests.polling import eventually

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
async def ingest_alone(folder: Path, port: int, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.cli", "up", "--only", "ingest", "--http-port", str(port)),
        env=os.environ | environment | {"MEMORYBUS_DATA": str(folder)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def names(*words: str) -> Any:
    return lambda looked: looked[0] == 503 and all(word in " ".join(looked[1]) for word in words)


async def test_a_service_waits_for_bus_and_store_and_is_alive_meanwhile(tmp_path: Path) -> None:
    port, nats_port, nowhere = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    bus = NatsServer(tmp_path / "nats", port=nats_port, sync="interval")
    servers = {
        "MEMORYBUS_NATS_URL": bus.url,
        "MEMORYBUS_TEXT_STORE": "opensearch",
        "MEMORYBUS_OPENSEARCH_URL": f"http://127.0.0.1:{nowhere}",
    }
    async with ingest_alone(tmp_path / "ingest", port, **servers) as process:
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


async def test_a_service_that_waited_starts_when_all_is_there(tmp_path: Path) -> None:
    port, nats_port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    bus = NatsServer(tmp_path / "nats", port=nats_port, sync="interval")
    servers = {"MEMORYBUS_NATS_URL": bus.url, "MEMORYBUS_TEXT_STORE": "sqlite"}
    async with ingest_alone(tmp_path / "ingest", port, **servers):
        await eventually(lambda: looked_at(url, "readyz"), names("no bus answers"), within=PATIENCE)
        await bus.start()
        try:
            await eventually(lambda: looked_at(url, "readyz"), lambda looked: looked == (200, []), within=PATIENCE)
        finally:
            await bus.stop()


async def test_a_service_that_waits_for_provisioning_names_what_is_missing(tmp_path: Path) -> None:
    port, bus = free_port(), NatsServer(tmp_path / "nats", port=0, sync="interval")
    url = f"http://127.0.0.1:{port}"
    await bus.start()
    servers = {"MEMORYBUS_NATS_URL": bus.url, "MEMORYBUS_TEXT_STORE": "sqlite", "MEMORYBUS_PROVISION": "false"}
    try:
        async with ingest_alone(tmp_path / "ingest", port, **servers):
            waits = names("create stream MEMORY_TURNS", "memorybus provision --nats")
            _, problems = await eventually(lambda: looked_at(url, "readyz"), waits, within=PATIENCE)
            assert "no bus answers" not in problems[0]
    finally:
        await bus.stop()


async def test_without_a_bus_a_process_is_alive_and_not_ready(tmp_path: Path) -> None:
    bus = NatsServer(tmp_path / "nats", port=0, sync="interval")
    await bus.start()
    settings = Settings(
        data=tmp_path / "data", nats_url=bus.url, http_port=0, text_store="sqlite", embedder="none", ner="none"
    )
    async with running(settings, ["ingest", "curate"]) as instance:
        await eventually(lambda: looked_at(instance.http, "readyz"), lambda looked: looked == (200, []))
        await bus.stop()
        await eventually(lambda: looked_at(instance.http, "readyz"), names("bus"))
        assert await looked_at(instance.http, "healthz") == (200, [])


async def test_a_connection_that_stands_and_reads_no_more_is_no_life(tmp_path: Path) -> None:
    bus = NatsServer(tmp_path / "nats", port=0, sync="interval")
    await bus.start()
    client = await connect(bus.url, name="test")
    try:
        assert deaf(client) == []
        assert client._reading_task is not None
        client._reading_task.cancel()  # as an error ends it, which nobody sees
        await eventually(lambda: asyncio.sleep(0, deaf(client)), bool)
        assert client.is_connected
    finally:
        await client.close()
        await bus.stop()


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
    bus = NatsServer(tmp_path / "nats", port=0, sync="interval")
    await bus.start()
    nats = bus.url if "OPENSEARCH" in variable else "nats://127.0.0.1:1"  # a password in it would go before files
    given = {"NATS_URL": nats, "TEXT_STORE": "opensearch", "OPENSEARCH_URL": "https://127.0.0.1:1"}
    for name, content in given.items():
        monkeypatch.setenv(f"MEMORYBUS_{name}", content)
    monkeypatch.setenv(variable, value)
    try:
        with pytest.raises(UnusableSetting, match=re.escape(said)):
            async with asyncio.timeout(20), running(Settings(data=tmp_path / "data", http_port=0), ["ingest"]):
                pass
    finally:
        await bus.stop()
