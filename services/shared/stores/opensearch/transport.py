"""Requests to OpenSearch: tried again while that may help, answers bounded and checked, reads as fresh as asked for."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

import aiohttp
import yarl
from opensearchpy import AIOHttpConnection, AsyncOpenSearch
from opensearchpy.exceptions import (
    HTTP_EXCEPTIONS,
    ConnectionError,
    ConnectionTimeout,
    OpenSearchException,
    SerializationError,
    SSLError,
    TransportError,
)
from opensearchpy.serializer import JSONSerializer
from pydantic_core import from_json, to_json
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from contracts.errors import Unavailable
from services.shared.backoff import backoff_seconds, wait_backoff
from services.shared.errors import describe_os_error
from services.shared.settings import Settings, UnusableAccess
from services.shared.stores.opensearch import errors
from services.shared.stores.opensearch.errors import Json

Kind = Literal["turns", "entries", "statements", "records", "meta"]
"""Which of the indices."""

Reads = Literal["fresh", "refreshed"]
"""fresh: a search finds what this process wrote before; refreshed: what the last refresh of the index has shown."""

T = TypeVar("T")

MOST_BYTES = 64 * 1024**2
"""Of one answer. A request for many documents that brings more is repeated for half of them at a time."""

TIMEOUT = 30.0  # seconds
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.6  # seconds between attempts
_ATTEMPTS = 4
_BULK_ATTEMPTS = 7
_CONNECTIONS = 32
_FRESH_ENOUGH = 0.2  # seconds
_LONGEST_ID = 512  # bytes, a limit of the engine
_MOST_DOCUMENTS = 500
_MOST_BULK_BYTES = 5_000_000
_CONFLICTS_OF_UPDATES = 5  # updates of different fields do not disturb each other: the second is done again

CAS_ATTEMPTS = 50
"""So often a conditional write is tried that others keep overtaking, with a short pause before each further one."""


async def backoff(seconds: float = 0.03) -> None:
    """Let those finish who were faster; those who wait together do not come back together."""
    await asyncio.sleep(backoff_seconds(1, longest=seconds, first=seconds))


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


class Version(NamedTuple):
    """Which write of a document was seen; a conditional write names it."""

    seq_no: int
    primary_term: int


class Document(NamedTuple):
    """A stored document, or those fields of it that were asked for, with the version it was read in."""

    id: str
    source: Json
    version: Version


class Get(NamedTuple):
    """Asks for one document of a user, whole or some fields of it."""

    kind: Kind
    routing: str
    id: str
    fields: tuple[str, ...] | None = None


Found = Mapping[tuple[Kind, str], Document | None]
"""Documents by kind and id; None for those that are not there."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a bulk request, of a document of a user.

    `create` is refused when the document exists, `index` replaces it, `update` merges fields into an existing one,
    `delete` needs no body. With `seen`, it is refused when the document has been written since; a `delete` always says
    what was seen.
    """

    operation: Literal["create", "index", "update", "delete"]
    kind: Kind
    routing: str
    id: str
    body: Json = field(default_factory=dict)
    seen: Version | None = None


def routed(user_id: str) -> str:
    """The routing value of a user: without the characters that mean something in a list of them."""
    return blake2b(user_id.encode(), digest_size=8).hexdigest()


def lines(parts: Iterable[bytes]) -> bytes:
    """A body of one JSON text a line."""
    return b"".join(part + b"\n" for part in parts)


class Connection(AIOHttpConnection):
    """One connection pool to a node: follows no redirects, takes nothing compressed, logs nothing."""

    async def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The status, headers and text of the answer, all of it within `timeout` seconds.

        Raises:
            ConnectionError: there is no answer, or one that is not read.
            TransportError: the answer is an error; of its text only what is known by name is kept.
        """
        if self.session is None:
            await self._create_aiohttp_session()
        try:
            async with self.session.request(
                method,
                self._target(url, params),
                data=body,
                headers={**self.headers, **(headers or {}), "accept-encoding": "identity"},
                timeout=aiohttp.ClientTimeout(total=timeout),
                allow_redirects=False,
            ) as response:
                content = await _read(response)
        except TimeoutError:
            raise ConnectionTimeout("TIMEOUT", "no answer in time", None) from None
        except (ssl.SSLError, aiohttp.ClientSSLError) as error:
            raise SSLError("N/A", type(error).__name__, None) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ConnectionError("N/A", describe_os_error(error), None) from None
        if not 200 <= response.status < 300 and response.status not in ignore:
            raise _error(response.status, content)
        return response.status, response.headers, content

    def _target(self, path: str, params: Mapping[str, Any] | None) -> yarl.URL:
        return yarl.URL.build(
            scheme=self.scheme,
            host=self.hostname,
            port=self.port,
            path=self.url_prefix + path,
            query_string=urlencode(params or {}),
            encoded=True,
        )

    async def _create_aiohttp_session(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.session = aiohttp.ClientSession(
            skip_auto_headers=("accept", "accept-encoding"),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=self._limit or 1, ssl=self._ssl_context or True),
        )


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Unavailable("OpenSearch answers compressed, which it was not asked to: look for a proxy before it")
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MOST_BYTES:
            raise errors.AnswerTooLong(f"OpenSearch answers with more than {MOST_BYTES:,} bytes")
    return bytes(content)


