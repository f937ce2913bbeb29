"""Bulk requests: cut to size, every item of the answer checked, items there was no room for tried again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from pydantic_core import to_json

from services.shared.stores.opensearch import failures
from services.shared.stores.opensearch.pauses import PAUSES, wait
from services.shared.stores.opensearch.wire import Json, Version, Write, lines, routed

Send = Callable[[bytes], Awaitable[Json]]
"""Sends one bulk body, and returns the answer."""

_MOST_ITEMS = 500
_MOST_BYTES = 5_000_000
_CONFLICT = 409
_MISSING = "document_missing_exception"
_CONFLICTS_OF_UPDATES = 5
"""Two updates that merge different fields into one document do not disturb each other: the second is done again."""


def item(write: Write, index: str) -> bytes:
    """The lines that carry out a write."""
    action: Json = {"_index": index, "_id": write.id, "routing": routed(write.routing)}
    if write.seen is not None:
        action |= {"if_seq_no": write.seen.seq_no, "if_primary_term": write.seen.primary_term}
    elif write.operation == "update":
        action["retry_on_conflict"] = _CONFLICTS_OF_UPDATES
    if write.operation == "delete":
        return lines((to_json({"delete": action}),))
    body = {"doc": write.body} if write.operation == "update" else write.body
    return lines((to_json({write.operation: action}), to_json(body)))


async def carry_out(items: Sequence[bytes], send: Send) -> list[Version | None]:
    """Send all items; the version that each made, or None where it was refused because of another write.

    Raises:
        Unavailable: some could not be written now.
        ValueError: one can never be written.
    """
    made: list[Version | None] = [None] * len(items)
    left = list(range(len(items)))
    for pause in (*PAUSES, None):
        left = [index for chunk in _chunks(items, left) for index in await _sent(items, chunk, made, send, pause)]
        if not left:
            return made
        await wait(pause or 0.0)
    raise AssertionError("the last attempt leaves nothing or raises")


async def _sent(
    items: Sequence[bytes], chunk: list[int], made: list[Version | None], send: Send, pause: float | None
) -> list[int]:
    """Send one request; the items to try again."""
    answer = await send(b"".join(items[index] for index in chunk))
    again = []
    for index, answered in zip(chunk, answer["items"], strict=True):
        (result,) = answered.values()
        status = int(result["status"])
        if status < 300:
            made[index] = Version(result["_seq_no"], result["_primary_term"])
        elif not _overtaken(status, cause := result.get("error") or {}):
            if pause is None or not failures.passes_soon(status, cause):
                raise failures.of_item(status, cause)
            again.append(index)
    return again


def _overtaken(status: int, cause: Json) -> bool:
    """Whether another write was faster; what was removed meanwhile cannot be updated."""
    return status == _CONFLICT or cause.get("type") == _MISSING


def _chunks(items: Sequence[bytes], indexes: Sequence[int]) -> Iterator[list[int]]:
    chunk: list[int] = []
    size = 0
    for index in indexes:
        if chunk and (len(chunk) == _MOST_ITEMS or size + len(items[index]) > _MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(index)
        size += len(items[index])
    if chunk:
        yield chunk
