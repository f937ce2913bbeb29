"""Forgetting entries, erasing users, and leaving nothing of either in the files.

Its steps are in such an order that a call which was broken off anywhere is simply made again: first the statement is
kept from coming back, then the entry loses its words, and the log at last. What was merged into an entry is found by
the outcomes of proposals, and what is just being merged by the entry itself, which names it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from contracts.errors import Unavailable
from contracts.ports import Change, Erasure, Forgotten, Ref
from contracts.v1.turns import entry_id
from services.shared.stores.decisions import owners
from services.shared.stores.erasures import RECEIPT_KEPT, dumped, loaded, receipt_key, receipts, removed_by
from services.shared.stores.moments import now
from services.shared.stores.opensearch import errors, queries, schema, statements
from services.shared.stores.opensearch.entries import CROWDED, OpenSearchEntries, Stored, read
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.log import redact
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Kind, Write, backoff, routed
from services.shared.stores.opensearch.upkeep import IDENTITY, NOBODY
from services.shared.stores.scopes import hashed
from services.shared.stores.tombstones import suppressed_by, tombstone

_PAGE = 1000

log = logging.getLogger(__name__)

_ROUNDS = 5
_MARK = "erasure-"
_RECEIPT = "erased-"
_MOST_MARKS = 1000

_PLACES: Sequence[Kind] = ("turns", "entries", "statements", "records")
"""The indices where something of a user may be."""

_TOGETHER = 5000
"""So many documents are removed by one request, so that none takes long."""

_MOST_REMOVALS = 10_000

_EXPUNGE = {"only_expunge_deletes": "true", "flush": "true"}
_PATIENCE = 30.0
"""Seconds; a merge that takes longer goes on by itself, and the next look sees how far it came."""


class OpenSearchPrivacy(OpenSearchEntries):
    """`contracts.ports.Privacy`. Once something was forgotten, no search finds anything of it."""

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        users = owners(refs)
        async with self.locks.hold(users):
            buried = await self._bury(users, until)
        turn_ids = await self._redact(buried)
        return [Forgotten(buried[id_].entry, turn_ids[id_]) for id_ in users if id_ in buried]

    async def _bury(self, users: Mapping[str, str], until: datetime | None) -> dict[str, Stored]:
        """Keep statements from coming back, and put tombstones in the place of entries; those there are now, by id."""
        buried: dict[str, Stored] = {}
        left = dict(users)
        for _ in range(CAS_ATTEMPTS):
            found = await read(self.client, left)
            buried |= {id_: its for id_, its in found.items() if its.entry.status == "forgotten"}
            old = {id_: its for id_, its in found.items() if id_ not in buried}
            if until is not None:
                gone = [digest for its in old.values() for digest in suppressed_by(its.entry)]
                await statements.suppress(self.client, gone, until)
            at = datetime.now(UTC)
            new = {id_: replace(its, entry=tombstone(its.entry, at)) for id_, its in old.items()}
            made = await self.client.bulk([its.replaced_by(new[id_].entry, its.merged) for id_, its in old.items()])
            refused = {id_ for id_, version in zip(old, made, strict=True) if version is None}
            buried |= {id_: its for id_, its in new.items() if id_ not in refused}
            if not refused:
                return buried
            left = {id_: users[id_] for id_ in refused}
            await backoff()
        raise Unavailable(CROWDED)

    async def _redact(self, buried: Mapping[str, Stored]) -> dict[str, tuple[str, ...]]:
        """Take out of the log the words of entries and of all that was merged into them; the turns' ids by entry."""
        said: dict[str, list[str]] = {}
        by_user: dict[str, list[str]] = defaultdict(list)
        for id_, its in buried.items():
            entry = its.entry
            turn = [entry_id(entry.user_id, entry.space, entry.turn_id)] if entry.turn_id is not None else []
            said[id_] = [*turn, id_, *its.merged]
            by_user[entry.user_id].append(id_)
        if buried:
            await self.client.refresh_now("turns")
            await self.client.refresh_now("entries")
        for user_id, ids in by_user.items():
            for canonical, proposal in await self._merged(user_id, ids):
                said[canonical].append(proposal)
        proposals = {id_: buried[entry].entry.user_id for entry, ids in said.items() for id_ in ids}
        turns = await redact(self.client, proposals)
        return {entry: tuple(dict.fromkeys(turns[id_] for id_ in ids if id_ in turns)) for entry, ids in said.items()}

    async def _merged(self, user_id: str, entry_ids: Sequence[str]) -> list[tuple[str, str]]:
        """What was merged into entries of a user, in the order decided: pairs of entry and proposal."""
        conditions: list[Json] = [
            {"term": {"user_id": user_id}},
            {"term": {"outcome": "merged"}},
            {"terms": {"entry_id": list(entry_ids)}},
        ]
        # All documents of a user are in one shard, where every write has a number of its own.
        order = [{"decided_at": "asc"}, {"_seq_no": "asc"}]
        body: Json = {"query": queries.all_of(conditions), "sort": order, "size": _PAGE}
        body |= {"_source": ["entry_id"], "track_total_hits": False}
        found: list[tuple[str, str]] = []
        while True:
            hits = (await self.client.search("turns", body, routing=user_id))["hits"]["hits"]
            found += [(hit["_source"]["entry_id"], hit["_id"]) for hit in hits]
            if len(hits) < _PAGE:
                return found
            body["search_after"] = hits[-1]["sort"]

    async def redact(self, changes: Sequence[Change], *, until: datetime) -> dict[str, tuple[str, ...]]:
        gone = [digest for change in changes for digest in suppressed_by(change.old, change.new)]
        await statements.suppress(self.client, gone, until)
        conflicts = await self.replace(changes)
        users = owners(change.new for change in changes if change.new.id not in conflicts)
        return await self._redact(await read(self.client, users))

    async def erasures(self, user_ids: Collection[str] | None = None) -> list[Erasure]:
        if user_ids is not None:
            return await erasures_of(self.client, user_ids)
        await self.client.refresh_now("meta")
        marks = {"bool": {"filter": [_of([NOBODY])], "must_not": {"ids": {"values": [IDENTITY]}}}}
        hits = (await self.client.search("meta", {"size": _MOST_MARKS, "query": marks}))["hits"]["hits"]
        return [loaded(hit["_source"]["body"]) for hit in hits if hit["_id"].startswith(_MARK)]

    async def record_erasure(self, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        id_ = _mark_of(user_id)
        (document,) = await self.client.mget("meta", [(id_, NOBODY)])
        if (loaded(document.source["body"]) if document else None) != held:
            return False
        if new is None and held is not None:
            day = _days()[0]
            kept = [Write("index", "meta", day, _RECEIPT + key, {"body": text}) for key, text in receipts(held).items()]
            await self.client.bulk(kept)
        if document is None and new is None:
            return True
        body = {"body": dumped(new)} if new is not None else {}
        if document is None:
            write = Write("create", "meta", NOBODY, id_, body)
        else:
            write = Write("index" if new is not None else "delete", "meta", NOBODY, id_, body, document.version)
        (version,) = await self.client.bulk([write])
        return version is not None

    async def erased(self, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
        id_ = _RECEIPT + receipt_key(user_id, requested_at)
        found = await self.client.mget("meta", [(id_, day) for day in _days()])
        return next((removed_by(document.source["body"]) for document in found if document), None)

    async def erase(self, user_id: str, *, mark: Erasure | None = None) -> None:
        """Remove everything of a user, again and again while others add to it.

        Turns go first: what is not in the log is not judged any more, and what was being settled then is taken back.
        With a mark only what is older than the last look at it: who was paused meanwhile removes nothing that came
        after, by the clocks of those who wrote.
        """
        if old := await schema.replaced(self.client):  # nobody else writes to them any more
            await self.client.request("PUT", f"/{','.join(old)}/_settings", body={"index.blocks.write": None})
        for _ in range(_ROUNDS):
            for kind in _PLACES:
                looked_at = now()
                if mark is not None and await self.erasures([user_id]) != [mark]:
                    return
                theirs: Json = {"bool": {"filter": [{"term": {"user_id": user_id}}]}}
                if mark is not None and kind != "statements":  # these find entries, and say nothing
                    theirs["bool"]["must_not"] = [{"range": {"seq": {"gt": looked_at}}}]
                # The oldest first: while a migration fills a new index, the old one takes no writes.
                for name in await schema.generations(self.client, kind):
                    await remove(self.client, name, theirs, routing=user_id)
            if not any((await self.count_remaining(user_id)).values()):
                return

    async def count_remaining(self, user_id: str) -> dict[str, int]:
        return {kind: await self._count(user_id, kind) for kind in _PLACES}

    async def _count(self, user_id: str, kind: Kind) -> int:
        names = ",".join(await schema.generations(self.client, kind))
        await self.client.request("POST", f"/{names}/_refresh")
        body = {"size": 0, "track_total_hits": True, "query": {"term": {"user_id": user_id}}}
        params = {"routing": routed(user_id), "allow_partial_search_results": "false"}
        answer = await self.client.request("POST", f"/{names}/_search", body=body, params=params)
        return int(answer["hits"]["total"]["value"])

    async def compact(self) -> bool:
        """Merge away every document that was removed or replaced; whether none is left in any file.

        The cost: every segment with such a document is written once more, by one thread of each node, so on a memory
        that changes all over it is as much as writing all of it; searches and writes go on. OpenSearch lets a document
        go only half a minute after its last change, and each change of any entry replaces a document, so this answers
        False until the memory has been quiet for so long, and as long as there are indices that a migration replaced
        and left.
        """
        client = self.client
        await remove(client, client.alias("statements"), {"range": {"until": {"lte": now()}}})
        await remove(client, client.alias("meta"), {"bool": {"must_not": [_of([NOBODY, *_days()])]}})
        names = ",".join(client.alias(kind) for kind in schema.KINDS)
        await client.request("POST", f"/{names}/_flush")
        if await removed(client, names):
            with suppress(Unavailable):  # it may only take longer; whether OpenSearch answers shows in what follows
                await client.request("POST", f"/{names}/_forcemerge", params=_EXPUNGE, seconds=_PATIENCE)
        if old := await schema.replaced(client):
            log.warning("old_indices_left", extra={"indices": old, "remedy": "memorybus migrate --drop-old"})
        return not await removed(client, names) and not old


async def removed(client: Client, names: str) -> int:
    """How many documents that were removed or replaced are in the segments, those of all copies."""
    await client.request("POST", f"/{names}/_refresh")
    stats = await client.request("GET", f"/{names}/_stats/docs")
    return int(stats["_all"]["total"]["docs"]["deleted"])


async def remove(client: Client, index: str, query: Json, *, routing: str | None = None) -> int:
    """Remove what a query finds now, until nothing of it is left; how many. Broken off, it has removed a part.

    Raises:
        Unavailable: some cannot be removed now.
    """
    params: Json = {"conflicts": "proceed", "max_docs": _TOGETHER}
    if routing is not None:
        params["routing"] = routed(routing)
    count = 0
    for _ in range(_MOST_REMOVALS):
        await client.request("POST", f"/{index}/_refresh")
        answer = await client.request("POST", f"/{index}/_delete_by_query", body={"query": query}, params=params)
        for failure in answer["failures"]:
            raise errors.of_item(int(failure["status"]), failure["cause"])
        count += int(answer["deleted"])
        if answer["total"] < _TOGETHER and not answer["version_conflicts"]:
            return count
    raise Unavailable("others write faster than can be removed: stop them, and try again")


async def erasures_of(client: Client, user_ids: Collection[str]) -> list[Erasure]:
    """The erasures of these users that are not complete."""
    documents = await client.mget("meta", [(_mark_of(user_id), NOBODY) for user_id in user_ids])
    return [loaded(document.source["body"]) for document in documents if document]


def _mark_of(user_id: str) -> str:
    return f"{_MARK}{hashed(user_id)}"


def _days() -> tuple[str, str]:
    """What receipts are routed by, so that old ones are found without a field: today, and the day before."""
    today = datetime.now(UTC)
    return (f"erased on {today.date()}", f"erased on {(today - RECEIPT_KEPT).date()}")


def _of(routings: Collection[str]) -> Json:
    return {"terms": {"_routing": [*map(routed, routings)]}}
