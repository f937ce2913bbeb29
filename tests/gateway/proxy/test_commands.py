"""Commands in a chat that passes through the proxy: answered without the model, or left to it."""

from __future__ import annotations

from functools import partial

import pytest

from contracts.v1.commands import ListRequest
from tests.claims import leave_change
from tests.gateway.proxy.backend import saying
from tests.gateway.proxy.chatting import Chat
from tests.gateway.proxy.conftest import Place
from tests.polling import eventually


async def test_commands_are_answered_without_the_model(chat: Chat) -> None:
    await chat.says("I keep bees in the garden.", memory_id="c1")
    await chat.entries(1)
    asked = len(chat.model.seen)
    assert "I keep bees" in await chat.answer("What do you remember about bees?", memory_id="c1")
    warned = await chat.says("Forget everything about bees.", memory_id="c1", stream=True)
    assert warned.headers["content-type"].startswith("text/event-stream")
    assert "Say yes" in warned.text
    await chat.says("yes", memory_id="c1")
    assert len(chat.model.seen) == asked
    reply = await chat.client.list(ListRequest(user_id=chat.user, q="bees"))
    assert reply.total_count == 0
    await chat.says("yes", memory_id="c1")
    assert len(chat.model.seen) == asked + 1, "nothing waits for a yes any more"
    assert "bees" not in chat.told


async def test_after_a_list_that_is_what_is_on_the_screen(chat: Chat) -> None:
    for text in ("My favourite tea is oolong.", "I work at Contoso as a welder."):
        await chat.says(text, memory_id="c1")
    await chat.digested(3)  # the model says the same each time

    told = partial(chat.answer, memory_id="c1")
    assert "oolong" in await told("What do you remember about tea?")
    for _ in range(2):
        assert "forgotten: “My favourite tea is oolong.”" in await told("forget that")
        assert await told("no") == "Then nothing was changed."
    assert await told("What do you remember about me?") != "Fine."
    assert "Which of these do you mean?" in await told("forget that")
    assert await told("Nice weather.") == "Fine."
    assert await told("the second one") == "Fine.", "it is asked no longer which"
    await chat.digested(5)
    assert "forgotten: “the second one”" in await told("forget that")
    assert "Forgotten" in await told("yes")
    assert "forgotten: “Nice weather.”" in await told("forget that")


async def test_one_of_what_waits_for_a_word_is_chosen_by_another(chat: Chat) -> None:
    for text in ("My bike is a red Gazelle.", "My other bike is a folding Brompton."):
        await chat.says(text, memory_id="c1")
    await chat.digested(3)  # the model says the same each time

    told = partial(chat.answer, memory_id="c1")
    assert "Gazelle" in await told("forget my bikes")
    again = await told("only the Brompton")
    assert "will be forgotten" in again
    assert "Gazelle" not in again
    assert "Forgotten: 1 memory." in await told("yes")
    assert "Gazelle" in await told("What do you remember about my bike?")


async def test_what_was_said_a_moment_ago_can_be_forgotten_at_once(chat: Chat) -> None:
    for number in range(5):
        said = f"My locker number {number} has the code 44{number}1."
        await chat.says(said, memory_id="c1")
        told = await chat.answer("Forget that.", memory_id="c1")
        assert f"forgotten: “{said}”" in told


async def test_what_is_said_again_later_is_what_was_said_last(chat: Chat) -> None:
    chainsaw, knee = "I own a chainsaw.", "My knee hurts."
    for said in (chainsaw, chainsaw, knee, chainsaw, chainsaw):
        await chat.says(said, memory_id="c1")
    told = await chat.answer("Forget that.", memory_id="c1")
    assert f"forgotten: “{chainsaw}”" in told
    await chat.digested(6)
    assert (await chat.client.status(chat.user)).turns == 6, "asked again at once it is the same"


async def test_a_command_passes_where_the_answer_has_to_be_json(chat: Chat) -> None:
    form = {"type": "json_object"}
    answer = await chat.says("What do you remember about me?", response_format=form)
    assert "memory-command" not in answer.headers
    assert chat.model.seen[-1].json["response_format"] == form


async def test_a_question_of_which_nothing_is_remembered_goes_to_the_model_unless_it_is_about_the_user(
    chat: Chat,
) -> None:
    async def told_by_the_model() -> bool:
        answer = await chat.says("What do you remember about the French Revolution?")
        return "memory-command" not in answer.headers

    assert await told_by_the_model()
    for text in ("I speak French.", "When was the French Revolution?"):
        await chat.says(text)
    await chat.digested(6)
    assert await told_by_the_model(), "what shares a word, or asks the same, does not tell of it"
    await chat.says("My thesis is about the French Revolution.")
    await chat.digested(8)
    assert not await told_by_the_model()
    asked = len(chat.model.seen)
    assert await chat.answer("What do you remember about my sister?") == "I remember nothing about my sister."
    assert len(chat.model.seen) == asked


