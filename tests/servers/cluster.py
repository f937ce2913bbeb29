"""A whole cluster on this machine, as the compose file would run it: `scripts/cluster`.

Three nats-servers, OpenSearch, Qdrant, and every service as processes of its own, two of each. OpenSearch is the one
that MEMORYBUS_OPENSEARCH_URL names or a node of `scripts/opensearch`; Qdrant the one that MEMORYBUS_QDRANT_URL names or
the stand-in of the tests, which is said aloud.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from qdrant_client import QdrantClient

from tests.servers.nats_cluster import Cluster as NatsCluster
from tests.servers.nats_cluster import nats_cluster
from tests.servers.opensearch import OpenSearchNode, missing
from tests.servers.qdrant import StandIn
from tests.servers.workers import ROOT, NotReady, Workers, workers


@dataclass(slots=True)
class Cluster:
    """What runs. `opensearch` and `qdrant` are None where a server of somebody else's is used."""

    nats: NatsCluster
    opensearch: OpenSearchNode | None
    qdrant: StandIn | None
    workers: Workers
    environment: dict[str, str]

    def as_json(self) -> str:
        """Where everything is, as one JSON line."""
        addresses = {
            "ready": True,
            "nats": self.nats.url,
            "http": self.workers.of("gateway")[0].http,
            "opensearch": self.environment["MEMORYBUS_OPENSEARCH_URL"],
            "qdrant": self.environment.get("MEMORYBUS_QDRANT_URL") or os.environ["MEMORYBUS_QDRANT_URL"],
            "workers": {worker.name: worker.http for worker in self.workers.all},
        }
        return json.dumps(addresses)


@asynccontextmanager
async def cluster(
    folder: Path,
    *,
    replicas: int = 2,
    settings: Mapping[str, str] | None = None,
    light: bool = False,
) -> AsyncIterator[Cluster]:
    """A cluster that answers, in this folder; one that is `light` has models that are arithmetic.

    Raises:
        NotReady: something did not start; the text says what.
    """
    async with AsyncExitStack() as stack:
        node, opensearch_url = await asyncio.to_thread(_opensearch, stack, folder / "opensearch")
        standin, qdrant = await asyncio.to_thread(_qdrant, stack, folder / "qdrant")
        nats = await stack.enter_async_context(nats_cluster(folder / "nats"))
        environment = _environment(nats.url, opensearch_url, qdrant) | dict(settings or {})
        await _provision(environment)
        environment["MEMORYBUS_PROVISION"] = "false"
        running = await stack.enter_async_context(
            workers(folder / "services", environment, replicas=replicas, light=light)
        )
        yield Cluster(nats, node, standin, running, environment)


def _opensearch(stack: AsyncExitStack, data: Path) -> tuple[OpenSearchNode | None, str]:
    if named := os.environ.get("MEMORYBUS_OPENSEARCH_URL"):
        return None, named
    if lacking := missing():
        raise NotReady(f"no OpenSearch: {lacking}; or name a running one with MEMORYBUS_OPENSEARCH_URL")
    _say("starting OpenSearch ...")
    node = OpenSearchNode(data)
    stack.callback(node.stop)
    return node, node.start()


def _qdrant(stack: AsyncExitStack, data: Path) -> tuple[StandIn | None, dict[str, str]]:
    """The stand-in, or None for somebody else's server; and the settings that name either."""
    if "MEMORYBUS_QDRANT_URL" in os.environ:
        collection = f"memorybus-test-{uuid4().hex[:12]}"  # other memories may be on that server
        stack.callback(_drop_collections, collection)
        return None, {"MEMORYBUS_QDRANT_COLLECTION": collection}
    _say("MEMORYBUS_QDRANT_URL is not set: using the tests' stand-in for Qdrant, which is not for real use")
    standin = StandIn(data)
    url = standin.start()
    stack.callback(standin.stop)
    return standin, {"MEMORYBUS_QDRANT_URL": url, "MEMORYBUS_QDRANT_GRPC_PORT": str(standin.grpc_port)}


def _drop_collections(alias: str) -> None:
    key = os.environ.get("MEMORYBUS_QDRANT_API_KEY")
    admin = QdrantClient(
        url=os.environ["MEMORYBUS_QDRANT_URL"], headers={"api-key": key} if key else None, check_compatibility=False
    )
    for collection in admin.get_collections().collections:
        if collection.name.startswith(alias):
            admin.delete_collection(collection.name)
    admin.close()


def _environment(nats_url: str, opensearch_url: str, qdrant: Mapping[str, str]) -> dict[str, str]:
    return {
        "MEMORYBUS_NATS_URL": nats_url,
        "MEMORYBUS_NATS_REPLICAS": "3",
        "MEMORYBUS_TURNS_PARTITIONS": "4",
        "MEMORYBUS_TEXT_STORE": "opensearch",
        "MEMORYBUS_OPENSEARCH_URL": opensearch_url,
        "MEMORYBUS_VECTOR_STORE": "qdrant",
        **qdrant,
        "MEMORYBUS_NER_PROCESSES": "1",
        "MEMORYBUS_EMBEDDER_THREADS": "1",
        "MEMORYBUS_LOG_LEVEL": "warning",
    }


async def _provision(environment: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.cli", "provision"),
        cwd=ROOT,
        env=os.environ | dict(environment),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise NotReady(f"`memorybus provision` failed:\n{said.decode(errors='replace')[-2000:]}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def _until_stopped(folder: Path, replicas: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with cluster(folder, replicas=replicas) as running:
        print(running.as_json(), flush=True)
        _say("Ctrl-C stops everything. Publish: memorybus publish FILE --nats " + running.nats.url)
        await stopped.wait()
        _say("stopping ...")


def main() -> None:
    """Entry point of `scripts/cluster`."""
    parser = argparse.ArgumentParser(
        prog="scripts/cluster", description="A whole cluster on this machine, until Ctrl-C.", epilog=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of all servers and logs")
    parser.add_argument("--replicas", type=int, default=2, help="processes of every service (default: 2)")
    given = parser.parse_args()
    try:
        asyncio.run(_until_stopped(given.data, given.replicas))
    except NotReady as error:
        _say(f"error: {error}")
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
