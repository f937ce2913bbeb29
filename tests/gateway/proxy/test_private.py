"""What users do not want remembered of a chat that passes through the proxy, in whatever way they say so."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import pytest

from contracts.v1.commands import ForgetRequest, ListRequest
from services.shared.client import MemoryClient
from tests.gateway.proxy.backend import ModelServer, Seen, saying
from tests.gateway.proxy.test_chat import answer_to, chat, digested_all

SECRET = "My cult is Gnarfbund."


def _same(answer: str, seen: Seen) -> str:
    return answer


async def kept(http: httpx.AsyncClient, client: MemoryClient, user: str, turns: int) -> set[str]:
    """What is remembered once something harmless was said, too, in another chat."""
    await chat(http, user, "I play chess.", memory_id="else")
    await digested_all(client, user, turns + 2)
    return {entry.text for entry in (await client.list(ListRequest(user_id=user))).items} - {"I play chess.", "Fine."}


@pytest.mark.parametrize(
    "wish",
    [
        "Don't save this conversation.",
        "From now on this is off the record.",
        "keep this conversation private, don't store any of it",
        "Can we go incognito?",
    ],
)
async def test_a_chat_is_not_kept_from_where_its_user_wishes_so(
    http: httpx.AsyncClient, client: MemoryClient, user: str, wish: str
) -> None:
    answer = await answer_to(http, user, wish, memory_id="c1")
    assert answer.startswith("Nothing of this conversation is kept until")
    await chat(http, user, SECRET, memory_id="c1")
    assert await kept(http, client, user, 0) == set()


@pytest.mark.parametrize(
    ("wish", "more"),
    [
        ("From now on this is off the record. What helps against a cold?", {}),
        ("What helps against a cold? From now on, off the record.", {}),
        ("Don't save this chat.", {"response_format": {"type": "json_object"}}),
    ],
)
async def test_a_wish_for_the_whole_chat_holds_where_the_model_answers(
    http: httpx.AsyncClient, client: MemoryClient, user: str, wish: str, more: dict[str, Any]
) -> None:
    assert await answer_to(http, user, wish, memory_id="c1", **more) == "Fine."
    await chat(http, user, SECRET, memory_id="c1")
    assert await kept(http, client, user, 0) == set()


async def test_a_wish_for_the_whole_chat_beside_a_question_is_granted_and_the_question_answered(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    asked = "Don't save this conversation. What helps against a cold?"
    answer = await chat(http, user, asked, memory_id="c1")
    assert answer.json()["choices"][0]["message"]["content"] == "Fine."
    assert answer.headers["memory-degraded"] == "incognito"
    await chat(http, user, SECRET, memory_id="c1")
    for said in (["Hi", "Fine.", asked], ["Hi", "Fine.", asked, "Fine.", SECRET]):
        assert (await chat(http, user, *said)).headers["memory-degraded"] == "incognito"
    assert await kept(http, client, user, 0) == set()


@pytest.mark.parametrize("path", ["/chat/completions", "/messages"])
@pytest.mark.parametrize("wish", ["Don't save this chat.", "Go incognito", "Don't save this chat. It is private."])
async def test_a_wish_that_something_else_is_said_behind_holds_from_there(
    http: httpx.AsyncClient, client: MemoryClient, user: str, wish: str, path: str
) -> None:
    said = [("user", "Hi"), ("assistant", "Fine."), ("user", wish), ("user", SECRET)]
    for more in ([], [("assistant", "Fine."), ("user", "My guru is Blorbo.")]):
        messages = [{"role": role, "content": text} for role, text in (*said, *more)]
        asked = {"model": "m-1", "max_tokens": 9, "messages": messages}
        answer = await http.post(path, json=asked, headers={"Memory-User": user})
        assert answer.headers["memory-degraded"] == "incognito"
    assert await kept(http, client, user, 0) == set()


async def test_what_is_announced_as_not_to_be_kept_is_not(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    await chat(http, user, "Off the record:", "Go ahead.", SECRET)
    two = [{"role": "user", "content": text} for text in ("Please don't remember this:", SECRET)]
    await http.post("/messages", json={"model": "m-1", "max_tokens": 9, "messages": two}, headers={"Memory-User": user})
    for said in ("What I say next is off the record.", SECRET, "I like tea."):
        await chat(http, user, said, memory_id="c1")
    assert await kept(http, client, user, 2) == {"I like tea."}


async def test_a_task_that_a_front_end_makes_of_a_chat_is_no_memory(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    await chat(http, user, SECRET, memory_id="c1")
    task = "### Task:\nGenerate a title.\n<chat_history>\nUSER: My cult is Gnarfbund\nASSISTANT: ok\n</chat_history>"
    model.script = saying(lambda seen: "Gnarfbund Membership")
    await chat(http, user, task)
    assert "<memory>" not in model.seen[-1].said
    model.script = saying(lambda seen: "Fine.")
    assert await kept(http, client, user, 2) == {SECRET}


async def test_of_what_was_said_incognito_no_later_answer_is_learned(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    said: list[str] = []
    for text, answer in (
        ("Go incognito", ""),
        ("My blood type is vuzzlewick", "Noted."),
        ("End incognito", ""),
        ("Tell me more", "Vuzzlewick blood is found in Tibet. Tea grows in Assam."),
    ):
        model.script = saying(partial(_same, answer))
        said += [text, await answer_to(http, user, *said, text, memory_id="c1")]
    model.script = saying(lambda seen: "Fine.")
    assert await kept(http, client, user, 2) == {"Tell me more", "Tea grows in Assam."}


@pytest.mark.parametrize("by", ["api", "chat"])
async def test_of_what_was_forgotten_no_answer_to_an_old_history_is_learned(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, by: str
) -> None:
    said = "My dentist is Dr. Huberwitz and my code is 9911"
    await chat(http, user, said, memory_id="c1")
    await digested_all(client, user, 2)
    (entry,) = (await client.list(ListRequest(user_id=user, q="dentist"))).items
    if by == "api":
        await client.forget(ForgetRequest(user_id=user, id=entry.id))
    else:
        for text in ("Forget my dentist", "yes"):
            await chat(http, user, text, memory_id="c1")
    answer = "Bring your card to Huberwitz, who opens at nine. His surgery needs code 9911. Floss every day."
    model.script = saying(partial(_same, answer))
    await chat(http, user, said, "Noted.", "What else should I know?")
    model.script = saying(lambda seen: "Fine.")
    assert await kept(http, client, user, 4) == {"What else should I know?", "Floss every day."}
