"""A memory whose facts a scripted model draws, in one process and step by step: log, dedupe, extract, enrich."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from contracts.errors import Unavailable
from contracts.ports import Key, TextStore
from contracts.v1.entries import Entry, EntryAccepted, EntryProposed, EntryRef, ExtractionWanted
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.dedupe.handler import judge_proposals
from services.enrich.extract import Extractor
from services.enrich.handler import enrich_entries
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader
from tests.stores.builders import NOON, a_proposal, a_turn


def a_fact(span: str, value: str, attribute: str, about: str = "user", **more: Any) -> dict[str, Any]:
    """A fact as a model answers it."""
    given = {"span": span, "value": value, "attribute": attribute, "about": about, "kind": "person"}
    return {**given, "type": "fact", "importance": 2, "confidence": 0.9, "many": False, **more}


@dataclass
class FakeModel:
    """Answers with the facts of the turn that it is shown; does or raises something first when told to."""

    facts: dict[str, list[Any]] = field(default_factory=dict)
    before: Callable[[], Awaitable[None]] | None = None
    fails: Exception | None = None
    is_left_alone: bool = False
    failed: bool = False
    asked: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Worth asking, but for one that is left alone and has failed."""
        if self.is_left_alone and self.failed:
            self.failed = False  # the pause is over
            raise Unavailable("left alone")

    async def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> str:
        turn = json.loads(messages[-1]["content"])["turn"]
        self.asked.append(turn)
        if self.before is not None:
            await self.before()
        if self.fails is not None:
            self.failed = True
            raise self.fails
        return json.dumps({"facts": self.facts.get(turn, [])})

    async def close(self) -> None:
        """Nothing to close."""


class Memory:
    """What happens to turns of one user, and what came of them."""

    def __init__(self, store: TextStore, user: str, *, of_user: int = 100, of_all: int = 1000) -> None:
        self.store, self.user, self.model = store, user, FakeModel()
        self.budget = Budget(store, of_user=of_user, of_all=of_all)
        self.said: list[EntryProposed] = []
        self.extractor = self.another_extractor()

    def another_extractor(self) -> Extractor:
        """One that knows nothing of what was read before, as after a restart."""
        preferences = PreferenceReader(self.store)
        return Extractor(self.store, self.model, preferences=preferences, budget=self.budget, say=self._say)

    async def _say(self, events: Sequence[EntryProposed]) -> None:
        self.said += events

    async def log(self, text: str, **fields: Any) -> LoggedTurn:
        """A turn in the log, judged, and enriched without an annotator."""
        turn = a_turn(self.user, text, **fields)
        await self.store.append([turn], [a_proposal(turn)])
        await self.judge([a_proposal(turn)])
        return turn

    async def judge(self, proposals: Sequence[Proposal]) -> None:
        refs = [EntryRef(user_id=one.user_id, id=one.id) for one in proposals]
        await self._on([EntryProposed.of(refs, at=NOON, cause=str(uuid4()))])

    async def _on(self, events: Sequence[EntryProposed]) -> None:
        told = await judge_proposals(events, store=self.store)
        accepted = [event for event in told if isinstance(event, EntryAccepted) and event.entries]
        if accepted:
            await enrich_entries(accepted, store=self.store, annotator=None)

    def wish(self, turn: LoggedTurn) -> ExtractionWanted:
        return ExtractionWanted.of([EntryRef(user_id=self.user, id=a_proposal(turn).id)], at=NOON)

    async def draw(self, turn: LoggedTurn) -> list[Entry]:
        """The facts of a turn, once the model has read it and all that followed is done."""
        await self.extractor.handle([self.wish(turn)])
        said, self.said = self.said, []
        if said:
            await self._on(said)
        return await self.facts(turn)

    async def say(self, text: str, *facts: dict[str, Any], **fields: Any) -> tuple[LoggedTurn, list[Entry]]:
        """A turn with the facts that the model draws from it."""
        self.model.facts[text] = list(facts)
        turn = await self.log(text, **fields)
        return turn, await self.draw(turn)

    async def facts(self, turn: LoggedTurn) -> list[Entry]:
        ids = [entry_id(self.user, turn.space, turn.turn_id, ordinal) for ordinal in (1, 2, 3)]
        return list((await self.store.get([Key(self.user, id_) for id_ in ids])).values())

    async def entry(self, turn: LoggedTurn) -> Entry:
        return (await self.store.get([a_proposal(turn)]))[a_proposal(turn).id]
