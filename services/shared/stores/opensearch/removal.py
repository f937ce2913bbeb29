"""Removing all documents that a query finds."""

from __future__ import annotations

from contracts.ports import Unavailable
from services.shared.stores.opensearch import failures
from services.shared.stores.opensearch.client import Client, Json
from services.shared.stores.opensearch.wire import routed

_TOGETHER = 5000
"""So many are removed by one request, so that none takes long."""

_ROUNDS = 10_000


async def remove(client: Client, index: str, query: Json, *, routing: str | None = None) -> None:
    """Remove what is found now, until nothing of it is left.

    Safe to repeat: broken off, it has removed a part.

    Raises:
        Unavailable: some cannot be removed now.
    """
    params: Json = {"conflicts": "proceed", "max_docs": _TOGETHER}
    if routing is not None:
        params["routing"] = routed(routing)
    for _ in range(_ROUNDS):
        await client.request("POST", f"/{index}/_refresh")
        answer = await client.request("POST", f"/{index}/_delete_by_query", body={"query": query}, params=params)
        for failure in answer["failures"]:
            raise failures.of_item(int(failure["status"]), failure["cause"])
        if answer["total"] < _TOGETHER and not answer["version_conflicts"]:
            return
    raise Unavailable("others write faster than can be removed: stop them, and try again")
