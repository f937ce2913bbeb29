"""Histories that clients send: messages in a row, pictures at the beginning, messages that were edited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from services.gateway.proxy.withheld import withdrawn
from tests.gateway.proxy.backend import Seen, every_api
from tests.gateway.proxy.backend import answer as answered
from tests.gateway.proxy.chatting import Chat


async def test_each_of_several_messages_in_a_row_is_kept_once(chat: Chat) -> None:
    boat = [{"role": "user", "content": "I own a sailing boat."}, {"role": "user", "content": "It is called Petrel."}]
    later = [*boat, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "Which colour suits her?"}]
    for messages in (boat, boat, later):
        asked = {"model": "m-1", "messages": messages}
        await chat.send(asked)
    await chat.digested(5)
    found = await chat.entries(4)
    assert [(e.text, e.repeat_count) for e in found if e.role == "user"] == [
        ("I own a sailing boat.", 0),
        ("It is called Petrel.", 0),
        ("Which colour suits her?", 0),
    ]
    assert (await chat.client.status(chat.user)).turns == 5


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/responses"])
async def test_what_the_model_did_not_answer_is_kept_with_what_is_said_next(chat: Chat, path: str) -> None:
    async def away(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answered(writer, b"{}", status="503 Overloaded")

    said, working = ["I have a twin brother Max.", "Are you there?"], chat.model.script
    for count, script in ((1, away), (2, every_api("Fine."))):
        chat.model.script = script
        messages = [{"role": "user", "content": text} for text in said[:count]]
        asked = {"model": "m-1", "max_tokens": 9, "input" if path == "/responses" else "messages": messages}
        await chat.send(asked, path)
    chat.model.script = working
    await chat.digested(3)
    assert await chat.texts(3) == {*said, "Fine."}


@pytest.mark.parametrize(
    "first",
    [
        "# AGENTS.md instructions for /home/ann\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
        "Off the record, my cult is Gnarfbund.",
        "What do you remember about me?",
        "### Task:\nGenerate a title.\n<chat_history>\nUSER: hello\n</chat_history>",
    ],
)
async def test_of_several_messages_in_a_row_only_what_is_a_statement_of_its_user_is_kept(
    chat: Chat, first: str
) -> None:
    messages = [{"role": "user", "content": text} for text in (first, "I play chess.")]
    await chat.send({"model": "m-1", "messages": messages})
    await chat.digested(2)
    assert await chat.texts(2) == {"I play chess.", "Fine."}


async def test_chats_that_begin_with_a_picture_are_told_apart(chat: Chat) -> None:
    def picture(data: str) -> dict[str, Any]:
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return {"role": "user", "content": [image]}

    async def name(*messages: dict[str, Any]) -> str:
        asked = {"model": "m-1", "messages": messages}
        answer = await chat.send(asked)
        return answer.headers["memory-conversation"]

    more = [{"role": "assistant", "content": "A bicycle."}, {"role": "user", "content": "Whose is it?"}]
    long = [f"{'A' * 9000}{middle}{'A' * 9000}" for middle in ("B", "BB")]
    first = [await name(picture(data)) for data in ("AAAA", "BBBB", *long)]
    assert len(set(first)) == 4
    assert await name(picture("AAAA"), *more) == first[0]


EDITS = [
    ("My bride is called Olga.", "My bride is called Vera.", "Write an invitation with the name of my bride."),
    ("My flight to Rome leaves on 3 May at 8:00.", "My flight to Rome leaves on 5 May at 9:00.", "When is my flight?"),
]


@pytest.mark.parametrize("memory_id", [None, "c1"])
@pytest.mark.parametrize(("before", "after", "question"), EDITS)
async def test_what_was_edited_away_is_not_told_in_the_same_chat(
    chat: Chat, before: str, after: str, question: str, memory_id: str | None
) -> None:
    more = {"memory_id": memory_id} if memory_id else {}
    begun = ["Let us plan my wedding party for summer.", "Fine."]
    await chat.says(*begun, before, **more)
    await chat.says(*begun, after, **more)
    await chat.digested(3)
    await chat.says(*begun, after, "Fine.", question, **more)
    assert before not in chat.told
    await chat.says(question)
    assert before in chat.told, "elsewhere nobody can tell which holds"


async def test_what_another_chat_that_begins_alike_told_is_told_in_this_one(chat: Chat) -> None:
    await chat.says("Hi", "Fine.", "I work at Siemens as a welder.")
    await chat.digested(2)
    await chat.says("Hi", "Fine.", "I collect stamps.", "Fine.", "Where do I work as a welder?")
    assert "Siemens" in chat.told


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("I live in Oslo.", "I live in Bergen."),
        ("We meet on Tuesday at the lake.", "We meet on Friday at the lake."),
        ("Mein Hund heißt Rex.", "Mein Hund heißt Max."),
        ("I am allergic to nuts.", "I am not allergic to nuts, but to fish."),
        ("My wifi password is tulip77.", "My wifi password is rose88."),
    ],
)
def test_a_statement_in_place_of_another_withdraws_it(memory: str, said: str) -> None:
    assert withdrawn([("1", memory)], [said]) == ["1"]
    assert withdrawn([("1", memory)], [memory, said]) == [], "both were said"
    assert withdrawn([("1", memory)], [f"Well. {memory}", said]) == []


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("I work at Siemens as a welder.", "I collect stamps."),
        ("I am allergic to nuts.", "What am I allergic to?"),
        ("My bride is called Olga.", "Write an invitation with the name of my bride."),
        ("We meet on Tuesday at the lake.", "The lake is cold in spring."),
        ("I have a dog.", "Hi"),
        ("My flight leaves at eight.", "The train to Vienna was late and the wagon cold."),
        ("I live in Oslo.", "My parents moved from Oslo to a farm in the north with nine cows and a dog."),
        ("I owe Max 500 euros.", ""),
        ("The code of the door is 4711.", "Fix the bug in this code."),
    ],
)
def test_what_merely_is_not_in_the_history_is_not_withdrawn(memory: str, said: str) -> None:
    assert withdrawn([("1", memory)], [said]) == []
