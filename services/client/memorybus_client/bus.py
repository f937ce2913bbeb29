"""The way over NATS."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from nats.aio.client import Client
from nats.errors import ConnectionClosedError, NoRespondersError
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NoStreamResponseError
from pydantic import BaseModel

from contracts import flow, subjects
from contracts.envelope import ErrorReply
from contracts.flow import Answer, R
from contracts.paths import TruncateReply
from contracts.sizes import why_too_large
from contracts.v1.commands import ListRequest
from contracts.v1.edits import BulkFailure, BulkRequest
from contracts.v1.entries import Entry, Status
from contracts.v1.overview import ExportRequest
from contracts.v1.turns import MOST_TEXT_BYTES, Turn, message_id
from memorybus_client.errors import RequestFailed, Unavailable
from memorybus_client.transport import read, without_login

_START = "start it with `memorybus up`; `memorybus address` prints where its bus is"
_STATES: tuple[Status, ...] = ("active", "superseded", "archived")
_PAGE = 200
_FAILED = (NatsError, TimeoutError, OSError)
_CONNECTING = 0.8
"""Part of the time of a call within which it connects, so that there is time to say why it does not."""

_CLOSING = 0.5  # seconds

_OPTIONS = {
    "name": "memorybus-client",
    "allow_reconnect": False,
    "max_reconnect_attempts": 1,
    "reconnect_time_wait": 0.01,
    "ping_interval": 5,
    "max_outstanding_pings": 2,
}
"""A connection that breaks is not restored: the next request makes a new one."""


class _Client(Client):
    """A client that sends nothing which the server takes for too large: it would answer by closing the connection.

    Once that is closed, for whatever reason, nobody waits on for an answer that cannot come any more.
    """

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        if why := why_too_large(subject, payload, headers, self.max_payload):
            if (waiting := self._resp_map.get(reply.rpartition(".")[2])) is not None:
                waiting.cancel()
            raise RequestFailed("too_large", why)
        await super().publish(subject, payload, reply=reply, headers=headers)

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        for waiting in list(self._resp_map.values()):  # findings/nats-py-close-leaves-requests.sh
            if not waiting.done():
                waiting.set_exception(ConnectionClosedError())
        await super()._close(status, do_cbs)

    async def _read_loop(self) -> None:
        await super()._read_loop()
        if self.is_connected:  # it cannot read what came
            await self._close(Client.CLOSED)


class BusTransport:
    """Requests and publishes on a bus; `url` is one server, or several separated by commas."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._servers = [server.strip() for server in url.split(",") if server.strip()]
        login = urlsplit(self._servers[0])
        named = unquote(login.username) if login.username and login.password is not None else None
        self._options = {**_OPTIONS, "inbox_prefix": subjects.inbox(named), "error_cb": self._note, **options}
        self._where = without_login(url)
        self._client: _Client | None = None
        self._connecting = asyncio.Lock()
        self._complaint = ""

    async def ask(self, answer: Answer[Any, R], body: BaseModel, *, patience: float) -> R:
        """Send a request; its reply."""
        client = await self._connected(patience)
        headers = {subjects.DEADLINE_HEADER: str(int((time.time() + patience) * 1000))}
        subject = answer.subject_of(getattr(body, "user_id", None))
        raw = body.model_dump_json(exclude_none=True).encode()
        try:
            reply = await client.request(subject, raw, timeout=patience + 0.5, headers=headers)
        except NoRespondersError:
            raise Unavailable(f"nobody answers on the bus at {self._where}: {_START}", undone=True) from None
        except _FAILED as error:
            raise self._unanswered(subject, patience, error) from None
        if json.loads(reply.data).get("ok") is not True:
            failed = read(ErrorReply, reply.data, self._where).error
            raise RequestFailed(failed.code, failed.message, retryable=failed.retryable)
        return read(answer.reply, reply.data, self._where)

    async def publish(self, turn: Turn, *, incognito: bool, patience: float) -> bool | None:
        """Publish a turn, and wait for the promise that it will not be lost; an incognito one nobody keeps, and of any
        other it is not known here."""
        _check_text(turn.text)
        client, raw = await self._connected(patience), turn.model_dump_json(exclude_none=True).encode()
        try:
            if incognito:
                await client.publish(subjects.incognito(turn.user_id), raw)
                await client.flush(timeout=max(1, round(patience)))
            elif await self._is_duplicate(client, turn, raw, message_id(turn), patience):
                # Anybody may have published under this id; a true repetition changes nothing.
                await self._is_duplicate(client, turn, raw, None, patience)
        except NoStreamResponseError:
            raise Unavailable(f"the bus at {self._where} has no memorybus on it: {_START}", undone=True) from None
        except APIError as error:
            raise RequestFailed("unavailable", f"the bus refused: {error.description}", retryable=True) from None
        except _FAILED as error:
            raise self._unanswered(subjects.TURNS, patience, error) from None
        return False if incognito else None

    async def _is_duplicate(self, client: Client, turn: Turn, raw: bytes, id_: str | None, patience: float) -> bool:
        headers = {subjects.MSG_ID_HEADER: id_} if id_ else None
        stream, subject = subjects.TURNS_STREAM.name, subjects.turns(turn.user_id)
        promise = await client.jetstream().publish(subject, raw, timeout=patience, stream=stream, headers=headers)
        return bool(promise.duplicate)

    async def export(self, user_id: str, *, patience: float) -> AsyncIterator[str]:
        """The lines of an export, a page at a time."""
        cursor: str | None = None
        while True:
            page = await self.ask(flow.EXPORT, ExportRequest(user_id=user_id, cursor=cursor), patience=patience)
            for line in page.lines:
                yield line
            if (cursor := page.next_cursor) is None:
                return

    async def forget_conversation(self, asked: ListRequest, *, patience: float) -> TruncateReply:
        """Forget what was said in the conversation that is asked for, but what is pinned or saved."""
        said = [entry async for entry in self._listed(asked, patience)]
        here = str(asked.conversation_id)
        shared = {one.id for one in said if any(name != here for name in one.conversations)}
        ids = sorted((one.id for one in said if not (one.pinned or one.manually_saved)), key=shared.__contains__)
        going, failed, meant = set(ids) - shared, list[BulkFailure](), {"conversation_id": here, "space": asked.space}
        done = set[str]()
        for start in range(0, max(len(ids), 1), _PAGE):  # of none, too, there may be dead letters
            some = tuple(ids[start : start + _PAGE])
            body = BulkRequest(user_id=asked.user_id, ids=some, action="forget", whole="conversation", **meant)
            reply = await self.ask(flow.BULK, body, patience=patience)
            done, failed = done.union(reply.done), [*failed, *reply.failed]
        kept = len(said) - len(ids) + len(done - going)
        return TruncateReply(conversation_id=here, forgotten=len(done & going), kept=kept, failed=tuple(failed[:_PAGE]))

    async def _listed(self, asked: ListRequest, patience: float) -> AsyncIterator[Entry]:
        """All that is listed, whatever became of it; what was said last is waited for."""
        for state in _STATES:
            page = asked.model_copy(update={"status": state, "limit": _PAGE, "settled": state == _STATES[0]})
            while True:
                reply = await self.ask(flow.LIST, page, patience=patience)
                for entry in reply.items:
                    yield entry
                if reply.next_cursor is None:
                    break
                page = page.model_copy(update={"cursor": reply.next_cursor, "settled": False})

    async def close(self) -> None:
        """End the connection."""
        async with self._connecting:
            await self._let_go()

    async def _let_go(self) -> None:
        """End the connection, one to a server that is not there any more as well, which has no end."""
        if self._client is not None:
            with suppress(*_FAILED):
                await asyncio.wait_for(self._client.close(), _CLOSING)

    async def _connected(self, patience: float) -> _Client:
        async with self._connecting:
            if self._client is None or self._client.is_closed:
                await self._let_go()
                self._client = await self._connect(patience)
            return self._client

    async def _connect(self, patience: float) -> _Client:
        failed: Exception = TimeoutError()
        for server in self._servers:
            client = _Client()
            try:
                await asyncio.wait_for(client.connect(server, **self._options), patience * _CONNECTING)
                return client
            except Exception as error:  # also what the client raises for an address that is none
                failed = error
                with suppress(Exception):
                    await asyncio.wait_for(client.close(), _CLOSING)
        if "authorization" in str(failed).lower():
            why = f"wrong user or password, or none, for the bus at {self._where}: `memorybus address` prints both"
            raise RequestFailed("unauthenticated", why)
        if isinstance(failed, TimeoutError):
            hint = f"nothing at {self._where} speaks as a bus does: the address of the HTTP edge is http://…"
            raise Unavailable(f"{hint}; otherwise {_START}", undone=True)
        raise Unavailable(f"no bus answers at {self._where}: {_START}", undone=True)

    def _unanswered(self, subject: str, patience: float, error: Exception) -> Unavailable | RequestFailed:
        if "permissions violation" in self._complaint:
            complaint, self._complaint = self._complaint, ""
            return RequestFailed("forbidden", f"the bus does not let us ask: {complaint}")
        if isinstance(error, ConnectionClosedError):
            return Unavailable(f"the connection to the bus at {self._where} broke: the next call makes a new one")
        return Unavailable(f"no answer from {subject} at {self._where} within {patience:.1f} s: try again later")

    async def _note(self, error: Exception) -> None:
        self._complaint = str(error)


def _check_text(text: str) -> None:
    """Refuse what nobody could keep: the bus takes any message, and what is no turn ends as a dead letter.

    Raises:
        RequestFailed: the text is blank or too long.
    """
    size, most = len(text.encode()), int(os.environ.get("MEMORYBUS_MAX_TEXT_BYTES") or MOST_TEXT_BYTES)
    if size > most:
        raise RequestFailed("too_large", f"The text has {size:,} bytes, {most:,} are allowed: split it.")
    if not text.strip():
        raise RequestFailed("invalid_request", "The text is blank.")
