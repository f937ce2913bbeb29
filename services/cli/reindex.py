"""`memorybus reindex`: makes all vectors anew from the text store, while memorybus runs or not."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from contracts.ports import EmbeddingIdentity, TextStore, Unavailable
from services.cli.common import err, fail, out, run, settings_from
from services.cli.sending import bars, digest
from services.shared.app import Host, drop_former, open_embedder_of, open_vectors
from services.shared.client import memory_client
from services.shared.instance import FolderInUse, FolderLock
from services.shared.settings import Settings
from services.shared.vectors import identity as identities
from services.shared.vectors.places import Places
from services.shared.vectors.refill import Refill

EPILOG = """Examples:\n
  memorybus reindex --data ./memory\n
  memorybus reindex --data ./memory --embedder http --embedder-url http://127.0.0.1:11434/v1 --embedder-model bge-m3\n

Without options the same model makes them anew. Stopped half-way, the same command goes on where it was.
The embedder is recorded with the vectors: a start whose settings name none uses it,
a start whose settings name another is refused. A key is never recorded:
MEMORYBUS_EMBEDDER_API_KEY must be set for the running memorybus, too.
"""

PATIENCE = 120.0
"""Seconds within which a running memorybus is expected to have changed over."""

_MOST_PASSES = 10
"""Over what came in during the pass before. Where there is always more, the last of it is embedded after the change."""

_LOOK_EVERY = 0.2
_NICE = 10  # a running memorybus goes first


def reindex(
    data: Annotated[Path | None, typer.Option(help="Data folder.", show_default=False)] = None,
    embedder: Annotated[str | None, typer.Option(help="minilm, http or fastembed.")] = None,
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
            show_default=False,
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
    count = run(_rebuild_beside(nats, settings, grace=grace) if nats else rebuild(settings, grace=grace))
    out.print(f"{count} vectors made anew and in use", highlight=False)


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


async def _rebuild_beside(nats: str, settings: Settings, *, grace: float) -> int:
    """Rebuild, and wait until the memorybus on this bus has embedded what came in meanwhile.

    Raises:
        Unavailable, RequestFailed: nobody answers there; nothing was changed then.
    """
    async with memory_client(nats, name="memorybus-reindex") as client:
        await client.status()
        count = await rebuild(settings, grace=grace)
        with bars(err) as progress:
            _, problem = await digest(client, progress)
    if problem:
        err.print(f"the vectors are made and in use, but {problem}", style="yellow", highlight=False, soft_wrap=True)
    return count


async def rebuild(settings: Settings, *, grace: float = 0.0) -> int:
    """Make the vectors of the embedder chosen now, and let everybody use them; how many there are.

    Raises:
        Unavailable: the text says what is missing; what was made is kept, and the same call goes on from there.
    """
    with _alone(settings) as is_alone:
        return await _rebuild(settings, is_alone=is_alone, grace=grace)


async def _rebuild(settings: Settings, *, is_alone: bool, grace: float) -> int:
    async with AsyncExitStack() as stack:
        host = Host(settings, "")
        stack.push_async_callback(host.close)
        text = await host.text_store()
        recorded = await text.get_embedding_identity()
        settings = identities.chosen(settings, recorded)
        embedder = await open_embedder_of(settings)
        assert embedder is not None
        stack.push_async_callback(embedder.close)
        target = _next(identities.recordable(embedder.identity, settings), recorded)
        vectors = await open_vectors(settings, target, in_use=False)
        stack.push_async_callback(vectors.close)
        refill = Refill(text, vectors, embedder)
        await _fill(refill, recorded)
        count = await vectors.count()
        if settings.vector_store == "edge" and not is_alone:
            await vectors.close()  # so that the running process can open them
            await _record(text, recorded, target)
            await _wait_until_in_use(settings, target)
            return count
        await _record(text, recorded, target)
        await asyncio.sleep(0 if is_alone else grace)
        await refill.settle()
        await _drop_former(settings, target)
        return await vectors.count()


@contextmanager
def _alone(settings: Settings) -> Iterator[bool]:
    """Whether no memorybus works with these vectors; if so, none can start meanwhile."""
    lock = FolderLock(settings.data)
    try:
        if settings.vector_store == "edge":
            lock.acquire()
    except FolderInUse:
        yield False
        return
    try:
        yield settings.vector_store == "edge"
    finally:
        lock.release()


def _next(identity: EmbeddingIdentity, recorded: EmbeddingIdentity | None) -> EmbeddingIdentity:
    return replace(identity, generation=recorded.generation + 1 if recorded else 1)


async def _fill(refill: Refill, recorded: EmbeddingIdentity | None) -> None:
    """Embed all there is, then what came in meanwhile, until nothing does."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        for number in range(_MOST_PASSES):
            await _check_unchanged(refill.text, recorded)
            total = (await refill.text.counts()).entries
            bar = progress.add_task("embedding" if number == 0 else "what came in meanwhile", total=total)
            if not await refill.fill(partial(progress.advance, bar)):
                return


async def _record(text: TextStore, recorded: EmbeddingIdentity | None, target: EmbeddingIdentity) -> None:
    """The change itself: one write, which every process sees."""
    await _check_unchanged(text, recorded)
    await text.set_embedding_identity(target)


async def _check_unchanged(text: TextStore, recorded: EmbeddingIdentity | None) -> None:
    now = await text.get_embedding_identity()
    if (now is None) != (recorded is None) or (now and recorded and not identities.is_same(now, recorded)):
        raise Unavailable("another `memorybus reindex` was faster: start again if these vectors are still wanted")


async def _wait_until_in_use(settings: Settings, target: EmbeddingIdentity) -> None:
    """The running process removes the former vectors last of all."""
    places, deadline = Places(settings.vectors_path), time.monotonic() + PATIENCE
    with err.status("the running memorybus changes over"):
        while await asyncio.to_thread(places.former, target):
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"the new vectors are complete and recorded, but the running memorybus has not changed to them "
                    f"within {PATIENCE:.0f} s: its log says why. Until then it goes on with the former ones"
                )
            await asyncio.sleep(_LOOK_EVERY)


async def _drop_former(settings: Settings, target: EmbeddingIdentity) -> None:
    if settings.vector_store == "qdrant":
        await drop_former(settings, target)
    else:
        await asyncio.to_thread(Places(settings.vectors_path).drop_former, target)
