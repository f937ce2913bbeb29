"""Statements that may not come back yet: hashes of what was forgotten, each with the time when its embargo ends.

They are read by id, so that what was forgotten a moment ago is known at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from contracts.ports import Unavailable
from contracts.v1.entries import Entry
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch import removal
from services.shared.stores.opensearch.client import Client, Document, Write
from services.shared.stores.opensearch.documents import UNTIL, USER, embargo_ids, now
from services.shared.stores.opensearch.pauses import ATTEMPTS, step_aside


async def lay(client: Client, entries: Sequence[Entry], until: datetime) -> None:
    """Let the statements of these entries not come back before a moment; none comes back sooner than before.

    Raises:
        Unavailable: others keep changing the same embargoes, or they cannot be written now.
    """
    left = {id_: entry.user_id for entry in entries for id_ in embargo_ids(entry)}
    for _ in range(ATTEMPTS):
        held = await client.mget("claims", left.items())
        writes = [
            _write(id_, user_id, microseconds(until), document)
            for (id_, user_id), document in zip(left.items(), held, strict=True)
            if document is None or document.source[UNTIL] < microseconds(until)
        ]
        made = await client.bulk(writes)
        left = {write.id: write.routing for write, version in zip(writes, made, strict=True) if version is None}
        if not left:
            return
        await step_aside()
    raise Unavailable("other processes keep forgetting the same statements: try again")


def _write(id_: str, user_id: str, until: int, held: Document | None) -> Write:
    body = {USER: user_id, UNTIL: until}
    if held is None:
        return Write("create", "claims", user_id, id_, body)
    return Write("index", "claims", user_id, id_, body, held.version)


async def barred(client: Client, entries: Sequence[Entry]) -> set[str]:
    """Of these entries, the ids of those whose statement may not come back now."""
    users = {id_: entry.user_id for entry in entries for id_ in embargo_ids(entry)}
    moment = now()
    found = await client.mget("claims", users.items(), fields=(UNTIL,))
    standing = {document.id for document in found if document is not None and document.source[UNTIL] > moment}
    return {entry.id for entry in entries if not standing.isdisjoint(embargo_ids(entry))}


async def lift(client: Client) -> None:
    """Drop the embargoes whose time is over."""
    await removal.remove(client, client.alias("claims"), {"range": {UNTIL: {"lte": now()}}})
