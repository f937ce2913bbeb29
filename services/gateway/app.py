"""gateway: the edge. It talks to the bus only, never to a store.

HTTP ◄──► gateway ◄──► memory.v1.turns.<user>, memory.v1.retrieve.<user>,
                       memory.v1.entries.<verb>.<user>, memory.v1.memory.<verb>.<user>
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from faststream.asgi import AsgiResponse, get

from contracts.paths import PREFIX
from services.gateway import asyncapi, static
from services.gateway.settings import GatewaySettings
from services.shared.app import Host, Service
from services.shared.bus.provisioning import restore_counts
from services.shared.settings import UnusableSetting
from services.shared.site import Route

if TYPE_CHECKING:
    from services.gateway.tokens import TokenVerifier


async def build(host: Host) -> Service:
    """Wire the pages and the verbs of memory."""
    from services.gateway import (  # FastAPI takes a third of a second; other services do without
        api,
        callers,
        keys,
        limits,
        mcp_http,
        openapi,
    )
    from services.gateway.proxy import app as proxies
    from services.gateway.proxy.settings import ProxySettings

    settings = GatewaySettings()
    tokens = _verifier(settings) if settings.auth else None
    rates = limits.RateLimits(host.bus, settings)
    keep_counting = partial(rates.keep_stream, partial(restore_counts, host.bus.js, host.settings))
    edge = api.Edge(
        host.memory(),
        callers.GuardedDoor(keys.KeyRing(keys.KeyStore(host.bus)), tokens, settings)
        if settings.auth
        else callers.OpenDoor(passing_on=f"{proxies.PREFIX}/"),
        rates,
        settings,
        longest=host.settings.max_text_bytes,
    )
    app = api.paths(version("memorybus"))
    mcp = mcp_http.McpEdge(edge)
    proxy = proxies.Proxy(edge, ProxySettings(), host.token_counter, guarded=settings.auth)
    routes: list[Route] = [
        (mcp_http.PATH, mcp),
        (f"{PREFIX}/*", api.application(edge, app)),
        (f"{proxies.PREFIX}/*", proxies.application(proxy, edge.origins)),  # after the longer path
        ("/openapi.json", _page(lambda: json.dumps(openapi.document(app)), "application/json")),
        ("/openapi", _page(lambda: openapi.page(app, asyncapi.STYLE), _HTML, asyncapi.POLICY)),
    ]
    published = tokens.published if tokens else None
    return Service(
        "gateway",
        routes=(*pages(host.bus_address), *routes),
        background=(edge.live.run, mcp.run, proxy.run, keep_counting, *([published.run] if published else [])),
        rehearsals=(proxy.rehearse,),
        trouble=lambda: published.trouble if published else None,
    )


def _verifier(settings: GatewaySettings) -> TokenVerifier | None:
    """What checks the tokens of an identity provider, where there is one."""
    from services.gateway.tokens import TokenVerifier

    ways = [settings.jwt_secret, settings.jwt_public_key, settings.jwt_jwks]
    if sum(way is not None for way in ways) > 1:
        raise UnusableSetting(_ONE_WAY)
    return TokenVerifier(settings) if any(way is not None for way in ways) else None


_ONE_WAY = (
    "set one of MEMORYBUS_GATEWAY_JWT_SECRET, MEMORYBUS_GATEWAY_JWT_PUBLIC_KEY and MEMORYBUS_GATEWAY_JWT_JWKS: "
    "with two a token could choose how it is checked"
)
_HTML = "text/html; charset=utf-8"


def pages(address: str = "nats://127.0.0.1:4222") -> list[Route]:
    """The documentation of the bus, as JSON and as a page."""
    release = version("memorybus")
    return [
        ("/asyncapi", _page(lambda: asyncapi.page(release), _HTML, asyncapi.POLICY)),
        ("/asyncapi.json", _page(lambda: json.dumps(asyncapi.document(release, address)), "application/json")),
        *static.routes(),
    ]


def _page(write: Callable[[], str], media_type: str, policy: str | None = None) -> Any:
    """A page that is written when it is first asked for, beside everything else: that takes a second."""
    headers = {"content-type": media_type} | ({"content-security-policy": policy} if policy else {})
    written = cache(write)

    @get(include_in_schema=False)
    async def show(scope: Any) -> AsgiResponse:
        return AsgiResponse((await asyncio.to_thread(written)).encode(), 200, headers)

    return show
