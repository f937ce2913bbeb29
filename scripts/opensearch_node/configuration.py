"""What a server is told: its settings, its logging, and the command that runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from machine import LOOPBACK

LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %marker%m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""

JVM_OPTIONS = (
    "-Xss1m",
    "-XX:-OmitStackTraceInFastThrow",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "-Djna.nosys=true",
    "-Djava.locale.providers=SPI,CLDR",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
    "-Dio.netty.allocator.numDirectArenas=0",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true",
    "-Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1",
    "-Dopensearch.networkaddress.cache.ttl=60",
    "-Dopensearch.networkaddress.cache.negative.ttl=10",
    "-Dopensearch.distribution.type=zip",
    "-Dopensearch.bundled_jdk=false",
    "--add-modules=jdk.incubator.vector",
)
"""What the server's own launcher passes, without its log of garbage collections and its touching of all memory."""


LONG_LIVED = ("-XX:+UseG1GC", "-XX:G1ReservePercent=25", "-XX:InitiatingHeapOccupancyPercent=30")

SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Compiles quickly and not well: a start takes half the processor time, and what is asked often stays slower.

Collects garbage in one thread, while nothing else runs: a quarter less work on a small heap. Its agent, which looks at
who asks each time that a file or a connection is opened, is left out: that is half of a start and of making an index.
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """How a node is wanted: `port` 0 is any free one, `heap` as Java writes it, `patience` in seconds."""

    port: int
    heap: str
    disk_threshold: bool
    short_lived: bool
    patience: float


def settings(home: Path, port: int, *, disk_threshold: bool) -> str:
    """The text of opensearch.yml; the server writes the ports it got into its folder of logs."""
    values: dict[str, str | int | bool] = {
        "cluster.name": "memorybus",
        "node.name": "node",
        "path.data": str(home / "data"),
        "path.logs": str(home / "logs"),
        "network.host": LOOPBACK,
        "http.port": port,
        "transport.port": 0,
        "node.portsfile": True,
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": disk_threshold,
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())


def mark(home: Path) -> str:
    """What only the command of this home's server holds."""
    return f"-Dopensearch.path.conf={home / 'config'}"


def command(java: Path, server: Path, home: Path, wish: Wish) -> list[str]:
    """The command that runs the server; nothing in it passes a shell."""
    return [
        str(java / "bin" / "java"),
        f"-Xms{wish.heap}",
        f"-Xmx{wish.heap}",
        *(SHORT_LIVED if wish.short_lived else LONG_LIVED),
        *_agent(server / "agent", runs=not wish.short_lived),
        *JVM_OPTIONS,
        f"-Djava.io.tmpdir={home / 'tmp'}",
        f"-XX:ErrorFile={home / 'logs' / 'crash-%p.log'}",
        f"-Dopensearch.path.home={server}",
        mark(home),
        "-cp",
        f"{server / 'lib'}/*",
        "org.opensearch.bootstrap.OpenSearch",
    ]


def _agent(folder: Path, *, runs: bool) -> list[str]:
    """The agent that keeps the server to its own files and addresses; or its classes alone, which the server needs."""
    if runs:
        return [f"-javaagent:{folder / 'opensearch-agent.jar'}"]
    return [f"-Xbootclasspath/a:{jar}" for jar in sorted(folder.glob("opensearch-agent-bootstrap-*.jar"))]
