"""Serves an ASGI application inside the running loop, on a port known before the first request."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn


class PortTaken(Exception):
    """Somebody else listens on the port; the text says what to do."""


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes any free one.

    Raises:
        PortTaken: the address is in use or cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise PortTaken(
            f"cannot listen on {host}:{port} ({error.strerror}): stop what listens there, "
            "or choose another port with --http-port (0 for any)"
        ) from error
    return listening


class _Server(uvicorn.Server):
    """A server that leaves the signals to the process that hosts it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """One HTTP server of this process."""

    def __init__(self, app: Any, listening: socket.socket) -> None:
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=3)
        self._server = _Server(config)
        self._listening = listening
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._listening.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def start(self) -> None:
        """Start serving; returns when connections are accepted."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listening]), name="http")
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise PortTaken("the HTTP server ended at once; the log has the reason")
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        """Finish open requests and stop."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
