"""The pages of a process over HTTP, by their paths, for requests that call it by a name of its own.

A path that ends in `/*` leads to an application that answers all below it.

A page of another site can make a browser ask this server once its own name leads here (DNS rebinding). The browser then
names that other site in the header Host, so only addresses, localhost and names that were given are answered.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any

from faststream.asgi import AsgiResponse
from faststream.asgi.handlers import HttpHandler
from faststream.asgi.types import Receive, Scope, Send

from services.shared import tracing

log = logging.getLogger(__name__)

Route = tuple[str, Any]

MOST_BODY = 64 * 1024  # bytes
MOST_FOR_APPLICATION = 1024 * 1024
"""Bytes of a body that an application takes, unless it says by its `most_body`; the bus takes no more either."""

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer; a page may have a policy of its own."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::\d{1,5})?", re.IGNORECASE)
_UNKNOWN_HOST = (
    "This server is not known by the name it was asked for. "
    "Use its address or localhost, or list the name in MEMORYBUS_HTTP_HOSTS."
)
_TOO_LONG = "The body of this request may have {:,} bytes."
_STARTING = "memorybus is starting: ask again in some seconds."
_NO_LENGTH = "Say how long the body is: send the header Content-Length."


class Site:
    """The ASGI application of one process. `host` is where it listens; `named` are further names, separated by commas,
    or `*` for any. While it `is_starting`, what it does not know yet may still come."""

    def __init__(
        self, routes: Iterable[Route], *, host: str, named: str, is_starting: Callable[[], bool] = lambda: False
    ) -> None:
        self._routes: dict[str, Any] = {}
        self._is_starting = is_starting
        self._names = {_canonical(name) for name in (host, *named.split(",")) if name.strip()}
        self.add(routes)

    def add(self, routes: Iterable[Route]) -> None:
        """Show more pages."""
        for path, page in routes:
            if isinstance(page, HttpHandler):
                page.set_logger(log)
            self._routes[path] = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            with self._span(scope) as span:
                await self._page(scope)(scope, receive, _protected(send, span))

    def _span(self, scope: Scope) -> AbstractContextManager[tracing.Span]:
        """The span of what an application answers; it has no path, as that may name somebody or what was said."""
        starts = (start for start in self._routes if start.endswith("/*") and scope["path"].startswith(start[:-1]))
        if not tracing.is_on() or (start := next(starts, None)) is None:
            return tracing.UNTOLD
        caused_by = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return tracing.span(f"HTTP {start}", "SERVER", caused_by)

    def _page(self, scope: Scope) -> Any:
        headers = dict(scope["headers"])
        if not self._is_own(headers.get(b"host", b"").decode("latin-1")):
            return _problem(421, _UNKNOWN_HOST)
        length = headers.get(b"content-length", b"0")
        page = self._routes.get(scope["path"]) or self._below(scope["path"])
        if page is None and self._is_starting():
            return _problem(503, _STARTING, {"retry-after": "1"})
        application = page is not None and not isinstance(page, HttpHandler)
        most = getattr(page, "most_body", MOST_FOR_APPLICATION) if application else MOST_BODY
        if not length.isdigit() or int(length) > most:
            return _problem(413, _TOO_LONG.format(most))
        if application and b"transfer-encoding" in headers:
            return _problem(411, _NO_LENGTH)
        return page or _problem(404, f"There is no such page. There are: {', '.join(sorted(self._routes))}")

    def _below(self, path: str) -> Any:
        """The application that answers for this path."""
        below = (page for start, page in self._routes.items() if start.endswith("/*") and path.startswith(start[:-1]))
        return next(below, None)

    def _is_own(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = _canonical(found[1] or found[2])
        is_local = name == "localhost" or name.endswith(".localhost")
        return is_local or _is_address(name) or name in self._names or "*" in self._names


def _canonical(name: str) -> str:
    return name.strip().lower().removesuffix(".")


def _is_address(name: str) -> bool:
    """Whether a browser needs no name server to find it."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> AsgiResponse:
    """What is wrong and what to do, as RFC 9457 has it."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    given = {"content-type": "application/problem+json", **(headers or {})}
    return AsgiResponse(json.dumps(body).encode(), status, given)


def _protected(send: Send, span: tracing.Span) -> Send:
    async def send_with_headers(event: Any) -> None:
        if event["type"] == "http.response.start":
            span.set_attribute("http.response.status_code", event["status"])
            own = {name for name, _ in event["headers"]}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            event = {**event, "headers": [*event["headers"], *added]}
        await send(event)

    return send_with_headers
