"""What stages are run on: ports that can end or hold up a run before any of its effects, and exact small engines."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from contracts.ports import (
    Annotation,
    Change,
    EmbeddingIdentity,
    Filters,
    Key,
    Scope,
    SemanticHit,
    StoredPoint,
    Unavailable,
    Vector,
)
from contracts.ports import VectorPoint as Point
from contracts.v1.entries import Entity, Entry
from services.shared.stores import points
from services.shared.stores.scopes import scope_key, visible_keys


class Crash(BaseException):
    """The process ends here."""


Kind = Literal["none", "crash", "away", "wait"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens before the nth effect of a name: the run dies there, finds it away, or has to wait."""

    kind: Kind
    before: str = ""
    nth: int = 1


NOTHING = Trouble("none")


@dataclass(slots=True)
class Steps:
    """Counts the effects of one run, and makes trouble at one of them."""

    trouble: Trouble = NOTHING
    passed: Counter[str] = field(default_factory=Counter)
    changed: set[str] = field(default_factory=set)
    """The ids of entries whose vector this run wrote, or was about to remove."""
    waits: asyncio.Event = field(default_factory=asyncio.Event)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def before(self, effect: str) -> None:
        self.passed[effect] += 1
        if effect != self.trouble.before or self.passed[effect] != self.trouble.nth:
            return
        match self.trouble.kind:
            case "crash":
                raise Crash(effect)
            case "away":
                raise Unavailable(f"away before {effect}")
            case "wait":
                self.waits.set()
                await self.may_go_on.wait()


class Watched:
    """A port whose every call is a step of a run."""

    def __init__(self, port: object, steps: Steps) -> None:
        self._port = port
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return self._stepping(name, found) if asyncio.iscoroutinefunction(found) else found

    def _stepping(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*args: Any, **named: Any) -> Any:
            await self._steps.before(name)
            if name in ("replace", "upsert"):
                self._steps.changed.update(_entry_id(one) for one in args[0])
            return await method(*args, **named)

        return step


def _entry_id(one: Change | Point) -> str:
    return one.entry.id if isinstance(one, Point) else one.new.id


class ExactVectors:
    """A `VectorStore` in dictionaries: what is stored and how it is filtered, exactly as the port says."""

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}

    async def upsert(self, points_: Sequence[Point]) -> None:
        for point in points_:
            known = self.points.get(point.entry.id)
            if known is None or known.entry.version <= point.entry.version:
                self.points[point.entry.id] = point

    async def remove(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            self.points.pop(id_, None)

    async def erase(self, user_id: str) -> None:
        self.points = {id_: point for id_, point in self.points.items() if point.entry.user_id != user_id}

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        seen = self._seen_by(scope, list(self.points if ids is None else ids))
        hits = [SemanticHit(id_, float(point.vector @ vector)) for id_, point in seen.items()]
        return sorted(hits, key=lambda hit: -hit.cosine)[:limit]

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        return {id_: StoredPoint(point.vector) for id_, point in self._seen_by(scope, ids).items()}

    async def count(self, user_id: str | None = None) -> int:
        return sum(user_id in (None, point.entry.user_id) for point in self.points.values())

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        ids = sorted(id_ for id_ in self.points if id_ > after)[:limit]
        return [Key(self.points[id_].entry.user_id, id_) for id_ in ids]

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        payloads = {id_: points.payload(point.entry) for id_, point in self.points.items()}
        return points.lacking(entries, payloads)

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        held = [entry for entry in entries if entry.id in self.points]
        await self.upsert([Point(entry, self.points[entry.id].vector) for entry in held])
        return {entry.id for entry in entries} - self.points.keys()

    async def compact(self) -> bool:
        return True

    async def ping(self) -> None:
        """Always there."""

    async def close(self) -> None:
        """Nothing to close."""

    def _seen_by(self, scope: Scope, ids: Collection[str]) -> dict[str, Point]:
        known = {id_: self.points[id_] for id_ in ids if id_ in self.points}
        return {id_: point for id_, point in known.items() if _key(point.entry) in visible_keys(scope)}


def _key(entry: Entry) -> str:
    return scope_key(entry.user_id, entry.space, entry.persona_id)


class TinyEmbedder:
    """Gives each text a unit vector of 4 dimensions that nothing but its characters decide."""

    identity = EmbeddingIdentity("tiny", "hash", 4)

    async def embed(self, texts: Sequence[str]) -> Vector:
        rows = [list(hashlib.blake2b(text.encode(), digest_size=4).digest()) for text in texts]
        matrix = np.array(rows, dtype=np.float32) + 1
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))

    async def close(self) -> None:
        """Nothing to close."""


class TinyAnnotator:
    """Takes the last word for a name."""

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        return [Annotation((Entity(text=text.split()[-1], label="PERSON", confidence=0.9),)) for text in texts]

    async def close(self) -> None:
        """Nothing to close."""
