"""One connection pool to a node: answers are bounded before they are read, and nothing a server says goes further than
its status and what this program knows by name."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
import yarl
from opensearchpy import AIOHttpConnection
from opensearchpy.exceptions import (
    HTTP_EXCEPTIONS,
    ConnectionError,
    ConnectionTimeout,
    OpenSearchException,
    SSLError,
    TransportError,
)
from pydantic_core import from_json

from contracts.ports import Unavailable
from services.shared.errors import words_of
from services.shared.stores.opensearch import failures


class Connection(AIOHttpConnection):
    """Follows no redirects, asks for nothing compressed and takes nothing compressed; logs nothing."""

    def __init__(self, *, most_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._most_bytes = most_bytes

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
                content = await self._read(response)
        except TimeoutError:
            raise ConnectionTimeout("TIMEOUT", "no answer in time", None) from None
        except (ssl.SSLError, aiohttp.ClientSSLError) as error:
            raise SSLError("N/A", type(error).__name__, None) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ConnectionError("N/A", words_of(error), None) from None
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

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Unavailable("OpenSearch answers compressed, which it was not asked to: look for a proxy before it")
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > self._most_bytes:
                raise failures.AnswerTooLong(f"OpenSearch answers with more than {self._most_bytes:,} bytes")
        return bytes(content)

    async def _create_aiohttp_session(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.session = aiohttp.ClientSession(
            skip_auto_headers=("accept", "accept-encoding"),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=self._limit or 1, ssl=self._ssl_context or True),
        )


def _error(status: int, content: bytes) -> OpenSearchException:
    try:
        cause = failures.innermost(from_json(content))
    except ValueError:
        cause = {}
    return HTTP_EXCEPTIONS.get(status, TransportError)(status, cause.get("type", ""), {"error": cause})
