"""The NATS client with its faults mended: bytes and moments of a busy bus at which it hangs, or says too much."""

from __future__ import annotations

import asyncio
import re
from weakref import WeakKeyDictionary

from nats.aio.client import PING_PROTO, Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

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


class PatchedNatsClient(Client):
    """A client that reads on after any bytes, and that sends a ping only after everything published before it.

    A request that this user may not publish fails with `NotAllowed` as soon as the server says so; the client itself
    would wait until time is up.
    """

    def __init__(self) -> None:
        super().__init__()
        self._asked: WeakKeyDictionary[asyncio.Future[Msg], str] = WeakKeyDictionary()

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Publish, and remember the subject on which an answer is awaited."""
        if (waiting := self._resp_map.get(reply.rpartition(".")[2])) is not None:
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
        await super()._process_err(known_complaint(err_msg))

    def _refusal(self, subject: str) -> str:
        who = f"user {self.options['user']!r}" if self.options.get("user") else "this user"
        return f"the bus does not let {who} publish on {subject}"

    @property
    def is_deaf(self) -> bool:
        """Whether the client counts as connected and yet reads no more: only a new process hears again."""
        return self.is_connected and (self._reading_task is None or self._reading_task.done())

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        """Send a ping in its turn. Ahead of an UNSUB a flush would be over before the last message, which were lost."""
        self._pongs.append(future if future is not None else asyncio.Future())
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    async def _process_pong(self) -> None:
        """Take the pong of a flush that nobody waits for any more; the client itself would stop reading for good."""
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


def _readable(name: bytes) -> bytes:
    return name.decode("utf-8", "backslashreplace").encode()
