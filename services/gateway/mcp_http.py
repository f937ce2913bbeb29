"""MCP over HTTP at `/mcp`: each request for itself, for the user whom its credential names."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from contracts.flow import Answer, R
from contracts.paths import VERB_OF
from services.gateway.problems import Problem
from services.shared.errors import MissingExtra

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from services.gateway.api import Edge
    from services.gateway.mcp_server import Context
    from services.gateway.mcp_tools import Ask

PATH = "/mcp"
_MISSING = "MCP needs the package mcp: install it with `scripts/setup mcp`, or memorybus with its extra `mcp`"


def require_sdk() -> None:
    """Raise unless the SDK is installed.

    Raises:
        MissingExtra: it is not.
    """
    if find_spec("mcp") is None:
        raise MissingExtra(_MISSING)


class McpEdge:
    """The ASGI application at `/mcp`. The SDK, most of a second to import, is imported when it is first asked for."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._manager: StreamableHTTPSessionManager | None = None

    async def run(self) -> None:
        """Serve, once somebody asks, until it is ended."""
        await self._wanted.wait()
        self._manager = await asyncio.to_thread(self._imported)
        async with self._manager.run():
            self._ready.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            await self._admit(request)
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        self._wanted.set()
        await self._ready.wait()
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)

    async def _admit(self, request: Request) -> None:
        await self._edge.let_in(request)
        if request.method != "POST":
            raise Problem("method", "This path takes POST: there are no sessions.", headers={"allow": "POST"})
        try:
            require_sdk()
        except MissingExtra as missing:
            raise Problem("not_found", f"{missing}.") from None

    def _imported(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from services.gateway.mcp_server import server

        return StreamableHTTPSessionManager(server(self._asked), json_response=True, stateless=True)

    def _asked(self, context: Context) -> Ask:
        """The bus, asked for the user behind a request, within what their credential opens."""

        async def ask(answer: Answer[Any, R], **fields: Any) -> R:
            verb = VERB_OF[answer.subject]
            assert context.request is not None
            caller = await self._edge.caller(context.request, answer.name, reads=verb.reads)
            by = {"by": caller.credential} if "by" in verb.leave else {}
            return await self._edge.reply(caller, answer, fields | by)

        return ask
