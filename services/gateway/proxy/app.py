"""The chat proxy: `/v1/…` of a model's API, with memory. What it does not have to change it does not touch."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast
from urllib.parse import quote
from uuid import uuid4

import httpx
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from contracts.ports import TokenCounter
from services.gateway.api import Edge
from services.gateway.callers import Caller, is_unfilled
from services.gateway.problems import EXPECTED, problem_of
from services.gateway.proxy.backend import Backend, Backends, Header, is_anthropic, returned
from services.gateway.proxy.bodies import Reader, completed, dumped, read_body, reader_of
from services.gateway.proxy.conversations import Key, Recalled
from services.gateway.proxy.dialects import DIALECTS, Asked, BadField, Dialect, HeaderWishes, wishes_of
from services.gateway.proxy.exchanges import Exchange, conversation_of
from services.gateway.proxy.memory import ChatMemory
from services.gateway.proxy.naming import sent_name
from services.gateway.proxy.people import People, told_of
from services.gateway.proxy.refusals import (
    NO_PATH,
    Refusal,
    plain_path,
    refuse_names_of_others,
    refuse_what_is_of_others,
)
from services.gateway.proxy.settings import ProxySettings
from services.gateway.proxy.tasks import is_task
from services.shared.context.echoes import without_blocks
from services.shared.http import CONNECTION, Held
from services.shared.tasks import beside_the_loop
from services.shared.telemetry import PROXIED, PROXY_ADDED

T = TypeVar("T")

log = logging.getLogger(__name__)

PREFIX = "/v1"
"""Where the proxy is; whatever is below leads to the same path below the base address of the model."""

_OFF = "There is no model behind this proxy: set MEMORYBUS_OPENAI_BASE_URL to the base address of one (…/v1)."
_NO_KEY = "The credential that you sent opens memorybus and is not passed on: {} has to be set for the model."
_LOOP = "The base address of the model leads back to this memorybus: point MEMORYBUS_OPENAI_BASE_URL to the model."
_UNREACHED = "The model behind the proxy could not be reached: is it where MEMORYBUS_…_BASE_URL says?"
_BROKEN = "The model behind the proxy closed the connection, or what it sent is no HTTP."
_SILENT = "The model did not answer within {:g} s; MEMORYBUS_PROXY_TIMEOUT_SECONDS gives it more time."
_FULL = "Too many long requests are under way: try again."
_QUICK = 64 * 1024  # bytes of JSON that are read in some ms
_MOST_ROOM = 4  # requests of the greatest length that are under way at a time
_SHUTDOWN_SECONDS = 0.4
_GRACE = 5.0
_REHEARSED = b'{"model": "none", "messages": [{"role": "user", "content": "When does my flight to Lisbon leave?"}]}'


class Cut(Exception):
    """The model's answer ended before its end; the client sees just that."""


@dataclass(slots=True)
class Passing:
    """One request on its way: what the model is sent, and what becomes of the answer."""

    dialect: Dialect | None
    body: bytes
    headers: list[Header]
    exchange: Exchange | None = None
    recalled: Recalled = field(default_factory=Recalled)
    reader: Reader | None = None
    answered: bool = False
    took_place: bool = False
    is_followed: bool = False


