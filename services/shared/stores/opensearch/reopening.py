"""Taking back what was decided about proposals, so that they are judged again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.ports import Unavailable
from services.shared.stores.opensearch.documents import DECIDED_AT, ENTRY, OUTCOME, OWNER, REASON, USER
from services.shared.stores.opensearch.entries import is_entry
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Kind, Write, backoff

_NOTED = (OUTCOME, ENTRY, REASON, DECIDED_AT)


async def reopen(client: Client, users: Mapping[str, str]) -> None:
    """Remove the outcomes of proposals, given as user by id; one whose entry is there keeps its own.

    The decision goes first: while the outcome is still noted, nobody makes another.

    Raises:
        Unavailable: others keep deciding the same proposals.
    """
    left = dict(users)
    for _ in range(CAS_ATTEMPTS):
        standing = await _read(client, "entries", left)
        lost = {id_: user_id for id_, user_id in left.items() if not is_entry(standing.get(id_), user_id)}
        decisions = [doc for id_, doc in standing.items() if id_ in lost and doc.source.get(OWNER) == users[id_]]
        overtaken = await _write(client, users, [_removal(document, users[document.id]) for document in decisions])
        noted = await _read(client, "turns", {id_: user for id_, user in lost.items() if id_ not in overtaken})
        outcomes = [doc for id_, doc in noted.items() if doc.source[USER] == users[id_] and OUTCOME in doc.source]
        left = overtaken | await _write(client, users, [_without_outcome(document) for document in outcomes])
        if not left:
            return
        await backoff()
    raise Unavailable("other processes keep deciding the same proposals: try again")


async def _read(client: Client, kind: Kind, users: Mapping[str, str]) -> dict[str, Document]:
    found = await client.mget(kind, users.items())
    return {document.id: document for document in found if document is not None}


def _removal(document: Document, user_id: str) -> Write:
    return Write("delete", "entries", user_id, document.id, seen=document.version)


def _without_outcome(document: Document) -> Write:
    body = {name: value for name, value in document.source.items() if name not in _NOTED}
    return Write("index", "turns", document.source[USER], document.id, body, document.version)


async def _write(client: Client, users: Mapping[str, str], writes: Sequence[Write]) -> dict[str, str]:
    """Carry out writes; the proposals (user by id) whose documents were changed meanwhile."""
    made = await client.bulk(writes)
    return {write.id: users[write.id] for write, version in zip(writes, made, strict=True) if version is None}
