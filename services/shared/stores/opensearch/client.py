"""The connection to OpenSearch: requests that are tried again, answers that are checked, reads that are fresh."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from opensearchpy import AsyncOpenSearch
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SerializationError
from opensearchpy.serializer import JSONSerializer
from pydantic_core import from_json, to_json

from contracts.ports import Unavailable
from services.shared.settings import Settings
from services.shared.stores.opensearch import bulk, failures
from services.shared.stores.opensearch.connection import Connection
from services.shared.stores.opensearch.pauses import PAUSES, wait
from services.shared.stores.opensearch.wire import (
    Document,
    Get,
    Json,
    Kind,
    Version,
    Write,
    document,
    lines,
    routed,
)

__all__ = ["Address", "Client", "Document", "Get", "Json", "Kind", "Reads", "Version", "Write"]

T = TypeVar("T")

Reads = Literal["fresh", "refreshed"]
"""fresh: a search finds what this process wrote before; refreshed: what the last refresh of the index has shown."""

_ATTEMPTS = 4
_MOST_DOCUMENTS = 500
TIMEOUT = 30.0  # seconds
_CONNECTIONS = 32
_FRESH_ENOUGH = 0.2  # seconds
MOST_BYTES = 64 * 1024**2
"""Of one answer. A request for many documents that brings more is repeated for half of them at a time."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where OpenSearch is and who asks. Several urls are nodes of one cluster."""

    urls: tuple[str, ...] = field(repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Address:
        """What the settings choose."""
        password = settings.opensearch_password
        return cls(
            urls=tuple(url.strip() for url in settings.opensearch_url.split(",")),
            user=settings.opensearch_user,
            password=password.get_secret_value() if password else None,
            ca=settings.opensearch_ca,
        )


class _Json(JSONSerializer):
    """The client's serializer with a faster parser."""

    def loads(self, s: str | bytes) -> Any:
        try:
            return from_json(s)
        except ValueError:  # no JSON, or deeper than a well
            raise SerializationError("no JSON") from None


def _engine(address: Address) -> AsyncOpenSearch:
    options: Json = {"ssl_context": _trust(address.ca)} if any(map(_is_secure, address.urls)) else {}
    if address.user is not None:
        options["http_auth"] = (address.user, address.password or "")
    try:
        return AsyncOpenSearch(
            hosts=list(address.urls),
            connection_class=Connection,
            most_bytes=MOST_BYTES,
            serializer=_Json(),
            max_retries=0,  # what is tried again is decided here
            retry_on_status=(502, 503, 504),  # … but the next attempt goes to another node
            pool_maxsize=_CONNECTIONS,
            **options,
        )
    except (ValueError, TypeError):  # its words may hold a part of a password
        raise Unavailable("no address of OpenSearch: check MEMORYBUS_OPENSEARCH_URL") from None


def _is_secure(url: str) -> bool:
    return url.startswith("https:")


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise Unavailable(f"no certificate authority in {ca}: check MEMORYBUS_OPENSEARCH_CA ({error})") from error


class Client:
    """A cluster, and in it the indices whose names begin with `prefix`.

    `routing` is always the plain id of the user whose documents are meant. Every method raises `Unavailable` for what
    may pass, and may be repeated: a write that had been done is refused the second time, or changes nothing.
    """

    def __init__(self, address: Address, *, prefix: str, reads: Reads = "refreshed") -> None:
        self.prefix = prefix
        self._address = address
        self._reads = reads
        self._engine = _engine(address)
        self._closed = False
        self._written: Counter[Kind] = Counter()
        self._shown: Counter[Kind] = Counter()
        self._refreshed_at: dict[Kind, float] = {}

    def alias(self, kind: Kind) -> str:
        """The name under which the documents of a kind are read and written."""
        return f"{self.prefix}-{kind}"

    async def request(
        self, method: str, path: str, *, body: Any = None, params: Json | None = None, seconds: float | None = None
    ) -> Any:
        """One request and its answer within so many seconds, or 30. What may pass soon is tried again first.

        Raises:
            Unavailable: there is no answer now; the text says what to do.
            OpenSearchException: the request itself is wrong.
        """
        if self._closed:
            raise Unavailable("the text store is closed")
        raw = body if body is None or isinstance(body, bytes) else to_json(body)
        seconds = TIMEOUT if seconds is None else seconds
        options = {**(params or {}), "request_timeout": seconds}
        try:
            async with asyncio.timeout(seconds):
                return await self._tried(method, path, options, raw)
        except TimeoutError:
            late = ConnectionTimeout("TIMEOUT", "", None)
            raise failures.translated(late, self._address.urls) from None

    async def _tried(self, method: str, path: str, options: Json, raw: bytes | None) -> Any:
        for attempt in range(_ATTEMPTS):
            try:
                return await self._engine.transport.perform_request(method, path, params=dict(options), body=raw)
            except OpenSearchException as error:
                if attempt + 1 == _ATTEMPTS or not failures.may_pass_soon(error):
                    raise failures.translated(error, self._address.urls) from None
            await wait(PAUSES[attempt])
        raise AssertionError("the last attempt returns or raises")

    def part(self, answer: object, name: str, kind: type[T]) -> T:
        """A part of an answer that every OpenSearch gives.

        Raises:
            Unavailable: it is not there.
        """
        found = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(found, kind):
            raise failures.translated(SerializationError(), self._address.urls)
        return found

    async def search(self, kind: Kind, body: Json, *, routing: str | None = None) -> Json:
        """The answer to one search; a partial one is an error."""
        params: Json = {"allow_partial_search_results": "false"}
        if routing is not None:
            params["routing"] = routed(routing)
        answer: Json = await self.request("POST", f"/{self.alias(kind)}/_search", body=body, params=params)
        self.part(self.part(answer, "hits", dict), "hits", list)
        return answer

    async def msearch(self, kind: Kind, bodies: Sequence[Json], *, routing: str | None = None) -> list[Json]:
        """The answers to several searches, in order; a partial one is an error."""
        if not bodies:
            return []
        header: Json = {"index": self.alias(kind), "allow_partial_search_results": False}
        if routing is not None:
            header["routing"] = routed(routing)
        body = lines(to_json(part) for search in bodies for part in (header, search))
        responses = self.part(await self.request("POST", "/_msearch", body=body), "responses", list)
        for response in responses:
            failures.check(response)
            self.part(response, "hits", dict)
        return responses

    async def mget(
        self, kind: Kind, keys: Iterable[tuple[str, str]], *, fields: Sequence[str] | None = None
    ) -> list[Document | None]:
        """The documents of these (id, user) as they were written last, in order; None for unknown ones.

        Documents of several users live side by side: who asks checks that what comes back is of the user.
        """
        wanted = tuple(fields) if fields is not None else None
        return await self.get([Get(kind, user_id, id_, wanted) for id_, user_id in keys])

    async def get(self, wanted: Sequence[Get]) -> list[Document | None]:
        """The same for documents of several kinds."""
        asked = [index for index, get in enumerate(wanted) if get.possible]
        found: list[Document | None] = [None] * len(wanted)
        for start in range(0, len(asked), _MOST_DOCUMENTS):
            chunk = asked[start : start + _MOST_DOCUMENTS]
            docs = await self._documents([self._described(wanted[index]) for index in chunk])
            for index, doc in zip(chunk, docs, strict=True):
                failures.check(doc)
                found[index] = document(doc)
        return found

    async def _documents(self, described: list[Json]) -> list[Json]:
        try:
            docs: list[Json] = self.part(await self.request("POST", "/_mget", body={"docs": described}), "docs", list)
            return docs
        except failures.AnswerTooLong:
            if len(described) == 1:
                raise
            middle = len(described) // 2
            return await self._documents(described[:middle]) + await self._documents(described[middle:])

    def _described(self, get: Get) -> Json:
        described: Json = {"_index": self.alias(get.kind), "_id": get.id, "routing": routed(get.routing)}
        return described if get.fields is None else described | {"_source": list(get.fields)}

    async def bulk(self, writes: Sequence[Write]) -> list[Version | None]:
        """Carry out writes, in no order; the version each made, or None where it was refused because of another.

        Raises:
            Unavailable: some could not be written now; others may have been.
            ValueError: a document can never be written.
        """
        try:
            return await bulk.carry_out([bulk.item(write, self.alias(write.kind)) for write in writes], self._send)
        finally:
            self._written.update({write.kind for write in writes})

    async def _send(self, body: bytes) -> Json:
        answer: Json = await self.request("POST", "/_bulk", body=body, params={"require_alias": "true"})
        self.part(answer, "items", list)
        return answer

    async def refresh(self, kind: Kind) -> None:
        """Let searches find everything this process wrote, and what others wrote up to a moment ago."""
        if not self._unseen(kind) and time.monotonic() < self._refreshed_at.get(kind, -_FRESH_ENOUGH) + _FRESH_ENOUGH:
            return
        await self.refresh_now(kind)

    async def refresh_now(self, kind: Kind) -> None:
        """Let searches find everything that anybody wrote before this call."""
        begun, written = time.monotonic(), self._written[kind]
        await self.request("POST", f"/{self.alias(kind)}/_refresh")
        self._shown[kind] = max(self._shown[kind], written)
        self._refreshed_at[kind] = begun

    async def fresh(self, kind: Kind) -> None:
        """Refresh when reads are to be fresh and this process has written since."""
        if self._reads == "fresh" and self._unseen(kind):
            await self.refresh(kind)

    def _unseen(self, kind: Kind) -> bool:
        return self._written[kind] > self._shown[kind]

    async def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        pool = self._engine.transport.connection_pool
        for connection in {*pool.connections, *getattr(pool, "orig_connections", ())}:  # also to nodes put aside
            await connection.close()
