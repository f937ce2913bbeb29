"""Forgetting: what is left of an entry and of its turns, what may not come back, and what is judged again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import (
    Accepted,
    Conversation,
    Filters,
    Key,
    LastTurn,
    Outcome,
    Refused,
    Scope,
    Selection,
    TextStore,
)
from contracts.v1.turns import WORDLESS
from services.shared.stores.tombstones import unnamed, without_words
from tests.stores.builders import (
    a_full_entry,
    a_proposal,
    a_repeat,
    a_session,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    forget,
    log_of,
    log_proposals,
    log_texts,
    minutes,
    outcomes_of,
    similar_to,
    store_entries,
    suppressed,
    tomorrow,
    undecided_of,
    yesterday,
)


async def test_of_an_entry_a_tombstone_without_words_is_left(text_store: TextStore, user: str) -> None:
    entry, before = a_full_entry(user), datetime.now(UTC)
    await store_entries(text_store, [entry])
    left = (await forget(text_store, entry)).tombstone
    assert await text_store.get([entry]) == {entry.id: left}
    assert before - timedelta(seconds=1) <= left.updated_at <= datetime.now(UTC)
    assert (left.status, left.version, left.text) == ("forgotten", 8, "")
    kept = {"id", "user_id", "space", "session_id", "turn_id", "ordinal", "role", "persona_id", "type"}
    kept |= {"repeat_count", "created_at"}
    assert left.model_dump(include=kept) == entry.model_dump(include=kept)
    assert left.conversation_id == unnamed(user, str(entry.conversation_id))
    others = {*kept, "conversation_id", "updated_at", "status", "version"}
    assert left.model_dump(exclude=others) == an_entry(user, "").model_dump(exclude=others)


async def test_a_forgotten_entry_is_found_by_nobody(text_store: TextStore, user: str) -> None:
    one, two, three = a_session(user, ["green tea", "black tea", "red wine"], tags=("drinks",), statement_hash="h")
    await store_entries(text_store, [one, two, three])
    await forget(text_store, two)
    hits = await text_store.search(Scope(user), "black tea drinks", limit=9, filters=Filters())
    assert {hit.id for hit in hits} == {one.id, three.id}
    assert {hit.id for hit in await text_store.search(Scope(user), "black", limit=9, filters=Filters())} == set()
    assert await similar_to(text_store, two) == [[one, three]]
    assert (await text_store.neighbours([one], reach=2))[one.id] == {1: three.id}
    page = await text_store.page(Selection(user), limit=9, cursor=None)
    assert ([entry.id for entry in page.entries], page.total) == ([three.id, one.id], 2)
    drinks = await text_store.page(Selection(user, status="forgotten", tags=("drinks",)), limit=9, cursor=None)
    assert drinks.total == 0
    gone = await text_store.page(Selection(user, status="forgotten"), limit=9, cursor=None)
    assert [entry.id for entry in gone.entries] == [two.id]


async def test_the_log_keeps_the_turns_that_said_it_without_their_words(text_store: TextStore, user: str) -> None:
    first, second, third, other = await log_texts(
        text_store, user, "green tea", "Green tea!", "green tea.", "red wine", speaker="Anna", tags=("drinks",)
    )
    await text_store.apply([Accepted(entry_of(first)), Accepted(entry_of(other))])
    await text_store.apply([a_repeat(second, first.id), a_repeat(third, first.id)])
    before = await outcomes_of(text_store, [first, second, third, other])
    forgotten = await forget(text_store, first)
    assert set(forgotten.turn_ids) == {proposal.turn.turn_id for proposal in (first, second, third)}
    log = await log_of(text_store, user)
    assert log[other.turn.turn_id] == other.turn
    for proposal in (first, second, third):
        assert log[proposal.turn.turn_id] == without_words(proposal.turn)
    assert forgotten.tombstone.repeat_count == 2
    records = await text_store.export_log(user, after=None, limit=9)
    assert [decision.outcome for record in records for decision in record.proposals] == list(before.values())
    texts = [decision.proposal.text for record in records for decision in record.proposals]
    assert texts == [WORDLESS] * 3 + [other.text]
    assert await undecided_of(text_store, [first, second, third, other]) == []


async def test_the_name_of_its_conversation_goes_and_its_session_goes_on(text_store: TextStore, user: str) -> None:
    name = "divorce from Karlotta"
    turn, bob = a_turn(user, "green tea", conversation_id=name), a_turn(a_user(), "tea", conversation_id=name)
    for said in (turn, bob):
        await text_store.append([said], [a_proposal(said)])
        await text_store.apply([Accepted(entry_of(a_proposal(said)))])
    entry = entry_of(a_proposal(turn))
    forgotten = await forget(text_store, entry)
    (record,) = await text_store.export_log(user, after=None, limit=9)
    assert (await forget(text_store, entry)).turn_ids == forgotten.turn_ids == (turn.turn_id,)
    for left in (forgotten.tombstone, record.turn):
        assert left.conversation_id == unnamed(user, name) == unnamed(user, unnamed(user, name))
        assert "Karlotta" not in left.model_dump_json()
    for owner, said in ((user, turn), (bob.user_id, bob)):
        talk = Conversation(owner, said.space, name)
        assert await text_store.last_turns([(talk, said.created_at)]) == [LastTurn(said.session_id, said.created_at)]
    again = turn.model_copy(update={"turn_id": "later", "created_at": turn.created_at + minutes(1), "session_id": "s9"})
    await text_store.append([again], [a_proposal(again)])
    talk = Conversation(user, turn.space, name)
    marks = await text_store.last_turns([(talk, again.created_at), (talk, turn.created_at)])
    assert [mark and mark.session_id for mark in marks] == ["s9", turn.session_id]


@pytest.mark.parametrize("name", ["c1", "4264e842", "1b671a64-40d5-491e-99b0-da01ff1f3341", "2026-02-01"])
def test_a_conversation_that_is_called_by_an_id_keeps_it(name: str) -> None:
    assert unnamed("ann", name) == name
    assert unnamed("ann", f"{name} x") != unnamed("bob", f"{name} x")


async def test_a_fact_is_forgotten_with_the_turn_that_it_was_drawn_from(text_store: TextStore, user: str) -> None:
    turn = a_turn(user, "Anna drinks green tea")
    itself, fact = a_proposal(turn), a_proposal(turn, ordinal=1, text="Anna likes tea")
    await text_store.append([turn], [itself, fact])
    await text_store.apply([Accepted(entry_of(itself)), Accepted(entry_of(fact))])
    forgotten = await forget(text_store, fact)
    assert forgotten.turn_ids == (turn.turn_id,)
    (record,) = await text_store.export_log(user, after=None, limit=9)
    assert record.turn == without_words(turn)
    assert {decision.proposal.text for decision in record.proposals} == {WORDLESS}
    assert (await text_store.get([itself]))[itself.id].text == "Anna drinks green tea"


async def test_several_are_forgotten_at_once_and_unknown_ones_are_missing(text_store: TextStore, user: str) -> None:
    one, two, three = proposals = await log_texts(text_store, user, "one", "two", "three")
    unsaid = an_entry(user)
    await text_store.apply([*(Accepted(entry_of(proposal)) for proposal in proposals), Accepted(unsaid)])
    foreign = Key(a_user(), one.id)
    forgotten = await text_store.forget([three, Key(user, "unknown"), foreign, two, unsaid], until=None)
    assert [f.tombstone.id for f in forgotten] == [three.id, two.id, unsaid.id]
    assert [f.turn_ids for f in forgotten] == [(three.turn.turn_id,), (two.turn.turn_id,), ()]
    assert await text_store.forget([foreign], until=None) == []
    assert (await text_store.get([one]))[one.id].status == "active"
    assert await text_store.forget([], until=None) == []


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