async def test_a_wish_that_is_no_command_is_answered_and_neither_is_kept(chat: Chat) -> None:
    wish = "Please forget the long conversation about the divorce on Monday"
    chat.model.script = saying(lambda seen: "I will never mention the divorce again.")
    await chat.says(wish)
    assert wish in chat.told
    chat.model.script = saying(lambda seen: "Fine.")
    await chat.says("I play chess.")
    await chat.digested(2)
    assert await chat.texts(1) == {"I play chess.", "Fine."}
    assert "divorce" not in chat.told


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Yes, forget them both", "Forgotten: 2 memories."),
        ("No, keep them.", "Then nothing was changed."),
        ("Yes, but what about my bike?", "Fine."),
    ],
)
async def test_a_yes_and_a_no_are_heard_in_other_words_and_not_remembered(
    chat: Chat, place: Place, said: str, reply: str
) -> None:
    told = partial(chat.answer, memory_id="c1")
    texts = ("My wifi password is tulip77.", "My wifi password has been changed to rose88.")
    for text in texts:
        await chat.says(text, memory_id="c1")
    ids = {entry.text: entry.id for entry in await chat.entries(3)}
    await leave_change(place.file, chat.user, ids[texts[1]], ids[texts[0]])
    asked = await told("Forget everything about my wifi password")
    assert "tulip77. (no longer so)" in asked
    assert (await told(said)).startswith(reply)
    await chat.digested(3)
    found = await chat.entries(3 if reply == "Fine." else 1)
    assert (said in {entry.text for entry in found}) == (reply == "Fine.")


async def test_what_was_forgotten_is_not_told_again_from_the_answer_to_it(chat: Chat) -> None:
    told = partial(chat.answer, memory_id="c1")
    chat.model.script = saying(lambda seen: "Got it, I will remember that your bank PIN is 4711.")
    await chat.says("My bank PIN is 4711.", memory_id="c1")
    assert "forgotten: “My bank PIN is 4711.”" in await told("Forget that")
    assert await told("yes please do") == "Forgotten: 1 memory."
    assert "remember nothing" in await told("Forget everything about 4711")
    assert (await chat.client.list(ListRequest(user_id=chat.user))).items == ()


async def test_chats_without_a_name_that_begin_alike_are_not_taken_for_each_other(chat: Chat) -> None:
    told = chat.answer
    await told("I keep a locker at the station.")
    await chat.digested(2)
    asked = await told("Hi", "Fine.", "Forget everything about me.")
    assert "Say yes" in asked
    assert await told("Hi", "Shall I write tests?", "yes") == "Fine."
    asked = await told("Hi", "Fine.", "Forget everything about me.")
    assert await told("Hi", "Fine.", "Forget everything about me.", asked, "no") == "Then nothing was changed."
    secretly = await told("Hi", "Fine.", "Go incognito.")
    assert secretly.startswith("Nothing of this conversation is kept until")
    assert await told("Hi", "Fine.", "I moved to Lisbon in March.") == "Fine."
    assert await told("Hi", "Fine.", "Go incognito.", secretly, "I moved to Porto in May.") == "Fine."
    assert "incognito" in await told("Hi", "Fine.", "Go incognito.", secretly, "Are you incognito?")
    cities = ListRequest(user_id=chat.user, q="moved")
    found = await eventually(lambda: chat.client.list(cities), lambda r: r.total_count > 0)
    await chat.digested(4)
    assert [entry.text for entry in found.items] == ["I moved to Lisbon in March."]


async def test_that_is_what_the_history_of_this_chat_holds_not_of_one_that_begins_alike(chat: Chat) -> None:
    told = chat.answer
    lawyer, tea = "I have a lawyer named Brandt.", "I drink green tea."
    await told("Hi")
    await told("Hi", "Fine.", tea)
    await told("Hi", "Fine.", lawyer)
    await chat.digested(4)
    for asked in ("forget that", "forget everything I said in this chat", "correct that: it is none", "pin that"):
        assert "Brandt" not in await told("Hi", "Fine.", asked), asked
    assert f"forgotten: “{tea}”" in await told("Hi", "Fine.", tea, "Fine.", "forget that")
    assert f"forgotten: “{lawyer}”" in await told("Hi", "Fine.", lawyer, "Fine.", "forget that")
    whole = await told("Hi", "Fine.", lawyer, "Fine.", "forget everything I said in this chat")
    assert lawyer in whole
    assert tea not in whole


@pytest.mark.parametrize("memory_id", [None, "c1"])
async def test_a_word_whose_answer_is_made_again_gets_the_same_and_is_not_remembered(
    chat: Chat, memory_id: str | None
) -> None:
    told = partial(chat.answer, **({"memory_id": memory_id} if memory_id else {}))
    forget = "Forget that my dog Rex bites postmen."
    await told("My dog Rex bites postmen.")
    await chat.digested(2)
    asked, seen = await told(forget), len(chat.model.seen)
    for _ in range(2):
        assert await told(forget, asked, "no") == "Then nothing was changed."
    assert (await told(forget, asked, "yes")).startswith("Nothing waits for your word any more")
    assert await told(forget) == asked
    for said in ("yes", "yes", "no"):
        assert await told(forget, asked, said) == "Forgotten: 1 memory."
    assert len(chat.model.seen) == seen
    assert await told(forget, asked, "I like tea.") == "Fine."
    await chat.digested(4)
    assert await chat.texts(2) == {"Fine.", "I like tea."}


async def test_a_name_with_blanks_around_it_is_the_name_and_an_empty_header_is_refused(chat: Chat) -> None:
    answer = await chat.says("I play the oboe.", memory_id=" c1 ")
    assert answer.headers["memory-conversation"] == "c1"
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    for given, header in (({"memory_id": " "}, {}), ({}, {"Memory-Incognito": ""}), ({}, {"Memory_Incognito": "true"})):
        headers = {"Memory-User": chat.user, **header}
        refused = await chat.http.post("/chat/completions", json=body | given, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_memory_field")