class Proxy:
    """The ASGI application at `/v1/*`."""

    def __init__(
        self, edge: Edge, settings: ProxySettings, counter: Callable[[], TokenCounter], *, guarded: bool
    ) -> None:
        self.most_body = settings.proxy_max_body_bytes
        self._edge = edge
        self._guarded = guarded
        self._silent = settings.proxy_timeout_seconds
        self._backends = Backends.of(settings)
        for setting in self._backends.settings_without_key() if guarded else ():
            log.warning("model_without_key", extra={"why": "every chat is refused", "set": setting})
        self._memory = ChatMemory(edge, settings, counter)
        self._people = People()
        self._room = _MOST_ROOM * self.most_body
        self._answering: set[asyncio.Future[str]] = set()

    async def run(self) -> None:
        """Wait for the end; then cut the streams that are left, and publish what was said until then."""
        try:
            await asyncio.Event().wait()
        finally:
            for task in self._answering:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_SHUTDOWN_SECONDS):
                    if self._answering:
                        await asyncio.wait(self._answering)
                    await self._memory.finish()
            await self._backends.close()

    async def rehearse(self) -> None:
        """Read a chat of nobody, of which nothing is asked or kept, and have ready what asks a model."""
        if self._backends.openai is None and self._backends.anthropic is None:
            return
        await run_in_threadpool(lambda: self._backends.client)  # as Starlette has it, whose threads are new, too
        path = f"{PREFIX}/chat/completions"
        request = Request({"type": "http", "method": "POST", "path": path, "headers": [(b"memory-incognito", b"true")]})
        await self._with_memory(request, Passing(DIALECTS[path], _REHEARSED, []), Caller(f"rehearsal-{uuid4()}"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, for as long as the client is there."""
        if CONNECTION in scope:
            cast(Held, scope[CONNECTION]).give(self._silent + _GRACE)
        dialect: Dialect | None = None
        try:
            path = plain_path(_below(scope), is_shared=self._backends.share_a_key)
            dialect = DIALECTS.get(PREFIX + path) if scope["method"] == "POST" else None
            outcome = await self._answer(Request(scope, receive), path, dialect, send)
        except ClientDisconnect:
            outcome = "gone"
        except Refusal as refused:
            outcome = "refused"
            spoken = dialect or (DIALECTS["/v1/messages"] if is_anthropic(scope) else DIALECTS["/v1/chat/completions"])
            await _refuse(refused, spoken)(scope, receive, send)
        except Cut:
            outcome = "cut"
            if CONNECTION in scope:
                cast(Held, scope[CONNECTION]).cut()
                await asyncio.sleep(0)
        PROXIED.labels(dialect.name if dialect else "other", outcome).inc()

    async def _answer(self, request: Request, path: str, dialect: Dialect | None, send: Send) -> str:
        backend = self._backends.of_request(request.scope)
        if backend is None:
            raise Refusal(404, "proxy_off", _OFF)
        with _in_words_of_the_api():
            caller, credential = await self._let_in(request)
        self._check(request, backend, path)
        with self._holding(request):
            raw = await request.body()
            if self._guarded and backend.key is not None:
                kind = request.headers.get("content-type", "")
                await beside_the_loop(partial(refuse_names_of_others, path, kind, raw), len(raw))
            started = time.perf_counter()
            passing = Passing(dialect, raw, [])
            with _in_words_of_the_api():
                spoken = await self._with_memory(request, passing, caller) if dialect else None
            if spoken is not None:
                await spoken(request.scope, request.receive, send)
                return "command"
            asking = self._asking(request, backend, passing, credential)
            PROXY_ADDED.labels(dialect.name if dialect else "other").observe(time.perf_counter() - started)
            said = passing.exchange and not passing.exchange.is_task
            with self._memory.answering(passing.exchange) if passing.exchange and said else nullcontext():
                return await self._while_there(request, partial(self._pass_on, asking, passing, send), passing)

    async def _let_in(self, request: Request) -> tuple[Caller, str | None]:
        """The caller, and their credential, which no model may see."""
        if not self._guarded:
            return await self._edge.let_in(request), None
        given = dict(request.scope["headers"])
        if b"authorization" not in given and (key := given.get(b"x-api-key")):
            headers = [*request.scope["headers"], (b"authorization", b"Bearer " + key)]
            request = Request({**request.scope, "headers": headers})
        caller = await self._edge.let_in(request)
        return caller, request.headers["authorization"].partition(" ")[2].strip()

    def _check(self, request: Request, backend: Backend, path: str) -> None:
        """Refuse what would come back to us, or would open too much.

        Raises:
            Refusal: it is so.
        """
        if self._backends.via.decode() in request.headers.get("via", ""):
            raise Refusal(508, "proxy_loop", _LOOP)
        if self._guarded and backend.key is None:
            raise Refusal(403, "no_provider_key", _NO_KEY.format(backend.key_setting))
        if backend.key is not None:
            refuse_what_is_of_others(request.method, path, request.scope["query_string"])

    @contextmanager
    def _holding(self, request: Request) -> Iterator[None]:
        """Room for the body of a request; all that are under way may have only so much."""
        size = int(request.headers.get("content-length", "0"))
        if size > self._room:
            raise Refusal(503, "overloaded", _FULL, {"retry-after": "1"})
        self._room -= size
        try:
            yield
        finally:
            self._room += size

    def _asking(self, request: Request, backend: Backend, passing: Passing, credential: str | None) -> httpx.Request:
        scope = request.scope
        reads = passing.exchange is not None
        headers = backend.headers(scope["headers"], credential=credential, via=self._backends.via, reads=reads)
        try:
            address = backend.address(_below(scope), scope["query_string"])
        except httpx.InvalidURL:
            raise Refusal(404, "not_found", NO_PATH) from None
        has_body = passing.body or b"content-length" in dict(scope["headers"])
        return httpx.Request(request.method, address, headers=headers, content=passing.body if has_body else None)

    async def _with_memory(self, request: Request, passing: Passing, caller: Caller) -> Response | None:
        """Complete what is sent with what is recalled; or the answer to a command.

        Raises:
            Problem, Refusal, RequestFailed, Unavailable: the request is at fault, or a command could not be done.
        """
        dialect = passing.dialect
        assert dialect is not None
        try:
            wished = wishes_of(request.headers)
            read = await _beside(partial(read_body, dialect, passing.body), len(passing.body))
        except BadField as error:
            raise Refusal(400, "invalid_memory_field", str(error)) from None
        if read is None:
            passing.headers = [(b"memory-degraded", b"unread")]
            return None
        body, asked = read
        exchange = await self._exchange(request, caller, asked, wished)
        self._people.see(caller.user_id, exchange.key.name, told_of(request.headers, body))
        await self._memory.until_begun(exchange)
        spoken = await self._memory.answer(exchange)
        if spoken is not None:
            return self._spoken(dialect, spoken, exchange)
        recalled = await self._memory.recall(exchange, asked.wishes.memory_top_k or wished.memory_top_k)
        recent = self._memory.recent(exchange)
        if recalled.block or recent:
            work = partial(completed, dialect, asked, recalled.block, recent)
            passing.body = await _beside(work, len(passing.body))
        elif asked.stripped is not body:
            passing.body = await _beside(partial(dumped, asked.stripped), len(passing.body))
        passing.exchange, passing.recalled = exchange, recalled
        passing.headers = _headers(exchange, recalled)
        return None

    async def _while_there(self, request: Request, work: Callable[[], Awaitable[str]], passing: Passing) -> str:
        """Do it while the client is there; once it is gone the model's stream ends; what was said by then counts."""
        passed = asyncio.ensure_future(work())
        gone = asyncio.create_task(_disconnected(request.receive))
        self._answering.add(passed)
        try:
            await asyncio.wait({passed, gone}, return_when=asyncio.FIRST_COMPLETED)
            if passed.done():
                return passed.result()
            passing.took_place = passing.took_place or not passing.answered
            return "gone"
        except asyncio.CancelledError:
            raise Cut from None
        finally:
            gone.cancel()
            if not passed.done():
                passed.cancel()
                await asyncio.wait({passed})
            self._answering.discard(passed)
            if passing.took_place and passing.exchange is not None:
                text, id_ = (passing.reader.text, passing.reader.answer_id) if passing.reader else ("", "")
                self._memory.remember(passing.exchange, passing.recalled, text)
                self._memory.following.go_on(passing.exchange, id_)

    async def _pass_on(self, asking: httpx.Request, passing: Passing, send: Send) -> str:
        """Ask the model, and pass on its answer as it comes.

        Raises:
            Refusal: the model was not reached, or did not answer.
            Cut: its answer broke off.
        """
        try:
            answer = await self._backends.ask(asking)
        except httpx.HTTPError as error:  # its words may hold an address with a password
            is_late = isinstance(error, httpx.TimeoutException)
            status, code = (504, "backend_timeout") if is_late else (502, "backend_unavailable")
            is_away = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol))
            what = _UNREACHED if is_away else _SILENT.format(self._silent) if is_late else _BROKEN
            ours = {name.decode(): value.decode() for name, value in passing.headers}
            raise Refusal(status, code, what, ours) from None
        try:
            passing.answered, passing.took_place = True, answer.is_success
            if passing.dialect and passing.exchange and answer.is_success:
                passing.reader = reader_of(passing.dialect, answer)
            headers = [*returned(answer.headers.raw), *passing.headers]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
            async for chunk in _chunks(answer):
                if passing.reader is not None:
                    passing.reader.feed(chunk)
                    self._follow(passing)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()
        return "passed" if answer.is_success else "backend_error"

    def _follow(self, passing: Passing) -> None:
        """Know the answer from which the client may go on, before the client does."""
        reader, exchange = passing.reader, passing.exchange
        if passing.is_followed or reader is None or exchange is None or not exchange.asked.has_id:
            return
        if id_ := reader.answer_id:
            passing.is_followed = True
            self._memory.following.answered(exchange, id_, passing.recalled)

    async def _exchange(self, request: Request, caller: Caller, asked: Asked, wished: HeaderWishes) -> Exchange:
        wishes, space = asked.wishes, wished.memory_space
        space = caller.space({"space": space} if space else {}, "default") or "default"
        named = next((name for name in (wishes.memory_id, wished.memory_id) if name and not is_unfilled(name)), None)
        sent = None if named or asked.talk else sent_name(request.headers.items(), asked.stripped)
        is_named = bool(named or asked.talk or sent)
        chain = await self._memory.following.chain_of(caller.user_id, space, asked, is_named=is_named)
        name = await beside_the_loop(partial(conversation_of, asked, named or sent, chain), asked.weight)
        said = self._memory.readable(asked.question) if asked.question else ""
        is_unknown = chain is not None and not chain.is_known
        return Exchange(
            caller,
            Key(caller.user_id, space, name),
            asked,
            without_blocks(said).strip() or None,
            is_named,
            bool(wishes.memory_incognito or wished.memory_incognito or is_unknown),
            chain,
            sends_all=sent is not None,
            is_task=is_task(asked, wished.memory_task, self._memory.conversations.heard(caller.user_id)),
        )

    def _spoken(self, dialect: Dialect, text: str, exchange: Exchange) -> Response:
        """An answer of our own, as the client asked for it; where one can go on from it, its id has the name of the
        conversation."""
        asked, now = exchange.asked, int(time.time())
        id_ = f"{exchange.key.name}_{uuid4().hex}" if asked.has_id and not exchange.is_named else uuid4().hex
        whole = dialect.spoken(text, asked, id=id_, created=now)
        self._memory.following.replied(exchange, dialect.answer_id(whole))
        headers = {"memory-conversation": exchange.key.name.encode().decode("latin-1"), "memory-command": "true"}
        if asked.stream:
            body = b"".join(dialect.spoken_stream(text, asked, id=id_, created=now))
            return Response(body, 200, headers, "text/event-stream; charset=utf-8")
        return Response(json.dumps(whole), 200, headers, "application/json")


