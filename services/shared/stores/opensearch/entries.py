"""Entries: read by id or in order, and replaced one version at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contracts.ports import Accepted, Change, Key, Page, Place, Ref, Scope, Selection
from contracts.v1.entries import Entry
from services.shared.stores import cursors
from services.shared.stores.decisions import owners
from services.shared.stores.opensearch import queries, statements
from services.shared.stores.opensearch.documents import CHANGING, STORED, entry_document
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import Client, Document, Version, Write

CROWDED = "other processes keep changing the same entries: try again"


class OpenSearchEntries(Engine):
    """`contracts.ports.EntryStore`. What is asked for by id is as it was written last; pages and scans refresh."""

    async def get(self, refs: Sequence[Ref], *, may_lag: Callable[[Entry], bool] | None = None) -> dict[str, Entry]:
        users = owners(refs)
        recent = [entry for id_ in users if (entry := self.stored.take(id_))]
        found = {its.id: its for its in recent if its.user_id == users[its.id] and may_lag and may_lag(its)}
        left = [(id_, user_id) for id_, user_id in users.items() if id_ not in found]
        for document in await self.client.mget("entries", left, fields=("user_id", "body", "seq")):
            if document is not None and is_entry(document, users[document.id]):
                entry = found[document.id] = Entry.model_validate_json(document.source["body"])
                self.seen.put(_key(entry), (document.source["seq"], document.version))
        return {id_: found[id_] for id_ in users if id_ in found}

    async def replace(self, changes: Sequence[Change]) -> set[str]:
        seen = self.seen
        if unseen := [change.old for change in changes if _key(change.old) not in seen]:
            await self.get(unseen)
        moved = [its for its in changes if _who_says_what(its.new) != _who_says_what(its.old)]
        stating = [its for its in moved if its.new.status == "active"]
        behind = await statements.enlist(self, [Accepted(its.new, its.known_similar) for its in stating])
        able = [its for its in changes if its.new.id not in behind]
        known = [(change.new, *held) for change in able if (held := seen.get(_key(change.old)))]
        writes = [_update(*one) for one in known]
        made = await self.client.bulk(writes)
        for (entry, seq, _), version in zip(known, made, strict=True):
            if version is not None:
                self.note_stored(entry, seq, version)
        refused = [write for write, version in zip(writes, made, strict=True) if version is None]
        # What is there may be our own write after all: its answer was lost, and the second attempt was refused.
        found = await self.client.mget("entries", [(write.id, write.routing) for write in refused], fields=["stamp"])
        stamps = {its.id: its.source["stamp"] for its in found if its and "stamp" in its.source}
        overtaken = {write.id for write in refused if stamps.get(write.id) != write.body["stamp"]}
        conflicts = overtaken | ({change.new.id for change in changes} - {write.id for write in writes})
        return conflicts | await self._put_back([its for its in stating if its.new.id not in conflicts])

    async def _put_back(self, stated: Sequence[Change]) -> set[str]:
        """Undo changes after which others are found to have come in with the same statement meanwhile; their ids.

        Before an entry makes its new statement nobody sees it coming; from then on everybody does.
        """
        judged = [Accepted(its.new, its.known_similar) for its in stated if its.known_similar is not None]
        behind = await statements.enlist(self, judged) if judged else set()
        if behind:
            await self.replace([Change(its.new, its.old) for its in stated if its.new.id in behind])
        return behind

    async def remove(self, entries: Sequence[Entry]) -> set[str]:
        held = await read(self.client, owners(entries))
        current = [one for one in entries if one.id in held and held[one.id].entry.version == one.version]
        writes = [Write("delete", "entries", one.user_id, one.id, seen=held[one.id].seen) for one in current]
        made = await self.client.bulk(writes)
        removed = [one for one, version in zip(current, made, strict=True) if version is not None]
        await statements.release(self.client, removed)
        return {one.id for one in entries} - {one.id for one in removed}

    async def ids_beginning(self, user_id: str, beginning: str, *, limit: int) -> list[str]:
        await self.client.refresh("entries")
        body = {
            "query": queries.all_of([{"term": {"user_id": user_id}}, {"prefix": {"id": beginning}}]),
            "sort": [{"id": "asc"}],
            "size": limit,
            "_source": False,
        }
        hits = (await self.client.search("entries", body, routing=user_id))["hits"]["hits"]
        return [hit["_id"] for hit in hits]

    async def page(self, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        if limit < 1:
            raise ValueError(f"a page holds at least 1 entry, not {limit}")
        after = cursors.position(cursor) if cursor is not None else None
        await self.client.refresh("entries")
        found, total = await self._positions(selection, limit + 1, after)
        entries = await self.get([Key(selection.user_id, id_) for _, id_ in found[:limit]])
        listed = tuple(entry for entry in entries.values() if entry.status == selection.status)
        return Page(listed, cursors.cursor(found[limit - 1]) if len(found) > limit else None, total)

    async def _positions(
        self, selection: Selection, count: int, after: cursors.Position | None
    ) -> tuple[list[cursors.Position], int]:
        """The positions of the next `count` entries, and how many there are in all."""
        found: list[cursors.Position] = []
        while True:
            size = min(count - len(found), queries.MOST_HITS)
            answer = await self.client.search("entries", _listed(selection, size, after), routing=selection.user_id)
            hits = answer["hits"]["hits"]
            found += [(said_at, id_) for said_at, id_ in (hit["sort"] for hit in hits)]
            if len(hits) < queries.MOST_HITS or len(found) == count:
                return found, answer["hits"]["total"]["value"]
            after = found[-1]

    async def pinned(self, scope: Scope, *, limit: int) -> list[Entry]:
        await self.client.fresh("entries")
        wanted = queries.all_of([*queries.seen_by(scope), {"term": {"pinned": True}}])
        body = {"query": wanted, "sort": [{"last_said_at": "desc"}, {"id": "desc"}], "size": limit, **queries.only()}
        hits = (await self.client.search("entries", body, routing=scope.user_id))["hits"]["hits"]
        found = await self.get([Key(scope.user_id, hit["sort"][1]) for hit in hits]) if hits else {}
        return [entry for entry in found.values() if entry.pinned and entry.status == "active"]

    async def scan(self, *, after: str, limit: int) -> list[Entry]:
        conditions: list[Json] = [{"term": {"status": "active"}}, {"range": {"id": {"gt": after}}}]
        bodies = await queries.bodies(self.client, "entries", conditions, ("id", "user_id"), limit)
        return [Entry.model_validate_json(body) for body in bodies]

    async def export_entries(self, user_id: str, *, after: Place | None, limit: int) -> list[Entry]:
        order = ("created_at", "space", "id")
        mine: list[Json] = [{"term": {"user_id": user_id}}]
        bodies = await queries.bodies(self.client, "entries", mine, order, limit, after=after, routing=user_id)
        return [Entry.model_validate_json(body) for body in bodies]


def _key(entry: Entry) -> tuple[str, int]:
    return entry.id, entry.version


def is_entry(document: Document | None, user_id: str) -> bool:
    """Whether this is an entry of the user, and not another's, nor what stands in place of one."""
    return document is not None and document.source["user_id"] == user_id


