"""Dead letters for tests."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

from contracts import subjects
from contracts.v1.dead import DeadLetter


def a_letter(body: bytes = b"{}", **fields: Any) -> DeadLetter:
    """A turn of ann's that ingest set aside."""
    defaults: dict[str, Any] = {
        "subject": "memory.v1.turns.ann",
        "stream": subjects.TURNS_STREAM.name,
        "sequence": 7,
        "stage": "ingest",
        "reason": "the text is blank",
        "permanent": True,
        "attempts": 1,
        "body": base64.b64encode(body).decode(),
        "headers": {},
        "died_at": datetime.now(UTC),
    }
    return DeadLetter(**{**defaults, **fields})
