"""What OpenSearch answers when it cannot: what may pass, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opensearchpy.exceptions import (
    ConnectionError,
    ConnectionTimeout,
    OpenSearchException,
    SerializationError,
    SSLError,
    TransportError,
)

from contracts.ports import Unavailable

_BUSY = frozenset({429, 502, 503, 504})
_DISK = "OpenSearch takes no writes because its disk is nearly full: free some space, then it goes on by itself"
_BLOCKED = (
    "OpenSearch takes no writes to this index: a migration is under way and it goes on by itself; "
    "if the migration was broken off, run `memorybus migrate` again"
)
_READ_ONLY = "OpenSearch takes no writes: the index or the cluster was set read-only; lift the block"
_BUSY_WORDS = "OpenSearch is overloaded or has no copy of the data at hand: try again, or add nodes"
_STRANGER = (
    "OpenSearch does not know this user or password: check MEMORYBUS_OPENSEARCH_USER and MEMORYBUS_OPENSEARCH_PASSWORD"
)
_MISSING = "an index is missing: start memorybus again to make it, or restore a snapshot"

Json = dict[str, Any]


def may_pass_soon(error: OpenSearchException) -> bool:
    """Whether another attempt in a moment may succeed; what timed out has waited long enough."""
    if isinstance(error, ConnectionTimeout | SSLError):
        return False
    if isinstance(error, ConnectionError):
        return True
    return isinstance(error, TransportError) and passes_soon(_status(error), _cause(error))


def passes_soon(status: int, cause: Json) -> bool:
    """The same of a status and its cause, which an item of a bulk answer has of its own."""
    if _is_block(cause):
        return _write_block(cause)
    return status in _BUSY


def translated(error: OpenSearchException, urls: Sequence[str]) -> Exception:
    """`Unavailable` in words that help, or the error itself when the request was wrong."""
    where = ", ".join(urls)
    if isinstance(error, SerializationError):
        return Unavailable(f"what answers at {where} is not OpenSearch: check MEMORYBUS_OPENSEARCH_URL")
    if isinstance(error, ConnectionTimeout):
        return Unavailable(f"OpenSearch at {where} did not answer in time: it is overloaded or unreachable; try again")
    if isinstance(error, SSLError):
        return Unavailable(
            f"no trusted connection to OpenSearch at {where}: check MEMORYBUS_OPENSEARCH_CA ({error.error})"
        )
    if isinstance(error, ConnectionError):
        return Unavailable(
            f"OpenSearch cannot be reached at {where}: check that it runs and MEMORYBUS_OPENSEARCH_URL ({error.error})"
        )
    if isinstance(error, TransportError):
        return _of_status(_status(error), _cause(error), error)
    return error


def of_item(status: int, cause: Json) -> Exception:
    """The same for one item of a bulk or multi-get answer that stays refused."""
    reason = f"{cause.get('type')}: {cause.get('reason')}"
    return _of_status(status, cause, ValueError(f"OpenSearch refuses a document ({status} {reason})"))


def check(answer: Json) -> None:
    """Raise what one of several answers reports as an error."""
    if "error" in answer:
        error = answer["error"]
        raise of_item(int(answer.get("status", 500)), error if isinstance(error, dict) else {"reason": str(error)})


def _of_status(status: int, cause: Json, otherwise: Exception) -> Exception:
    if _is_block(cause):
        return Unavailable(f"{_block_words(cause)} ({cause.get('reason')})")
    if status == 401:
        return Unavailable(_STRANGER)
    if status == 403:
        return Unavailable(f"the user of OpenSearch lacks a permission: grant it ({cause.get('reason')})")
    if cause.get("type") == "index_not_found_exception":
        return Unavailable(f"{_MISSING} ({cause.get('reason')})")
    if status in _BUSY or status >= 500:
        return Unavailable(f"{_BUSY_WORDS} ({status} {cause.get('reason')})")
    return otherwise


def _status(error: TransportError) -> int:
    return error.status_code if isinstance(error.status_code, int) else 0


def _cause(error: TransportError) -> Json:
    """The innermost reason that the answer gives, as far as it is one of OpenSearch."""
    info = error.info if isinstance(error.info, dict) else {}
    cause = info.get("error") or _first_failure(info)
    if not isinstance(cause, dict):
        return {"reason": cause}
    roots = cause.get("root_cause") or [cause]
    return roots[0] if isinstance(roots[0], dict) else cause


def _first_failure(info: Json) -> object:
    """What a request that removes many documents says of the first one that it could not remove."""
    failed = info.get("failures")
    return failed[0].get("cause") if isinstance(failed, list) and failed and isinstance(failed[0], dict) else None


def _is_block(cause: Json) -> bool:
    return cause.get("type") == "cluster_block_exception"


def _write_block(cause: Json) -> bool:
    return "/8/" in str(cause.get("reason"))


def _block_words(cause: Json) -> str:
    reason = str(cause.get("reason"))
    if "/12/" in reason:
        return _DISK
    if _write_block(cause):
        return _BLOCKED
    return _READ_ONLY if "read-only" in reason else _BUSY_WORDS
