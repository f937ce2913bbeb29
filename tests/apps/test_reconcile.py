"""Comparing the stores: whatever differs is named and put right once; and what another reader read is read anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from contracts.ports import Accepted, Merged, Outcome, Ref, Selection, TextStore, VectorPoint
from contracts.v1.commands import ReconcileRequest
from contracts.v1.entries import Entry, EntryEnriched, EntryEvent, EntryProposed
from services.curate import reconcile
from services.curate.reconcile import SIDES, pages, read_anew
from services.curate.retention import put_away
from services.curate.stores import Say, Stores
from services.dedupe.handler import candidate_entry, judge_proposals
from services.embed.handler import embed_entries
from services.shared.changes import change_entries
from services.shared.errors import Rejected
from tests.apps.fakes import FakeEmbedder, FakeInFlight, FakeReader, FakeVectors, Instead, home, say_nothing
from tests.apps.settling import settle
from tests.stores.builders import (
    NOON,
    a_proposal,
    a_turn,
    an_entry,
    log_proposals,
    log_texts,
    minutes,
    outcomes_of,
    store_entries,
    tomorrow,
)
from tests.stores.changing import modify


@dataclass
class Memory:
    """Stores whose events are handled when they are said."""

    text: TextStore
    vectors: FakeVectors = field(default_factory=FakeVectors)

    @property
    def stores(self) -> Stores:
        return Stores(self.text, self.vectors, FakeInFlight(), self._say)

    async def _say(self, events: Sequence[EntryEvent]) -> None:
        for event in events:
            if isinstance(event, EntryProposed):
                await judge_proposals([event], store=self.text)
            if isinstance(event, EntryEnriched):
                await embed_entries([event], store=self.text, vectors=self.vectors, embedder=FakeEmbedder())

    async def embed(self, entries: Sequence[Entry]) -> None:
        await self.stores.tell(EntryEnriched, entries)

    async def differences(self, *, fix: bool, limit: int = 3) -> Counter[str]:
        found: Counter[str] = Counter()
        for side in SIDES:
            after: str | None = ""
            while after is not None:
                request = ReconcileRequest(side=side, after=after, limit=limit, fix=fix)
                reply = await reconcile.reconcile(request, self.stores)
                found.update(one.kind for one in reply.differences)
                after = reply.after
        return found


async def a_memory(store: TextStore, *, entries: int = 7) -> tuple[Memory, list[Entry]]:
    memory = Memory(store)
    stored = await store_entries(store, [an_entry(f"user-{n % 3}", f"statement {n}") for n in range(entries)])
    await memory.embed(stored)
    return memory, stored


async def test_stores_that_agree_have_no_differences_and_every_page_is_looked_at(store: TextStore) -> None:
    memory, stored = await a_memory(store)
    proposals = await log_proposals(store, "ann", 4)
    await memory.stores.tell(EntryProposed, proposals)
    assert not await memory.differences(fix=False)
    looked = {side: [page.looked_at async for page in pages(side, memory.stores, fix=False)] for side in SIDES}
    assert {side: sum(counts) for side, counts in looked.items()} == {"log": 4, "entries": 11, "vectors": 7}
    assert len(stored) == 7


async def test_missing_outdated_and_needless_vectors_are_found_and_put_right(store: TextStore) -> None:
    memory, stored = await a_memory(store)
    del memory.vectors.points[stored[0].id]
    await modify(store, [stored[1]], lambda entry: entry.model_copy(update={"tags": ("new",)}))
    await modify(store, [stored[2]], lambda entry: entry.model_copy(update={"status": "archived"}))
    ghost = an_entry("nobody", "never stored")
    await memory.vectors.upsert([VectorPoint(ghost, np.ones(4, np.float32))])

    expected = {"without_vector": 2, "without_reason": 2}
    assert await memory.differences(fix=False) == expected
    assert await memory.differences(fix=True) == expected
    assert not await memory.differences(fix=False)
    assert set(memory.vectors.points) == {entry.id for entry in stored} - {stored[2].id}


async def test_an_outcome_whose_entry_is_gone_is_judged_again(store: TextStore) -> None:
    memory = Memory(store)
    (proposal,) = await log_proposals(store, "ann", 1)
    canonical = an_entry("ann", "to be lost")
    await store_entries(store, [canonical])
    await store.apply([Merged(proposal, canonical.id, None)])

    async def without_it(refs: Sequence[Ref]) -> dict[str, Entry]:
        return {id_: entry for id_, entry in (await store.get(refs)).items() if id_ != canonical.id}

    memory.text = cast(TextStore, Instead(store, get=without_it))
    assert await memory.differences(fix=True) == {"without_entry": 1}
    settled = (await outcomes_of(store, [proposal]))[proposal.id]
    assert settled == Outcome(proposal.id, "stored", proposal.id)
    assert not await memory.differences(fix=False)


async def test_a_proposal_on_its_way_is_no_difference(store: TextStore) -> None:
    memory = Memory(store)
    await log_proposals(store, "ann", 3)
    assert not await memory.differences(fix=True)


async def test_without_vectors_only_the_log_is_compared(store: TextStore) -> None:
    await store_entries(store, [an_entry("ann")])

    async def say(_: Sequence[EntryEvent]) -> None:
        raise AssertionError("there is nothing to say")

    stores = Stores(store, None, FakeInFlight(), say)
    for side in SIDES:
        assert [page.differences async for page in pages(side, stores, fix=True)] == [()]


@pytest.mark.parametrize("after", ["nonsense", "[1]", '["u", "noon", "s", "i"]', '["u", "s"]', "{}"])
async def test_a_place_that_no_page_said_is_refused(store: TextStore, after: str) -> None:
    request = ReconcileRequest(side="log", after=after)
    with pytest.raises(Rejected, match="after"):
        await reconcile.reconcile(request, Memory(store).stores)


async def test_a_vector_that_is_filtered_by_less_is_filtered_anew_and_kept(store: TextStore) -> None:
    memory, stored = await a_memory(store)
    changed = await modify(store, stored[:2], lambda entry: entry.model_copy(update={"tags": ("new",)}))
    vectors = [memory.vectors.points[entry.id].vector for entry in changed]
    assert await memory.differences(fix=True) == {"without_vector": 2}
    assert not await memory.differences(fix=False)
    assert [memory.vectors.points[entry.id].vector for entry in changed] == vectors
    assert list((await store.get(changed)).values()) == changed  # not marked to be embedded again


LONG = "The quarterly review of the northern warehouse took place in a cold room and " + " ".join(
    f"shelf {number} holds spare valves" for number in range(12)
)
MISSPELT = LONG.replace("warehouse", "warehosue")


async def accept_at_once(store: TextStore, *texts: str) -> list[Entry]:
    """Entries that were judged side by side, each without the others."""
    accepted = [candidate_entry(proposal) for proposal in await log_texts(store, "ann", *texts)]
    for entry in accepted:
        await store.apply([Accepted(entry, known_similar=frozenset())])
    return accepted


async def the_entry(store: TextStore) -> Entry:
    (entry,) = (await store.page(Selection("ann"), limit=9, cursor=None)).entries
    return entry


async def test_near_copies_that_came_at_once_become_one_with_all_that_was_said(store: TextStore) -> None:
    memory = Memory(store)
    older, copy = await accept_at_once(store, LONG, MISSPELT)
    repeat = a_proposal(a_turn("ann", MISSPELT.upper(), created_at=older.created_at + minutes(5)))
    await store.append([repeat.turn], [repeat])
    await store.apply([Merged(repeat, copy.id, candidate_entry(repeat))])
    await modify(store, [copy], lambda entry: entry.model_copy(update={"pinned": True}))
    await memory.embed([older, copy])
    assert await memory.differences(fix=False) == {"near_copy": 1}
    assert await memory.differences(fix=True) == {"near_copy": 1}
    assert not await memory.differences(fix=False)
    one = await the_entry(store)
    assert (one.id, one.repeat_count, one.pinned) == (older.id, 2, True)
    assert {saying.turn_id for saying in one.sayings} == {older.turn_id, copy.turn_id, repeat.turn.turn_id}
    outcomes = await outcomes_of(store, [copy, repeat])
    assert {outcome.entry_id for outcome in outcomes.values()} == {older.id}
    assert set(memory.vectors.points) == {older.id}


async def test_taking_back_a_near_copy_that_was_broken_off_is_completed(store: TextStore) -> None:
    memory = Memory(store)
    older, copy = await accept_at_once(store, LONG, MISSPELT)
    assert await store.remove([copy]) == set()  # and then the process was killed
    assert await memory.differences(fix=True) == {"without_entry": 1}
    assert not await memory.differences(fix=False)
    one = await the_entry(store)
    assert (one.id, one.repeat_count) == (older.id, 1)
    assert {saying.turn_id for saying in one.sayings} == {older.turn_id, copy.turn_id}


async def test_a_near_copy_whose_turn_was_never_logged_stays(store: TextStore) -> None:
    memory = Memory(store)
    (older,) = await accept_at_once(store, LONG)
    known = {"id": "imported", "text": MISSPELT, "turn_id": "of elsewhere", "created_at": older.created_at + minutes(9)}
    await store_entries(store, [older.model_copy(update=known)])
    assert not await memory.differences(fix=True)
    assert (await store.counts("ann")).entries == 2


async def test_a_near_copy_of_what_is_forgotten_meanwhile_is_judged_by_itself(store: TextStore) -> None:
    older, copy = await accept_at_once(store, LONG, MISSPELT)

    class Forgetful(Memory):
        async def _say(self, events: Sequence[EntryEvent]) -> None:
            await store.forget([older], until=tomorrow())
            await super()._say(events)

    assert await Forgetful(store).differences(fix=True) == {"near_copy": 1}
    assert (await store.get([older]))[older.id].status == "forgotten"
    one = await the_entry(store)
    assert (one.id, one.text) == (copy.id, MISSPELT)


async def test_long_entries_that_differ_by_more_than_typing_are_left_alone(store: TextStore) -> None:
    await accept_at_once(store, LONG, LONG.replace("cold", "warm"), LONG.replace("shelf 3", "shelf 33"))
    assert not await Memory(store).differences(fix=True)


READER = "reader-2"
READY = {"embedding_state": "ready", "read_by": "reader-1"}


class Worker:
    """The embed stage, and how many entries it was given at once."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self.reader = FakeReader(READER)
        self.given: list[int] = []

    async def hear(self, events: Sequence[EntryEvent]) -> None:
        for event in events:
            self.given.append(len(event.entries))
            await settle(self._store, list((await self._store.get(event.entries)).values()), self.reader)


