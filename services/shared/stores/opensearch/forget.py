"""Forgetting entries: a tombstone stays of each, and a log without their words.

Its steps are in such an order that a call which was broken off anywhere is simply made again: first the statement is
kept from coming back, then nothing finds it any more, then the entry loses its words, and the log at last. What was
merged into an entry is found by the decisions, which are made before anything else of a merge; one that is made after
the entry became a tombstone takes its words out of the log itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from contracts.ports import Forgotten, Ref, Unavailable
from contracts.v1.entries import Entry
from contracts.v1.turns import entry_id
from services.shared.stores.decisions import owners
from services.shared.stores.opensearch import claims, queries, silence, suppression
from services.shared.stores.opensearch.documents import ENTRY, OWNER, STATUS
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.entries import CROWDED, Replacement, Stored, read, replace
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, backoff
from services.shared.stores.tombstones import tombstone

_PAGE = 1000


class OpenSearchForgetting(Engine):
    """Forgetting, of `contracts.ports.Privacy`. Searches find nothing of it from the next refresh of the index on."""

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        users = owners(refs)
        async with self.locks.hold(users):
            buried = await self._bury(users, until)
        turn_ids = await self._redact(list(buried.values()))
        return [Forgotten(buried[id_], turn_ids[id_]) for id_ in users if id_ in buried]

    async def _bury(self, users: Mapping[str, str], until: datetime | None) -> dict[str, Entry]:
        """Put tombstones in the place of entries; those that there are now, by id."""
        buried: dict[str, Entry] = {}
        left = dict(users)
        for _ in range(CAS_ATTEMPTS):
            found = await read(self.client, left)
            buried |= {id_: its.entry for id_, its in found.items() if its.entry.status == "forgotten"}
            replacements = await self._prepare([its for id_, its in found.items() if id_ not in buried], until)
            refused = await replace(self, replacements)
            buried |= {its.new.id: its.new for its in replacements if its.new.id not in refused}
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
        await claims.release(self, entries)
        at = datetime.now(UTC)
        return [Replacement(stored, tombstone(stored.entry, at), stored.merged) for stored in found]

    async def _redact(self, tombstones: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
        """Take out of the log the words of entries and of all that was merged into them; the turns' ids by entry."""
        said: dict[str, list[str]] = {}
        by_user: dict[str, list[str]] = defaultdict(list)
        for entry in tombstones:
            turn = [entry_id(entry.user_id, entry.space, entry.turn_id)] if entry.turn_id is not None else []
            said[entry.id] = [*turn, entry.id]
            by_user[entry.user_id].append(entry.id)
        if tombstones:
            await self.client.refresh_now("entries")
        for user_id, its in by_user.items():
            for canonical, proposal in await self._merged(user_id, its):
                said[canonical].append(proposal)
        users = {entry.id: entry.user_id for entry in tombstones}
        proposals = {id_: users[entry] for entry, ids in said.items() for id_ in ids}
        turns = await silence.whole_turns(self.client, proposals)
        return {entry: tuple(dict.fromkeys(turns[id_] for id_ in ids if id_ in turns)) for entry, ids in said.items()}

    async def _merged(self, user_id: str, entry_ids: Sequence[str]) -> list[tuple[str, str]]:
        """What was merged into entries of a user, in the order decided: pairs of entry and proposal."""
        conditions: list[Json] = [
            {"term": {OWNER: user_id}},
            {"term": {STATUS: "merged"}},
            {"terms": {ENTRY: list(entry_ids)}},
        ]
        # All documents of a user are in one shard, where every write has a number of its own.
        body: Json = {"query": queries.all_of(conditions), "sort": [{"_seq_no": "asc"}], "size": _PAGE}
        body |= {"_source": [ENTRY], "track_total_hits": False}
        found: list[tuple[str, str]] = []
        while True:
            hits = (await self.client.search("entries", body, routing=user_id))["hits"]["hits"]
            found += [(hit["_source"][ENTRY], hit["_id"]) for hit in hits]
            if len(hits) < _PAGE:
                return found
            body["search_after"] = hits[-1]["sort"]
