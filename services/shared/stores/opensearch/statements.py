"""Who makes a statement: a document for each statement of a voice (scope, role, speaker), made by whoever comes first.

It lists the entry that makes the statement; more than one where texts share a key and state different things all the
same, by a capital or a citation. An entry is listed before it is stored, and stays listed when it goes out of use: who
was held up meanwhile finds the list changed. What is listed and not stored yet is either about to be, by whoever
decides its proposal, or never will be: then its place is free.

Beside them are the suppressions: hashes of what was forgotten, each with the time until which it may not come back. All
are read by id, so that what was made or forgotten a moment ago is known at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from contracts.errors import Unavailable
from contracts.ports import Accepted
from contracts.v1.entries import Entry
from services.shared.stores.moments import microseconds, now
from services.shared.stores.opensearch.documents import STORED, statement_id, suppression_id, suppression_ids
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Found, Get, Write, backoff
from services.shared.stores.tombstones import Digest

_DECIDED = ("user_id", "proposed", "outcome")


@dataclass(frozen=True, slots=True)
class Listed:
    """What there is of entries that are listed: those in use, and proposals that are not decided."""

    active: Mapping[str, Entry]
    open: Collection[str]

    def makers(self, listed: Iterable[str], statement: str) -> list[str]:
        """Of the listed entries those that make the statement now, or are about to."""
        active = (id_ for id_ in listed if id_ in self.active and statement_id(self.active[id_]) == statement)
        return [*active, *(id_ for id_ in listed if id_ in self.open)]


def wanted(users: Mapping[str, str]) -> list[Get]:
    """What is to be read of entries that are listed, given as user by id."""
    return _proposals(users) + [Get("entries", user_id, id_, STORED) for id_, user_id in users.items()]


def _proposals(users: Mapping[str, str]) -> list[Get]:
    return [Get("turns", user_id, id_, _DECIDED) for id_, user_id in users.items()]


def listed(found: Found, users: Mapping[str, str]) -> Listed:
    """What there is of these entries, given as user by id, when all that is wanted was read."""
    documents = [its for id_ in users if (its := found["entries", id_])]
    entries = {its.id: Entry.model_validate_json(its.source["body"]) for its in documents}
    turns = [its for id_ in users if (its := found["turns", id_]) and its.source["user_id"] == users[id_]]
    open_ = {its.id for its in turns if its.source["proposed"] and "outcome" not in its.source}
    active = {id_: its for id_, its in entries.items() if its.status == "active" and its.user_id == users[id_]}
    return Listed(active, open_ - entries.keys())


async def enlist(engine: Engine, accepted: Sequence[Accepted]) -> set[str]:
    """List the entries that are to be accepted; the ids of those that must be judged again.

    These were overtaken, and are not listed, or their statement is suppressed by now. Whether there are suppressions at
    all shows together with the listing: an update that changes nothing tells whether its document is there.

    Raises:
        Unavailable: others keep listing entries of the same statements, or nothing can be written now.
    """
    enlisted: dict[str, list[Accepted]] = {}
    for one in accepted:
        if one.entry.statement_hash:
            enlisted.setdefault(statement_id(one.entry), []).append(one)
    judged = [one.entry for one in accepted if one.known_similar is not None]
    writes = [_write(id_, ones[0].entry.user_id, [one.entry.id for one in ones]) for id_, ones in enlisted.items()]
    looks = [Write("update", "statements", entry.user_id, id_) for entry in judged for id_ in suppression_ids(entry)]
    made = await engine.client.bulk([*writes, *looks])
    left = _refused(writes, made[: len(writes)])
    if not left and not any(made[len(writes) :]):
        return set()
    overtaken: set[str] = set()
    for _ in range(CAS_ATTEMPTS):
        if not left:
            return overtaken | await suppressed(engine.client, judged)
        writes, behind = await _beside(engine.client, {id_: enlisted[id_] for id_ in left})
        overtaken |= behind
        left = _refused(writes, await engine.client.bulk(writes))
        if left:
            await backoff()
    raise Unavailable("other processes keep storing the same statements: try again")


async def _beside(client: Client, enlisted: Mapping[str, Sequence[Accepted]]) -> tuple[list[Write], set[str]]:
    """The writes that list entries beside those that are listed, and the ids of those that stand back behind one."""
    users = {id_: ones[0].entry.user_id for id_, ones in enlisted.items()}
    documents = {its.id: its for its in await client.mget("statements", users.items()) if its}
    ours = {one.entry.id for ones in enlisted.values() for one in ones}
    others = {id_: users[its.id] for its in documents.values() for id_ in its.source["entries"] if id_ not in ours}
    known = listed(await _in_order(client, others), others)
    writes: list[Write] = []
    overtaken: set[str] = set()
    for statement, ones in enlisted.items():
        held = documents[statement].source["entries"] if statement in documents else []
        makers = known.makers([id_ for id_ in held if id_ in others], statement)
        first = [one.entry.id for one in ones if one.known_similar is None or set(makers).issubset(one.known_similar)]
        overtaken |= {one.entry.id for one in ones}.difference(first)
        if not set(first).issubset(held):
            in_use = [id_ for id_ in held if id_ in known.active or id_ in known.open]  # also those about to state it
            writes.append(_write(statement, users[statement], [*in_use, *first], documents.get(statement)))
    return writes, overtaken


async def _in_order(client: Client, users: Mapping[str, str]) -> Found:
    """What is wanted of entries that are listed, their proposals before themselves.

    One request reads from several indices, each at a moment of its own. An entry that was not stored yet, with a
    proposal that was decided by then, would seem never to have come to be, and give its place away.
    """
    return await client.find(wanted(users), await client.find(_proposals(users)))


async def release(client: Client, entries: Sequence[Entry]) -> None:
    """Take entries that never came to be off the lists of their statements; what others change meanwhile stays."""
    users = {statement_id(entry): entry.user_id for entry in entries if entry.statement_hash}
    ids = {entry.id for entry in entries}
    writes = []
    for document in await client.mget("statements", users.items()):
        if document is not None and not ids.isdisjoint(document.source["entries"]):
            left = [id_ for id_ in document.source["entries"] if id_ not in ids]
            emptied = Write("delete", "statements", users[document.id], document.id, seen=document.version)
            writes.append(_write(document.id, users[document.id], left, document) if left else emptied)
    await client.bulk(writes)


def _write(id_: str, user_id: str, listed: Sequence[str], seen: Document | None = None) -> Write:
    body = {"user_id": user_id, "entries": list(dict.fromkeys(listed))}
    if seen is None:
        return Write("create", "statements", user_id, id_, body)
    return Write("index", "statements", user_id, id_, body, seen.version)


def _refused(writes: Sequence[Write], made: Sequence[object | None]) -> set[str]:
    return {write.id for write, version in zip(writes, made, strict=True) if version is None}


async def suppress(client: Client, digests: Sequence[Digest], until: datetime) -> None:
    """Let these statements not come back before a moment; none comes back sooner than before.

    Raises:
        Unavailable: others keep changing the same suppressions, or they cannot be written now.
    """
    left = {suppression_id(digest): digest[0] for digest in digests}
    for _ in range(CAS_ATTEMPTS):
        held = await client.mget("statements", left.items())
        writes = []
        for (id_, user_id), document in zip(left.items(), held, strict=True):
            body = {"user_id": user_id, "until": microseconds(until)}
            if document is None:
                writes.append(Write("create", "statements", user_id, id_, body))
            elif document.source["until"] < microseconds(until):
                writes.append(Write("index", "statements", user_id, id_, body, document.version))
        made = await client.bulk(writes)
        left = {write.id: write.routing for write, version in zip(writes, made, strict=True) if version is None}
        if not left:
            return
        await backoff()
    raise Unavailable("other processes keep forgetting the same statements: try again")


async def suppressed(client: Client, entries: Sequence[Entry]) -> set[str]:
    """Of these entries, the ids of those whose statement may not come back now."""
    users = {id_: entry.user_id for entry in entries for id_ in suppression_ids(entry)}
    found = await client.mget("statements", users.items(), fields=("until",))
    return standing([document for document in found if document], entries)


def standing(found: Iterable[Document], entries: Sequence[Entry]) -> set[str]:
    """Of these entries, the ids of those whose statement one of the documents keeps from coming back now."""
    moment = now()
    ids = {document.id for document in found if document.source.get("until", 0) > moment}
    return {entry.id for entry in entries if not ids.isdisjoint(suppression_ids(entry))}
