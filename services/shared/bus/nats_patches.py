"""The NATS client with its faults mended: bytes and moments of a busy bus at which it hangs, ends, or says too much."""

from __future__ import annotations

import asyncio
import math
import re
import time
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from nats.aio.client import PING_PROTO, Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import ProtocolError

from contracts.sizes import why_too_large
from services.shared.backoff import backoff_seconds
from services.shared.errors import TooLarge

_COMPLAINT = re.compile(
    r"permissions violation for (?:(?:publish|subscription) to|publish with reply of) \"[^\s\"]{1,1024}\""
    r"|permissions violation"  # however it goes on: for any other complaint the client gives up its connection
    r"|stale connection|unknown protocol operation"
    r"|(?:user |account )?authentication (?:timeout|expired|revoked)|authorization (?:violation|timeout)|slow consumer"
    r"|maximum (?:account active )?(?:connections|subscriptions|payload|control line)(?: limit)? ?"
    r"(?:exceeded|violation)"
    r"|invalid (?:publish )?subject|invalid client protocol|parser error|message headers not supported"
    r"|secure connection - tls required|attempted to connect to [a-z]+ port|no responders requires headers support"
    r"|server shutdown|cluster name conflict|duplicate server name",
    re.IGNORECASE,
)


class NotEncrypted(NatsError):
    """The server offers no TLS."""


class NotAllowed(NatsError):
    """The bus does not let this user publish on a subject; the text names both."""