def _below(scope: Scope) -> bytes:
    """The path below the place of the proxy, as it was sent."""
    return (cast(bytes, scope.get("raw_path")) or quote(scope["path"]).encode()).removeprefix(PREFIX.encode())


def _refuse(refused: Refusal, dialect: Dialect) -> Response:
    words = dialect.error(refused.status, refused.message, refused.code)
    return Response(json.dumps(words), refused.status, refused.headers, "application/json")


async def _chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    except httpx.HTTPError as error:
        log.warning("model_broke_off", extra={"error": type(error).__name__})
        raise Cut from None


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@contextmanager
def _in_words_of_the_api() -> Iterator[None]:
    """Make errors of memorybus refusals, which the API words."""
    try:
        yield
    except EXPECTED as error:
        problem = problem_of(error)
        raise Refusal(problem.status, problem.code, problem.detail, problem.headers) from None


def _headers(exchange: Exchange, recalled: Recalled) -> list[Header]:
    degraded = [*recalled.degraded]
    if not exchange.may_publish:
        degraded.append("not_allowed_to_publish")
    headers = [(b"memory-conversation", exchange.key.name.encode())]
    if recalled.ids:
        headers.append((b"memory-used", ",".join(recalled.ids).encode()))
    if degraded:
        headers.append((b"memory-degraded", ", ".join(degraded).encode()))
    return headers


async def _beside(work: Callable[[], T], size: int) -> T:
    return work() if size <= _QUICK else await asyncio.to_thread(work)


def application(proxy: Proxy, origins: frozenset[str]) -> ASGIApp:
    """The proxy, also for the pages of these origins."""
    if not origins:
        return proxy
    shown = ["Memory-Used", "Memory-Conversation", "Memory-Degraded", "X-Request-Id"]
    pages = CORSMiddleware(
        proxy,
        allow_origins=sorted(origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=shown,
    )
    pages.most_body = proxy.most_body  # type: ignore[attr-defined]
    return pages
