"""`memorybus reindex`: makes all vectors anew from the text store, with the embedder chosen now."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from contracts.ports import Embedder, TextStore, VectorStore
from contracts.v1.entries import Entry
from services.cli.common import err, fail, out, run, settings_from
from services.embed.handler import embed_and_mark
from services.shared.app import Host, open_embedder_of
from services.shared.instance import FolderInUse, FolderLock
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus reindex --data ./memory\n
  memorybus reindex --data ./memory --embedder http --embedder-url http://127.0.0.1:11434/v1 --embedder-model bge-m3
"""
_CHUNK = 256


def reindex(
    data: Annotated[Path | None, typer.Option(help="Data folder.", show_default=False)] = None,
    embedder: Annotated[str | None, typer.Option(help="minilm, http or fastembed.")] = None,
    embedder_url: Annotated[str | None, typer.Option(help="Base address for --embedder http.")] = None,
    embedder_model: Annotated[str | None, typer.Option(help="Model for --embedder http or fastembed.")] = None,
) -> None:
    """Make all vectors anew from the text store, also into another model. memorybus must be stopped meanwhile."""
    settings = settings_from(
        data=data, embedder=embedder, embedder_url=embedder_url, embedder_model=embedder_model, ner="none"
    )
    if settings.embedder == "none" or settings.vector_store == "none":
        fail("there is nothing to index without an embedder: choose one with --embedder")
    if not settings.sqlite_path.exists():
        fail(f"there is no memory in {settings.data}: name its folder with --data")
    lock = FolderLock(settings.data)
    try:
        lock.acquire()
    except FolderInUse as error:
        fail(str(error))
    try:
        count = run(rebuild(settings))
    finally:
        lock.release()
    out.print(f"{count} vectors made anew; start again with [bold]memorybus up[/bold]", highlight=False)


async def rebuild(settings: Settings) -> int:
    """Embed every active entry into an empty vector store; how many there were.

    The old vectors are dropped first and the identity is recorded with them: stopped half-way, the next start finds
    the missing entries pending and goes on.
    """
    host = Host(settings, "")
    store, model = await host.text_store(), await open_embedder_of(settings)
    assert model is not None
    try:
        await _forget_vectors(settings, store)
        await store.remember_identity(model.identity)
        vectors = await host.vector_store()
        assert vectors is not None
        return await _embed_all(store, vectors, model)
    finally:
        await model.close()
        await host.close()


async def _forget_vectors(settings: Settings, store: TextStore) -> None:
    async for entries in _ready(store):
        await store.modify(entries, lambda e: e.model_copy(update={"embedding_state": "pending"}))
    shutil.rmtree(settings.vectors_path, ignore_errors=True)


async def _ready(store: TextStore) -> AsyncIterator[list[Entry]]:
    while chunk := await store.with_embedding("ready", limit=_CHUNK):
        yield chunk


async def _embed_all(store: TextStore, vectors: VectorStore, model: Embedder) -> int:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    done = 0
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task("embedding", total=(await store.counts()).unembedded)
        while chunk := await store.with_embedding("pending", limit=_CHUNK):
            await embed_and_mark(chunk, store=store, vectors=vectors, embedder=model)
            done += len(chunk)
            progress.advance(bar, len(chunk))
    return done