_NOT_ALLOWED = re.compile(r'permissions violation for publish to "([^"]*)"')
_GOES_ON = re.compile(r"(?:permissions violation|maximum subscriptions|invalid (?:publish )?subject)")
"""Complaints after which a nats-server reads on; after any other it closes the connection."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between two connections that the server refuses
_FORGOTTEN_AFTER = 30.0
_CLOSE_PATIENCE = 2.0


class PatchedNatsClient(Client):
    """A client that reads on after any bytes, and that sends a ping only after everything published before it.

    Whatever ends its connection, it makes a new one, until it is told to close; the client itself is closed for good
    by most complaints of a server. What the server would take for too large is never sent. A request that this user may
    not publish fails with `NotAllowed` as soon as the server says so; the client itself would wait until time is up.
    """

    def __init__(self) -> None:
        super().__init__()
        self.away_since: float | None = None
        """Since when there is no connection, by the monotonic clock."""
        self._refused = 0  # connections one after the other on which the server answered no ping
        self._refused_at = -math.inf  # when it did so last
        self._asked: WeakKeyDictionary[asyncio.Future[Msg], str] = WeakKeyDictionary()

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Publish, and remember the subject on which an answer is awaited.

        Raises:
            TooLarge: the server does not take it.
        """
        waiting = self._resp_map.get(reply.rpartition(".")[2])
        if why := why_too_large(subject, payload, headers, self._max_payload):
            if waiting is not None:
                waiting.cancel()
            raise TooLarge(why)
        if waiting is not None:
            self._asked[waiting] = subject
        await super().publish(subject, payload, reply=reply, headers=headers)

    async def _process_err(self, err_msg: str) -> None:
        """Fail the requests that the server refuses, which it tells in small letters and beside any answer.

        Its complaints are raised and logged; only words that a nats-server is known to use are kept of them.
        """
        if found := _NOT_ALLOWED.search(err_msg):
            for waiting, subject in list(self._asked.items()):
                if subject.lower() == found[1] and not waiting.done():
                    waiting.set_exception(NotAllowed(self._refusal(subject)))
        complaint = known_complaint(err_msg).strip("'")
        self._err = NatsError(f"nats: {complaint}")
        await self._error_cb(self._err)
        if not _GOES_ON.match(complaint):
            await self._process_op_err(self._err)

    def _refusal(self, subject: str) -> str:
        who = f"user {self.options['user']!r}" if self.options.get("user") else "this user"
        return f"the bus does not let {who} publish on {subject}"

    @property
    def is_deaf(self) -> bool:
        """Whether the client hears no more, and does nothing about it: only a new process hears again."""
        if self.is_connected:
            return _has_ended(self._reading_task)
        return self.is_closed or _has_ended(self._reconnection_task)

    async def _read_loop(self) -> None:
        """Read; bytes that the client cannot read end this connection, not all hearing."""
        await super()._read_loop()
        task = asyncio.current_task()
        if task is not None and task is self._reading_task and self.is_connected and not task.cancelling():
            await self._process_op_err(ProtocolError())

    async def _attempt_reconnect(self) -> None:
        """Try until a connection stands, whatever goes wrong."""
        self.away_since = self.away_since or time.monotonic()
        self._drop_unsent()
        while True:
            try:
                await super()._attempt_reconnect()
                break
            except Exception as error:  # the client foresees errors of the connection alone
                self._note_refusal()
                await self._error_cb(error)
        if self.is_connected:
            self.away_since = None

    async def close(self) -> None:
        """Close for good; what nobody at the other end reads within a moment is not waited for."""
        patience = asyncio.get_running_loop().call_later(_CLOSE_PATIENCE, self._drop_unsent)
        try:
            await super().close()
        finally:
            patience.cancel()

    def _drop_unsent(self) -> None:
        """Have nothing wait until a connection has taken all that was written: one that is lost may never do so."""
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    def _note_refusal(self) -> None:
        self._refused, self._refused_at = self._refused + 1, time.monotonic()

    @property
    def is_refused(self) -> bool:
        """Whether there is a server, as far as is known, which does not let us in: its absence is something else."""
        return not self.is_connected and time.monotonic() - self._refused_at < _FORGOTTEN_AFTER

    async def _select_next_server(self) -> None:
        """Leave a server that refuses us alone for longer each time."""
        if self._refused:
            await asyncio.sleep(backoff_seconds(self._refused, longest=_LONGEST_PAUSE, first=_FIRST_PAUSE))
        await super()._select_next_server()

    async def _process_connect_init(self) -> None:
        """Introduce ourselves to the server; where that fails the socket is closed, which the client leaves open."""
        try:
            await super()._process_connect_init()
        except Exception as error:
            self._note_refusal()
            if self._transport is not None:
                with suppress(Exception):
                    self._transport.close()  # type: ignore[no-untyped-call]
            if isinstance(error, NatsError | OSError | TimeoutError):
                raise
            raise NatsError(f"the server cannot be understood: {type(error).__name__}") from error

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        """Take in what the server says of itself, also that it takes messages of another size from now on."""
        await super()._process_info(info, initial_connection)
        self._max_payload = info.get("max_payload", self._max_payload)

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        """Send a ping in its turn. Ahead of an UNSUB a flush would be over before the last message, which were lost."""
        # findings/nats-py-flush-overtakes.sh
        self._pongs.append(future if future is not None else asyncio.Future())
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    async def _process_pong(self) -> None:
        """Take the pong of a flush that nobody waits for any more; the client itself would stop reading for good."""
        self._refused = 0
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.Future()
        await super()._process_pong()

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        """The headers, None if they cannot be read; the client itself would stop reading for good."""
        try:
            found: dict[str, str] | None = await super()._process_headers(headers)
        except (IndexError, ValueError):
            return None
        return found

    def _build_message(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None
    ) -> Msg:
        message: Msg = super()._build_message(sid, _readable(subject), _readable(reply), data, headers)
        return message


class EncryptedClient(PatchedNatsClient):
    """A client that sends credentials only over TLS; the client itself would send them to a server that offers none."""

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise NotEncrypted("the server offers no TLS")
        return super()._connect_command()


def known_complaint(said: str) -> str:
    """The documented beginning of a complaint of a nats-server, or the statement that it was another one."""
    found = _COMPLAINT.match(said.strip("' "))
    return f"'{found[0]}'" if found else "'an error that is no known one'"


def _has_ended(task: asyncio.Task[None] | None) -> bool:
    return task is None or task.done()


def _readable(name: bytes) -> bytes:
    return name.decode("utf-8", "backslashreplace").encode()
