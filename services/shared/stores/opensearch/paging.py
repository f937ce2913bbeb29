"""Paging through entries, those said last first, with cursors that stay true while entries are added."""

from __future__ import annotations

from contracts.ports import Page, Selection
from contracts.v1.entries import Entry
from services.shared.stores import cursors
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.client import Client, Json
from services.shared.stores.opensearch.documents import BODY


async def page(client: Client, selection: Selection, *, limit: int, cursor: str | None) -> Page:
    """One page of at most `limit` entries.

    Raises:
        ValueError: the cursor is not one that a page gave, or the limit is below 1.
    """
    if limit < 1:
        raise ValueError(f"a page holds at least 1 entry, not {limit}")
    after = cursors.position(cursor) if cursor is not None else None
    await client.refresh("entries")
    found, total = await _positions(client, selection, limit + 1, after)
    entries = await _entries(client, selection, [id_ for _, id_ in found[:limit]])
    return Page(entries, cursors.cursor(found[limit - 1]) if len(found) > limit else None, total)


async def _positions(
    client: Client, selection: Selection, count: int, after: cursors.Position | None
) -> tuple[list[cursors.Position], int]:
    """The positions of the next `count` entries, and how many there are in all."""
    found: list[cursors.Position] = []
    while True:
        size = min(count - len(found), queries.MOST_HITS)
        answer = await client.search("entries", _listed(selection, size, after), routing=selection.user_id)
        hits = answer["hits"]["hits"]
        found += [(said_at, id_) for said_at, id_ in (hit["sort"] for hit in hits)]
        if len(hits) < queries.MOST_HITS or len(found) == count:
            return found, answer["hits"]["total"]["value"]
        after = found[-1]


def _listed(selection: Selection, size: int, after: cursors.Position | None) -> Json:
    return {
        "query": queries.all_of(queries.selected(selection)),
        "sort": [{"last_said_at": "desc"}, {"id": "desc"}],
        "size": size,
        **queries.only(),
        "track_total_hits": True,
        **({"search_after": list(after)} if after else {}),
    }


async def _entries(client: Client, selection: Selection, ids: list[str]) -> tuple[Entry, ...]:
    """The entries as they are now, without those that left the list meanwhile."""
    documents = await client.mget("entries", [(id_, selection.user_id) for id_ in ids], fields=[BODY])
    entries = (Entry.model_validate_json(doc.source[BODY]) for doc in documents if doc and BODY in doc.source)
    return tuple(entry for entry in entries if entry.status == selection.status)
