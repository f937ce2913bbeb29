"""What may not come back after it was forgotten, what a refusal leaves, and what is judged again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contracts.ports import (
    Accepted,
    Key,
    Outcome,
    Refused,
    TextStore,
)
from contracts.v1.turns import WORDLESS
from services.shared.stores.tombstones import without_words
from tests.stores.builders import (
    a_proposal,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    forget,
    log_of,
    log_proposals,
    log_texts,
    outcomes_of,
    store_entries,
    suppressed,
    tomorrow,
    undecided_of,
    yesterday,
)


async def test_the_same_statement_is_known_as_forgotten_until_then(text_store: TextStore, user: str) -> None:
    said = an_entry(user, statement_hash="h1", exact_hash="h2")
    other = an_entry(user, statement_hash="h3", exact_hash="h4")
    await store_entries(text_store, [said, other])
    await text_store.forget([said], until=tomorrow())
    await text_store.forget([other], until=yesterday())
    same = [an_entry(user, statement_hash="h1"), an_entry(user, exact_hash="h2", speaker="Ben", role="assistant")]
    same.append(an_entry(user, statement_hash="h1", persona_id="guide"))
    different = [an_entry(user), an_entry(user, statement_hash="h3"), an_entry(user, exact_hash="h4")]
    different += [an_entry(user, space="work", statement_hash="h1"), an_entry(a_user(), statement_hash="h1")]
    assert await suppressed(text_store, [*same, *different]) == {entry.id for entry in same}
    assert await suppressed(text_store, []) == set()


async def test_the_longest_time_counts(text_store: TextStore, user: str) -> None:
    entries = await store_entries(text_store, [an_entry(user, statement_hash="h") for _ in range(3)])
    for entry, until in zip(entries, (yesterday(), tomorrow(), yesterday()), strict=True):
        await forget(text_store, entry, until)
    assert await suppressed(text_store, [entries[0].model_copy(update={"text": "again"})]) == {entries[0].id}


async def test_a_statement_that_was_forgotten_meanwhile_is_accepted_only_elsewhere(
    text_store: TextStore, user: str
) -> None:
    first, again = await log_texts(text_store, user, "green tea", "green tea")
    (at_work,) = await log_texts(text_store, user, "green tea", space="work")
    (of_another,) = await log_texts(text_store, a_user(), "green tea")
    await text_store.apply([Accepted(entry_of(first, statement_hash="h"))])
    await forget(text_store, first, tomorrow())
    judged = [entry_of(p, statement_hash="h", speaker="Ben") for p in (again, at_work, of_another)]
    settled = await text_store.apply([Accepted(entry, known_similar=frozenset()) for entry in judged])
    assert settled == [Outcome(p.id, "stored", p.id) for p in (at_work, of_another)]
    assert await undecided_of(text_store, [again]) == [again]
    assert await text_store.get([again]) == {}


async def test_what_is_refused_leaves_no_words_in_the_log(text_store: TextStore, user: str) -> None:
    refused, kept = await log_texts(text_store, user, "green tea", "red wine", tags=("drinks",), speaker="Anna")
    decision = Refused(refused, "forgotten")
    expected = [Outcome(refused.id, "refused", None, "forgotten")]
    assert await text_store.apply([decision]) == expected == await text_store.apply([decision])
    log = await log_of(text_store, user)
    assert log == {refused.turn.turn_id: without_words(refused.turn), kept.turn.turn_id: kept.turn}
    assert (await text_store.export_log(user, after=None, limit=1))[0].proposals[0].proposal.text == WORDLESS


async def test_a_fact_that_is_refused_leaves_the_words_of_its_turn(text_store: TextStore, user: str) -> None:
    turn = a_turn(user, "Anna drinks green tea")
    itself, fact, other = (a_proposal(turn, ordinal=i, text=f"text {i}") for i in range(3))
    await text_store.append([turn], [itself, fact, other])
    await text_store.apply([Accepted(entry_of(itself)), Refused(fact, "forgotten"), Accepted(entry_of(other))])
    (record,) = await text_store.export_log(user, after=None, limit=9)
    assert record.turn == turn
    assert [decision.proposal.text for decision in record.proposals] == ["text 0", WORDLESS, "text 2"]


async def test_what_is_reopened_is_unfinished(empty_text_store: TextStore, user: str) -> None:
    (proposal,) = await log_proposals(empty_text_store, user, 1)
    await empty_text_store.apply([Refused(proposal, "no")])
    soon = datetime.now(UTC) + timedelta(minutes=1)
    assert await empty_text_store.unfinished("undecided", before=soon, limit=9) == []
    await empty_text_store.reopen([proposal])
    assert await empty_text_store.unfinished("undecided", before=soon, limit=9) == [Key(user, proposal.id)]


async def test_only_what_was_decided_without_an_entry_that_is_there_is_reopened(
    text_store: TextStore, user: str
) -> None:
    stored, refused, undecided = await log_proposals(text_store, user, 3)
    await text_store.apply([Accepted(entry_of(stored)), Refused(refused, "no")])
    before = await text_store.counts(user)
    await text_store.reopen([stored, undecided, Key(user, "unknown"), Key(a_user(), refused.id)])
    await text_store.reopen([])
    assert await text_store.counts(user) == before
    assert set(await outcomes_of(text_store, [stored, refused, undecided])) == {stored.id, refused.id}


async def test_reopening_a_fact_does_not_change_the_counts_of_turns(text_store: TextStore, user: str) -> None:
    turn = a_turn(user)
    itself, fact = a_proposal(turn), a_proposal(turn, ordinal=1, text="a fact")
    await text_store.append([turn], [itself, fact])
    await text_store.apply([Refused(itself, "no"), Refused(fact, "no")])
    await text_store.reopen([fact])
    counted = await text_store.counts(user)
    assert (counted.turns, counted.refused, counted.undecided) == (1, 1, 1)


async def test_who_says_what_stands_for_redacted_words_is_not_redacted(text_store: TextStore, user: str) -> None:
    said, forgotten = await log_texts(text_store, user, WORDLESS, "green tea")
    await text_store.apply([Accepted(entry_of(forgotten))])
    await forget(text_store, forgotten, None)
    (proposal,) = await undecided_of(text_store, [said])
    assert (proposal.text, proposal.redacted) == (WORDLESS, False)
    log = {turn.turn_id: turn.redacted for turn in (await log_of(text_store, user)).values()}
    assert log == {said.turn.turn_id: False, forgotten.turn.turn_id: True}
