"""Names and key phrases from spaCy and YAKE, in processes of their own: both keep the interpreter lock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from contracts.ports import Annotation, Unavailable
from services.shared.annotators.child import Child, ProcessDied

log = logging.getLogger(__name__)

MOST_TOGETHER = 16
"""Texts sent to a process at once: enough for spaCy to batch, few enough to keep all processes busy."""
ATTEMPTS = 2


@dataclass(slots=True)
class _Job:
    texts: Sequence[str]
    done: asyncio.Future[list[Annotation]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class SpacyAnnotator:
    """The `Annotator` of contracts.ports. A batch is spread over the processes, a single text goes to the first free.

    A process that dies is replaced, and what it was asked is asked again; a text that kills two is given an empty
    annotation, so that it cannot keep the others waiting forever.
    """

    def __init__(self, children: Sequence[Child]) -> None:
        self._children = children
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self._pumps = [asyncio.create_task(self._pump(child)) for child in children]
        self._closed = False

    @classmethod
    async def open(cls, *, processes: int = 2) -> SpacyAnnotator:
        """Start the processes and wait until their models are loaded.

        Raises:
            Unavailable: a process does not start.
        """
        children = [Child() for _ in range(processes)]
        try:
            started = await asyncio.gather(*(child.start() for child in children), return_exceptions=True)
            for error in filter(None, started):
                raise error
        except BaseException:
            await asyncio.gather(*(child.end() for child in children))
            raise
        return cls(children)

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """One annotation per text, in order; of each text the first 10,000 characters are read.

        Raises:
            Unavailable: closed, or no process starts.
        """
        if self._closed:
            raise Unavailable("the annotator is closed")
        size = max(1, min(MOST_TOGETHER, -(-len(texts) // len(self._children))))
        jobs = [_Job(texts[start : start + size]) for start in range(0, len(texts), size)]
        for job in jobs:
            self._jobs.put_nowait(job)
        answers = await asyncio.gather(*(job.done for job in jobs))
        return [annotation for answer in answers for annotation in answer]

    async def close(self) -> None:
        """End the processes; what still waits is told that the annotator is closed."""
        self._closed = True
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        while not self._jobs.empty():
            _settle(self._jobs.get_nowait(), Unavailable("the annotator is closed"))
        await asyncio.gather(*(child.end() for child in self._children))

    async def _pump(self, child: Child) -> None:
        """Answer one job after the other with one process."""
        while True:
            job = await self._jobs.get()
            if job.done.cancelled():
                continue
            try:
                _settle(job, await _answer(child, job.texts))
            except asyncio.CancelledError:
                _settle(job, Unavailable("the annotator is closed"))
                raise
            except Exception as error:
                _settle(job, error)


def _settle(job: _Job, result: list[Annotation] | Exception) -> None:
    if job.done.cancelled():
        return
    if isinstance(result, Exception):
        job.done.set_exception(result)
    else:
        job.done.set_result(result)


async def _answer(child: Child, texts: Sequence[str]) -> list[Annotation]:
    for _ in range(ATTEMPTS):
        try:
            return await child.ask(texts)
        except ProcessDied as error:
            log.warning("annotator_process_died", extra={"how": str(error), "texts": len(texts)})
    if len(texts) > 1:
        return [annotation for text in texts for annotation in await _answer(child, [text])]
    log.error("text_not_annotated", extra={"characters": len(texts[0])})
    return [Annotation()]
