"""What is remembered about the memory itself: which model made its vectors, and who is being erased."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from contracts.ports import EmbeddingIdentity, Erasure
from services.shared.stores.erasures import RECEIPT_KEPT, dumped, loaded, receipt_key, receipts, removed_by
from services.shared.stores.opensearch import removal
from services.shared.stores.opensearch.client import Client, Write
from services.shared.stores.opensearch.documents import BODY
from services.shared.stores.opensearch.wire import Json, routed
from services.shared.stores.scopes import hashed

_ID = "embedding_identity"
_NOBODY = ""
_MARK = "erasure-"
_RECEIPT = "erased-"
_MOST_MARKS = 1000


async def recall_identity(client: Client) -> EmbeddingIdentity | None:
    """The identity recorded last, if any."""
    (document,) = await client.mget("meta", [(_ID, _NOBODY)])
    held = json.loads(document.source[BODY]) if document else None
    return EmbeddingIdentity(**held) if held else None


async def remember_identity(client: Client, identity: EmbeddingIdentity | None) -> None:
    """Record an identity, or that there is none."""
    body = json.dumps(asdict(identity) if identity else None)
    await client.bulk([Write("index", "meta", _NOBODY, _ID, {BODY: body})])


async def erasures(client: Client, user_ids: Collection[str] | None) -> list[Erasure]:
    """The erasures of these users as they were written last, or 1000 of anybody's, that are not complete."""
    if user_ids is not None:
        documents = await client.mget("meta", [(_mark_of(user_id), _NOBODY) for user_id in user_ids])
        return [loaded(document.source[BODY]) for document in documents if document]
    await client.refresh_now("meta")
    body = {
        "size": _MOST_MARKS,
        "query": {"bool": {"filter": [_of([_NOBODY])], "must_not": {"ids": {"values": [_ID]}}}},
    }
    hits = (await client.search("meta", body))["hits"]["hits"]
    return [loaded(hit["_source"][BODY]) for hit in hits if hit["_id"].startswith(_MARK)]


async def record_erasure(client: Client, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
    """Replace the erasure of a user; False, and no change, when it is not the one held."""
    id_ = _mark_of(user_id)
    (document,) = await client.mget("meta", [(id_, _NOBODY)])
    if (loaded(document.source[BODY]) if document else None) != held:
        return False
    body = {BODY: dumped(new)} if new is not None else {}
    if new is None and held is not None:
        day = _days()[0]
        kept = [Write("index", "meta", day, _RECEIPT + key, {BODY: text}) for key, text in receipts(held).items()]
        await client.bulk(kept)
    if document is None:
        write = Write("create", "meta", _NOBODY, id_, body)
    else:
        write = Write("index" if new is not None else "delete", "meta", _NOBODY, id_, body, seen=document.version)
    if document is None and new is None:
        return True
    (version,) = await client.bulk([write])
    return version is not None


async def erased(client: Client, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
    """What the erasure asked for at this time removed, when it was completed in the last 24 hours."""
    id_ = _RECEIPT + receipt_key(user_id, requested_at)
    found = await client.mget("meta", [(id_, day) for day in _days()])
    return next((removed_by(document.source[BODY]) for document in found if document), None)


async def drop_old_receipts(client: Client) -> None:
    """Remove the receipts of the days before yesterday."""
    await removal.remove(client, client.alias("meta"), {"bool": {"must_not": [_of([_NOBODY, *_days()])]}})


def _days() -> tuple[str, str]:
    """What receipts are routed by, so that old ones are found without a field: today, and the day before."""
    now = datetime.now(UTC)
    return (f"erased on {now.date()}", f"erased on {(now - RECEIPT_KEPT).date()}")


def _of(routings: Collection[str]) -> Json:
    return {"terms": {"_routing": [*map(routed, routings)]}}


def _mark_of(user_id: str) -> str:
    return f"{_MARK}{hashed(user_id)}"
