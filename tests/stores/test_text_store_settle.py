"""Decisions: every proposal ends once, and its effect happens once."""

from __future__ import annotations

import asyncio
from zlib import crc32

import pytest

from contracts.ports import Accepted, Outcome, Ref, Refused, TextStore
from tests.stores.builders import (
    a_proposal,
    a_repeat,
    a_turn,
    an_entry,
    entry_of,
    log_proposals,
    outcomes_of,
    store_entries,
    undecided_of,
)


async def repeats(store: TextStore, entry: Ref) -> int:
    return (await store.get([entry]))[entry.id].repeat_count


async def test_an_accepted_entry_is_stored_once(text_store: TextStore, user: str) -> None:
    (proposal,) = await log_proposals(text_store, user, 1)
    entry, stored = entry_of(proposal), Outcome(proposal.id, "stored", proposal.id)
    other = entry.model_copy(update={"text": "something else"})
    for decision in (Accepted(entry), Accepted(other), Refused(proposal, "too late")):
        assert await text_store.apply([decision]) == [stored]
    assert await text_store.get([entry]) == {entry.id: entry}
    assert await outcomes_of(text_store, [entry]) == {entry.id: stored}
    assert await undecided_of(text_store, [entry]) == []


async def test_an_entry_that_nobody_proposed_is_stored_too(text_store: TextStore, user: str) -> None:
    entry = an_entry(user)
    stored = Outcome(entry.id, "stored", entry.id)
    assert await text_store.apply([Accepted(entry)]) == [stored]
    assert await text_store.apply([Accepted(entry)]) == [stored]
    assert await text_store.pending([entry]) == {}


async def test_a_merge_changes_the_canonical_entry_once(text_store: TextStore, user: str) -> None:
    first, second = await log_proposals(text_store, user, 2)
    await text_store.apply([Accepted(entry_of(first))])
    merged = Outcome(second.id, "merged", first.id)
    for _ in range(2):
        assert await text_store.apply([a_repeat(second, first.id)]) == [merged]
    canonical = (await text_store.get([first]))[first.id]
    assert (canonical.repeat_count, canonical.version) == (1, 2)
    assert await outcomes_of(text_store, [second]) == {second.id: merged}
    assert await text_store.get([second]) == {}


async def test_several_of_one_call_may_be_merged_into_one_accepted_just_before_or_stored(
    text_store: TextStore, user: str
) -> None:
    first, *others = await log_proposals(text_store, user, 5)
    repeated = [a_repeat(other, first.id) for other in others]
    settled = await text_store.apply([Accepted(entry_of(first)), *repeated[:2]])
    assert [its.kind for its in settled] == ["stored", "merged", "merged"]
    assert await repeats(text_store, first) == 2
    await text_store.apply(repeated[2:])
    assert await repeats(text_store, first) == 4


async def test_the_first_verdict_stands(text_store: TextStore, user: str) -> None:
    (proposal,) = await log_proposals(text_store, user, 1)
    refused = Outcome(proposal.id, "refused", None, "forgotten before")
    entry = entry_of(proposal)
    assert await text_store.apply([Refused(proposal, "forgotten before"), Accepted(entry)]) == [refused, refused]
    assert await text_store.apply([Accepted(entry), Refused(proposal, "other")]) == [refused, refused]
    assert await text_store.get([entry]) == {}
    assert await outcomes_of(text_store, [proposal]) == {proposal.id: refused}


@pytest.mark.parametrize("elsewhere", [{"user_id": "somebody else"}, {"space": "work"}, {"persona_id": "guide"}])
async def test_nothing_is_merged_across_scopes(text_store: TextStore, user: str, elsewhere: dict[str, str]) -> None:
    (mine,) = await log_proposals(text_store, user, 1)
    (other,) = await store_entries(text_store, [an_entry(user).model_copy(update=elsewhere)])
    assert await text_store.apply([a_repeat(mine, other.id)]) == []
    assert await text_store.get([other]) == {other.id: other}


async def test_facts_drawn_from_turns_are_not_counted_as_turns(text_store: TextStore, user: str) -> None:
    turn = a_turn(user)
    itself, fact, other = (a_proposal(turn, ordinal=i, text=f"text {i}") for i in range(3))
    await text_store.append([turn], [itself, fact, other])
    await text_store.apply([Accepted(entry_of(itself)), a_repeat(fact, itself.id), Refused(other, "no")])
    counted = await text_store.counts(user)
    assert (counted.turns, counted.entries, counted.merged, counted.refused) == (1, 1, 0, 0)


async def test_a_statement_is_not_accepted_beside_one_that_its_judge_did_not_see(
    text_store: TextStore, user: str
) -> None:
    one, two, three = await log_proposals(text_store, user, 3)
    entries = [entry_of(proposal, statement_hash="the same") for proposal in (one, two, three)]
    nobody: frozenset[str] = frozenset()
    assert await text_store.apply([Accepted(entries[0], known_similar=nobody)]) == [Outcome(one.id, "stored", one.id)]
    assert await text_store.apply([Accepted(entries[1], known_similar=nobody)]) == []
    assert await undecided_of(text_store, [two]) == [two]
    assert await text_store.apply([Accepted(entries[1], known_similar=frozenset({one.id}))]) != []
    assert await text_store.apply([Accepted(entries[2], known_similar=frozenset({one.id}))]) == []


async def test_of_the_same_statement_accepted_at_the_same_time_one_is_stored(text_store: TextStore, user: str) -> None:
    proposals = await log_proposals(text_store, user, 8)
    decisions = [Accepted(entry_of(p, statement_hash="the same"), known_similar=frozenset()) for p in proposals]
    settled = await asyncio.gather(*(text_store.apply([decision]) for decision in decisions))
    assert sum(map(len, settled)) <= 1
    again = [await text_store.apply([decision]) for decision in decisions]
    assert sum(map(len, again)) == 1
    assert len(await text_store.get(proposals)) == 1
    assert len(await undecided_of(text_store, proposals)) == 7


TWO_KEYS_WITH_ONE_CHECKSUM = "statement 29685295", "statement 32060020"


async def test_a_statement_whose_key_only_looks_the_same_hinders_nobody(text_store: TextStore, user: str) -> None:
    first, second = await log_proposals(text_store, user, 2)
    one, other = TWO_KEYS_WITH_ONE_CHECKSUM
    assert crc32(one.encode()) == crc32(other.encode())
    await text_store.apply([Accepted(entry_of(first, statement_hash=one), known_similar=frozenset())])
    decision = Accepted(entry_of(second, statement_hash=other), known_similar=frozenset())
    assert await text_store.apply([decision]) == [Outcome(second.id, "stored", second.id)]