def told(store: TextStore, say: Say) -> Stores:
    return Stores(store, None, FakeInFlight(), say)


def entries_of_former_reader(count: int) -> list[Entry]:
    return [an_entry("ann", f"I live in town {n}.", **READY) for n in range(count)]


async def test_all_are_read_once_and_few_at_a_time(store: TextStore) -> None:
    stored = await store_entries(store, entries_of_former_reader(3 * reconcile._READ_AT_ONCE // 2))
    worker = Worker(store)
    assert await read_anew(READER, told(store, worker.hear)) == len(stored)
    assert max(worker.given) <= reconcile._READ_AT_ONCE
    found = await store.get(stored)
    assert {one.read_by for one in found.values()} == {READER}
    assert all(one.claims == (home(one.text),) for one in found.values())
    assert await read_anew(READER, told(store, worker.hear)) == 0
    assert sum(worker.given) == len(stored)


OTHERS: dict[str, dict[str, Any]] = {
    "read already": {"read_by": READER},
    "on its way": {"embedding_state": "pending"},
    "refused by the model": {"embedding_state": "error"},
    "out of use": {"status": "archived"},
    "an assistant": {"role": "assistant"},
}


@pytest.mark.parametrize("fields", OTHERS.values(), ids=OTHERS.keys())
async def test_others_are_left_alone(store: TextStore, fields: dict[str, Any]) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "I live in Ghent.", **(READY | fields))])
    worker = Worker(store)
    assert await read_anew(READER, told(store, worker.hear)) == 0
    assert (await store.get([entry]))[entry.id] == entry


