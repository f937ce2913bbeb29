"""Forgetting and erasing on OpenSearch: broken off anywhere it is done again, and overtaken anywhere it ends right."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from contracts.ports import Accepted, Decision, Filters, Merged, Outcome, Refused, Scope, TextStore
from contracts.v1.entries import EntryProposed, EntryRef
from contracts.v1.turns import WORDLESS, Proposal
from services.dedupe.handler import judge_proposals
from services.shared.stores.opensearch import OpenSearchTextStore, privacy, queries, upkeep
from services.shared.stores.opensearch.transport import Kind
from tests.stores.builders import (
    NOON,
    a_proposal,
    a_repeat,
    a_session,
    a_turn,
    a_user,
    entry_of,
    log_proposals,
    log_texts,
    minutes,
    outcomes_of,
    store_entries,
    suppressed,
    tomorrow,
    undecided_of,
)
from tests.stores.opensearch_openers import Another, a_store
from tests.stores.opensearch_processes import When, broken_off, overtaken, overtaken_everywhere
from tests.stores.seeing import everything_of

KEYS = ("h", "b1", "b2")


@pytest.fixture
async def store(another: Another) -> OpenSearchTextStore:
    return await another()


def proposals_of(user: str) -> list[Proposal]:
    """Three turns, and a fact drawn from the last of them."""
    turns = [a_turn(user, f"green tea {i}", turn_id=f"t{i}", created_at=NOON + minutes(i)) for i in range(3)]
    return [*map(a_proposal, turns), a_proposal(turns[2], ordinal=1, text="likes green tea")]


async def a_memory(store: TextStore, user: str | None = None) -> list[Proposal]:
    """A statement with three keys, into which a turn and a fact were merged; one turn stored beside it."""
    stored, merged, beside, fact = proposals = proposals_of(user or a_user())
    await store.append([p.turn for p in proposals[:3]], proposals)
    entry = entry_of(stored, statement_hash=KEYS[0], minhash_bands=KEYS[1:])
    await store.apply([Accepted(entry), Accepted(entry_of(beside, statement_hash="other"))])
    await store.apply([a_repeat(merged, stored.id), a_repeat(fact, stored.id)])
    return proposals


async def seen(store: TextStore, user: str) -> dict[str, object]:
    proposals = proposals_of(user)
    said = entry_of(proposals[0], statement_hash=KEYS[0], minhash_bands=KEYS[1:])
    return await everything_of(store, user, proposals, "green tea", [said])


whens = pytest.mark.parametrize("when", ["before", "amid", "after"])


@whens
async def test_forgetting_that_was_broken_off_ends_as_if_it_had_not_been(
    store: OpenSearchTextStore, when: When
) -> None:
    whole, died = a_user(), 0
    (forgotten,) = await store.forget([(await a_memory(store, whole))[0]], until=tomorrow())
    assert forgotten.turn_ids == ("t0", "t1", "t2")
    expected = await seen(store, whole)
    forget = partial(OpenSearchTextStore.forget, until=tomorrow())
    async for said, *_ in broken_off(store, when, partial(a_memory, store), lambda p, said: forget(p, said[:1])):
        died += 1
        (again,) = await store.forget([said], until=tomorrow())
        assert again.turn_ids == forgotten.turn_ids
        assert await seen(store, said.user_id) == expected
    assert died == 3  # the suppression, the tombstone, the log


@pytest.mark.parametrize("when", ["before", "after"])
async def test_erasing_that_was_broken_off_is_done_again(store: OpenSearchTextStore, when: When) -> None:
    died = 0
    async for said, *_ in broken_off(store, when, partial(a_memory, store), lambda p, said: p.erase(said[0].user_id)):
        died += 1
        await store.erase(said.user_id)
        assert set((await store.count_remaining(said.user_id)).values()) == {0}
    assert died >= 3  # turns, entries, statements


@whens
async def test_reopening_that_was_broken_off_is_done_again(store: OpenSearchTextStore, when: When) -> None:
    died = 0

    async def refused() -> list[Proposal]:
        proposals = await log_proposals(store, a_user(), 2)
        await store.apply([Refused(proposal, "no") for proposal in proposals])
        return proposals

    async for first, second in broken_off(store, when, refused, lambda process, refused: process.reopen(refused)):
        died += 1
        await store.reopen([first, second])
        again = await store.apply([Accepted(entry_of(first)), a_repeat(second, first.id)])
        assert [settled.kind for settled in again] == ["stored", "merged"]
    assert died == 1  # the outcomes


async def judged_until_decided(store: TextStore, proposals: Sequence[Proposal]) -> None:
    event = EntryProposed.of([EntryRef(user_id=p.user_id, id=p.id) for p in proposals], at=NOON)
    await judge_proposals([event], store=store)
    assert await undecided_of(store, proposals) == []


async def nothing_is_left(store: TextStore, user: str) -> None:
    counted = await store.counts(user)
    assert (counted.entries, counted.inactive, counted.undecided) == (0, 1, 0)
    assert {r.turn.text for r in await store.export_log(user, after=None, limit=99)} == {WORDLESS}
    assert await store.search(Scope(user), "green tea", limit=9, filters=Filters()) == []


async def said_thrice(store: TextStore, user: str | None = None) -> list[Proposal]:
    """A statement of which the first is stored, as dedupe does it."""
    proposals = await log_texts(store, user or a_user(), *["I drink green tea every morning"] * 3)
    await judged_until_decided(store, proposals[:1])
    return proposals


def on(stored: Proposal, others: Sequence[Proposal]) -> list[list[Decision]]:
    """What may be about to be done with what repeats a stored entry."""
    return [
        [a_repeat(one, stored.id) for one in others],
        [Merged(one, stored.id, None) for one in others],
        [Refused(one, "no") for one in others],
    ]


@pytest.mark.parametrize("kind", range(3), ids=["merged", "counted already", "refused"])
async def test_what_is_forgotten_while_repeats_are_settled_leaves_no_words(
    store: OpenSearchTextStore, kind: int
) -> None:
    """Forgetting happens as a whole before each of the writes of settling."""
    came = 0
    async for stored, *others in overtaken_everywhere(
        store,
        prepare=partial(said_thrice, store),
        act=lambda process, said: process.apply(on(said[0], said[1:])[kind]),
        meanwhile=lambda said: store.forget(said[:1], until=tomorrow()),
    ):
        came += 1
        await judged_until_decided(store, others)
        await nothing_is_left(store, stored.user_id)
    assert came > 0


async def test_what_is_said_again_while_it_is_forgotten_is_not_stored(store: OpenSearchTextStore) -> None:
    """Judging happens as a whole before each of the writes of forgetting, and the other way round."""
    for write in range(3):
        user = a_user()
        stored, *others = await said_thrice(store, user)
        async with overtaken(store, write, partial(judged_until_decided, store, others)) as process:
            await process.forget([stored], until=tomorrow())
        assert len(await outcomes_of(store, others)) == 2
        await nothing_is_left(store, user)
        user = a_user()
        stored, *others = await said_thrice(store, user)
        async with overtaken(store, write, partial(store.forget, [stored], until=tomorrow())) as process:
            await judged_until_decided(process, others)
        await store.forget([stored], until=tomorrow())
        await nothing_is_left(store, user)


async def test_forgetting_and_judging_at_once_leave_nothing(store: OpenSearchTextStore, another: Another) -> None:
    other = await another()
    users = [a_user() for _ in range(12)]
    memories = [await said_thrice(store, user) for user in users]
    judging = [judged_until_decided(other, others) for _, *others in memories]
    await asyncio.gather(*(store.forget([stored], until=tomorrow()) for stored, *_ in memories), *judging)
    for user in users:
        await nothing_is_left(store, user)


async def test_two_that_forget_at_once_say_the_same(store: OpenSearchTextStore, another: Another, user: str) -> None:
    stored, *_ = await a_memory(store, user)
    stores = [store, await another(), await another()]
    said = await asyncio.gather(*(each.forget([stored], until=tomorrow()) for each in stores))
    assert said[1:] == [said[0]] * 2
    assert said[0][0].tombstone.version == 4


async def test_what_is_erased_while_it_is_settled_does_not_come_back(store: OpenSearchTextStore, user: str) -> None:
    """Erasing happens as a whole before each of the writes of settling."""

    async def prepare() -> list[Proposal]:
        await store.erase(user)
        return [*await said_thrice(store, user), *await log_texts(store, user, "red wine")]

    async def settle(process: OpenSearchTextStore, said: Sequence[Proposal]) -> None:
        stored, repeat, refused, other = said
        new = Accepted(entry_of(other, statement_hash="red wine"), known_similar=frozenset())
        settled.append(await process.apply([new, a_repeat(repeat, stored.id), Refused(refused, "no")]))

    settled: list[list[Outcome]] = []
    async for *_, other in overtaken_everywhere(store, prepare, settle, lambda _: store.erase(user)):
        assert set((await store.count_remaining(user)).values()) == {0}
        assert other.id not in {one.proposal_id for one in settled[-1]}
    assert len(settled) == 4  # before: statements, entries, outcomes; and after all


async def test_neighbours_that_this_process_forgot_are_not_remembered(opensearch_url: str, user: str) -> None:
    async with a_store(opensearch_url) as opened:
        store = await OpenSearchTextStore.open(opened.client.address, prefix=opened.client.prefix)
        one, two, three = await store_entries(store, a_session(user, ["green tea", "black tea", "red tea"]))
        await store.client.refresh("entries")
        assert len(await store.search(Scope(user), "tea", limit=9, filters=Filters())) == 3
        await store.forget([two], until=None)
        assert (await store.neighbours([one], reach=2))[one.id] == {1: three.id}
        await store.search(Scope(user), "tea", limit=9, filters=Filters())
        await store.erase(user)
        assert await store.neighbours([one], reach=2) == {}
        await store.close()


async def test_much_is_read_page_by_page(opensearch_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, size in ((privacy, "_PAGE"), (upkeep, "_SPACES"), (queries, "_TOGETHER")):
        monkeypatch.setattr(module, size, 2)
    async with a_store(opensearch_url) as store:
        first, *others = await log_proposals(store, "ann", 6)
        await store.apply([Accepted(entry_of(first)), *(a_repeat(p, first.id) for p in others)])
        (forgotten,) = await store.forget([first], until=None)
        assert sorted(forgotten.turn_ids) == sorted(p.turn.turn_id for p in (first, *others))
        entries = [e for i in range(5) for e in a_session(f"user {i}", ["tea"] * (i + 1), space=f"space {i}")]
        await store_entries(store, entries)
        crowds = await store.over_capacity(cap=2, limit=2)
        assert [(crowd.user_id, crowd.entries) for crowd in crowds] == [("user 4", 5), ("user 3", 4)]
        assert await store.scan(after="", limit=99) == sorted(entries, key=lambda entry: entry.id)


async def test_an_outcome_that_is_recorded_of_a_forgotten_entry_stays(store: OpenSearchTextStore, user: str) -> None:
    stored, *_ = await a_memory(store, user)
    await store.forget([stored], until=tomorrow())
    await store.reopen([stored])
    assert await outcomes_of(store, [stored]) == {stored.id: Outcome(stored.id, "stored", stored.id)}
    assert await suppressed(store, [entry_of(stored, statement_hash="h", updated_at=datetime.now(UTC))]) == {stored.id}


async def test_what_is_decided_while_it_is_counted_is_not_taken_for_finished(
    store: OpenSearchTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = a_user()
    (proposal,) = await log_texts(store, user, "green tea")
    search = store.client.search

    async def searched_late(kind: Kind, *args: Any, **options: Any) -> Any:
        if kind == "turns":
            await asyncio.sleep(0.2)
            await store_entries(store, [entry_of(proposal)])
            await store.client.refresh("turns")
        return await search(kind, *args, **options)

    monkeypatch.setattr(store.client, "search", searched_late)
    counts = await store.counts(user)
    assert (counts.undecided, counts.unenriched) == (0, 1)
