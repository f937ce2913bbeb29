"""Answers of HTTP servers that are bounded before they are read, for clients made of httpx."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import httpx

UNCOMPRESSED: Final = {"Accept-Encoding": "identity"}
"""Headers of every request: what is compressed may be a thousand times longer than it looks."""

MOST: Final = "memorybus.most_bytes"
"""Extension of a request that says how long its answer may be."""

DEFAULT_MOST: Final = 64 * 1024


class AnswerRefused(httpx.TransportError):
    """The answer is compressed, or longer than it may be; it was not read."""


def bounded(most: int = DEFAULT_MOST) -> dict[str, list[Callable[[httpx.Response], Awaitable[None]]]]:
    """Event hooks of a client: an answer has at most so many bytes, or as many as its request says."""

    async def bind(response: httpx.Response) -> None:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise AnswerRefused("the answer is compressed, which was not asked for")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Bounded(response.stream, response.request.extensions.get(MOST, most))

    return {"response": [bind]}


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._most:
                raise AnswerRefused(f"the answer is longer than {self._most:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
