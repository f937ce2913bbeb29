"""Ways to break memorybus on purpose: each must be found, or whoever finds nothing proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from contracts import values
from contracts.ports import (
    Accepted,
    Decision,
    Embedder,
    Filters,
    InFlightCounts,
    LexicalHit,
    Outcome,
    ProposalRecord,
    Ref,
    Scope,
    TextStore,
    TurnKey,
    VectorPoint,
    VectorStore,
)
from contracts.v1.entries import Entry
from services.curate import retention
from services.dedupe import handler as dedupe
from services.embed import handler as embed
from services.enrich import handler as enrich
from services.shared.dedup import repeats
from services.shared.dedup.canonical import Reading, read
from services.shared.ranking import capacity
from services.shared.stores.sqlite import SqliteTextStore, suppression
from tests.faults.misbehaving_bus import Message, MisbehavingBus
from tests.faults.state_machine_ports import ExactVectors, Trouble
from tests.faults.state_machine_world import World
from tests.stores.changing import modify

Mutation = Callable[[], AbstractContextManager[Any]]

_settle, _search, _deliver, _drop = SqliteTextStore.apply, SqliteTextStore.search, World.deliver, MisbehavingBus.drop


async def _nothing(*_: Any, **__: Any) -> None:
    """Has no effect."""


async def _ack_first(
    world: World, stage: str, messages: Sequence[Message], trouble: Trouble, *, lost_acks: int = 0
) -> None:
    for message in messages[lost_acks:]:
        message.is_open = False
    await _deliver(world, stage, messages, trouble, lost_acks=lost_acks)


async def _no_outcomes(store: SqliteTextStore, proposals: Sequence[Ref], **_: Any) -> dict[str, ProposalRecord]:
    return {}


async def _settle_blindly(store: SqliteTextStore, decisions: Sequence[Decision]) -> list[Outcome]:
    blind = [
        replace(decision, known_similar=None) if isinstance(decision, Accepted) else decision for decision in decisions
    ]
    return await _settle(store, blind)


async def _mark_first(
    entries: Sequence[Entry], *, store: TextStore, vectors: VectorStore, embedder: Embedder, **_: object
) -> None:
    matrix = await embedder.embed([entry.text for entry in entries])
    await modify(store, entries, lambda entry: embed.embedded(entry, embedder))
    await vectors.upsert([VectorPoint(entry, vector) for entry, vector in zip(entries, matrix, strict=True)])


async def _upsert_any_version(vectors: ExactVectors, points: Sequence[VectorPoint]) -> None:
    vectors.points |= {point.entry.id: point for point in points}


async def _search_as_guide(
    store: SqliteTextStore, scope: Scope, query: str, *, limit: int, filters: Filters
) -> list[LexicalHit]:
    return await _search(store, replace(scope, persona_id="guide"), query, limit=limit, filters=filters)


async def _drop_in_every_space(
    bus: MisbehavingBus, user_id: str, turns: Collection[TurnKey] | None, **more: Any
) -> InFlightCounts:
    everywhere = None if turns is None else {(space, id_) for _, id_ in turns for space in ("default", "work")}
    return await _drop(bus, user_id, everywhere, **more)


@contextmanager
def _protecting_nothing() -> Iterator[None]:
    with (
        patch.object(capacity, "is_protected", lambda entry: False),
        patch.object(retention, "is_protected", lambda entry: False),
    ):
        yield


@contextmanager
def _deciding_nothing() -> Iterator[None]:
    with (
        patch.object(SqliteTextStore, "pending", _no_outcomes),
        patch.object(dedupe, "_insist_on_erasure", _nothing),
    ):
        yield


MUTATIONS: dict[str, Mutation] = {
    "acknowledges before the effect": lambda: patch.object(World, "deliver", _ack_first),
    "dedupe ignores outcomes": _deciding_nothing,
    "dedupe trusts what it looked up": lambda: patch.object(SqliteTextStore, "apply", _settle_blindly),
    "dedupe merges a question": lambda: patch.multiple(repeats, read=_unasking(read), same_statement=lambda a, b: True),
    "enrich passes on what it did just now only": lambda: patch.object(enrich, "_is_active", _needs_enriching),
    "embed marks before it writes": lambda: patch.object(embed, "embed_and_mark", _mark_first),
    "embed leaves what went out of use": lambda: patch.object(embed, "_take_back", _nothing),
    "vectors of older versions come back": lambda: patch.object(ExactVectors, "upsert", _upsert_any_version),
    "forget leaves the vector": lambda: patch.object(ExactVectors, "remove", _nothing),
    "forgotten may come back": lambda: patch.object(suppression, "suppressed", lambda connection, entries: set()),
    "forget drops a turn of another space": lambda: patch.object(MisbehavingBus, "drop", _drop_in_every_space),
    "erase leaves the vectors": lambda: patch.object(ExactVectors, "erase", _nothing),
    "a change is no new version": lambda: patch.object(values, "successor", lambda old, new: new),
    "a persona is overheard": lambda: patch.object(SqliteTextStore, "search", _search_as_guide),
    "trims what is pinned": _protecting_nothing,
}


def _unasking(read: Callable[[str], Reading]) -> Callable[[str], Reading]:
    """A reading that does not tell a question from a statement."""

    def unasking(text: str) -> Reading:
        reading = read(text)
        return replace(
            reading, normal=reading.normal.replace("?", ""), words=tuple(w for w in reading.words if w != "?")
        )

    return unasking


FOUND_FROM = {
    "dedupe ignores outcomes": 10,
    "acknowledges before the effect": 6,
    "dedupe trusts what it looked up": 12,
    "enrich passes on what it did just now only": 8,
    "embed leaves what went out of use": 5,
    "vectors of older versions come back": 6,
    "forget drops a turn of another space": 14,
    "trims what is pinned": 25,
}
"""The first seed to look with, where it is soon found; another one is as good, and takes longer."""


def _needs_enriching(entry: Entry | None) -> bool:
    return entry is not None and enrich.needs_enriching(entry)
