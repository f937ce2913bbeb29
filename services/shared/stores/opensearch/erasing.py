"""Erasing a user: all goes, from indices that a migration replaced or is filling too, and is looked for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.ports import Erasure
from contracts.v1.turns import LoggedTurn
from services.shared.stores.opensearch import heads, indexes, meta, removal
from services.shared.stores.opensearch.client import Client, Json, Kind
from services.shared.stores.opensearch.documents import OWNER, SEQ, TURN, USER, now, turn_document_id
from services.shared.stores.opensearch.recent import Recent
from services.shared.stores.opensearch.wire import routed

_ROUNDS = 5

_PLACES: Mapping[str, tuple[Kind, str]] = {
    "turns": ("turns", USER),
    "entries": ("entries", USER),
    "decisions": ("entries", OWNER),
    "fingerprints": ("claims", USER),
}
"""Where something of a user may be: in which indices, and under which field."""


async def erase(client: Client, recent: Recent, user_id: str, mark: Erasure | None = None) -> None:
    """Remove everything of a user, again and again while others add to it; `traces` tells whether something is left.

    Turns go first: what is not in the log is not judged any more, and what was being settled then is taken back. With
    a mark only what is older than the last look at it: who was paused meanwhile removes nothing that came after.
    """
    await _open_replaced(client)
    for _ in range(_ROUNDS):
        for kind, field in _PLACES.values():
            looked_at = now()
            if mark is not None and await meta.erasures(client, [user_id]) != [mark]:
                return
            names = ",".join(await indexes.generations(client, kind))
            theirs: Json = {"bool": {"filter": [{"term": {field: user_id}}]}}
            if mark is not None and kind != "claims":  # these find entries, and say nothing
                theirs["bool"]["must_not"] = [{"range": {SEQ: {"gt": looked_at}}}]
            await removal.remove(client, names, theirs, routing=user_id)
        recent.drop([user_id])
        if not any((await traces(client, user_id)).values()):
            return


async def withdraw(client: Client, turns: Sequence[LoggedTurn]) -> None:
    """Delete turns and what they propose, and the heads of conversations that stand at one of them."""
    users = {turn_document_id(turn): turn.user_id for turn in turns}
    for id_, user_id in users.items():
        itself_or_fact = {"bool": {"should": [{"ids": {"values": [id_]}}, {"term": {TURN: id_}}]}}
        query = {"bool": {"filter": [{"term": {USER: user_id}}, itself_or_fact]}}
        await removal.remove(client, client.alias("turns"), query, routing=user_id)
    await heads.leave(client, turns)


async def _open_replaced(client: Client) -> None:
    """Let documents be removed from indices that were replaced, which nobody writes to any more."""
    if old := await indexes.replaced(client):
        await client.request("PUT", f"/{','.join(old)}/_settings", body={"index.blocks.write": None})


async def traces(client: Client, user_id: str) -> dict[str, int]:
    """How much is found of a user now in each place."""
    return {place: await _count(client, user_id, *where) for place, where in _PLACES.items()}


async def _count(client: Client, user_id: str, kind: Kind, field: str) -> int:
    names = ",".join(await indexes.generations(client, kind))
    await client.request("POST", f"/{names}/_refresh")
    body = {"size": 0, "track_total_hits": True, "query": {"term": {field: user_id}}}
    params = {"routing": routed(user_id), "allow_partial_search_results": "false"}
    answer = await client.request("POST", f"/{names}/_search", body=body, params=params)
    return int(answer["hits"]["total"]["value"])
