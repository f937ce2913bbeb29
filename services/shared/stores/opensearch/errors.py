"""Errors of OpenSearch: which may pass, and what a person can do about the others."""

from __future__ import annotations

import re
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

from contracts.errors import Unavailable
from services.shared.redaction import redact_address

_BLOCK = "cluster_block_exception"
_WRITE_BLOCK = "/8/"
_BUSY = frozenset({429, 502, 503, 504})
_UNKNOWN_HERE = frozenset({400, 404, 405, 406, 415})
"""What other servers say to requests of OpenSearch; it would give a reason with a type."""

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

_NOT_OPENSEARCH = "what answers at {} is not OpenSearch: check MEMORYBUS_OPENSEARCH_URL"
_REDIRECTS = "OpenSearch sends us elsewhere, where nothing is sent: check MEMORYBUS_OPENSEARCH_URL"
_TYPES = frozenset(
    """cluster_block_exception index_not_found_exception resource_already_exists_exception invalid_alias_name_exception
    mapper_parsing_exception document_missing_exception version_conflict_engine_exception illegal_argument_exception
    rejected_execution_exception circuit_breaking_exception security_exception search_phase_execution_exception
    parsing_exception aliases_not_found_exception no_shard_available_action_exception unavailable_shards_exception
    process_cluster_event_timeout_exception cluster_manager_not_discovered_exception timeout_exception""".split()
)
_A_TYPE = re.compile("[a-z_]{3,80}")
_MARKS = (_WRITE_BLOCK, "/12/", "read-only")
"""What tells one kind of block from another in the reason of it."""

Json = dict[str, Any]


class AnswerTooLong(Unavailable):
    """An answer is longer than is read; asked for less at a time, it may not be."""


def may_pass_soon(error: BaseException) -> bool:
    """Whether another attempt in a moment may succeed; a request that timed out has waited long enough."""
    if isinstance(error, ConnectionTimeout | SSLError):
        return False
    if isinstance(error, ConnectionError):
        return True
    return isinstance(error, TransportError) and passes_soon(*_kept(error))


def passes_soon(status: int, cause: Json) -> bool:
    """The same of a status and its cause, which an item of a bulk answer has of its own."""
    if cause.get("type") == _BLOCK:
        return _WRITE_BLOCK in str(cause.get("reason"))
    return status in _BUSY


def translated(error: OpenSearchException, urls: Sequence[str]) -> Exception:
    """`Unavailable` in words that help, or the error itself when the request was wrong."""
    where = redact_address(",".join(urls))
    if isinstance(error, SerializationError):
        return Unavailable(_NOT_OPENSEARCH.format(where))
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
        status, cause = _kept(error)
        if status in _UNKNOWN_HERE and "type" not in cause:
            return Unavailable(_NOT_OPENSEARCH.format(where))
        return _of_status(status, cause, error)
    return error


def of_item(status: int, cause: Json) -> Exception:
    """The same for one item of a bulk or multi-get answer that stays refused."""
    cause = known(cause)
    return _of_status(status, cause, ValueError(f"OpenSearch refuses a document ({_named(status, cause)})"))


def check(answer: Json) -> None:
    """Raise what one of several answers reports as an error."""
    if "error" in answer:
        error, status = answer["error"], answer.get("status")
        raise of_item(status if isinstance(status, int) else 500, error if isinstance(error, dict) else {})


def _of_status(status: int, cause: Json, otherwise: Exception) -> Exception:
    named = _named(status, cause)
    if cause.get("type") == _BLOCK:
        return Unavailable(f"{_block_words(cause)} ({named})")
    if status == 401:
        return Unavailable(_STRANGER)
    if status == 403:
        return Unavailable(f"the user of OpenSearch lacks a permission: grant it; its log names it ({named})")
    if cause.get("type") == "index_not_found_exception":
        return Unavailable(f"{_MISSING} ({named})")
    if 300 <= status < 400:
        return Unavailable(f"{_REDIRECTS} ({named})")
    if status in _BUSY or status >= 500:
        return Unavailable(f"{_BUSY_WORDS} ({named})")
    return otherwise


def _named(status: int, cause: Json) -> str:
    return f"{status} {cause.get('type', '')}".strip()


def known(cause: object) -> Json:
    """Of a reason only what this program knows by name: a server may say anything, also what a user said."""
    if not isinstance(cause, dict):
        return {}
    kind, reason = cause.get("type"), str(cause.get("reason"))
    found = [mark for mark in _MARKS if mark in reason]
    if not isinstance(kind, str) or not _A_TYPE.fullmatch(kind):
        return {"reason": " ".join(found)}
    return {"type": kind if kind in _TYPES else "another error", "reason": " ".join(found)}


def innermost(info: object) -> Json:
    """The innermost reason that an answer gives, as far as it is known."""
    cause = (info.get("error") or _first_failure(info)) if isinstance(info, dict) else None
    roots = cause.get("root_cause") if isinstance(cause, dict) else None
    return known(roots[0] if isinstance(roots, list) and roots else cause)


def _kept(error: TransportError) -> tuple[int, Json]:
    """The status of an error, and what the connection has kept of the reason."""
    status, info = error.status_code, error.info
    return status if isinstance(status, int) else 0, info["error"] if isinstance(info, dict) else {}


def _first_failure(info: Json) -> object:
    """What a request that removes many documents says of the first one that it could not remove."""
    failed = info.get("failures")
    return failed[0].get("cause") if isinstance(failed, list) and failed and isinstance(failed[0], dict) else None


def _block_words(cause: Json) -> str:
    reason = str(cause.get("reason"))
    if "/12/" in reason:
        return _DISK
    if _WRITE_BLOCK in reason:
        return _BLOCKED
    return _READ_ONLY if "read-only" in reason else _BUSY_WORDS
