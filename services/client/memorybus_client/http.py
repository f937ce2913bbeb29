"""The way over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from contracts.flow import Answer, R
from contracts.paths import EXPORT, PREFIX, USER_HEADER, VERBS, TruncateReply, TurnReply, Verb
from contracts.v1.commands import ListRequest
from contracts.v1.turns import Turn
from memorybus_client.errors import MemorybusError, RequestFailed, Unavailable
from memorybus_client.transport import read, without_login

_CODES = {401: "unauthenticated", 403: "forbidden", 413: "too_large", 429: "rate_limited"}
_LONGEST_DETAIL = 500
_START = "start it with `memorybus up`, or give the address that it prints"


class HttpTransport:
    """Requests to the HTTP edge at `url`, as the user whom the credential names, or `user` where none is asked for."""

    def __init__(self, url: str, *, user: str | None, key: str | None, options: Mapping[str, Any]) -> None:
        headers = httpx.Headers(encoding="utf-8")
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        elif user is not None:
            headers[USER_HEADER] = user
        self._where = without_login(url)
        try:
            self._client = httpx.AsyncClient(base_url=f"{url.rstrip('/')}{PREFIX}", headers=headers, **options)
        except httpx.InvalidURL:  # it tells which part is none, which may be one of a password
            raise ValueError(f"the address {self._where} is none: http://HOST:PORT") from None

    async def ask(self, answer: Answer[Any, R], body: BaseModel, *, patience: float) -> R:
        """Send a request; its reply."""
        values = body.model_dump(mode="json", exclude={"user_id"}, exclude_none=True, exclude_unset=True)
        paths = [one for one in VERBS if one.answer == answer and values.keys() >= set(one.in_path)]
        verb = next((one for one in paths if values.keys().isdisjoint(one.leave)), paths[0])
        named = {name: str(values.pop(name)) for name in verb.in_path}
        if (unfit := next((one for one in named.values() if not one or "/" in one), None)) is not None:
            raise RequestFailed("not_found", f"nothing is called {unfit!r}: give an id as memorybus told it")
        path = verb.path.format(**{name: quote(value, safe="") for name, value in named.items()})
        async with self._sent(verb.method, path, patience, **_carried(verb, values)) as response:
            return read(answer.reply, await response.aread(), self._where)

    async def publish(self, turn: Turn, *, incognito: bool, patience: float) -> bool:
        """Publish a turn, and wait for the promise that it will not be lost; whether it may be kept."""
        values = turn.model_dump(mode="json", exclude={"user_id"}, exclude_none=True, exclude_unset=True)
        body = values | {"incognito": incognito}
        async with self._sent("POST", "/turns", patience, json=body) as response:
            return read(TurnReply, await response.aread(), self._where).kept

    async def forget_conversation(self, asked: ListRequest, *, patience: float) -> TruncateReply:
        """Forget what was said in the conversation that is asked for."""
        path, space = f"/conversations/{quote(str(asked.conversation_id), safe='')}", asked.space
        params = {} if space is None else {"space": space}
        async with self._sent("DELETE", path, patience, params=params) as response:
            return read(TruncateReply, await response.aread(), self._where)

    async def export(self, user_id: str, *, patience: float) -> AsyncIterator[str]:
        """The lines of an export as they come."""
        async with self._sent("GET", EXPORT.path, patience) as response:
            async for line in response.aiter_lines():
                yield line

    async def close(self) -> None:
        """End every connection."""
        await self._client.aclose()

    @asynccontextmanager
    async def _sent(self, method: str, path: str, patience: float, **more: Any) -> AsyncIterator[httpx.Response]:
        """The answer to a request; one that tells an error is raised."""
        try:
            async with self._client.stream(method, path, timeout=patience + 0.5, **more) as response:
                if response.status_code >= 400:
                    raise _failed(response, await response.aread(), self._where)
                yield response
        except httpx.ConnectError as error:
            if "SSL" in str(error) and self._where.startswith("https://"):
                why = f"no TLS with {self._where} ({error}): a plain port is http://…; certificates go into options"
                raise RequestFailed("unavailable", why) from None
            raise self._nothing() from None
        except (httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise self._nothing() from None
        except httpx.LocalProtocolError:  # it tells the header with all that is in it
            raise RequestFailed("invalid_request", "user, key or options cannot be sent in a header") from None
        except httpx.HTTPError as error:
            is_other = isinstance(error, httpx.RemoteProtocolError)
            advice = "try again later" + ("; the address of a bus is nats://…" if is_other else "")
            why = f"no answer from {self._where} within {patience:.1f} s ({type(error).__name__}): {advice}"
            raise Unavailable(why) from None

    def _nothing(self) -> Unavailable:
        return Unavailable(f"nothing answers at {self._where}: {_START}", undone=True)


def _carried(verb: Verb, values: dict[str, Any]) -> dict[str, Any]:
    """The values of a request, in its query or its body."""
    if verb.method not in ("GET", "DELETE"):
        return {"json": values}
    return {"params": {verb.renamed.get(name, name): value for name, value in values.items()}}


_OF_NO_VERB = "about:blank"
"""The type of a problem that the server tells, and not one of its verbs."""

_NO_MEMORY = {404: "does the address have a path too much?", 503: "it is starting; try again later"}


def _failed(response: httpx.Response, raw: bytes, where: str) -> MemorybusError:
    try:
        problem = json.loads(raw)
        if "code" not in problem and str(problem["type"]) == _OF_NO_VERB and response.status_code in _NO_MEMORY:
            return Unavailable(f"{where} serves no memory: {_NO_MEMORY[response.status_code]}", undone=True)
        code = str(problem.get("code") or _CODES.get(response.status_code, "internal"))
        detail = str(problem["detail"])[:_LONGEST_DETAIL]
        retryable = bool(problem.get("retryable", response.status_code >= 500))
    except (ValueError, LookupError, TypeError, AttributeError):
        why = f"{where} answers {response.status_code} and no problem of memorybus: is it there?"
        return RequestFailed("internal", why, retryable=response.status_code >= 500)
    after = response.headers.get("retry-after", "")
    return RequestFailed(code, detail, retryable=retryable, wait=float(after) if after.isdecimal() else 0.0)
