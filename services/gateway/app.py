"""gateway: the edge. It talks to the bus only, never to a store.

HTTP ◄──► gateway
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from faststream.asgi import AsgiResponse, get

from services.gateway import asyncapi
from services.shared.app import Host, Service
from services.shared.site import Route


async def build(host: Host) -> Service:
    """Wire the pages."""
    return Service("gateway", routes=tuple(pages(host.bus_address)))


def pages(address: str = "nats://127.0.0.1:4222") -> list[Route]:
    """The documentation of the bus, as JSON and as a page; made once."""
    release = version("memorybus")
    document = json.dumps(asyncapi.document(release, address)).encode()
    html = asyncapi.page(release).encode()
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": asyncapi.POLICY}

    @get(include_in_schema=False)
    async def show_document(scope: Any) -> AsgiResponse:
        return AsgiResponse(document, 200, {"content-type": "application/json"})

    @get(include_in_schema=False)
    async def show_page(scope: Any) -> AsgiResponse:
        return AsgiResponse(html, 200, headers)

    return [("/asyncapi", show_page), ("/asyncapi.json", show_document), ("/", show_page)]
