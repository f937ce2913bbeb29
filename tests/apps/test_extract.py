"""Facts of a corrected turn: drawn from what it says now, each text once, and none of the old words stays in use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.errors import Unavailable
from contracts.ports import Key, TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry, EntryAccepted, EntryProposed, EntryRef, ExtractionWanted
from contracts.v1.facts import MOST_FACTS, MOST_ORDINAL
from contracts.v1.turns import entry_id
from services.dedupe.handler import judge_proposals
from services.enrich.extract import Extractor
from services.enrich.handler import enrich_entries
from services.shared.core.lineage import fact_keys
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader
from tests.apps.test_edits import Desk
from tests.stores.drawing import a_fact


class Reader:
    """A model that says where everybody lives, and what is drawn from that, decided at once if `decides`."""

    def __init__(self, store: TextStore) -> None:
        self.store, self.asked, self.decides = store, 0, True
        self.told: list[EntryProposed] = []
        budget = Budget(store, of_user=100, of_all=100)
        self.extractor = Extractor(store, self, preferences=PreferenceReader(store), budget=budget, say=self._say)

    def check(self) -> None:
        """It always answers."""

    async def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None = None) -> str:
        self.asked += 1
        turn = json.loads(messages[-1]["content"])["turn"]
        return json.dumps({"facts": [a_fact(f"live in {turn.split()[-1]}", turn.split()[-1], "home")]})

    async def close(self) -> None:
        """Nothing to close."""

    async def _say(self, events: Sequence[EntryProposed]) -> None:
        self.told += events
        if self.decides:
            await self.decide()

    async def decide(self) -> None:
        events = await judge_proposals(self.told, store=self.store)
        accepted = [event for event in events if isinstance(event, EntryAccepted)]
        await enrich_entries(accepted, store=self.store, annotator=None)
        self.told = []

    async def read(self, entry: Entry) -> None:
        await self.extractor.handle([ExtractionWanted.of([EntryRef(user_id="ann", id=entry.id)], at=datetime.now(UTC))])


async def facts(store: TextStore, entry: Entry) -> list[str]:
    found = (await store.get(fact_keys(entry))).values()
    return [one.text for one in found if one.status == "active"]


async def test_each_text_of_an_entry_is_read_once(store: TextStore) -> None:
    desk, reader = Desk(store), Reader(store)
    entry = await desk.said("I live in Porto")
    for text in ("I live in Lisbon", "I live in Oslo", "I live in Porto", "I live in Lisbon"):
        for _ in range(2):
            await reader.read(entry)
        entry = await desk.update(entry, text=text)
        assert await facts(store, entry) == []
        for _ in range(2):
            await reader.read(entry)
        assert await facts(store, entry) == [f"Home: {text.split()[-1]}"]
    assert reader.asked == 3
    await Reader(store).read(entry)  # another process knows from the log
    assert await facts(store, entry) == ["Home: Lisbon"]


async def test_a_fact_whose_turn_is_corrected_while_it_is_decided_goes_out_of_use(store: TextStore) -> None:
    desk, reader = Desk(store), Reader(store)
    entry = await desk.said("I live in Porto")
    reader.decides = False
    await reader.read(entry)
    await desk.update(entry, text="I live in Lisbon")
    await reader.decide()
    assert await facts(store, entry) == []


async def test_facts_that_another_process_logs_at_the_same_moment_are_looked_at_again(store: TextStore) -> None:
    desk, reader = Desk(store), Reader(store)
    entry = await desk.said("I live in Porto")
    pending, raced = store.pending, False

    class Racing:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def append(self, turns: Any, proposals: Any) -> None:
            nonlocal raced
            if not raced:
                raced = True
                (drawn,) = proposals
                other = drawn.fact.model_copy(update={"text": "Home: here", "drawn_from": "another text"})
                await store.append([], [drawn.model_copy(update={"fact": other, "text": other.text})])
            await store.append(turns, proposals)

    reader.extractor._store = Racing()  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        await reader.read(entry)
    await reader.read(entry)
    second = await pending([Key("ann", entry_id("ann", entry.space, entry.turn_id or "", 2))])
    assert [one.proposal.text for one in second.values()] == ["Home: Porto"]


async def test_a_turn_that_was_corrected_very_often_is_read_no_more(store: TextStore) -> None:
    desk, reader = Desk(store), Reader(store)
    entry = await desk.said("I live in Porto")
    for number in range(MOST_ORDINAL + 2):
        await reader.read(entry)
        entry = await desk.update(entry, text=f"I live in Town{number}")
    assert reader.asked == MOST_ORDINAL - MOST_FACTS + 1


async def test_forgetting_a_corrected_turn_reaches_the_facts_of_every_text(store: TextStore) -> None:
    desk, reader = Desk(store), Reader(store)
    entry = await desk.said("I live in Porto")
    for text in ("I live in Lisbon", "I live in Oslo"):
        await reader.read(entry)
        entry = await desk.update(entry, text=text)
    await reader.read(entry)
    keys = [key for key in fact_keys(entry) if key.id in await store.get(fact_keys(entry))]
    assert len(keys) == 3
    await desk.editor.forget(ForgetRequest(user_id="ann", id=entry.id))
    assert {one.status for one in (await store.get(keys)).values()} == {"forgotten"}
