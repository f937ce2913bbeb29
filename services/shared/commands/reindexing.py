"""Making all vectors anew from the text store, beside a memorybus that goes on answering, or alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace

from contracts.errors import Unavailable
from contracts.ports import EmbeddingIdentity, TextStore
from services.shared.app import Host, drop_former, open_embedder_of, open_vectors
from services.shared.commands.progress import Progress, untold
from services.shared.instance import FolderInUse, FolderLock
from services.shared.settings import Settings
from services.shared.vectors import identity as identities
from services.shared.vectors.folders import VectorFolders
from services.shared.vectors.reindexer import Reindexer

PATIENCE = 120.0
"""Seconds within which a running memorybus is expected to have changed over."""

_MOST_PASSES = 10
"""Over what came in during the pass before. Where there is always more, the last of it is embedded after the change."""

_LOOK_EVERY = 0.2


async def rebuild(settings: Settings, *, grace: float = 0.0, progress: Progress = untold) -> int:
    """Make the vectors of the embedder chosen now, and let everybody use them; how many there are.

    Raises:
        Unavailable: the text says what is missing; what was made is kept, and the same call goes on from there.
    """
    with _alone(settings) as is_alone:
        return await _rebuild(settings, is_alone=is_alone, grace=grace, progress=progress)


async def _rebuild(settings: Settings, *, is_alone: bool, grace: float, progress: Progress) -> int:
    async with AsyncExitStack() as stack:
        host = Host(settings, "")
        stack.push_async_callback(host.close)
        text = await host.text_store()
        recorded = await text.get_embedding_identity()
        settings = identities.newest(identities.chosen(settings, recorded))
        embedder = await open_embedder_of(settings)
        assert embedder is not None
        stack.push_async_callback(embedder.close)
        target = replace(
            identities.recordable(embedder.identity, settings), generation=recorded.generation + 1 if recorded else 1
        )
        vectors = await open_vectors(settings, target, in_use=False)
        stack.push_async_callback(vectors.close)
        reindexer = Reindexer(text, vectors, embedder)
        await _fill(reindexer, recorded, progress)
        count = await vectors.count()
        if settings.vector_store == "edge" and not is_alone:
            await vectors.close()  # so that the running process can open them
            await _record(text, recorded, target)
            await _wait_until_in_use(settings, target, progress)
            return count
        await _record(text, recorded, target)
        await asyncio.sleep(0 if is_alone else grace)
        await reindexer.settle()
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


async def _fill(reindexer: Reindexer, recorded: EmbeddingIdentity | None, progress: Progress) -> None:
    """Embed all there is, then what came in meanwhile, until nothing does."""
    for number in range(_MOST_PASSES):
        await _check_unchanged(reindexer.text, recorded)
        what = f"what came in meanwhile ({number})" if number else "embedding"
        if not await _fill_once(reindexer, what, progress):
            return


async def _fill_once(reindexer: Reindexer, what: str, progress: Progress) -> int:
    total, done = (await reindexer.text.counts()).entries, 0

    def advance(looked_at: int) -> None:
        nonlocal done
        done += looked_at
        progress(what, done, total)

    return await reindexer.fill(advance)


async def _record(text: TextStore, recorded: EmbeddingIdentity | None, target: EmbeddingIdentity) -> None:
    """The change itself: one write, which every process sees."""
    await _check_unchanged(text, recorded)
    await text.set_embedding_identity(target)


async def _check_unchanged(text: TextStore, recorded: EmbeddingIdentity | None) -> None:
    now = await text.get_embedding_identity()
    if (now is None) != (recorded is None) or (now and recorded and not identities.is_same(now, recorded)):
        raise Unavailable("another `memorybus reindex` was faster: start again if these vectors are still wanted")


async def _wait_until_in_use(settings: Settings, target: EmbeddingIdentity, progress: Progress) -> None:
    """The running process removes the former vectors last of all."""
    folders, deadline = VectorFolders(settings.vectors_path), time.monotonic() + PATIENCE
    progress("the running memorybus changes over", 0)
    while await asyncio.to_thread(folders.former, target):
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
        await asyncio.to_thread(VectorFolders(settings.vectors_path).drop_former, target)
