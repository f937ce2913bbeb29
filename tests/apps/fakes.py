"""Scripted stand-ins for models and the vector store: they do what a test tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

import numpy as np

from contracts.ports import (
    NO_TRACES,
    Annotation,
    EmbeddingIdentity,
    Filters,
    InFlightCounts,
    Key,
    Scope,
    SemanticHit,
    StoredPoint,
    TextRefused,
    Traces,
    TurnKey,
    Unavailable,
    Vector,
    VectorPoint,
)
from contracts.v1.claims import Claim, Reading, Relation, Slot
from contracts.v1.entries import Entity, Entry


class FakeEmbedder:
    """Gives each text the unit vector of its length; refuses texts that contain `refuses`, fails when told to."""

    identity = EmbeddingIdentity("fake", "length", 4)

    def __init__(self, refuses: str | None = None) -> None:
        self.refuses = refuses
        self.fails: Exception | None = None
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vector:
        if self.fails is not None:
            raise self.fails
        if self.refuses is not None and any(self.refuses in text for text in texts):
            raise TextRefused("too strange")
        self.asked += texts
        vectors = np.array([[1.0, len(text), 0.5, 0.0] for text in texts], dtype=np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    async def close(self) -> None:
        """Nothing to close."""


class FakeVectors:
    """Keeps points by id and finds them all; fails or hangs when told to."""

    def __init__(self) -> None:
        self.points: dict[str, VectorPoint] = {}
        self.fails = False
        self.hangs = False
        self.keeps_copies = True

    async def _maybe_fail(self) -> None:
        if self.hangs:
            await asyncio.sleep(60)
        if self.fails:
            raise Unavailable("the vector store is away")

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        await self._maybe_fail()
        self.points |= {point.entry.id: point for point in points}

    async def remove(self, ids: Sequence[str]) -> None:
        await self._maybe_fail()
        for entry_id in ids:
            self.points.pop(entry_id, None)

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        await self._maybe_fail()
        hits = [SemanticHit(i, float(p.vector @ vector)) for i, p in self.points.items() if ids is None or i in ids]
        return sorted(hits, key=lambda hit: -hit.cosine)[:limit]

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        await self._maybe_fail()
        held = {i: self.points[i] for i in ids if i in self.points}
        kept = copies and self.keeps_copies
        return {i: StoredPoint(point.vector, point.entry if kept else None) for i, point in held.items()}

    async def count(self, user_id: str | None = None) -> int:
        await self._maybe_fail()
        return len([p for p in self.points.values() if user_id in (None, p.entry.user_id)])

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        await self._maybe_fail()
        keys = [Key(point.entry.user_id, id_) for id_, point in sorted(self.points.items()) if id_ > after]
        return keys[:limit]

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        await self._maybe_fail()
        kept = {id_: (point.entry.text, point.entry.tags) for id_, point in self.points.items()}
        return {entry.id for entry in entries if kept.get(entry.id) != (entry.text, entry.tags)}

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        await self._maybe_fail()
        held = [entry for entry in entries if entry.id in self.points]
        self.points |= {entry.id: VectorPoint(entry, self.points[entry.id].vector) for entry in held}
        return {entry.id for entry in entries} - self.points.keys()

    async def erase(self, user_id: str) -> None:
        await self._maybe_fail()
        self.points = {id_: point for id_, point in self.points.items() if point.entry.user_id != user_id}

    async def compact(self) -> bool:
        return True

    async def ping(self) -> None:
        await self._maybe_fail()

    async def close(self) -> None:
        """Nothing to close."""


class FakeInFlight:
    """Holds ids of turns in the default space by user, and dead letters by user."""

    def __init__(self) -> None:
        self.turns: dict[str, list[str]] = {}
        self.letters: dict[str, int] = {}

    async def drop(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        found = await self.count(user_id, turns, before=before)
        kept = self.turns.get(user_id, ()) if turns is not None else ()
        self.turns[user_id] = [turn_id for turn_id in kept if ("default", turn_id) not in (turns or ())]
        self.letters[user_id] = 0 if turns is None else self.letters.get(user_id, 0)
        return found

    async def last(self) -> int:
        return sum(map(len, self.turns.values()))

    async def count(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        waiting = [t for t in self.turns.get(user_id, ()) if turns is None or ("default", t) in turns]
        return InFlightCounts(len(waiting), self.letters.get(user_id, 0) if turns is None else 0)

    async def oldest(self) -> datetime | None:
        return None

    async def is_drained(self) -> bool:
        return not any(self.turns.values())


async def say_nothing(_: Sequence[object]) -> None:
    """Nobody listens."""


class FakeAnnotator:
    """Finds the capitalized words as names of persons, and the first word as a key phrase."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        self.asked += texts
        return [self._annotation(text) for text in texts]

    def _annotation(self, text: str) -> Annotation:
        names = [word for word in text.split()[1:] if word.istitle()]
        entities = tuple(Entity(text=name, label="PERSON", confidence=0.8) for name in names)
        return Annotation(entities, ((text.split()[0].lower(), 0.9), ("unsure", 0.1)))

    async def close(self) -> None:
        """Nothing to close."""


class FakeReader(FakeEmbedder):
    """Reads of each text what it `knows` of it, or that its last word is where somebody lives.

    Of pairs of texts it knows the `updates`, and those with other `relations`.
    """

    def __init__(
        self,
        reader: str = "reader-1",
        updates: Collection[tuple[str, str]] = (),
        *,
        relations: Mapping[tuple[str, str], Relation] = MappingProxyType({}),
        knows: Mapping[str, Reading] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.reader = reader
        self.relations = {**dict.fromkeys(updates, Relation(0, 0, 0, 1)), **relations}
        self.knows = knows
        self.has_read: list[str] = []
        self.compared: list[tuple[str, str]] = []

    async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
        self.has_read += texts
        return await self.embed(texts), [self.knows.get(text) or Reading((home(text),), ends=0.5) for text in texts]

    async def read(self, texts: Sequence[str]) -> list[Reading]:
        return (await self.embed_and_read(texts))[1]

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        self.compared += pairs
        return [self.relations.get(pair, Relation(1, 0, 0, 0)) for pair in pairs]


def home(text: str) -> Claim:
    begin = text.rfind(" ") + 1
    return Claim(slot="home", value=(begin, max(begin + 1, len(text) - 1)), sentence=(0, len(text)), confidence=0.9)


def claim(text: str, value: str, slot: Slot, **fields: Any) -> Claim:
    """A claim that all of a text makes."""
    begin = text.index(value)
    places = {"value": (begin, begin + len(value)), "sentence": (0, len(text))}
    return Claim.model_validate({"slot": slot, **places, "confidence": 0.9} | fields)


class Instead:
    """A store, but for these methods."""

    def __init__(self, store: object, **methods: Any) -> None:
        self._store = store
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
