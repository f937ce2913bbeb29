"""`memorybus up`: everything in one process, or one service of many."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import shlex
import signal
import sys
from contextlib import suppress
from typing import Annotated

import typer
import uvloop
from rich.markup import escape

import services.gateway.proxy.settings  # noqa: F401  (imported late elsewhere; a misspelt one is named at the start)
from contracts.errors import Unavailable, UnusableStore
from services.cli.common import FolderOption, fail, out, plural, settings_from
from services.gateway.keys import KeyStore
from services.gateway.settings import GatewaySettings
from services.runtime import SERVICES, Running, running
from services.shared.app import IdentityMismatch, MissingExtra
from services.shared.bus.provisioning import ProvisioningError
from services.shared.bus.server import BusNotStarted
from services.shared.descriptors import raise_limit
from services.shared.http import PortTaken
from services.shared.instance import FolderInUse, FolderUnusable
from services.shared.logs import configure_logging
from services.shared.redaction import redact_address
from services.shared.settings import Settings, UnusableSetting, misspelt

log = logging.getLogger(__name__)

_SWITCH_INTERVAL = 0.0005
"""Seconds that a thread may keep Python's lock while another waits. A request passes through several threads, and with
the usual 5 ms each handover could cost as much as the work itself."""

EXPECTED = (
    FolderInUse,
    FolderUnusable,
    PortTaken,
    BusNotStarted,
    Unavailable,
    UnusableStore,
    IdentityMismatch,
    MissingExtra,
    ProvisioningError,
    UnusableSetting,
)

EPILOG = """Examples:\n
  memorybus up\n
  memorybus up --data ./memory --nats-port 0 --http-port 0 --json\n
  memorybus up --embedder none --ner none\n
  memorybus up --text-store opensearch --opensearch-url http://127.0.0.1:9200

  memorybus up --only dedupe --nats nats://127.0.0.1:4222 --text-store opensearch
"""


def up(
    data: FolderOption = None,
    nats: Annotated[str | None, typer.Option(help="Join this bus instead of starting one.", metavar="URL")] = None,
    nats_port: Annotated[int | None, typer.Option(help="Port of the embedded bus; 0: any free one.")] = None,
    http_host: Annotated[str | None, typer.Option(help="Address of the HTTP edge.")] = None,
    http_port: Annotated[int | None, typer.Option(help="Port of the HTTP edge; 0: any free one.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only this service; repeat, or separate by commas.")
    ] = None,
    sync: Annotated[str | None, typer.Option(help="always: on disk before acknowledged; interval: faster.")] = None,
    text_store: Annotated[str | None, typer.Option(help="System of record: sqlite, opensearch.")] = None,
    opensearch_url: Annotated[str | None, typer.Option(help="OpenSearch for --text-store opensearch.")] = None,
    vector_store: Annotated[str | None, typer.Option(help="Vectors: edge, qdrant, none.")] = None,
    qdrant_url: Annotated[str | None, typer.Option(help="Qdrant for --vector-store qdrant.")] = None,
    embedder: Annotated[str | None, typer.Option(help="memorybus, minilm, http, fastembed, none.")] = None,
    embedder_url: Annotated[str | None, typer.Option(help="Base address for --embedder http.")] = None,
    embedder_model: Annotated[str | None, typer.Option(help="Model for --embedder http or fastembed.")] = None,
    ner: Annotated[str | None, typer.Option(help="Names and key phrases: spacy, none.")] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON line when ready; the address of the bus in it holds the password."),
    ] = False,
) -> None:
    """Start memorybus and keep it running until Ctrl-C or SIGTERM.

    Every option is also a setting MEMORYBUS_<NAME>; services/README.md says where they are listed.
    """
    settings = settings_from(
        data=data,
        nats_url=nats,
        nats_port=nats_port,
        http_host=http_host,
        http_port=http_port,
        sync=sync,
        text_store=text_store,
        opensearch_url=opensearch_url,
        vector_store=vector_store,
        qdrant_url=qdrant_url,
        embedder=embedder,
        embedder_url=embedder_url,
        embedder_model=embedder_model,
        ner=ner,
    )
    os.umask(0o077)
    configure_logging(settings.log_level)
    for variable, meant in misspelt(os.environ).items():
        log.warning("setting_unknown", extra={"variable": variable, "did_you_mean": meant})
    raise_limit()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    names = chosen_services(only or [])
    try:
        uvloop.run(_until_stopped(settings, names, as_json=as_json))
    except EXPECTED as error:
        fail(str(error))
    except OSError as error:
        if not FolderUnusable.is_why(error):
            raise
        fail(str(FolderUnusable(settings.data, error)))


def chosen_services(only: list[str]) -> list[str]:
    """The services named by --only, empty for all."""
    names = [name.strip() for part in only for name in part.split(",") if name.strip()]
    for name in names:
        if name not in SERVICES:
            fail(f"there is no service {name!r}; there are {', '.join(SERVICES)}")
    return names


async def _until_stopped(settings: Settings, only: list[str], *, as_json: bool) -> None:
    main, stopped = asyncio.current_task(), asyncio.Event()
    assert main is not None

    def stop() -> None:
        if not stopped.is_set():  # a second signal does not break off what the first one has begun
            main.cancel()  # also a start that still waits for bus or stores
        stopped.set()

    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop)
    with suppress(asyncio.CancelledError):
        async with running(settings, only) as instance:
            _calm_the_collector()
            _announce(instance, settings, only, as_json=as_json)
            if not as_json and (not only or "gateway" in only):
                await _tell_of_limited_keys(instance)
            await instance.host.until_deaf()


async def _tell_of_limited_keys(instance: Running) -> None:
    """Say when a key is a tool's: a chat through it has no memories after a few questions."""
    settings = GatewaySettings()
    if not settings.auth or not settings.tool_queries_per_minute:
        return
    with suppress(Unavailable):
        keys = [key for key in await KeyStore(instance.host.bus).all() if key.client == "tool" and not key.is_expired]
        if keys:
            out.print(
                f"  keys  {plural(len(keys), 'key')} of tools may ask {settings.tool_queries_per_minute} questions a "
                "minute: `memorybus keys list` shows which; for chats make others with --client person"
            )


def _calm_the_collector() -> None:
    """What stands after the start stays, and messages hold no cycles: look for garbage cycles rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _announce(instance: Running, settings: Settings, only: list[str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"ready": True, "nats": instance.nats, "http": instance.http}), flush=True)
        return
    bus = redact_address(instance.nats)
    if only or not out.is_terminal:  # for who reads the log alone
        log.info("ready", extra={"services": only or list(SERVICES), "bus": bus, "http": instance.http})
    if only:
        return
    out.print("[bold]memorybus[/bold] is ready: all services")
    out.print(f"  page  {instance.http}  (open it in a browser)\n  bus   {bus}\n  data  {settings.data}")
    here = "" if settings.data == Settings().data else f" --data {escape(shlex.quote(str(settings.data)))}"
    out.print(
        f"Ctrl-C stops it. Next: [bold]memorybus publish FILE{here}[/bold], [bold]memorybus ask …{here}[/bold]; "
        f"for programs: [bold]memorybus address{here}[/bold]"
    )
