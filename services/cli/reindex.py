"""`memorybus reindex`: makes all vectors anew from the text store, while memorybus runs or not."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from services.cli.common import FolderOption, bars, err, fail, out, run, settings_from
from services.shared.client import memory_client
from services.shared.commands.publishing import digest
from services.shared.commands.reindexing import rebuild
from services.shared.settings import Settings
from services.shared.vectors import identity as identities

EPILOG = """Examples:\n
  memorybus reindex --data ./memory\n
  memorybus reindex --data ./memory --embedder http --embedder-url http://127.0.0.1:11434/v1 --embedder-model bge-m3\n

Without options the same model makes them anew. Stopped half-way, the same command goes on where it was.
The embedder is recorded with the vectors: a start whose settings name none uses it,
a start whose settings name another is refused. A key is never recorded:
MEMORYBUS_EMBEDDER_API_KEY must be set for the running memorybus, too.
"""

_NICE = 10  # a running memorybus goes first


def reindex(
    data: FolderOption = None,
    embedder: Annotated[str | None, typer.Option(help="memorybus, minilm, http or fastembed.")] = None,
    embedder_url: Annotated[str | None, typer.Option(help="Base address for --embedder http.")] = None,
    embedder_model: Annotated[str | None, typer.Option(help="Model for --embedder http or fastembed.")] = None,
    text_store: Annotated[str | None, typer.Option(help="System of record: sqlite, opensearch.")] = None,
    opensearch_url: Annotated[str | None, typer.Option(help="OpenSearch for --text-store opensearch.")] = None,
    vector_store: Annotated[str | None, typer.Option(help="Vectors: edge, qdrant.")] = None,
    qdrant_url: Annotated[str | None, typer.Option(help="Qdrant for --vector-store qdrant.")] = None,
    nats: Annotated[
        str | None,
        typer.Option(
            help="Bus of the memorybus that uses these stores: it must answer first, and is waited for at the end.",
            metavar="URL",
        ),
    ] = None,
    grace: Annotated[
        float,
        typer.Option(help="Seconds that all processes have to change over before Qdrant's former vectors go.", min=0),
    ] = 30.0,
) -> None:
    """Make all vectors anew from the text store, also into another model, while memorybus runs and answers.

    New and old vectors stand side by side until the new ones are complete; then all changes over at once.
    """
    settings = settings_from(
        data=data,
        embedder=embedder,
        embedder_url=embedder_url,
        embedder_model=embedder_model,
        text_store=text_store,
        opensearch_url=opensearch_url,
        vector_store=vector_store,
        qdrant_url=qdrant_url,
    )
    _check(settings)
    os.nice(_NICE)
    count = run(_rebuild(settings, nats, grace=grace))
    out.print(f"{count} vectors made anew and in use")


def _check(settings: Settings) -> None:
    if settings.embedder == "none" or settings.vector_store == "none":
        fail("there is nothing to index without an embedder: choose one with --embedder")
    if settings.text_store == "sqlite" and not settings.sqlite_path.exists():
        fail(f"there is no memory in {settings.data}: name its folder with --data")
    if identities.holds_password(settings.embedder_url):
        fail(
            "the address of the embedding server holds a user or a password, and would be written down: "
            "give its key as MEMORYBUS_EMBEDDER_API_KEY"
        )


async def _rebuild(settings: Settings, nats: str | None, *, grace: float) -> int:
    """Rebuild; beside the memorybus on a bus, wait until it has embedded what came in meanwhile.

    Raises:
        Unavailable, RequestFailed: nobody answers there; nothing was changed then.
    """
    with bars(err) as progress:
        if nats is None:
            return await rebuild(settings, grace=grace, progress=progress)
        async with memory_client(nats, name="memorybus-reindex") as client:
            await client.status()
            count = await rebuild(settings, grace=grace, progress=progress)
            _, problem = await digest(client, progress)
    if problem:
        err.print(f"the vectors are made and in use, but {problem}", style="yellow", soft_wrap=True)
    return count
