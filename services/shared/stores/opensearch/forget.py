"""Forgetting entries: a tombstone stays of each, and a log without their words.

Its steps are in such an order that a call which was broken off anywhere is simply made again: first the statement is
kept from coming back, then the entry loses its words, and the log at last. What was merged into an entry is found by
the outcomes of proposals, and what is just being merged by the entry itself, which names it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from contracts.ports import Forgotten, Ref, Unavailable
from contracts.v1.entries import Entry
from contracts.v1.turns import entry_id
from services.shared.stores.decisions import owners
from services.shared.stores.opensearch import queries, redaction, suppression
from services.shared.stores.opensearch.documents import DECIDED_AT, ENTRY, OUTCOME, USER
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.entries import CROWDED, Replacement, Stored, read, replace
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, backoff
from services.shared.stores.tombstones import tombstone

_PAGE = 1000


class _Buried(NamedTuple):
    """A tombstone, and the proposals that the entry is known to count."""

    entry: Entry
    merged: Sequence[str]


class OpenSearchForgetting(Engine):
    """Forgetting, of `contracts.ports.Privacy`. Searches find nothing of it from the next refresh of the index on."""

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        users = owners(refs)
        async with self.locks.hold(users):
            buried = await self._bury(users, until)
        turn_ids = await self._redact(buried)
        return [Forgotten(buried[id_].entry, turn_ids[id_]) for id_ in users if id_ in buried]

    async def _bury(self, users: Mapping[str, str], until: datetime | None) -> dict[str, _Buried]:
        """Put tombstones in the place of entries; those that there are now, by id."""
        buried: dict[str, _Buried] = {}
        left = dict(users)
        for _ in range(CAS_ATTEMPTS):
            found = await read(self.client, left)
            forgotten = {id_: its for id_, its in found.items() if its.entry.status == "forgotten"}
            buried |= {id_: _Buried(its.entry, its.merged) for id_, its in forgotten.items()}
            replacements = await self._prepare([its for id_, its in found.items() if id_ not in buried], until)
            refused = await replace(self, replacements)
            buried |= {its.new.id: _Buried(its.new, its.merged) for its in replacements if its.new.id not in refused}
            if not refused:
                return buried
            left = {id_: users[id_] for id_ in refused}
            await backoff()
        raise Unavailable(CROWDED)

    async def _prepare(self, found: Sequence[Stored], until: datetime | None) -> list[Replacement]:
        """Keep the statements from coming back, let nothing find them any more, and make the tombstones."""
        entries = [stored.entry for stored in found]
        if until is not None:
            await suppression.suppress(self.client, entries, until)
        at = datetime.now(UTC)
        return [Replacement(stored, tombstone(stored.entry, at), stored.merged) for stored in found]

    async def _redact(self, buried: Mapping[str, _Buried]) -> dict[str, tuple[str, ...]]:
        """Take out of the log the words of entries and of all that was merged into them; the turns' ids by entry."""
        said: dict[str, list[str]] = {}
        by_user: dict[str, list[str]] = defaultdict(list)
        for id_, (entry, merged) in buried.items():
            turn = [entry_id(entry.user_id, entry.space, entry.turn_id)] if entry.turn_id is not None else []
            said[id_] = [*turn, id_, *merged]
            by_user[entry.user_id].append(id_)
        if buried:
            await self.client.refresh_now("turns")
        for user_id, its in by_user.items():
            for canonical, proposal in await self._merged(user_id, its):
                said[canonical].append(proposal)
        proposals = {id_: buried[entry].entry.user_id for entry, ids in said.items() for id_ in ids}
        turns = await redaction.redact(self.client, proposals)
        return {entry: tuple(dict.fromkeys(turns[id_] for id_ in ids if id_ in turns)) for entry, ids in said.items()}

    async def _merged(self, user_id: str, entry_ids: Sequence[str]) -> list[tuple[str, str]]:
        """What was merged into entries of a user, in the order decided: pairs of entry and proposal."""
        conditions: list[Json] = [
            {"term": {USER: user_id}},
            {"term": {OUTCOME: "merged"}},
            {"terms": {ENTRY: list(entry_ids)}},
        ]
        # All documents of a user are in one shard, where every write has a number of its own.
        order = [{DECIDED_AT: "asc"}, {"_seq_no": "asc"}]
        body: Json = {"query": queries.all_of(conditions), "sort": order, "size": _PAGE}
        body |= {"_source": [ENTRY], "track_total_hits": False}
        found: list[tuple[str, str]] = []
        while True:
            hits = (await self.client.search("turns", body, routing=user_id))["hits"]["hits"]
            found += [(hit["_source"][ENTRY], hit["_id"]) for hit in hits]
            if len(hits) < _PAGE:
                return found
            body["search_after"] = hits[-1]["sort"]