async def test_a_worker_that_is_away_is_not_waited_for_for_ever(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "_PATIENCE", 0.2)
    monkeypatch.setattr(reconcile, "_LOOK_EVERY", 0.1)
    await store_entries(store, entries_of_former_reader(2))
    assert await read_anew(READER, told(store, say_nothing)) == 2


async def _taken_back(store: TextStore, entry: Entry) -> None:
    assert await store.remove(list((await store.get([entry])).values())) == set()


async def _forgotten(store: TextStore, entry: Entry) -> None:
    await store.forget([entry], until=None)


async def _archived(store: TextStore, entry: Entry) -> None:
    await change_entries(store, [entry], lambda one: put_away(one, None, now=NOON))


@pytest.mark.parametrize("meanwhile", [_taken_back, _forgotten, _archived])
async def test_one_that_goes_out_of_use_meanwhile_is_not_waited_for(
    store: TextStore, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[TextStore, Entry], Awaitable[None]]
) -> None:
    (entry,) = await store_entries(store, entries_of_former_reader(1))

    async def goes(_: Sequence[EntryEvent]) -> None:
        await meanwhile(store, entry)

    async def wait(_: float) -> None:
        raise AssertionError("it is waited for")

    monkeypatch.setattr(reconcile, "asyncio", SimpleNamespace(sleep=wait))
    assert await read_anew(READER, told(store, goes)) == 1
