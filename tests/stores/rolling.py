"""Replicas that roll up, what they roll up, and ways to break them off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from contracts.ports import Key, Selection, TextStore, VectorPoint
from contracts.v1.commands import ForgetReply, ForgetRequest
from contracts.v1.entries import Entry, EntryEvent
from contracts.v1.rollups import RollUpReply, RollUpRequest
from services.curate import ageing
from services.curate.ageing import Ages
from services.curate.rollups import RollUps
from services.curate.stores import Stores
from services.shared.dedup.repeats import prints_of
from tests.apps.fakes import FakeInFlight, FakeVectors
from tests.stores.builders import a_proposal, a_turn, entry_of, store_entries

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
AGES = Ages(roll_up_after=90)
NEWS = "I sold the sourdough starter to Clara"


class Said:
    """Where a replica says what is in use, or new."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def __call__(self, events: Sequence[EntryEvent]) -> None:
        self.ids += [ref.id for event in events for ref in event.entries]


def replica(store: TextStore, vectors: FakeVectors | None = None) -> RollUps:
    return RollUps(Stores(store, vectors or FakeVectors(), FakeInFlight(), Said()))


def said_by(made: RollUps) -> list[str]:
    """The ids of what a replica has told of."""
    assert isinstance(made.stores.say, Said)
    return made.stores.say.ids


async def say(store: TextStore, user: str, *texts: str, days: int = 200, **fields: Any) -> list[Entry]:
    """Log what was said so many days ago, and store it, embedded."""
    said = [NOW - timedelta(days=days, minutes=-i) for i in range(len(texts))]
    turns = [a_turn(user, text, created_at=at) for text, at in zip(texts, said, strict=True)]
    await store.append(turns, [a_proposal(turn) for turn in turns])
    fields = {"embedding_state": "ready", "enriched": True, **fields}
    made = [entry_of(a_proposal(turn), **asdict(prints_of(turn.text, turn.created_at)), **fields) for turn in turns]
    return await store_entries(store, made)


async def embed(vectors: FakeVectors, entries: Sequence[Entry]) -> FakeVectors:
    await vectors.upsert([VectorPoint(one, np.full(4, 0.5, np.float32)) for one in entries])
    return vectors


async def embedded(entries: Sequence[Entry]) -> FakeVectors:
    return await embed(FakeVectors(), entries)


async def texts(store: TextStore, user: str, status: Any = "active") -> list[str]:
    page = await store.page(Selection(user, status=status), limit=500, cursor=None)
    return [one.text for one in page.entries]


async def the_roll_up(store: TextStore, user: str) -> Entry:
    page = await store.page(Selection(user), limit=500, cursor=None)
    (found,) = [one for one in page.entries if one.source == "rollup"]
    return found


async def aged(made: RollUps, user: str, ages: Ages = AGES, *, now: datetime = NOW, days: float = 1) -> int:
    async def at_once(_: float) -> None:
        """Nobody else is waiting."""

    return await ageing.age(user, "default", ages, made=made, every=timedelta(days=days), now=now, pause=at_once)


async def asked(made: RollUps, user: str, topic: str | None = "sourdough", **fields: Any) -> RollUpReply:
    return await ageing.roll_up(RollUpRequest(user_id=user, topic=topic, **fields), made=made)


async def forget(made: RollUps, entry: Entry) -> ForgetReply:
    return await made.forget(ForgetRequest(user_id=entry.user_id, id=entry.id), refuse_for=DAY)


async def everything_of(store: TextStore, user: str) -> str:
    """All that the store tells of a user, in one text."""
    entries = await store.export_entries(user, after=None, limit=500)
    log = await store.export_log(user, after=None, limit=500)
    kept = [one for kind in ("rollup", "rolling", "ageing", "loops") for one in await store.records(user, kind)]
    return "\n".join(map(repr, [*entries, *log, *kept]))


async def rolled_up(store: TextStore, entry: Entry) -> str:
    into = (await store.get([entry]))[entry.id].rolled_up_into
    assert into is not None
    return into


async def text_of(store: TextStore, user: str, original: Entry) -> Entry:
    id_ = await rolled_up(store, original)
    return (await store.get([Key(user, id_)]))[id_]


_WRITES = ("put_record", "add_records", "remove_records", "replace", "apply", "forget", "redact")


class Killed(BaseException):
    """The process ends here."""


def break_off(patched: pytest.MonkeyPatch, store: TextStore, *, after: int) -> dict[str, int]:
    """Let so many writes through, and end at the next."""
    steps = {"done": 0}

    def counted(call: Any) -> Any:
        async def write(*args: Any, **given: Any) -> Any:
            if steps["done"] == after:
                raise Killed
            steps["done"] += 1
            return await call(*args, **given)

        return write

    for name in _WRITES:
        patched.setattr(store, name, counted(getattr(store, name)))
    return steps
