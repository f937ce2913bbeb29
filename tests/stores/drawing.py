"""A memory whose turns a scripted model reads, in one process and step by step: log, dedupe, extract."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from contracts.errors import Unavailable
from contracts.ports import TextStore
from contracts.v1.entries import Entry, EntryProposed, EntryRef, ExtractionWanted
from contracts.v1.facts import ProposedFact
from contracts.v1.turns import LoggedTurn, Proposal
from services.dedupe.handler import judge_proposals
from services.enrich.extract import Extractor
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader
from tests.stores.builders import NOON, a_proposal, a_turn


def a_claim(value: str, slot: str, sentence: str, about: str = "user", **more: Any) -> dict[str, Any]:
    """A claim as a model answers it."""
    said = {"kind": "fact", "slot": slot, "value": value, "sentence": sentence, "about": about, "is_new": False}
    return {**said, **more}


def a_former_fact(turn: LoggedTurn, value: str, *, ordinal: int = 1) -> Proposal:
    """A fact as older versions drew it from a turn, and as the log keeps it."""
    fact = ProposedFact(
        text=f"Home: {value}",
        span=value,
        subject="profile",
        entity_refs=("person:me",),
        entity_label="me",
        fact_type="fact",
        memory_key="profile|person|me|home",
        confidence=0.9,
        level=2,
    )
    return a_proposal(turn, ordinal=ordinal, text=fact.text).model_copy(update={"fact": fact})


@dataclass
class FakeModel:
    """Answers with the claims of the turn that it is shown; does or raises something first when told to."""

    claims: dict[str, list[Any]] = field(default_factory=dict)
    before: Callable[[], Awaitable[None]] | None = None
    fails: Exception | None = None
    is_left_alone: bool = False
    failed: bool = False
    asked: list[str] = field(default_factory=list)
    shown: list[Mapping[str, Any]] = field(default_factory=list)

    def check(self) -> None:
        """Worth asking, but for one that is left alone and has failed."""
        if self.is_left_alone and self.failed:
            self.failed = False  # the pause is over
            raise Unavailable("left alone")

    async def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> str:
        self.shown.append(json.loads(messages[-1]["content"]))
        turn = self.shown[-1]["turn"]
        self.asked.append(turn)
        if self.before is not None:
            await self.before()
        if self.fails is not None:
            self.failed = True
            raise self.fails
        return json.dumps({"claims": self.claims.get(turn, [])})

    async def close(self) -> None:
        """Nothing to close."""


class Memory:
    """What happens to turns of one user, and what came of them."""

    def __init__(self, store: TextStore, user: str, *, of_user: int = 100, of_all: int = 1000) -> None:
        self.store, self.user, self.model = store, user, FakeModel()
        self.budget = Budget(store, of_user=of_user, of_all=of_all)
        self.extractor = self.another_extractor()

    def another_extractor(self, name: str = "tiny") -> Extractor:
        """One that knows nothing of what was read before, as after a restart."""
        preferences = PreferenceReader(self.store)
        return Extractor(self.store, self.model, name=name, preferences=preferences, budget=self.budget)

    async def log(self, text: str, **fields: Any) -> LoggedTurn:
        """A turn in the log, and judged."""
        turn = a_turn(self.user, text, **fields)
        await self.store.append([turn], [a_proposal(turn)])
        await self.judge([a_proposal(turn)])
        return turn

    async def judge(self, proposals: Sequence[Proposal]) -> None:
        refs = [EntryRef(user_id=one.user_id, id=one.id) for one in proposals]
        await judge_proposals([EntryProposed.of(refs, at=NOON, cause=str(uuid4()))], store=self.store)

    def wish(self, turn: LoggedTurn) -> ExtractionWanted:
        return ExtractionWanted.of([EntryRef(user_id=self.user, id=a_proposal(turn).id)], at=NOON)

    async def read(self, turn: LoggedTurn) -> Entry:
        """The entry of a turn, once the model was to read it."""
        await self.extractor.handle([self.wish(turn)])
        return await self.entry(turn)

    async def say(self, text: str, *claims: dict[str, Any], **fields: Any) -> tuple[LoggedTurn, Entry]:
        """A turn with the claims that the model reads in it."""
        self.model.claims[text] = list(claims)
        turn = await self.log(text, **fields)
        return turn, await self.read(turn)

    async def had_drawn(self, turn: LoggedTurn, value: str) -> Entry:
        """A fact that an older version drew from a turn."""
        fact = a_former_fact(turn, value)
        await self.store.append([], [fact])
        await self.judge([fact])
        return (await self.store.get([fact]))[fact.id]

    async def entry(self, turn: LoggedTurn) -> Entry:
        return (await self.store.get([a_proposal(turn)]))[a_proposal(turn).id]


def told(entry: Entry) -> list[str]:
    """The claims of an entry as slot and value."""
    return [f"{one.slot}: {entry.text[slice(*one.value)]}" for one in entry.claims]
