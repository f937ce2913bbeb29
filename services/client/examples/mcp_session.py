"""A program that speaks MCP: lists the tools, remembers, and searches. `scripts/setup mcp` installs what it takes.

.venv/bin/python services/client/examples/mcp_session.py ann
"""

import asyncio
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    url = os.environ.get("MEMORYBUS_URL", "http://127.0.0.1:8400")
    headers = {"Memory-User": sys.argv[1] if len(sys.argv) > 1 else "me"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as session,
    ):
        print("tools:", *(tool.name for tool in (await session.list_tools()).tools))
        await session.call_tool("add", {"type": "preference", "content": "I prefer uv over pip."})
        found = await session.call_tool("search", {"query": "uv or pip?"})
        print("found:", *(one["content_snippet"] for one in (found.structured_content or {})["results"]))


asyncio.run(main())
