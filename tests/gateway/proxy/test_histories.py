"""Histories that clients send: messages in a row, pictures at the beginning, messages that were edited."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from services.gateway.proxy.withheld import withdrawn
from services.shared.client import MemoryClient
from tests.gateway.proxy.backend import ModelServer, Seen, every_api
from tests.gateway.proxy.backend import answer as answered
from tests.gateway.proxy.test_chat import chat, digested_all, entries


async def test_each_of_several_messages_in_a_row_is_kept_once(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    boat = [{"role": "user", "content": "I own a sailing boat."}, {"role": "user", "content": "It is called Petrel."}]
    later = [*boat, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "Which colour suits her?"}]
    for messages in (boat, boat, later):
        asked = {"model": "m-1", "messages": messages}
        await http.post("/chat/completions", json=asked, headers={"Memory-User": user})
    await digested_all(client, user, 5)
    found = await entries(client, user, 4)
    assert [(e.text, e.repeat_count) for e in found if e.role == "user"] == [
        ("I own a sailing boat.", 0),
        ("It is called Petrel.", 0),
        ("Which colour suits her?", 0),
    ]
    assert (await client.status(user)).turns == 5


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/responses"])
async def test_what_the_model_did_not_answer_is_kept_with_what_is_said_next(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, path: str
) -> None:
    async def away(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answered(writer, b"{}", status="503 Overloaded")

    said, working = ["I have a twin brother Max.", "Are you there?"], model.script
    for count, script in ((1, away), (2, every_api("Fine."))):
        model.script = script
        messages = [{"role": "user", "content": text} for text in said[:count]]
        asked = {"model": "m-1", "max_tokens": 9, "input" if path == "/responses" else "messages": messages}
        await http.post(path, json=asked, headers={"Memory-User": user})
    model.script = working
    await digested_all(client, user, 3)
    assert {entry.text for entry in await entries(client, user, 3)} == {*said, "Fine."}


@pytest.mark.parametrize(
    "first",
    [
        "<environment_context>\n  <cwd>/home/ann</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /home/ann\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
        "Off the record, my cult is Gnarfbund.",
        "Forget my dentist.",
        "What do you remember about me?",
        "### Task:\nGenerate a title.\n<chat_history>\nUSER: hello\n</chat_history>",
    ],
)
async def test_of_several_messages_in_a_row_only_what_is_a_statement_of_its_user_is_kept(
    http: httpx.AsyncClient, client: MemoryClient, user: str, first: str
) -> None:
    messages = [{"role": "user", "content": text} for text in (first, "I play chess.")]
    await http.post("/chat/completions", json={"model": "m-1", "messages": messages}, headers={"Memory-User": user})
    await digested_all(client, user, 2)
    assert {entry.text for entry in await entries(client, user, 2)} == {"I play chess.", "Fine."}


async def test_chats_that_begin_with_a_picture_are_told_apart(http: httpx.AsyncClient, user: str) -> None:
    def picture(data: str) -> dict[str, Any]:
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return {"role": "user", "content": [image]}

    async def name(*messages: dict[str, Any]) -> str:
        asked = {"model": "m-1", "messages": messages}
        answer = await http.post("/chat/completions", json=asked, headers={"Memory-User": user})
        return answer.headers["memory-conversation"]

    more = [{"role": "assistant", "content": "A bicycle."}, {"role": "user", "content": "Whose is it?"}]
    long = [f"{'A' * 9000}{middle}{'A' * 9000}" for middle in ("B", "BB")]
    first = [await name(picture(data)) for data in ("AAAA", "BBBB", *long)]
    assert len(set(first)) == 4
    assert await name(picture("AAAA"), *more) == first[0]


EDITS = [
    ("My bride is called Olga.", "My bride is called Vera.", "Write an invitation with the name of my bride."),
    ("She brings two cats.", "She brings three cats.", "How many cats does she bring?"),
    ("My flight to Rome leaves on 3 May at 8:00.", "My flight to Rome leaves on 5 May at 9:00.", "When is my flight?"),
    ("The budget of the party is 500 euros.", "The budget of the party is 900 euros.", "What is the budget?"),
]


@pytest.mark.parametrize("memory_id", [None, "c1"])
@pytest.mark.parametrize(("before", "after", "question"), EDITS)
async def test_what_was_edited_away_is_not_told_in_the_same_chat(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, before: str, after: str,
    question: str, memory_id: str | None,
) -> None:  # fmt: skip
    more = {"memory_id": memory_id} if memory_id else {}
    begun = ["Let us plan my wedding party for summer.", "Fine."]
    await chat(http, user, *begun, before, **more)
    await chat(http, user, *begun, after, **more)
    await digested_all(client, user, 3)
    await chat(http, user, *begun, after, "Fine.", question, **more)
    assert before not in model.seen[-1].said
    await chat(http, user, question)
    assert before in model.seen[-1].said, "elsewhere nobody can tell which holds"


async def test_what_another_chat_that_begins_alike_told_is_told_in_this_one(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    await chat(http, user, "Hi", "Fine.", "I work at Siemens as a welder.")
    await digested_all(client, user, 2)
    await chat(http, user, "Hi", "Fine.", "I collect stamps.", "Fine.", "Where do I work as a welder?")
    assert "Siemens" in model.seen[-1].said


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("I live in Oslo.", "I live in Bergen."),
        ("My son is five years old.", "My son is six years old."),
        ("We meet on Tuesday at the lake.", "We meet on Friday at the lake."),
        ("Mein Hund heißt Rex.", "Mein Hund heißt Max."),
        ("I am allergic to nuts.", "I am not allergic to nuts, but to fish."),
        ("My wifi password is tulip77.", "My wifi password is rose88."),
        ("Our hotel is the Ibis in Graz.", "Our hotel is the Ritz in Graz."),
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
        ("My son is five years old.", "My sister has a garden."),
        ("I am allergic to nuts.", "What am I allergic to?"),
        ("My bride is called Olga.", "Write an invitation with the name of my bride."),
        ("We meet on Tuesday at the lake.", "The lake is cold in spring."),
        ("My hotel is the Ibis.", "Please book a hotel in Graz for two nights with a view."),
        ("I have a dog.", "Hi"),
        ("I play chess.", "Thanks, that helps."),
        ("My flight leaves at eight.", "The train to Vienna was late and the wagon cold."),
        ("I live in Oslo.", "My parents moved from Oslo to a farm in the north with nine cows and a dog."),
        ("I owe Max 500 euros.", ""),
        ("The code of the door is 4711.", "Fix the bug in this code."),
    ],
)
def test_what_merely_is_not_in_the_history_is_not_withdrawn(memory: str, said: str) -> None:
    assert withdrawn([("1", memory)], [said]) == []
