"""Writing the files anew without what was removed: an index keeps replaced documents until their segment is merged."""

from __future__ import annotations

import logging
from contextlib import suppress

from contracts.ports import Unavailable
from services.shared.stores.opensearch import embargo, indexes, meta
from services.shared.stores.opensearch.client import Client

log = logging.getLogger(__name__)

_EXPUNGE = {"only_expunge_deletes": "true", "flush": "true"}

_PATIENCE = 30.0
"""Seconds; a merge that takes longer goes on by itself, and the next sweep sees how far it came."""


async def sweep(client: Client) -> bool:
    """Merge away every document that was removed or replaced; whether none is left in any file.

    The cost: every segment with such a document is written once more, by one thread of each node, so on a memory that
    changes all over it is as much as writing all of it; searches and writes go on. OpenSearch lets a document go only
    half a minute after its last change, and each change of any entry replaces a document, so this answers False until
    the memory has been quiet for so long, and as long as there are indices that a migration replaced and left.
    """
    await embargo.lift(client)
    await meta.drop_old_receipts(client)
    names = ",".join(client.alias(kind) for kind in indexes.KINDS)
    await client.request("POST", f"/{names}/_flush")
    if await _removed(client, names):
        with suppress(Unavailable):  # it may only take longer; whether OpenSearch is there at all shows in what follows
            await client.request("POST", f"/{names}/_forcemerge", params=_EXPUNGE, seconds=_PATIENCE)
    return not await _removed(client, names) and not await _replaced(client)


async def _removed(client: Client, names: str) -> int:
    """How many documents that were removed or replaced are in the segments, those of all copies."""
    await client.request("POST", f"/{names}/_refresh")
    stats = await client.request("GET", f"/{names}/_stats/docs")
    return int(stats["_all"]["total"]["docs"]["deleted"])


async def _replaced(client: Client) -> list[str]:
    """The indices that a migration replaced, which keep what they had."""
    if names := await indexes.replaced(client):
        log.warning("old_indices_left", extra={"indices": names, "remedy": "memorybus migrate --drop-old"})
    return names
