"""The system of record in OpenSearch: every method of the port."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from contracts.ports import (
    Conversation,
    Crowd,
    Decision,
    EmbeddingIdentity,
    Erasure,
    Filters,
    Forgotten,
    Key,
    LastTurn,
    LexicalHit,
    LogRecord,
    Outcome,
    Page,
    Place,
    Ref,
    Scope,
    Selection,
    SimilarityQuery,
    StageCounts,
    Stuck,
)
from contracts.v1.entries import EmbeddingState, Entry
from contracts.v1.turns import LoggedTurn, Proposal
from services.shared.stores.decisions import owners
from services.shared.stores.opensearch import (
    archive,
    counts,
    embargo,
    entries,
    erasing,
    forgetting,
    heads,
    indexes,
    log,
    meta,
    paging,
    reopening,
    search,
    sessions,
    settle,
    similar,
    sweeping,
)
from services.shared.stores.opensearch.client import Address, Client, Reads
from services.shared.stores.opensearch.mappings import Layout
from services.shared.stores.opensearch.recent import Recent
from services.shared.stores.opensearch.writing import Writer


class OpenSearchTextStore:
    """`contracts.ports.TextStore` on OpenSearch. Any number of processes may use the same indices.

    What is asked for by id is as it was written last. What is searched for is as the indices showed it at their last
    refresh; pages, counts and the like refresh first.
    """

    def __init__(self, client: Client, recent: Recent) -> None:
        self._client = client
        self._recent = recent
        self._writer = Writer(client)

    @classmethod
    async def open(
        cls, address: Address, *, prefix: str, layout: Layout | None = None, reads: Reads = "refreshed"
    ) -> OpenSearchTextStore:
        """Open the indices whose names begin with `prefix`; those that are missing are made, laid out as said.

        Raises:
            UnusableIndexes: they were made by another version of this program, or are not its own.
            Unavailable: OpenSearch cannot be reached, or cannot make them, now.
        """
        client, layout = Client(address, prefix=prefix, reads=reads), layout or Layout()
        try:
            await indexes.ensure(client, layout)
        except BaseException:
            await client.close()
            raise
        return cls(client, Recent(layout.refresh_seconds if reads == "refreshed" else 0.0))

    async def last_turns(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
        """For each conversation and moment, the latest logged turn at or before it."""
        return await heads.last_turns(self._client, moments)

    async def append(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
        """Append turns and what they propose; those that are new. A known turn stays as it was first."""
        return await log.append(self._writer, turns, proposals)

    async def undecided(self, proposals: Sequence[Ref]) -> list[Proposal]:
        """Of these proposals, the ones that have no outcome yet, in the order asked."""
        return await log.undecided(self._client, owners(proposals))

    async def find_similar(self, probes: Sequence[SimilarityQuery]) -> list[list[Entry]]:
        """For each probe the active entries of the same scope, role and speaker that share one of its keys.

        Of those that share a key the newest 32 are looked at.
        """
        return await similar.similar(self._client, probes)

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry out decisions, in order; one that has to be judged again is left out."""
        return await settle.apply(self._writer, decisions)

    async def outcomes(self, proposals: Sequence[Ref]) -> dict[str, Outcome]:
        """What became of these proposals; the undecided are missing."""
        return await log.outcomes(self._client, owners(proposals))

    async def entries(self, refs: Sequence[Ref]) -> dict[str, Entry]:
        """The stored entries by id, in any status and in the order asked; unknown and foreign ones are missing."""
        return await entries.entries(self._client, owners(refs))

    async def ids_beginning(self, user_id: str, beginning: str, *, limit: int) -> list[str]:
        """The ids of the user's entries, in any status, that begin so, in order."""
        return await entries.ids_beginning(self._client, user_id, beginning, limit)

    async def modify(self, refs: Sequence[Ref], change: Callable[[Entry], Entry | None]) -> list[Entry]:
        """Replace each entry by `change(entry)`, version + 1, unless that is None; returns the ones replaced."""
        return await entries.modify(self._writer, owners(refs), change)

    async def page(self, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        """One page of entries, those said last first. Raises ValueError for a cursor it did not make."""
        return await paging.page(self._client, selection, limit=limit, cursor=cursor)

    async def search(self, scope: Scope, query: str, *, limit: int, filters: Filters) -> list[LexicalHit]:
        """The active entries of the scope that, or whose neighbours, share words with the query; best first."""
        return await search.search(self._client, self._recent, scope, query, limit=limit, filters=filters)

    async def neighbours(self, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """The active entries around each known entry in its session: distance → id."""
        return await sessions.neighbours(self._client, self._recent, refs, reach=reach)

    async def unfinished(self, lacking: Stuck, *, before: datetime, limit: int) -> list[Key]:
        """What has lacked this since before a moment; the oldest first."""
        return await counts.unfinished(self._client, lacking, before, limit)

    async def with_embedding(self, state: EmbeddingState, *, limit: int) -> list[Entry]:
        """Some active entries, of whatever user, whose embedding is in this state."""
        return await counts.with_embedding(self._client, state, limit)

    async def counts(self, user_id: str | None = None) -> StageCounts:
        """Count what is stored, for one user or for all."""
        return await counts.counts(self._client, user_id)

    async def users(self, *, after: str, limit: int) -> list[str]:
        """The users of whom anything is stored and whose ids come after this one, in order."""
        return await archive.users(self._client, after, limit)

    async def export_log(self, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        """The logged turns of a user after a place, the oldest first."""
        return await archive.export_log(self._client, user_id, after, limit)

    async def kept(self, user_id: str, *, after: Place | None, limit: int) -> list[Entry]:
        """The entries of a user in any status after a place, the oldest first."""
        return await archive.kept(self._client, user_id, after, limit)

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        """Leave of each entry a tombstone, and of its turn and those merged into it a log without their words.

        Searches of this process find nothing of them from then on, those of others at the next refresh.
        """
        return await forgetting.forget(self._writer, self._recent, refs, until)

    async def forgotten(self, entries: Sequence[Entry]) -> set[str]:
        """Of these candidates, stored or not, the ids of those whose statement may not come back now."""
        return await embargo.barred(self._client, entries)

    async def reopen(self, proposals: Sequence[Ref]) -> None:
        """Take back the outcomes of proposals whose effect was lost, so that they are judged again."""
        await reopening.reopen(self._client, owners(proposals))

    async def withdraw(self, turns: Sequence[LoggedTurn]) -> None:
        """Take turns off the log with all they propose; nothing was made of them yet."""
        await erasing.withdraw(self._client, turns)

    async def erasures(self, user_ids: Collection[str] | None = None) -> list[Erasure]:
        """The erasures of these users, or of anybody, that are not complete."""
        return await meta.erasures(self._client, user_ids)

    async def erased(self, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
        """What the erasure asked for at this time removed, when it was completed in the last 24 hours."""
        return await meta.erased(self._client, user_id, requested_at)

    async def record_erasure(self, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        """Replace the erasure of a user; False, and no change, when it is not the one held."""
        return await meta.record_erasure(self._client, user_id, held, new)

    async def erase(self, user_id: str, *, mark: Erasure | None = None) -> None:
        """Remove everything of a user, also from indices that a migration left.

        With a mark, only what was written before it was last seen to stand, by the clocks of those who wrote.
        """
        await erasing.erase(self._client, self._recent, user_id, mark)

    async def traces(self, user_id: str) -> dict[str, int]:
        """How much is found of a user in each place, counted by looking: all zero when nothing is."""
        return await erasing.traces(self._client, user_id)

    async def sweep(self) -> bool:
        """Leave nothing in the files of what was forgotten or erased; whether there is nothing now.

        See `sweeping.sweep` for what it costs. Called again while it answers False, it comes to an end half a minute
        after the last change.
        """
        return await sweeping.sweep(self._client)

    async def crowded(self, *, cap: int, limit: int) -> list[Crowd]:
        """Some spaces with more than `cap` active entries, the fullest first."""
        return await counts.crowded(self._client, cap, limit)

    async def aged(self, *, before: datetime, limit: int) -> list[Key]:
        """Active entries last said before a moment that are neither pinned nor manually saved, the oldest first."""
        return await counts.aged(self._client, before, limit)

    async def in_order(self, *, after: str, limit: int) -> list[Entry]:
        """The active entries of all users whose ids come after this one, in the order of ids."""
        return await archive.in_order(self._client, after, limit)

    async def recall_identity(self) -> EmbeddingIdentity | None:
        """The identity that the stored vectors were made by."""
        return await meta.recall_identity(self._client)

    async def remember_identity(self, identity: EmbeddingIdentity | None) -> None:
        """Record the identity that vectors are made by from now on; None forgets it."""
        await meta.remember_identity(self._client, identity)

    async def ping(self) -> None:
        """Read from the cluster, or raise `Unavailable`."""
        await meta.recall_identity(self._client)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()
