"""Settling on OpenSearch: broken off anywhere it is simply done again, and of many at once one is first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import Accepted, Decision, Key, Ref, Refused, Selection, TextStore
from contracts.v1.entries import EntryProposed, EntryRef
from contracts.v1.turns import Proposal
from services.dedupe.handler import NotLogged, candidate_entry, judge_proposals
from services.shared.stores.opensearch import OpenSearchTextStore
from tests.stores.builders import (
    NOON,
    a_proposal,
    a_repeat,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    log_texts,
    minutes,
    repeated,
    store_entries,
    undecided_of,
)
from tests.stores.changing import modify
from tests.stores.opensearch_openers import Another
from tests.stores.opensearch_processes import Crash, When, broken_off, dying, overtaken, torn
from tests.stores.seeing import everything_of

LONG = " ".join(f"word{i}" for i in range(60))
"""Long enough to be looked up by what near-copies share, too."""


writes = pytest.mark.parametrize("write", range(3), ids=["before listing", "before storing", "before noting"])


@pytest.fixture
async def store(another: Another) -> OpenSearchTextStore:
    return await another()


def proposals_of(user: str) -> list[Proposal]:
    turns = [a_turn(user, f"statement {i}", turn_id=f"t{i}", created_at=NOON + minutes(i)) for i in range(5)]
    return [a_proposal(turn) for turn in turns]


async def history(store: TextStore, user: str) -> list[Proposal]:
    """A stored statement, and five proposals."""
    proposals = proposals_of(user)
    await store.append([proposal.turn for proposal in proposals], proposals)
    await store_entries(store, [an_entry(user, "kept", id=f"kept of {user}")])
    return proposals


def decisions_on(proposals: Sequence[Proposal]) -> list[Decision]:
    accepted, merged, other, again, refused = proposals
    kept = f"kept of {accepted.user_id}"
    return [
        Accepted(entry_of(accepted, statement_hash="h"), known_similar=frozenset()),
        a_repeat(merged, accepted.id),
        a_repeat(other, kept),
        a_repeat(again, kept),
        Refused(refused, "a reason"),
    ]


async def seen(store: TextStore, user: str) -> dict[str, object]:
    refs: list[Ref] = [*proposals_of(user), Key(user, f"kept of {user}")]
    return await everything_of(store, user, refs, "statement kept")


@pytest.mark.parametrize("when", ["before", "amid", "after"])
async def test_settling_that_was_broken_off_ends_as_if_it_had_not_been(store: OpenSearchTextStore, when: When) -> None:
    whole, died = a_user(), 0
    assert len(await store.apply(decisions_on(await history(store, whole)))) == 5
    expected = await seen(store, whole)

    async def settle(process: TextStore, proposals: Sequence[Proposal]) -> None:
        assert len(await process.apply(decisions_on(proposals))) == 5

    async for proposals in broken_off(store, when, lambda: history(store, a_user()), settle):
        died += 1
        for _ in range(2):
            await settle(store, proposals)
            assert await seen(store, proposals[0].user_id) == expected
    assert died == 3  # statements, entries new and changed, outcomes


async def test_an_entry_that_is_stored_stays_though_its_proposal_is_decided_otherwise_meanwhile(
    store: OpenSearchTextStore, user: str
) -> None:
    (proposal, *_) = await history(store, user)
    async with overtaken(store, 2, lambda: store.apply([Refused(proposal, "a reason")])) as process:
        accepted = Accepted(entry_of(proposal, statement_hash="h"), known_similar=frozenset())
        assert [outcome.kind for outcome in await process.apply([accepted])] == ["stored"]
    assert [outcome.kind for outcome in await store.apply([Refused(proposal, "a reason")])] == ["stored"]
    assert (await store.get([proposal])).keys() == {proposal.id}


async def test_a_repeat_whose_proposal_was_decided_otherwise_meanwhile_is_not_counted(
    store: OpenSearchTextStore, user: str
) -> None:
    (proposal, *_) = await history(store, user)
    async with overtaken(store, 1, lambda: store.apply([Refused(proposal, "a reason")])) as process:
        assert [its.kind for its in await process.apply([a_repeat(proposal, f"kept of {user}")])] == ["refused"]
    assert await repeats_of_each(store, user) == [0]


def proposed(proposals: Sequence[Proposal]) -> EntryProposed:
    return EntryProposed.of([EntryRef(user_id=p.user_id, id=p.id) for p in proposals], at=NOON)


async def judged(stores: Sequence[TextStore], shares: Sequence[Sequence[Proposal]]) -> None:
    """Let every store judge its share, again and again as a redelivery would, until nothing is undecided."""
    for _ in range(20):
        await asyncio.gather(
            *(judge_proposals([proposed(share)], store=store) for store, share in zip(stores, shares, strict=True))
        )
        if not await undecided_of(stores[0], [proposal for share in shares for proposal in share]):
            return
    raise AssertionError("still undecided")


@pytest.mark.parametrize(("text", "same"), [("I prefer uv over pip", True), ("I prefer uv", False), (LONG, False)])
async def test_of_the_same_statement_judged_by_many_at_once_one_is_stored(
    another: Another, user: str, text: str, *, same: bool
) -> None:
    stores = [await another() for _ in range(4)]
    turns = [[a_turn(user, text, created_at=NOON + minutes(4 * i + j)) for j in range(3)] for i in range(4)]
    turns = [turns[0]] * 4 if same else turns
    distinct = {turn.turn_id: turn for share in turns for turn in share}
    await stores[0].append(list(distinct.values()), [a_proposal(turn) for turn in distinct.values()])
    await judged(stores, [[a_proposal(turn) for turn in share] for share in turns])
    page = await stores[1].page(Selection(user), limit=10, cursor=None)
    counted = await stores[2].counts(user)
    assert [entry.repeat_count for entry in page.entries] == [len(distinct) - 1]
    assert (counted.entries, counted.merged, counted.undecided) == (1, len(distinct) - 1, 0)


async def said_twice(store: TextStore, user: str) -> list[Proposal]:
    """Undecided proposals of one statement."""
    return await log_texts(store, user, *["I prefer uv over pip"] * 2)


async def repeats_of_each(store: TextStore, user: str) -> list[int]:
    return [entry.repeat_count for entry in (await store.page(Selection(user), limit=10, cursor=None)).entries]


async def dies(store: OpenSearchTextStore, proposal: Proposal, write: int) -> None:
    """Judge by a process that dies before this write."""
    with pytest.raises(Crash):
        async with dying(store, write, "before") as process:
            await judge_proposals([proposed([proposal])], store=process)


@writes
async def test_who_was_held_up_and_goes_on_stores_no_second(store: OpenSearchTextStore, user: str, write: int) -> None:
    late, prompt = await said_twice(store, user)
    async with overtaken(store, write, lambda: judged([store], [[prompt]])) as held_up:
        await judged([held_up], [[late]])
    assert await repeats_of_each(store, user) == [1]


@writes
async def test_what_was_broken_off_is_carried_through_by_whoever_repeats_it(
    store: OpenSearchTextStore, user: str, write: int
) -> None:
    late, prompt = await said_twice(store, user)
    await dies(store, late, write)
    await judged([store], [[prompt]])
    assert await repeats_of_each(store, user) == [min(write, 1)]
    await judged([store], [[late]])
    assert await repeats_of_each(store, user) == [1]


async def test_an_entry_that_is_stored_while_its_place_is_looked_at_keeps_it(
    store: OpenSearchTextStore, user: str
) -> None:
    """A request reads each index at a moment of its own: its entry not stored yet, its proposal decided already."""
    first, second = await said_twice(store, user)
    await dies(store, first, write=1)
    candidate = candidate_entry(second)
    async with torn(store, first.id, lambda: judged([store], [[first]])) as late:
        assert await late.apply([Accepted(candidate, known_similar=frozenset())]) == []
    assert await repeats_of_each(store, user) == [0]


async def test_the_place_of_an_entry_that_was_erased_before_it_was_stored_is_free(
    store: OpenSearchTextStore, user: str
) -> None:
    late, prompt = await said_twice(store, user)
    await dies(store, late, write=1)
    await store.withdraw([late.turn])
    await judged([store], [[prompt]])
    assert await repeats_of_each(store, user) == [0]


@writes
async def test_nothing_is_left_of_what_is_being_stored_when_its_user_is_erased_meanwhile(
    store: OpenSearchTextStore, user: str, write: int
) -> None:
    late, prompt = await said_twice(store, user)
    await dies(store, late, write=1)
    async with overtaken(store, write, lambda: store.erase(user)) as process:
        with pytest.raises(NotLogged):  # no account is kept of an erasure here
            await judge_proposals([proposed([prompt])], store=process)
    assert set((await store.count_remaining(user)).values()) == {0}


async def test_what_was_forgotten_since_it_was_looked_up_does_not_come_back_in_another_voice(
    store: OpenSearchTextStore, another: Another, user: str
) -> None:
    (said,) = await store_entries(store, [an_entry(user, "kept", role="assistant", statement_hash="h")])
    (proposal, *_) = await history(store, user)
    entry = entry_of(proposal, statement_hash="h")
    (similar,) = await store.find_similar([entry])
    assert not similar.suppressed
    await (await another()).forget([said], until=datetime.now(UTC) + timedelta(hours=1))
    assert await store.apply([Accepted(entry, known_similar=frozenset())]) == []
    assert await store.get([proposal]) == {}


async def test_what_was_looked_up_is_decided_as_it_is_by_then(
    store: OpenSearchTextStore, another: Another, user: str
) -> None:
    """By somebody else, or not at all when its turn is gone."""
    other = await another()
    decided, gone, *_ = await history(store, user)
    accepted = [Accepted(entry_of(one, statement_hash=one.id), known_similar=frozenset()) for one in (decided, gone)]
    await store.find_similar([one.entry for one in accepted])
    await other.apply([Refused(decided, "a reason")])
    await other.withdraw([gone.turn])
    assert [outcome.kind for outcome in await store.apply(accepted)] == ["refused"]
    assert await store.get([decided, gone]) == {}


async def test_what_was_taken_back_since_it_was_looked_up_is_stored_again(
    store: OpenSearchTextStore, another: Another, user: str
) -> None:
    (proposal, *_) = await history(store, user)
    accepted = Accepted(entry_of(proposal, statement_hash="h"), known_similar=frozenset())
    await store.apply([accepted])
    await store.find_similar([accepted.entry])
    other = await another()
    assert await other.remove(list((await other.get([proposal])).values())) == set()
    await other.reopen([proposal])
    assert [outcome.kind for outcome in await store.apply([accepted])] == ["stored"]
    assert list(await store.get([proposal])) == [proposal.id]


async def test_changes_by_several_processes_do_not_overwrite_each_other(
    store: OpenSearchTextStore, another: Another, user: str
) -> None:
    stores = [await another() for _ in range(3)]
    (entry,) = await store_entries(stores[0], [an_entry(user)])
    await asyncio.gather(*(modify(store, [entry], repeated) for store in stores for _ in range(8)))
    changed = (await stores[0].get([entry]))[entry.id]
    assert (changed.repeat_count, changed.version) == (24, 25)


async def test_a_change_whose_answer_was_lost_is_made_once(
    store: OpenSearchTextStore, another: Another, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt of a write that had been done is refused, and that is seen."""
    (entry,) = await store_entries(store, [an_entry(user)])
    send = store.client._send

    async def twice(body: bytes) -> object:
        await send(body)
        return await send(body)

    monkeypatch.setattr(store.client, "_send", twice)
    (changed,) = await modify(store, [entry], repeated)
    assert (changed.repeat_count, changed.version) == (1, 2)
    assert await store.get([entry]) == {entry.id: changed}