def _error(status: int, content: bytes) -> OpenSearchException:
    try:
        cause = errors.innermost(from_json(content))
    except ValueError:
        cause = {}
    return HTTP_EXCEPTIONS.get(status, TransportError)(status, cause.get("type", ""), {"error": cause})


class _Json(JSONSerializer):
    """The client's serializer with a faster parser."""

    def loads(self, s: str | bytes) -> Any:
        try:
            return from_json(s)
        except ValueError:  # no JSON, or deeper than a well
            raise SerializationError("no JSON") from None


def _engine(address: Address) -> AsyncOpenSearch:
    secure = any(url.startswith("https:") for url in address.urls)
    options: Json = {"ssl_context": _trust(address.ca)} if secure else {}
    if address.user is not None:
        options["http_auth"] = (address.user, address.password or "")
    try:
        return AsyncOpenSearch(
            hosts=list(address.urls),
            connection_class=Connection,
            serializer=_Json(),
            max_retries=0,  # what is tried again is decided here
            retry_on_status=(502, 503, 504),  # … but the next attempt goes to another node
            pool_maxsize=_CONNECTIONS,
            **options,
        )
    except (ValueError, TypeError):  # its words may hold a part of a password
        raise UnusableAccess("no address of OpenSearch: check MEMORYBUS_OPENSEARCH_URL") from None


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise UnusableAccess(f"no certificate authority in {ca}: check MEMORYBUS_OPENSEARCH_CA ({error})") from error


