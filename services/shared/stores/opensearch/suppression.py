"""Statements that may not come back yet: hashes of what was forgotten, each with the time when its suppression ends.

They are read by id, so that what was forgotten a moment ago is known at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from contracts.ports import Unavailable
from contracts.v1.entries import Entry
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch.documents import UNTIL, USER, now, suppression_ids
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Write, backoff


async def suppress(client: Client, entries: Sequence[Entry], until: datetime) -> None:
    """Let the statements of these entries not come back before a moment; none comes back sooner than before.

    Raises:
        Unavailable: others keep changing the same suppressions, or they cannot be written now.
    """
    left = {id_: entry.user_id for entry in entries for id_ in suppression_ids(entry)}
    for _ in range(CAS_ATTEMPTS):
        held = await client.mget("claims", left.items())
        writes = []
        for (id_, user_id), document in zip(left.items(), held, strict=True):
            body = {USER: user_id, UNTIL: microseconds(until)}
            if document is None:
                writes.append(Write("create", "claims", user_id, id_, body))
            elif document.source[UNTIL] < microseconds(until):
                writes.append(Write("index", "claims", user_id, id_, body, document.version))
        made = await client.bulk(writes)
        left = {write.id: write.routing for write, version in zip(writes, made, strict=True) if version is None}
        if not left:
            return
        await backoff()
    raise Unavailable("other processes keep forgetting the same statements: try again")


async def suppressed(client: Client, entries: Sequence[Entry]) -> set[str]:
    """Of these entries, the ids of those whose statement may not come back now."""
    users = {id_: entry.user_id for entry in entries for id_ in suppression_ids(entry)}
    found = await client.mget("claims", users.items(), fields=(UNTIL,))
    return standing([document for document in found if document], entries)


def standing(found: Iterable[Document], entries: Sequence[Entry]) -> set[str]:
    """Of these entries, the ids of those whose statement one of the documents keeps from coming back now."""
    moment = now()
    ids = {document.id for document in found if document.source.get(UNTIL, 0) > moment}
    return {entry.id for entry in entries if not ids.isdisjoint(suppression_ids(entry))}
