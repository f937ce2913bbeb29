"""Erasures as text, whatever the engine: the mark of one that is not complete, and the receipts of one that is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter

from contracts.ports import Erasure
from services.shared.stores.moments import microseconds
from services.shared.stores.scopes import hashed

RECEIPT_KEPT = timedelta(hours=24)

_ERASURE = TypeAdapter(Erasure)


def dumped(erasure: Erasure) -> str:
    """The mark as one JSON text."""
    return _ERASURE.dump_json(erasure).decode()


def loaded(text: str) -> Erasure:
    """The mark in a JSON text."""
    return _ERASURE.validate_json(text)


def receipt_key(user_id: str, requested_at: datetime) -> str:
    """What the receipt of an erasure is found by; nobody reads a user id out of it."""
    return hashed("erased", user_id, str(microseconds(requested_at)))


def receipts(erasure: Erasure) -> Mapping[str, str]:
    """The receipts of an erasure that is complete now, by their keys: one for each request."""
    body = json.dumps({"removed": dict(erasure.removed), "until": microseconds(datetime.now(UTC) + RECEIPT_KEPT)})
    return {receipt_key(erasure.user_id, at): body for at in erasure.requests}


def removed_by(receipt: str) -> Mapping[str, int] | None:
    """The counts in the text of a receipt; None when its time is over."""
    kept = json.loads(receipt)
    return kept["removed"] if kept["until"] > microseconds(datetime.now(UTC)) else None
