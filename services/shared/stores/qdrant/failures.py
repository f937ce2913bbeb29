"""Says what to do when the client fails, whatever it raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import grpc  # type: ignore[import-untyped]
import httpx
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from contracts.errors import Unavailable, UnusableStore

Failure = Literal["unreachable", "slow", "key", "missing", "busy", "refused", "broken"]

ADVICE: dict[Failure, str] = {
    "unreachable": "check that the server runs, and MEMORYBUS_QDRANT_URL and MEMORYBUS_QDRANT_GRPC_PORT are its own",
    "slow": "the server did not answer in time: look at its load and its log",
    "key": "check MEMORYBUS_QDRANT_API_KEY; it must allow to read, to write and to create collections",
    "missing": "the collection is gone; an empty one is made with the next call, fill it with `memorybus reindex`",
    "busy": "the server limits the rate or the size of requests: wait, or raise its limits",
    "refused": "the server does not accept the request: look at its log, its version and its limits",
    "broken": "look at the log of the server, its disk and its memory",
}

_BY_STATUS: dict[int, Failure] = {401: "key", 403: "key", 404: "missing", 408: "slow", 429: "busy", 504: "slow"}
_BY_CODE: dict[grpc.StatusCode, Failure] = {
    grpc.StatusCode.UNAVAILABLE: "unreachable",
    grpc.StatusCode.DEADLINE_EXCEEDED: "slow",
    grpc.StatusCode.UNAUTHENTICATED: "key",
    grpc.StatusCode.PERMISSION_DENIED: "key",
    grpc.StatusCode.NOT_FOUND: "missing",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "busy",
    grpc.StatusCode.INVALID_ARGUMENT: "refused",
    grpc.StatusCode.UNIMPLEMENTED: "refused",
}


class CollectionMismatch(UnusableStore):
    """The server holds something else under a name that is needed."""


class CollectionMissing(Unavailable):
    """The server answers, but has no such collection."""


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn whatever the client raises into `Unavailable`: arguments were checked before, so it is never the caller.

    The error itself is not chained: a traceback would show what the server said.

    Raises:
        CollectionMissing: the server has no such collection.
        Unavailable: anything else.
    """
    try:
        yield
    except (Unavailable, CollectionMismatch):
        raise
    except Exception as error:
        failure, what = _diagnosed(error)
        kind = CollectionMissing if failure == "missing" else Unavailable
        raise kind(f"Qdrant failed {doing}: {what}; {ADVICE[failure]}") from None


def _diagnosed(error: Exception) -> tuple[Failure, str]:
    """What failed, in words of ours alone: what a server says may hold a user's text or an address with a password."""
    if isinstance(error, UnexpectedResponse):
        return _of_status(error.status_code or 0), f"status {error.status_code}"
    if isinstance(error, ResourceExhaustedResponse):
        return "busy", grpc.StatusCode.RESOURCE_EXHAUSTED.name
    if isinstance(error, ResponseHandlingException):
        return _of_transport(error.source), type(error.source).__name__
    if isinstance(error, grpc.aio.AioRpcError):
        return _BY_CODE.get(error.code(), "broken"), error.code().name
    return "slow" if isinstance(error, TimeoutError) else "broken", type(error).__name__


def _of_status(status: int) -> Failure:
    return _BY_STATUS.get(status, "refused" if 400 <= status < 500 else "broken")


def _of_transport(error: Exception) -> Failure:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol):
        return "unreachable"
    if isinstance(error, httpx.TimeoutException):
        return "slow"
    return "unreachable" if isinstance(error, httpx.TransportError) else "broken"