def _update(entry: Entry, seq: int, seen: Version) -> Write:
    """The write that replaces an entry, unless its document was written since; what is kept beside it stays."""
    body = entry_document(entry, seq=seq, stamp=secrets.token_hex(8))
    del body["merged"]
    return Write("update", "entries", entry.user_id, entry.id, dict.fromkeys(CHANGING) | body, seen)


def _who_says_what(entry: Entry) -> tuple[object, ...]:
    return entry.status, entry.role, entry.speaker, entry.statement_hash


def _listed(selection: Selection, size: int, after: cursors.Position | None) -> Json:
    return {
        "query": queries.all_of(queries.selected(selection)),
        "sort": [{"last_said_at": "desc"}, {"id": "desc"}],
        "size": size,
        **queries.only(),
        "track_total_hits": True,
        **({"search_after": list(after)} if after else {}),
    }


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as it is in the index, with what is kept beside it."""

    entry: Entry
    seq: int
    merged: tuple[str, ...]
    seen: Version

    def replaced_by(self, entry: Entry, merged: Sequence[str]) -> Write:
        """The write that puts an entry in its place, unless it was changed meanwhile; `merged` is kept beside that."""
        body = entry_document(entry, seq=self.seq, merged=merged)
        return Write("index", "entries", entry.user_id, entry.id, body, self.seen)


def stored(document: Document) -> Stored:
    """What a document with the fields `STORED` holds."""
    source = document.source
    entry = Entry.model_validate_json(source["body"])
    return Stored(entry, source["seq"], tuple(source["merged"]), document.version)


async def read(client: Client, users: Mapping[str, str]) -> dict[str, Stored]:
    """The same with what is kept beside each."""
    documents = await client.mget("entries", users.items(), fields=STORED)
    return {
        document.id: stored(document)
        for document, user_id in zip(documents, users.values(), strict=True)
        if document is not None and is_entry(document, user_id)
    }
