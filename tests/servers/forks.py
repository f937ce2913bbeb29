"""Processes that are forked from one which has imported everything: a start takes a tenth of the work.

What forks is one process for each that runs tests; it ends with it, and what it forked ends with both.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from services.shared.bus.server import die_with_parent

_STDOUT, _STDERR = 1, 2
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.servers.preloaded"])


class Forked:
    """A process that runs, or has ended, as asyncio shows those that it starts itself."""

    def __init__(self, process: ForkServerProcess, stdout: asyncio.StreamReader, pipe: asyncio.BaseTransport) -> None:
        assert process.pid is not None
        self.pid: int = process.pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._process, self._pipe, self._ended = process, pipe, asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(process.sentinel, self._end)

    def _end(self) -> None:
        self._loop.remove_reader(self._process.sentinel)
        self._process.join()
        self.returncode = self._process.exitcode
        self._process.close()
        self._ended.set()

    async def wait(self) -> int:
        """Wait until it has ended; its exit code, below zero that of a signal."""
        await self._ended.wait()
        self._pipe.close()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def start(run: Callable[..., None], *arguments: object) -> tuple[ForkServerProcess, FileIO]:
    """Run a function in a forked process, and give its standard output."""
    said, saying = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_become, args=(saying, run, *arguments))
    process.start()  # the first waits until all is imported
    saying.close()
    stdout = FileIO(os.dup(said.fileno()))
    said.close()
    return process, stdout


async def fork(arguments: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> Forked:
    """Run `tests.faults.launcher` with these arguments; what it logs goes to the end of a file."""
    return await _forked(_launch, arguments, log, environment)


async def fork_command(command: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> Forked:
    """Run memorybus with this command, as it is; what it logs goes to the end of a file."""
    return await _forked(_command, command, log, environment)


async def _forked(run: Callable[..., None], given: Sequence[str], log: Path, more: Mapping[str, str]) -> Forked:
    process, said = await asyncio.to_thread(start, run, list(given), str(log), os.environ | dict(more))
    stdout = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), said)
    return Forked(process, stdout, pipe)


def _become(stdout: Connection, run: Callable[..., None], *arguments: object) -> None:
    """In the child: run, and end with what forked it."""
    die_with_parent()
    os.setsid()  # Ctrl-C goes to who asked for the run, who ends everything in order
    os.dup2(stdout.fileno(), _STDOUT)
    code: object = 1
    try:
        run(*arguments)
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


def _launch(arguments: list[str], log: str, environment: dict[str, str]) -> None:
    from tests.faults.launcher import launch

    _settle(log, environment)
    launch(arguments)


def _command(command: list[str], log: str, environment: dict[str, str]) -> None:
    from services import cli

    _settle(log, environment)
    sys.argv = ["memorybus", *command]
    cli.main()


def _settle(log: str, environment: dict[str, str]) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), _STDERR)
    os.environ.clear()
    os.environ.update(environment)
