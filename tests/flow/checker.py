"""What was acknowledged against what is remembered: nothing lost, nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from contracts.v1.commands import ListRequest
from contracts.v1.entries import Entry
from contracts.v1.turns import Turn
from services.shared.client import MemoryClient


@dataclass(frozen=True, slots=True)
class Verdict:
    """Turn ids whose entry or repeat is missing, or there more than once; entries without a vector."""

    lost: int
    duplicated: int
    without_vector: int


async def check(client: MemoryClient, acknowledged: Iterable[Turn]) -> Verdict:
    """Compare turns with the entries of their users. Repeats are counted by what they say."""
    by_user: dict[str, list[Turn]] = {}
    for turn in acknowledged:
        by_user.setdefault(turn.user_id, []).append(turn)
    lost = duplicated = without_vector = 0
    for user_id, turns in by_user.items():
        entries = await all_entries(client, user_id)
        said = Counter(_statement(turn) for turn in turns)
        kept: Counter[tuple[str | None, ...]] = Counter()
        for entry in entries:
            kept[_statement(entry)] += 1 + entry.repeat_count
        lost += sum((said - kept).values())
        duplicated += sum((kept - said).values()) + len(entries) - len(kept)
        without_vector += sum(entry.embedding_state != "ready" for entry in entries)
    return Verdict(lost, duplicated, without_vector)


def _statement(said: Turn | Entry) -> tuple[str | None, ...]:
    """Who says what, and where: what is one memory however often it is said."""
    return said.space, said.persona_id, said.role, said.speaker, said.text


async def all_entries(client: MemoryClient, user_id: str) -> list[Entry]:
    """Every active entry of a user."""
    entries: list[Entry] = []
    cursor = None
    while True:
        page = await client.list(ListRequest(user_id=user_id, limit=200, cursor=cursor), patience=20.0)
        entries += page.items
        cursor = page.next_cursor
        if cursor is None:
            return entries
