"""Searches in the words of the engine: what a scope sees, what filters let through, bodies in some order."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.ports import Filters, Place, Scope, Selection
from contracts.v1.turns import EVERY_PERSONA
from services.shared.stores import lexical
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch.documents import label
from services.shared.stores.opensearch.errors import AnswerTooLong, Json
from services.shared.stores.opensearch.transport import Client, Kind
from services.shared.stores.scopes import visible_keys

MOST_HITS = 10_000
"""The engine gives no more in one answer (index.max_result_window)."""


_TOGETHER = 1000


def seen_by(scope: Scope) -> list[Json]:
    """The active entries of a scope, and those that a persona shares with everybody."""
    return [{"terms": {"scope": list(visible_keys(scope))}}, {"term": {"status": "active"}}]


def passing(filters: Filters) -> list[Json]:
    """What fulfils the filters."""
    return _labelled(filters)


def selected(selection: Selection) -> list[Json]:
    """The entries of a selection."""
    conditions: list[Json] = [{"term": {"user_id": selection.user_id}}, {"term": {"status": selection.status}}]
    if selection.space is not None:
        conditions.append({"term": {"space": selection.space}})
    for flag, wanted in (("pinned", selection.pinned), ("manually_saved", selection.manually_saved)):
        if wanted is not None:
            conditions.append({"term": {flag: wanted}})
    if selection.persona_id not in (None, EVERY_PERSONA):
        of_none = {"bool": {"must_not": [{"exists": {"field": "persona_id"}}]}}
        conditions.append({"bool": {"should": [of_none, {"term": {"persona_id": selection.persona_id}}]}})
    if selection.words is not None:
        conditions += [{"terms": {"words": list(word)}} for word in lexical.every_word(selection.words)]
    return conditions + _labelled(selection)


def _labelled(wanted: Filters | Selection) -> list[Json]:
    conditions: list[Json] = []
    if wanted.types:
        conditions.append({"terms": {"type": list(wanted.types)}})
    if wanted.tags:
        conditions.append({"terms": {"tags": list(map(label, wanted.tags))}})
    if wanted.conversation_id is not None:
        conditions.append({"term": {"conversations": label(wanted.conversation_id)}})
    if wanted.theme is not None:
        conditions.append({"term": {"themes": label(wanted.theme)}})
    if wanted.since is not None:
        conditions.append({"range": {"last_said_at": {"gte": microseconds(wanted.since)}}})
    if wanted.until is not None:
        conditions.append({"range": {"created_at": {"lte": microseconds(wanted.until)}}})
    return conditions


def all_of(conditions: list[Json]) -> Json:
    """The query that every condition has to hold; it scores nothing."""
    return {"bool": {"filter": conditions}}


def only(*fields: str) -> Json:
    """The parts of a search that make its hits small: these fields and nothing else."""
    return {"_source": False, "stored_fields": "_none_", "docvalue_fields": list(fields), "track_total_hits": False}


async def bodies(
    client: Client,
    kind: Kind,
    conditions: list[Json],
    order: Sequence[str],
    limit: int,
    *,
    after: Place | None = None,
    routing: str | None = None,
) -> list[str]:
    """The first bodies after a place in some order, as everybody wrote them up to now."""
    await client.refresh(kind)
    place = None if after is None else [microseconds(after.at), after.space, after.id]
    found: list[str] = []
    together = _TOGETHER
    while (size := min(limit - len(found), together)) > 0:
        body = {"query": all_of(conditions), "size": size, "_source": ["body"]}
        body |= {"sort": [{field: "asc"} for field in order], **({"search_after": place} if place else {})}
        try:
            hits = (await client.search(kind, body, routing=routing))["hits"]["hits"]
        except AnswerTooLong:
            if size == 1:
                raise
            together = size // 2
            continue
        found += [hit["_source"]["body"] for hit in hits]
        if len(hits) < size:
            break
        place = hits[-1]["sort"]
    return found
