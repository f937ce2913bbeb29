"""Commands said after a list: which of it they are about."""

from __future__ import annotations

from datetime import timedelta

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
