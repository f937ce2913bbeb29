"""Serves an ASGI application inside the running loop, on a port known before the first request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from services.shared.site import HEADERS

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 256
REQUEST_SECONDS = 10.0
"""From the connection, or from the answer before, until a request has come; and from one part of an answer to the next,
or until it is read."""

ANSWER_SECONDS = 40.0
"""From a request to the beginning of its answer; nothing that is asked over HTTP takes as long."""

CONNECTION = "memorybus.connection"
"""Where the scope of a request has what an application may ask of its connection, a `Held`."""

LINGER_SECONDS = 1.0
LINGER_BYTES = 1024 * 1024
"""After an answer that did not wait for the rest of the request: then, or beyond these, the connection is cut."""

_MOST_HEAD = 16 * 1024  # bytes


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
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # of its connections, too; asyncio alone does not
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


class Held:
    """The connection of one request, in the hands of the application that answers it."""

    def __init__(self, give: Callable[[float], None], cut: Callable[[], None]) -> None:
        self.answer_seconds, self.part_seconds = ANSWER_SECONDS, REQUEST_SECONDS
        self.cut = cut
        self._give = give

    def give(self, seconds: float) -> None:
        """So much time for the rest of the request, for the beginning of the answer, and for each part of it."""
        self.answer_seconds = self.part_seconds = seconds
        self._give(seconds)


class _Transport:
    """The transport of a connection that is closed by its protocol."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport, self.close = transport, close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Connection(H11Protocol):
    """One connection. Whoever does not ask in time, reads no answer, or only waits while others come, is cut off.

    uvicorn bounds what is waited for after an answer, not before the first request nor within one.
    """

    _may_come: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(Any, _Transport(transport, partial(self._close, transport))))
        self._deadline = self.loop.call_later(REQUEST_SECONDS, transport.abort)
        self.app = self._giving_time(self.app)
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, _Connection) and each.is_waiting]
            longest = min(waiting, key=lambda each: each._deadline.when())
            longest.transport.abort()
            self.connections.discard(longest)

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._give(REQUEST_SECONDS)
        super().on_response_complete()

    def _close(self, transport: asyncio.Transport) -> None:
        """Take no more requests, and read what still comes for a moment: an answer beside unread bytes is thrown away
        on its way (RST)."""
        if self._may_come is not None or self.conn.their_state not in (h11.SEND_BODY, h11.ERROR):
            transport.close()
            return
        transport.write_eof()
        self._give(LINGER_SECONDS)
        self._may_come = LINGER_BYTES

    def data_received(self, data: bytes) -> None:
        if self._may_come is None:
            super().data_received(data)
        elif (left := self._may_come - len(data)) > 0:
            self._may_come = left
        else:
            self.transport.abort()

    def _giving_time(self, app: Any) -> Any:
        """The application; who has asked waits for its answer, and an answer of many parts may take any time."""

        async def answering(scope: Any, receive: Any, send: Any) -> None:
            answered = False
            held = Held(self._give, self.transport.close)
            if self.conn.their_state is not h11.SEND_BODY:
                self._give(ANSWER_SECONDS)

            async def receive_whole() -> Any:
                event = await receive()
                if event["type"] == "http.request" and not event.get("more_body"):
                    self._give(held.answer_seconds)
                return event

            async def send_part(event: Any) -> None:
                nonlocal answered
                if event["type"] == "http.response.start" and self.conn.their_state is h11.SEND_BODY:
                    event = {**event, "headers": [*event["headers"], (b"connection", b"close")]}
                await send(event)
                answered = event["type"] == "http.response.body" and not event.get("more_body")
                if event.get("more_body"):
                    self._give(held.part_seconds)

            try:
                await app({**scope, CONNECTION: held}, receive_whole, send_part)
            except Exception:
                if not answered:
                    raise
                log.exception("request_failed")  # and the connection goes on: more may be asked on it already

        return answering

    def _give(self, seconds: float) -> None:
        if self._may_come is None:
            self._deadline.cancel()
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is being answered here, or what is asked has not come whole."""
        return self.cycle is None or self.cycle.response_complete or self.conn.their_state is h11.SEND_BODY

    def send_400_response(self, msg: str) -> None:
        headers = [*HEADERS.items(), ("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        events = (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=b"This is no HTTP request.\n"),
            h11.EndOfMessage(),
        )
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class HttpServer:
    """One HTTP server of this process."""

    def __init__(self, app: Any, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            http=_Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            h11_max_incomplete_event_size=_MOST_HEAD,
            timeout_graceful_shutdown=3,
        )
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
