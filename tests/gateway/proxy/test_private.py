"""What users do not want remembered of a chat that passes through the proxy, in whatever way they say so."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from contracts.v1.commands import ForgetRequest, ListRequest
from tests.gateway.proxy.backend import Seen, saying
from tests.gateway.proxy.chatting import Chat

SECRET = "My cult is Gnarfbund."


def _same(answer: str, seen: Seen) -> str:
    return answer


async def kept(chat: Chat, turns: int) -> set[str]:
    """What is remembered once something harmless was said, too, in another chat."""
    await chat.says("I play chess.", memory_id="else")
    await chat.digested(turns + 2)
    return await chat.texts(0) - {"I play chess.", "Fine."}


@pytest.mark.parametrize("wish", ["keep this conversation private, don't store any of it", "Can we go incognito?"])
async def test_a_chat_is_not_kept_from_where_its_user_wishes_so(chat: Chat, wish: str) -> None:
    answer = await chat.answer(wish, memory_id="c1")
    assert answer.startswith("Nothing of this conversation is kept until")
    await chat.says(SECRET, memory_id="c1")
    assert await kept(chat, 0) == set()


@pytest.mark.parametrize(
    ("wish", "more"),
    [
        ("What helps against a cold? From now on, off the record.", {}),
        ("Don't save this chat.", {"response_format": {"type": "json_object"}}),
    ],
)
async def test_a_wish_for_the_whole_chat_holds_where_the_model_answers(
    chat: Chat, wish: str, more: dict[str, Any]
) -> None:
    assert await chat.answer(wish, memory_id="c1", **more) == "Fine."
    await chat.says(SECRET, memory_id="c1")
    assert await kept(chat, 0) == set()


async def test_a_wish_for_the_whole_chat_beside_a_question_is_granted_and_the_question_answered(chat: Chat) -> None:
    asked = "Don't save this conversation. What helps against a cold?"
    answer = await chat.says(asked, memory_id="c1")
    assert answer.json()["choices"][0]["message"]["content"] == "Fine."
    assert answer.headers["memory-degraded"] == "incognito"
    await chat.says(SECRET, memory_id="c1")
    for said in (["Hi", "Fine.", asked], ["Hi", "Fine.", asked, "Fine.", SECRET]):
        assert (await chat.says(*said)).headers["memory-degraded"] == "incognito"
    assert await kept(chat, 0) == set()


@pytest.mark.parametrize("path", ["/chat/completions", "/messages"])
@pytest.mark.parametrize("wish", ["Go incognito", "Don't save this chat. It is private."])
async def test_a_wish_that_something_else_is_said_behind_holds_from_there(chat: Chat, wish: str, path: str) -> None:
    said = [("user", "Hi"), ("assistant", "Fine."), ("user", wish), ("user", SECRET)]
    for more in ([], [("assistant", "Fine."), ("user", "My guru is Blorbo.")]):
        messages = [{"role": role, "content": text} for role, text in (*said, *more)]
        asked = {"model": "m-1", "max_tokens": 9, "messages": messages}
        answer = await chat.send(asked, path)
        assert answer.headers["memory-degraded"] == "incognito"
    assert await kept(chat, 0) == set()


async def test_what_is_announced_as_not_to_be_kept_is_not(chat: Chat) -> None:
    await chat.says("Off the record:", "Go ahead.", SECRET)
    two = [{"role": "user", "content": text} for text in ("Please don't remember this:", SECRET)]
    await chat.send({"model": "m-1", "max_tokens": 9, "messages": two}, "/messages")
    for said in ("What I say next is off the record.", SECRET, "I like tea."):
        await chat.says(said, memory_id="c1")
    assert await kept(chat, 2) == {"I like tea."}


async def test_of_what_was_said_incognito_no_later_answer_is_learned(chat: Chat) -> None:
    said: list[str] = []
    for text, answer in (
        ("Go incognito", ""),
        ("My blood type is vuzzlewick", "Noted."),
        ("End incognito", ""),
        ("Tell me more", "Vuzzlewick blood is found in Tibet. Tea grows in Assam."),
    ):
        chat.model.script = saying(partial(_same, answer))
        said += [text, await chat.answer(*said, text, memory_id="c1")]
    chat.model.script = saying(lambda seen: "Fine.")
    assert await kept(chat, 2) == {"Tell me more", "Tea grows in Assam."}


@pytest.mark.parametrize("by", ["api", "chat"])
async def test_of_what_was_forgotten_no_answer_to_an_old_history_is_learned(chat: Chat, by: str) -> None:
    said = "My dentist is Dr. Huberwitz and my code is 9911"
    await chat.says(said, memory_id="c1")
    await chat.digested(2)
    (entry,) = (await chat.client.list(ListRequest(user_id=chat.user, q="dentist"))).items
    if by == "api":
        await chat.client.forget(ForgetRequest(user_id=chat.user, id=entry.id))
    else:
        for text in ("Forget my dentist", "yes"):
            await chat.says(text, memory_id="c1")
    answer = "Bring your card to Huberwitz, who opens at nine. His surgery needs code 9911. Floss every day."
    chat.model.script = saying(partial(_same, answer))
    await chat.says(said, "Noted.", "What else should I know?")
    chat.model.script = saying(lambda seen: "Fine.")
    assert await kept(chat, 4) == {"What else should I know?", "Floss every day."}
