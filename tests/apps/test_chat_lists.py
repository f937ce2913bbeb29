"""Commands said after a list: which of it they are about."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.ports import TextStore
from tests.apps.test_chat_commands import Memory, store_page
from tests.apps.test_forgetting import say, the_entry
from tests.stores.builders import NOON


async def test_after_a_list_that_is_what_was_listed_and_of_several_it_is_asked_which(store: TextStore) -> None:
    memory = Memory(store)
    tea, trip = [
        await the_entry(memory.store, await say(memory.store, text, conversation_id="c0"))
        for text in ("My favourite tea is oolong.", "I drank tea in Kyoto.")
    ]
    await say(memory.store, "I work as a welder.", conversation_id="c1", created_at=NOON + timedelta(1))
    in_chat = {"conversation_id": "c1", "listed": True}
    for said in ("forget that", "why do you think that?", "pin that"):
        reply = await memory.says(said, shown=[tea.id], **in_chat)
        assert [entry.id for entry in reply.items] == [tea.id]
        asked = await memory.says(said, shown=[tea.id, trip.id], **in_chat)
        assert [entry.id for entry in asked.items] == [tea.id, trip.id]
        assert asked.reply.startswith("Which of these do you mean?")
        assert asked.token is None
    assert {entry.text for entry in (await store_page(memory)) if entry.pinned} == {tea.text}
    asked = await memory.says("forget that", shown=[tea.id], conversation_id="c1")
    assert [entry.text for entry in asked.items] == ["I work as a welder."], "the answer before listed nothing"


async def test_a_place_in_the_list_is_what_stands_there_and_without_a_list_it_is_no_command(store: TextStore) -> None:
    memory = Memory(store)
    said = ("I play chess.", "I drink tea.", "I own a boat.", "I sing.")
    ids = [(await the_entry(memory.store, await say(memory.store, text))).id for text in said]
    for text, where in (
        ("forget the second one", [1]),
        ("Please forget 3.", [2]),
        ("delete the first and the last one", [0, 3]),
        ("forget numbers", None),
        ("forget all of them", [0, 1, 2, 3]),
    ):
        reply = await memory.says(text, shown=ids, listed=True)
        assert reply.understood == (where is not None)
        assert [entry.id for entry in reply.items] == [ids[place] for place in where or ()]
        assert not (await memory.says(text, shown=ids)).understood
        assert not (await memory.says(text, listed=True)).understood
    asked = await memory.says("forget 1 and 3", shown=ids, listed=True)
    assert asked.reply == "2 memories will be forgotten, as listed. Confirm to go on."
    await memory.says("forget 1 and 3", shown=ids, listed=True, confirm=asked.token)
    assert await memory.texts() == {said[1], said[3]}
    for gone in ("forget the fifth one", "forget the first one"):
        nothing = await memory.says(gone, shown=ids, listed=True)
        assert nothing.reply == "The list has no such place that is still remembered: it ends at 4."
        assert nothing.token is None
    assert (await memory.says("pin the last one", shown=ids, listed=True)).reply == "Pinned: “I sing.”."


async def test_a_correction_after_a_list_is_of_what_it_resembles_there_or_of_what_was_said(store: TextStore) -> None:
    memory = Memory(store)
    tea, trip = [
        await the_entry(memory.store, await say(memory.store, text, conversation_id="c0"))
        for text in ("My favourite tea is oolong.", "I drank tea in Kyoto.")
    ]
    await say(memory.store, "I work as a welder.", conversation_id="c1", created_at=NOON + timedelta(1))
    for words, text in (
        ("I drank coffee in Kyoto", trip.text),
        ("I work as a baker", "I work as a welder."),
        ("it is sencha I like", tea.text),
    ):
        asked = await memory.says(f"correct: {words}", conversation_id="c1", listed=True, shown=[tea.id, trip.id])
        assert [entry.text for entry in asked.items] == [text]


@pytest.mark.parametrize(
    "asked", ["What is my salary?", "what's my salary", "How much do I earn?", "Tell me my salary.", "my salary?"]
)
async def test_that_is_what_an_answer_rests_on_where_the_user_only_asked(store: TextStore, asked: str) -> None:
    memory = Memory(store)
    salary, tea = [
        await the_entry(memory.store, await say(memory.store, text, conversation_id="c0"))
        for text in ("I earn 50k a year.", "I like tea.")
    ]
    question = await the_entry(memory.store, await say(memory.store, asked, created_at=NOON + timedelta(1)))
    in_chat = {"conversation_id": "c1", "shown": [question.id, salary.id, tea.id]}
    for text in ("forget that", "pin that", "correct that: I earn 60k a year", "correct that: it is 60k"):
        assert [entry.id for entry in (await memory.says(text, **in_chat)).items] == [salary.id]
    reply = await memory.says("correct: I like coffee", **in_chat)
    assert [entry.id for entry in reply.items] == [tea.id]
    alone = await memory.says("forget that", conversation_id="c1")
    assert [entry.id for entry in alone.items] == [question.id], "nothing was shown"
    nothing = await memory.says("correct that: I earn 60k a year", conversation_id="c1")
    assert (nothing.items, nothing.token) == ((), None)


async def test_that_is_what_was_stated_last_whatever_its_answer_rests_on(store: TextStore) -> None:
    memory = Memory(store)
    tea = await the_entry(memory.store, await say(memory.store, "I like tea.", conversation_id="c0"))
    for text in ("I earn 50k a year. Is it much?", "What I do is secret.", "How I did it is a secret."):
        await say(memory.store, text, conversation_id=text[:9])
        reply = await memory.says("forget that", conversation_id=text[:9], shown=[tea.id])
        assert [entry.text for entry in reply.items] == [text]


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("correct: my flight leaves at 8:40", None),
        ("Correction: my sister lives in Rome", None),
        ("correct: my dentist is on Thursday", "My dentist is on Tuesday."),
        ("correct: I drink coffee, not tea", "I like tea."),
        ("correct that: the budget is 40k", "I like tea."),
        ("correction: it is coffee", "I like tea."),
        ("Correct: I'm 34, not 43", None),
    ],
)
async def test_what_shares_nothing_with_a_correction_is_not_corrected(
    store: TextStore, text: str, corrected: str | None
) -> None:
    memory = Memory(store)
    for minutes, said in enumerate(("My dentist is on Tuesday.", "I like tea.")):
        await say(memory.store, said, conversation_id="c1", created_at=NOON + timedelta(minutes=minutes))
    reply = await memory.says(text, conversation_id="c1")
    assert [entry.text for entry in reply.items] == ([corrected] if corrected else [])
    assert reply.needs_confirmation == bool(corrected)
    assert corrected or reply.reply.startswith("Nothing like this is found")


async def test_without_a_conversation_a_correction_is_of_what_was_shown_or_resembles_it(store: TextStore) -> None:
    memory = Memory(store)
    tea = await the_entry(memory.store, await say(memory.store, "I like tea."))
    await say(memory.store, "My dentist is on Tuesday.", created_at=NOON + timedelta(1))
    for text, found in (
        ("correct: my dentist is on Thursday", ["My dentist is on Tuesday."]),
        ("correct that: I drink coffee", ["I like tea."]),
        ("correct: my flight leaves at 8:40", []),
    ):
        assert [entry.text for entry in (await memory.says(text, shown=[tea.id])).items] == found
