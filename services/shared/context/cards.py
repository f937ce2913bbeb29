"""Cards: what matters of each of those around a user, as the block of a context has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of somebody or something, called by one name, with the entries that say it."""

    ref: str
    label: str
    facts: tuple[str, ...]
    source_ids: tuple[str, ...]