class Client:
    """A cluster, and in it the indices whose names begin with `prefix`.

    `routing` is always the plain id of the user whose documents are meant. Every method raises `Unavailable` for what
    may pass, and may be repeated: a write that had been done is refused the second time, or changes nothing.
    """

    def __init__(self, address: Address, *, prefix: str, reads: Reads = "refreshed") -> None:
        self.prefix = prefix
        self.address = address
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
            raise errors.translated(late, self.address.urls) from None

    async def _tried(self, method: str, path: str, options: Json, raw: bytes | None) -> Any:
        async def attempt() -> Any:
            return await self._engine.transport.perform_request(method, path, params=dict(options), body=raw)

        attempts = AsyncRetrying(
            retry=retry_if_exception(errors.may_pass_soon),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_backoff(longest=_LONGEST_PAUSE, first=_FIRST_PAUSE),
            reraise=True,
        )
        try:
            return await attempts(attempt)
        except OpenSearchException as error:
            raise errors.translated(error, self.address.urls) from None

    def part(self, answer: object, name: str, kind: type[T]) -> T:
        """A part of an answer that every OpenSearch gives.

        Raises:
            Unavailable: it is not there.
        """
        found = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(found, kind):
            raise errors.translated(SerializationError(), self.address.urls)
        return found

    async def search(self, kind: Kind, body: Json, *, routing: str | None = None) -> Json:
        """The answer to one search; a partial one is an error."""
        (answer,) = await self.msearch(kind, [body], routing=routing)
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
            errors.check(response)
            self.part(self.part(response, "hits", dict), "hits", list)
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
        asked = [index for index, get in enumerate(wanted) if 0 < len(get.id.encode()) <= _LONGEST_ID]
        found: list[Document | None] = [None] * len(wanted)
        for start in range(0, len(asked), _MOST_DOCUMENTS):
            chunk = asked[start : start + _MOST_DOCUMENTS]
            docs = await self._documents([self._described(wanted[index]) for index in chunk])
            for index, doc in zip(chunk, docs, strict=True):
                errors.check(doc)
                if doc.get("found", True):
                    found[index] = Document(doc["_id"], doc["_source"], Version(doc["_seq_no"], doc["_primary_term"]))
        return found

    async def find(self, wanted: Iterable[Get], held: Found | None = None) -> dict[tuple[Kind, str], Document | None]:
        """The same by kind and id: those that are held, and the others as they are now; the first fields asked for."""
        found = dict(held or {})
        asked = {(get.kind, get.id): get for get in reversed(list(wanted)) if (get.kind, get.id) not in found}
        return found | dict(zip(asked, await self.get(list(asked.values())), strict=True))

    async def _documents(self, described: list[Json]) -> list[Json]:
        try:
            docs: list[Json] = self.part(await self.request("POST", "/_mget", body={"docs": described}), "docs", list)
            return docs
        except errors.AnswerTooLong:
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
            return await carry_out([_lines_of(write, self.alias(write.kind)) for write in writes], self._send)
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


def _lines_of(write: Write, index: str) -> bytes:
    """The lines of a bulk request that carry out a write."""
    action: Json = {"_index": index, "_id": write.id, "routing": routed(write.routing)}
    if write.seen is not None:
        action |= {"if_seq_no": write.seen.seq_no, "if_primary_term": write.seen.primary_term}
    elif write.operation == "update":
        action["retry_on_conflict"] = _CONFLICTS_OF_UPDATES
    if write.operation == "delete":
        return lines((to_json({"delete": action}),))
    body = {"doc": write.body} if write.operation == "update" else write.body
    return lines((to_json({write.operation: action}), to_json(body)))


async def carry_out(items: Sequence[bytes], send: Callable[[bytes], Awaitable[Json]]) -> list[Version | None]:
    """Send all items of bulk requests; the version that each made, or None where another write was in the way.

    What there was no room for is tried again.

    Raises:
        Unavailable: some could not be written now.
        ValueError: one can never be written.
    """
    made: list[Version | None] = [None] * len(items)
    left = list(range(len(items)))
    for attempt in range(1, _BULK_ATTEMPTS + 1):
        again: list[int] = []
        for chunk in _chunks(items, left):
            answer = await send(b"".join(items[index] for index in chunk))
            for index, answered in zip(chunk, answer["items"], strict=True):
                (result,) = answered.values()
                if not _is_done(result, last=attempt == _BULK_ATTEMPTS):
                    again.append(index)
                elif "_seq_no" in result:
                    made[index] = Version(result["_seq_no"], result["_primary_term"])
        if not again:
            return made
        left = again
        await asyncio.sleep(backoff_seconds(attempt, longest=_LONGEST_PAUSE, first=_FIRST_PAUSE))
    raise AssertionError("the last attempt leaves nothing or raises")


def _is_done(result: Json, *, last: bool) -> bool:
    """Whether an item was written, or another write was faster; False when it is to be tried again."""
    status, cause = int(result["status"]), result.get("error") or {}
    if status < 300 or status == 409 or cause.get("type") == "document_missing_exception":
        return True
    if last or not errors.passes_soon(status, cause):
        raise errors.of_item(status, cause)
    return False


def _chunks(items: Sequence[bytes], indexes: Sequence[int]) -> Iterator[list[int]]:
    chunk: list[int] = []
    size = 0
    for index in indexes:
        if chunk and (len(chunk) == _MOST_DOCUMENTS or size + len(items[index]) > _MOST_BULK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(index)
        size += len(items[index])
    if chunk:
        yield chunk
