"""Entries: reading them, and replacing them one version at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contracts.ports import Unavailable
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import claims, queries
from services.shared.stores.opensearch.client import Client, Document, Version, Write
from services.shared.stores.opensearch.documents import BODY, ID, MERGED, OWNER, SEQ, STAMP, USER, entry_document
from services.shared.stores.opensearch.pauses import ATTEMPTS, step_aside
from services.shared.stores.opensearch.writing import Writer
from services.shared.stores.versions import successor

STORED = (USER, OWNER, BODY, SEQ, MERGED, STAMP)
"""The fields of a document that make a `Stored`."""

CROWDED = "other processes keep changing the same entries: try again"


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as it is in the index, with what is kept beside it."""

    entry: Entry
    seq: int
    merged: tuple[str, ...]
    stamp: str
    seen: Version


def is_entry(document: Document | None, user_id: str) -> bool:
    """Whether this is an entry of the user, and not another's, nor what stands in place of one."""
    return document is not None and document.source[USER] == user_id


def stored(document: Document) -> Stored:
    """What a document with the fields `STORED` holds."""
    source = document.source
    entry = Entry.model_validate_json(source[BODY])
    return Stored(entry, source[SEQ], tuple(source[MERGED]), source[STAMP], document.version)


async def entries(client: Client, users: Mapping[str, str]) -> dict[str, Entry]:
    """The entries asked for as user by id, in the order asked; unknown ones are missing."""
    documents = await client.mget("entries", users.items(), fields=(USER, BODY))
    return {
        document.id: Entry.model_validate_json(document.source[BODY])
        for document, user_id in zip(documents, users.values(), strict=True)
        if document is not None and is_entry(document, user_id)
    }


async def read(client: Client, users: Mapping[str, str]) -> dict[str, Stored]:
    """The same with what is kept beside each."""
    documents = await client.mget("entries", users.items(), fields=STORED)
    return {
        document.id: stored(document)
        for document, user_id in zip(documents, users.values(), strict=True)
        if document is not None and is_entry(document, user_id)
    }


async def modify(writer: Writer, users: Mapping[str, str], change: Callable[[Entry], Entry | None]) -> list[Entry]:
    """Replace each known entry by `change(entry)` unless that is None; returns the ones replaced."""
    async with writer.locks.hold(users):
        replaced = await _modify(writer, users, change)
    return [replaced[id_] for id_ in users if id_ in replaced]


async def _modify(
    writer: Writer, users: Mapping[str, str], change: Callable[[Entry], Entry | None]
) -> dict[str, Entry]:
    replaced: dict[str, Entry] = {}
    tried: dict[str, Replacement] = {}
    left = dict(users)
    for _ in range(ATTEMPTS):
        found = await read(writer.client, left)
        # What is there may be our own write after all: its answer was lost, and the second attempt was refused.
        replaced |= {id_: tried[id_].new for id_ in found if id_ in tried and tried[id_].stamp == found[id_].stamp}
        changed = {id_: change(old.entry) for id_, old in found.items() if id_ not in replaced}
        tried = {
            id_: Replacement(found[id_], successor(found[id_].entry, new), found[id_].merged)
            for id_, new in changed.items()
            if new is not None
        }
        refused = await replace(writer, list(tried.values()))
        replaced |= {id_: attempt.new for id_, attempt in tried.items() if id_ not in refused}
        if not refused:
            return replaced
        left = {id_: users[id_] for id_ in refused}
        await step_aside()
    raise Unavailable(CROWDED)


class Replacement:
    """An entry to be put in the place of a stored one, under a stamp by which the write is known again."""

    __slots__ = ("merged", "new", "old", "stamp")

    def __init__(self, old: Stored, new: Entry, merged: Sequence[str]) -> None:
        self.old = old
        self.new = new
        self.merged = merged
        self.stamp = secrets.token_hex(8)

    @property
    def write(self) -> Write:
        """The write that does it, unless the stored entry was changed meanwhile."""
        body = entry_document(self.new, seq=self.old.seq, merged=self.merged, stamp=self.stamp)
        return Write("index", "entries", self.new.user_id, self.new.id, body, self.old.seen)


async def replace(writer: Writer, replacements: Sequence[Replacement]) -> set[str]:
    """Put entries in the place of stored ones; the ids of those that were changed meanwhile and stay as they are."""
    if not replacements:
        return set()
    moved = [r.new for r in replacements if claims.who_says_what(r.new) != claims.who_says_what(r.old.entry)]
    await claims.stake(writer, [entry for entry in moved if entry.status == "active"])
    made = await writer.client.bulk([replacement.write for replacement in replacements])
    return {r.new.id for r, version in zip(replacements, made, strict=True) if version is None}


async def ids_beginning(client: Client, user_id: str, beginning: str, limit: int) -> list[str]:
    """The ids of the user's entries that begin so, in order."""
    await client.refresh("entries")
    body = {
        "query": queries.all_of([{"term": {USER: user_id}}, {"prefix": {ID: beginning}}]),
        "sort": [{ID: "asc"}],
        "size": limit,
        "_source": False,
    }
    hits = (await client.search("entries", body, routing=user_id))["hits"]["hits"]
    return [hit["_id"] for hit in hits]
