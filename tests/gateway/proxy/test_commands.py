"""Commands in a chat that passes through the proxy: answered without the model, or left to it."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

from contracts.v1.commands import ListRequest
from services.shared.client import MemoryClient
from tests.claims import leave_change
from tests.gateway.proxy.backend import ModelServer, saying
from tests.gateway.proxy.conftest import Place
from tests.gateway.proxy.test_chat import answer_to, chat, digested_all, entries
from tests.polling import eventually


async def test_commands_are_answered_without_the_model(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    await chat(http, user, "I keep bees in the garden.", memory_id="c1")
    await entries(client, user, 1)
    asked = len(model.seen)
    assert "I keep bees" in await answer_to(http, user, "What do you remember about bees?", memory_id="c1")
    warned = await chat(http, user, "Forget everything about bees.", memory_id="c1", stream=True)
    assert warned.headers["content-type"].startswith("text/event-stream")
    assert "Say yes" in warned.text
    await chat(http, user, "yes", memory_id="c1")
    assert len(model.seen) == asked
    reply = await client.list(ListRequest(user_id=user, q="bees"))
    assert reply.total_count == 0
    await chat(http, user, "yes", memory_id="c1")
    assert len(model.seen) == asked + 1, "nothing waits for a yes any more"
    assert "bees" not in model.seen[-1].said


async def test_after_a_list_that_is_what_is_on_the_screen(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    for text in ("My favourite tea is oolong.", "I work at Contoso as a welder."):
        await chat(http, user, text, memory_id="c1")
    await digested_all(client, user, 3)  # the model says the same each time

    told = partial(answer_to, http, user, memory_id="c1")
    assert "oolong" in await told("What do you remember about tea?")
    for _ in range(2):
        assert "forgotten: “My favourite tea is oolong.”" in await told("forget that")
        assert await told("no") == "Then nothing was changed."
    assert await told("What do you remember about me?") != "Fine."
    assert "Which of these do you mean?" in await told("forget that")
    assert await told("Nice weather.") == "Fine."
    assert await told("the second one") == "Fine.", "it is asked no longer which"
    await digested_all(client, user, 5)
    assert "forgotten: “the second one”" in await told("forget that")
    assert "Forgotten" in await told("yes")
    assert "forgotten: “Nice weather.”" in await told("forget that")


@pytest.mark.parametrize(
    "choice", ["the second one", "only the last", "just number 2 please", "only the Brompton", "yes, but not the first"]
)
async def test_one_of_what_waits_for_a_word_is_chosen_by_its_place_or_its_word(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, choice: str
) -> None:
    await chat(http, user, "My bike is a red Gazelle.", memory_id="c1")
    await chat(http, user, "My other bike is a folding Brompton.", memory_id="c1")
    await digested_all(client, user, 3)  # the model says the same each time

    told = partial(answer_to, http, user, memory_id="c1")
    listed = await told("forget my bikes")
    kept = "Gazelle" if listed.index("Gazelle") < listed.index("Brompton") else "Brompton"
    if "Brompton" in choice:
        kept = "Gazelle"
    again = await told(choice)
    assert "will be forgotten" in again
    assert kept not in again
    assert "Forgotten: 1 memory." in await told("yes")
    assert kept in await told("What do you remember about my bike?")


async def test_one_of_a_list_is_named_by_its_number(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    for text in ("My favourite tea is oolong.", "I work at Contoso as a welder."):
        await chat(http, user, text, memory_id="c1")
    await digested_all(client, user, 3)

    told = partial(answer_to, http, user, memory_id="c1")
    assert await told("forget the second one") == "Fine.", "nothing is listed"
    await digested_all(client, user, 4)
    listed = (await told("What do you remember about me?")).splitlines()
    assert [line.partition(" ")[0] for line in listed[1:]] == [f"{number}." for number in range(1, len(listed))]
    place = next(line.partition(".")[0] for line in listed if "oolong" in line)
    assert "Which of these do you mean?" in await told("pin that")
    assert await told(place) == "Pinned: “My favourite tea is oolong.”.\n- My favourite tea is oolong."
    await told("What do you remember about me?")
    assert "forgotten: “My favourite tea is oolong.”" in await told(f"forget number {place}")
    assert "Forgotten: 1 memory." in await told("yes")
    assert "oolong" not in await told("What do you remember about me?")


async def test_what_was_said_a_moment_ago_can_be_forgotten_at_once(http: httpx.AsyncClient, user: str) -> None:
    for number in range(5):
        said = f"My locker number {number} has the code 44{number}1."
        await chat(http, user, said, memory_id="c1")
        told = await answer_to(http, user, "Forget that.", memory_id="c1")
        assert f"forgotten: “{said}”" in told


async def test_what_is_said_again_later_is_what_was_said_last(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    chainsaw, knee = "I own a chainsaw.", "My knee hurts."
    for said in (chainsaw, chainsaw, knee, chainsaw, chainsaw):
        await chat(http, user, said, memory_id="c1")
    told = await answer_to(http, user, "Forget that.", memory_id="c1")
    assert f"forgotten: “{chainsaw}”" in told
    await digested_all(client, user, 6)
    assert (await client.status(user)).turns == 6, "asked again at once it is the same"


async def test_a_command_passes_where_the_answer_has_to_be_json(
    http: httpx.AsyncClient, model: ModelServer, user: str
) -> None:
    form = {"type": "json_object"}
    answer = await chat(http, user, "What do you remember about me?", response_format=form)
    assert "memory-command" not in answer.headers
    assert model.seen[-1].json["response_format"] == form


async def test_a_question_of_which_nothing_is_remembered_goes_to_the_model_unless_it_is_about_the_user(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    async def told_by_the_model() -> bool:
        answer = await chat(http, user, "What do you remember about the French Revolution?")
        return "memory-command" not in answer.headers

    assert await told_by_the_model()
    for text in ("I speak French.", "When was the French Revolution?"):
        await chat(http, user, text)
    await digested_all(client, user, 6)
    assert await told_by_the_model(), "what shares a word, or asks the same, does not tell of it"
    await chat(http, user, "My thesis is about the French Revolution.")
    await digested_all(client, user, 8)
    assert not await told_by_the_model()
    asked = len(model.seen)
    assert await answer_to(http, user, "What do you remember about my sister?") == "I remember nothing about my sister."
    assert len(model.seen) == asked


@pytest.mark.parametrize(
    ("wish", "answer", "word"),
    [
        (
            "Please forget the long conversation about the divorce on Monday",
            "I will never mention the divorce again.",
            "divorce",
        ),
        ("Don't remember this: my code is 4477", "I won't remember that your code is 4477.", "4477"),
    ],
)
async def test_a_wish_that_is_no_command_is_answered_and_neither_is_kept(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, wish: str, answer: str, word: str
) -> None:
    model.script = saying(lambda seen: answer)
    await chat(http, user, wish)
    assert wish in model.seen[-1].said
    model.script = saying(lambda seen: "Fine.")
    await chat(http, user, "I play chess.")
    await digested_all(client, user, 2)
    assert {entry.text for entry in await entries(client, user, 1)} == {"I play chess.", "Fine."}
    assert word not in model.seen[-1].said


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Yes, forget them both", "Forgotten: 2 memories."),
        ("y", "Forgotten: 2 memories."),
        ("Yess, please do!", "Forgotten: 2 memories."),
        ("delete them", "Forgotten: 2 memories."),
        ("no wait", "Then nothing was changed."),
        ("No, keep them.", "Then nothing was changed."),
        ("Yes, but what about my bike?", "Fine."),
        ("Yes I like tea", "Fine."),
    ],
)
async def test_a_yes_and_a_no_are_heard_in_other_words_and_not_remembered(
    http: httpx.AsyncClient, client: MemoryClient, place: Place, user: str, said: str, reply: str
) -> None:
    told = partial(answer_to, http, user, memory_id="c1")
    texts = ("My wifi password is tulip77.", "My wifi password has been changed to rose88.")
    for text in texts:
        await chat(http, user, text, memory_id="c1")
    ids = {entry.text: entry.id for entry in await entries(client, user, 3)}
    await leave_change(place.file, user, ids[texts[1]], ids[texts[0]])
    asked = await told("Forget everything about my wifi password")
    assert "tulip77. (no longer so)" in asked
    assert (await told(said)).startswith(reply)
    await digested_all(client, user, 3)
    found = await entries(client, user, 3 if reply == "Fine." else 1)
    assert (said in {entry.text for entry in found}) == (reply == "Fine.")


async def test_of_a_name_alone_the_memory_tells_and_forgets_what_mentions_it_and_the_model_gets_the_rest(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    told = partial(answer_to, http, user, memory_id="c1")
    await chat(http, user, "Mia is allergic to peanuts.", memory_id="c1")
    await digested_all(client, user, 2)
    for text in ("What do you know about Napoleon?", "Forget Napoleon"):
        assert await told(text) == "Fine."
    assert "Mia is allergic" in await told("What do u know about Mia?")
    assert "1 memory will be forgotten" in await told("Forget Mia")
    assert (await told("Yes, delete it")) == "Forgotten: 1 memory."
    assert await told("What do you know about Mia?") == "Fine."


async def test_what_was_forgotten_is_not_told_again_from_the_answer_to_it(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    told = partial(answer_to, http, user, memory_id="c1")
    model.script = saying(lambda seen: "Got it, I will remember that your bank PIN is 4711.")
    await chat(http, user, "My bank PIN is 4711.", memory_id="c1")
    assert "forgotten: “My bank PIN is 4711.”" in await told("Forget that")
    assert await told("yes please do") == "Forgotten: 1 memory."
    assert "remember nothing" in await told("Forget everything about 4711")
    assert (await client.list(ListRequest(user_id=user))).items == ()


async def test_chats_without_a_name_that_begin_alike_are_not_taken_for_each_other(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    told = partial(answer_to, http, user)
    await told("I keep a locker at the station.")
    await digested_all(client, user, 2)
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
    cities = ListRequest(user_id=user, q="moved")
    found = await eventually(lambda: client.list(cities), lambda r: r.total_count > 0)
    await digested_all(client, user, 4)
    assert [entry.text for entry in found.items] == ["I moved to Lisbon in March."]


async def test_that_is_what_the_history_of_this_chat_holds_not_of_one_that_begins_alike(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    told = partial(answer_to, http, user)
    lawyer, tea = "I have a lawyer named Brandt.", "I drink green tea."
    await told("Hi")
    await told("Hi", "Fine.", tea)
    await told("Hi", "Fine.", lawyer)
    await digested_all(client, user, 4)
    for asked in ("forget that", "forget everything I said in this chat", "correct that: it is none", "pin that"):
        assert "Brandt" not in await told("Hi", "Fine.", asked), asked
    assert f"forgotten: “{tea}”" in await told("Hi", "Fine.", tea, "Fine.", "forget that")
    assert f"forgotten: “{lawyer}”" in await told("Hi", "Fine.", lawyer, "Fine.", "forget that")
    whole = await told("Hi", "Fine.", lawyer, "Fine.", "forget everything I said in this chat")
    assert lawyer in whole
    assert tea not in whole


@pytest.mark.parametrize("memory_id", [None, "c1"])
async def test_a_word_whose_answer_is_made_again_gets_the_same_and_is_not_remembered(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, memory_id: str | None
) -> None:
    more = {"memory_id": memory_id} if memory_id else {}

    told = partial(answer_to, http, user, **more)
    forget = "Forget that my dog Rex bites postmen."
    await told("My dog Rex bites postmen.")
    await digested_all(client, user, 2)
    asked, seen = await told(forget), len(model.seen)
    for said, reply in (("no", "Then nothing was changed."), ("no", "Then nothing was changed.")):
        assert await told(forget, asked, said) == reply
    assert (await told(forget, asked, "yes")).startswith("Nothing waits for your word any more")
    assert await told(forget) == asked
    for said in ("yes", "yes", "no"):
        assert await told(forget, asked, said) == "Forgotten: 1 memory."
    assert len(model.seen) == seen
    assert await told(forget, asked, "I like tea.") == "Fine."
    await digested_all(client, user, 4)
    assert {entry.text for entry in await entries(client, user, 2)} == {"Fine.", "I like tea."}


async def test_a_name_with_blanks_around_it_is_the_name_and_an_empty_header_is_refused(
    http: httpx.AsyncClient, user: str
) -> None:
    answer = await chat(http, user, "I play the oboe.", memory_id=" c1 ")
    assert answer.headers["memory-conversation"] == "c1"
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    for given, header in (({"memory_id": " "}, {}), ({}, {"Memory-Incognito": ""}), ({}, {"Memory_Incognito": "true"})):
        headers = {"Memory-User": user, **header}
        refused = await http.post("/chat/completions", json=body | given, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_memory_field")
