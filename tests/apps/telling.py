"""What ann said and what a reader found in it: values, people who are named, and what is to be done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from contracts.v1.claims import Slot
from contracts.v1.entries import Entity, Entry
from tests.claims import a_claim, a_task
from tests.stores.builders import NOON, an_entry


def said(
    text: str,
    value: str = "",
    slot: Slot = "home",
    day: float = 0,
    *,
    whose: str = "",
    names: Sequence[str] = (),
    **fields: Any,
) -> Entry:
    """A text of a day, which claims the value if one is given; in it an annotator found who is named."""
    entities = tuple(Entity(text=name, label="PERSON", confidence=0.9) for name in names or filter(None, [whose]))
    at = NOON + timedelta(days=day)
    claims = (a_claim(text, value, slot, whose=whose),) if value else ()
    told = {"entities": entities, "claims": claims, "created_at": at, "last_said_at": at}
    return an_entry("ann", text, **(told | fields))


def to_do(text: str, day: float = 0, **fields: Any) -> Entry:
    """A text of a day, all of which is to be done."""
    return said(text, day=day, claims=(a_task(text),), conversation_id="c1", **fields)
