"""The log of conversations and the decisions about what was said, as classes that fulfil their ports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from contracts.ports import Conversation, Decision, LastTurn, LogRecord, Outcome, Place, Ref, SimilarityQuery
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal
from services.shared.stores.decisions import owners
from services.shared.stores.opensearch import heads, log, reopening, settle, similar, suppression
from services.shared.stores.opensearch.engine import Engine


class OpenSearchLog(Engine):
    """`contracts.ports.ConversationLog`."""

    async def last_turns(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
        return await heads.last_turns(self.client, moments)

    async def append(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
        return await log.append(self, turns, proposals)

    async def undecided(self, proposals: Sequence[Ref]) -> list[Proposal]:
        return await log.undecided(self.client, owners(proposals))

    async def outcomes(self, proposals: Sequence[Ref]) -> dict[str, Outcome]:
        return await log.outcomes(self.client, owners(proposals))

    async def reopen(self, proposals: Sequence[Ref]) -> None:
        await reopening.reopen(self.client, owners(proposals))

    async def export_log(self, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        return await log.export(self.client, user_id, after, limit)


class OpenSearchDedupe(Engine):
    """`contracts.ports.DedupeStore`."""

    async def find_similar(self, wanted: Sequence[SimilarityQuery]) -> list[list[Entry]]:
        return await similar.similar(self.client, wanted)

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        return await settle.apply(self, decisions)

    async def forgotten(self, entries: Sequence[Entry]) -> set[str]:
        return await suppression.suppressed(self.client, entries)
