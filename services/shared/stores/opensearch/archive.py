"""Reading a whole memory out: oldest first, so that it can be moved elsewhere, or by id, so that it can be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from contracts.ports import LogRecord, Place, ProposalRecord
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, entry_id
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.client import Client, Json, Kind
from services.shared.stores.opensearch.documents import (
    BODY,
    CREATED_AT,
    ID,
    KIND,
    SAID_AT,
    SPACE,
    STATUS,
    TURN_ID,
    USER,
)
from services.shared.stores.opensearch.failures import AnswerTooLong
from services.shared.stores.opensearch.log import PROPOSAL, proposal_of, recorded

_TOGETHER = 1000

_Where = tuple[str, str]
"""The space and id of a turn, of one user."""


async def users(client: Client, after: str, limit: int) -> list[str]:
    """The users of whom anything is stored, in order, after this one."""
    found: set[str] = set()
    kinds: tuple[Kind, ...] = ("turns", "entries")
    for kind in kinds:
        await client.refresh(kind)
        source = {"user": {"terms": {"field": USER}}}
        named: Json = {"composite": {"size": limit, "sources": [source], "after": {"user": after}}}
        answer = await client.search(kind, {"size": 0, "track_total_hits": False, "aggs": {"users": named}})
        found |= {bucket["key"]["user"] for bucket in answer["aggregations"]["users"]["buckets"]}
    return sorted(found)[:limit]


async def export_log(client: Client, user_id: str, after: Place | None, limit: int) -> list[LogRecord]:
    """The logged turns of a user with what they proposed, oldest first."""
    conditions: list[Json] = [{"term": {USER: user_id}}, {"term": {KIND: "turn"}}]
    bodies = await _bodies(client, "turns", conditions, (SAID_AT, SPACE, TURN_ID), after, limit, user_id)
    turns = [LoggedTurn.model_validate_json(body) for body in bodies]
    decisions = await _decisions(client, turns)
    return [LogRecord(turn, tuple(decisions[turn.space, turn.turn_id])) for turn in turns]


async def kept(client: Client, user_id: str, after: Place | None, limit: int) -> list[Entry]:
    """The entries of a user in any status, oldest first."""
    conditions: list[Json] = [{"term": {USER: user_id}}]
    bodies = await _bodies(client, "entries", conditions, (CREATED_AT, SPACE, ID), after, limit, user_id)
    return [Entry.model_validate_json(body) for body in bodies]


async def in_order(client: Client, after: str, limit: int) -> list[Entry]:
    """The active entries of all users whose ids come after this one, in the order of ids."""
    await client.refresh("entries")
    conditions: list[Json] = [{"term": {STATUS: "active"}}, {"range": {ID: {"gt": after}}}]
    bodies = await _sorted(client, "entries", conditions, (ID, USER), None, limit, None)
    return [Entry.model_validate_json(body) for body in bodies]


async def _bodies(
    client: Client,
    kind: Kind,
    conditions: list[Json],
    order: tuple[str, str, str],
    after: Place | None,
    limit: int,
    user_id: str,
) -> list[str]:
    await client.refresh(kind)
    place = None if after is None else [microseconds(after.at), after.space, after.id]
    return await _sorted(client, kind, conditions, order, place, limit, user_id)


async def _sorted(
    client: Client,
    kind: Kind,
    conditions: list[Json],
    order: Sequence[str],
    place: list[object] | None,
    limit: int,
    user_id: str | None,
) -> list[str]:
    """The first bodies after a place in some order: of one user, or of all."""
    found: list[str] = []
    together = _TOGETHER
    while (size := min(limit - len(found), together)) > 0:
        body = {"query": queries.all_of(conditions), "size": size, "_source": [BODY]}
        body |= {"sort": [{field: "asc"} for field in order], **({"search_after": place} if place else {})}
        try:
            hits = (await client.search(kind, body, routing=user_id))["hits"]["hits"]
        except AnswerTooLong:
            if size == 1:
                raise
            together = size // 2
            continue
        found += [hit["_source"][BODY] for hit in hits]
        if len(hits) < size:
            break
        place = hits[-1]["sort"]
    return found


async def _decisions(client: Client, turns: Sequence[LoggedTurn]) -> Mapping[_Where, list[ProposalRecord]]:
    """What each turn proposed, in the order of ordinals. A turn's facts are numbered from 1 without gaps."""
    found: dict[_Where, list[ProposalRecord]] = defaultdict(list)
    ordinal, asked = 0, list(turns)
    while asked:
        by_id = {entry_id(turn.user_id, turn.space, turn.turn_id, ordinal): turn for turn in asked}
        keys = [(id_, turn.user_id) for id_, turn in by_id.items()]
        documents = await client.mget("turns", keys, fields=PROPOSAL)
        known = [doc for doc, (_, user_id) in zip(documents, keys, strict=True) if doc and doc.source[USER] == user_id]
        for document in known:
            turn = by_id[document.id]
            if proposal := proposal_of(document, turn):
                decision = ProposalRecord(proposal, recorded(document, turn.user_id))
                found[turn.space, turn.turn_id].append(decision)
        asked = [by_id[document.id] for document in known]
        ordinal += 1
    return found
