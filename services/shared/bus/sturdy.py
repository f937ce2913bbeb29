"""The client of NATS as it should be: what it gets wrong at bytes and at moments that a bus of many does bring."""

from __future__ import annotations

import asyncio

from nats.aio.client import PING_PROTO, Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError


class NotEncrypted(NatsError):
    """The server offers no TLS."""


class SturdyClient(Client):
    """Reads on whatever others publish, and sends a ping only after all that was said before it."""

    @property
    def is_deaf(self) -> bool:
        """Whether it counts as connected and yet reads no more: only a new process hears again."""
        return self.is_connected and (self._reading_task is None or self._reading_task.done())

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        """In its turn. Ahead of an UNSUB, a flush would be over before the last message has come, which were lost."""
        self._pongs.append(future if future is not None else asyncio.Future())
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    async def _process_pong(self) -> None:
        """Also of a flush that nobody waits for any more; the client itself would stop reading for good."""
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.Future()
        await super()._process_pong()

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        """None for those that cannot be read; the client itself would stop reading for good."""
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


class EncryptedClient(SturdyClient):
    """Says who we are only on an encrypted connection; the client itself would also tell a server that offers none."""

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise NotEncrypted("the server offers no TLS")
        return super()._connect_command()


def _readable(name: bytes) -> bytes:
    """The same where it is UTF-8; else its odd bytes written out."""
    return name.decode("utf-8", "backslashreplace").encode()
