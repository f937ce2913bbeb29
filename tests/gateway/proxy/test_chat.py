"""The chat proxy with memory: what a model is told, what a client sees, and what is remembered."""

from __future__ import annotations

import asyncio
import json
from threading import Event
from typing import Any

import httpx
import pytest

from services.shared.context.block import HEAD, TAIL
from services.shared.context.echoes import memories_in
from services.shared.context.overview import CARDS, SUMMARY
from tests.claims import leave_claim
from tests.gateway.proxy.backend import Script, Seen, begin, chunk, event, saying
from tests.gateway.proxy.backend import answer as answered
from tests.gateway.proxy.chatting import Chat, asking
from tests.gateway.proxy.conftest import Place
from tests.polling import eventually

PETS = "cat dog parrot hamster rabbit turtle goldfish pony".split()


async def test_a_preference_is_used_in_the_next_conversation_and_nobody_else_sees_it(chat: Chat) -> None:
    first = await chat.says("I prefer uv over pip for packages.")
    assert first.json()["choices"][0]["message"]["content"] == "Fine."
    await chat.digested(2)
    answer = await chat.says("Hello there.", "Hello.", "Which package manager should I use?")
    (known,) = [e for e in await chat.entries(1) if "uv over pip" in e.text]
    assert known.id in answer.headers["memory-used"].split(",")
    told = chat.messages
    assert told[:2] == asking("Hello there.", "Hello.")["messages"], "the prefix stays as it was"
    assert "I prefer uv over pip" in json.dumps(told[2:])
    other = await chat.other.says("Which package manager should I use?")
    assert "memory-used" not in other.headers
    assert "uv over pip" not in chat.told


async def test_both_turns_are_kept_once_however_often_a_request_is_sent(chat: Chat) -> None:
    chat.model.script = saying(lambda seen: "Congratulations, Lisbon is on the Tagus river.")
    for _ in range(3):
        await chat.says("My sister moved to Lisbon.", memory_id="c-7")
    await chat.digested(2)
    found = await chat.entries(2)
    assert {(e.role, e.text, e.conversation_id) for e in found} == {
        ("user", "My sister moved to Lisbon.", "c-7"),
        ("assistant", "Congratulations, Lisbon is on the Tagus river.", "c-7"),
    }
    assert (await chat.client.status(chat.user)).turns == 2
    assert all("memory_id" not in seen.json for seen in chat.model.seen)


def pausing(begins: str, until: Event, ends: str) -> Script:
    """A model that streams the beginning of an answer, and the end once it may."""

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await begin(writer)
        await chunk(writer, event({"content": begins}))
        await asyncio.to_thread(until.wait, 60)
        await chunk(writer, event({"content": ends}) + b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return script


async def test_a_stream_comes_as_the_model_speaks_and_is_kept(chat: Chat) -> None:
    spoken = Event()
    chat.model.script = pausing("Rome is", spoken, " lovely in May.")
    body = asking("We travel to Rome.", stream=True)
    async with chat.http.stream("POST", "/chat/completions", json=body, headers={"Memory-User": chat.user}) as answer:
        chunks = answer.aiter_raw()
        assert b"Rome is" in await asyncio.wait_for(anext(chunks), 30)
        spoken.set()
        assert b"lovely in May" in b"".join([part async for part in chunks])
    found = await chat.entries(2)
    assert [e.text for e in found] == ["We travel to Rome.", "Rome is lovely in May."]


@pytest.mark.parametrize("removing", [("DELETE", "/memory/conversations/c1"), ("POST", "/memory/erase")])
async def test_what_was_asked_before_all_of_it_was_removed_is_not_kept(chat: Chat, removing: tuple[str, str]) -> None:
    spoken = Event()
    chat.model.script = pausing("A vault", spoken, " has a code.")
    body = asking("My vault has the code 990.", stream=True, memory_id="c1")
    async with chat.http.stream("POST", "/chat/completions", json=body, headers={"Memory-User": chat.user}) as answer:
        chunks = answer.aiter_raw()
        await asyncio.wait_for(anext(chunks), 30)
        method, path = removing
        removed = await chat.http.request(
            method, path, json={} if method == "POST" else None, headers={"Memory-User": chat.user}
        )
        assert removed.status_code == 200, removed.text
        spoken.set()
        assert b"has a code" in b"".join([part async for part in chunks])
    chat.model.script = saying(lambda seen: "A red one.")
    await chat.says("I own a kayak.", memory_id="c2")
    await chat.digested(2)
    assert [e.text for e in await chat.entries(2)] == ["I own a kayak.", "A red one."]


async def test_a_client_that_goes_ends_the_stream_of_the_model_and_what_was_said_counts(chat: Chat) -> None:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await begin(writer)
        await chunk(writer, event({"content": "The Danube flows through Vienna"}))
        await asyncio.sleep(60)

    chat.model.script, before = script, chat.model.left
    body = asking("Which river is there?", stream=True)
    async with chat.http.stream("POST", "/chat/completions", json=body, headers={"Memory-User": chat.user}) as answer:
        await anext(answer.aiter_raw())

    async def left() -> int:
        return chat.model.left

    await eventually(left, lambda count: count == before + 1, within=30)
    assert "The Danube flows through Vienna" in [e.text for e in await chat.entries(2)]


async def test_a_model_that_dies_in_mid_stream_is_seen_as_such(chat: Chat) -> None:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await begin(writer)
        await chunk(writer, event({"content": "Bees make honey"}))

    chat.model.script = script
    with pytest.raises(httpx.RemoteProtocolError):
        await chat.says("What do bees make?", stream=True)
    assert {"What do bees make?", "Bees make honey"} == await chat.texts(2)


async def test_what_the_model_refuses_passes_as_it_is_and_nothing_is_stored(chat: Chat) -> None:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = b'{"error":{"message":"too many","type":"x"}}'
        await answered(writer, body, status="429 Too Many Requests", more="retry-after: 7\r\n")

    chat.model.script = script
    body = asking("I live in Graz.")
    answer = await chat.send(body)
    assert (answer.status_code, answer.headers["retry-after"], answer.headers["x-request-id"]) == (429, "7", "req-1")
    assert answer.content == b'{"error":{"message":"too many","type":"x"}}'
    chat.model.script = saying(lambda seen: "Fine.")
    await chat.says("I live in Linz.")
    await chat.digested(2)
    assert all("Graz" not in e.text for e in await chat.entries(1))


async def test_a_body_that_needs_no_change_is_passed_on_to_the_byte(chat: Chat) -> None:
    raw = b'{ "messages" : [ {"role":"user","content":"h\\u00e9llo \\ud83d"} ],\n "x": 1.0, "model":"m-1" }'
    answer = await chat.http.post(
        "/chat/completions?api=1", content=raw, headers={"Memory-User": chat.user, "X-Mine": "1"}
    )
    assert answer.status_code == 200
    seen = chat.model.seen[-1]
    assert seen.body == raw
    assert seen.target == "/v1/chat/completions?api=1"
    assert seen.headers["x-mine"] == "1"
    assert not [name for name in seen.headers if name.startswith("memory-")]


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[1]", b'{"messages": 3}', b"[" * 100_000, b'{"x": 1e999}'])
async def test_what_the_proxy_does_not_understand_is_for_the_model_to_judge(chat: Chat, raw: bytes) -> None:
    chat.model.script = saying(lambda seen: "")
    await chat.http.post("/models", content=raw, headers={"Memory-User": chat.user})

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answered(writer, b"bad", status="400 Bad Request", kind="text/plain")

    chat.model.script = script
    answer = await chat.http.post("/chat/completions", content=raw, headers={"Memory-User": chat.user})
    assert (answer.status_code, answer.content) == (400, b"bad")
    assert chat.model.seen[-1].body == raw


async def test_a_client_that_sends_only_the_newest_message_is_helped_out(chat: Chat) -> None:
    chat.model.script = saying(lambda seen: "Nice name.")
    await chat.says("My cat is called Minka.", memory_id="c1")
    await chat.digested(2)
    await chat.says("What is my cat called, and how old may she get?", memory_id="c1")
    assert chat.told.count("My cat is called Minka.") == 1, "what is sent as it was said is not told as well"
    await chat.says("How old may she get?", memory_id="c1")
    told = chat.messages
    assert [m["role"] for m in told] == ["user", "assistant", "user", "assistant", "user"]
    assert told[:2] == asking("My cat is called Minka.", "Nice name.")["messages"]
    await chat.says("How old may she get?", memory_id="c2")
    assert [m["role"] for m in chat.messages] == ["user"]


async def test_cards_of_whom_a_question_is_about_come_with_its_memories_until_they_are_forgotten(
    chat: Chat, place: Place
) -> None:
    for text in ("My sister Clara moved to Lisbon.", "I work as a nurse.", "I like my sister Clara."):
        await chat.says(text)
    await chat.digested(6)
    of = {entry.text: entry.id for entry in await chat.entries(3)}
    await leave_claim(
        place.file, chat.user, of["My sister Clara moved to Lisbon."], "Lisbon", "home", whose="Clara", sure=0.9
    )
    await leave_claim(place.file, chat.user, of["I work as a nurse."], "nurse", "work", sure=0.9)

    async def told(memory_id: str) -> str:
        await chat.says("Which flowers does Clara like?", memory_id=memory_id, memory_top_k=1)
        return chat.told

    block = await eventually(lambda: told("c2"), lambda said: CARDS in said)
    cards = [line for line in block.split("\\n") if "| card | " in line]
    assert len(cards) == 1, "nothing of anybody else"
    assert "Clara moved to Lisbon" in cards[0]
    await chat.other.says("Which flowers does Clara like?")
    assert CARDS not in chat.told
    for entry in await chat.entries(1):
        await chat.http.delete(f"/memory/entries/{entry.id}", headers={"Memory-User": chat.user})
    assert CARDS not in await told("c3"), "what is forgotten is in no prompt any more"


async def test_a_long_conversation_is_summed_up_for_a_client_that_sends_only_the_newest_message(chat: Chat) -> None:
    said = [
        f"My {name} is called {name.title()}ina and needs {6000 + number} euros." for number, name in enumerate(PETS)
    ]
    for text in said:
        await chat.says(f"{text} {'Well, ' * 100}", memory_id="long")
    await chat.digested(len(said) + 1)  # the model says the same each time
    chat.model.script = saying(lambda seen: " ".join(memories_in(seen.json["messages"][-1]["content"])) or "Fine.")
    answer = await eventually(
        lambda: chat.says("What did we begin with?", memory_id="long", memory_top_k=1),
        lambda _: SUMMARY in chat.told,
    )
    block = chat.messages[-1]["content"].partition(TAIL)[0]
    summed = [line for line in block.splitlines() if "| summary |" in line]
    assert summed
    assert all(entry[:8] in block for entry in answer.headers["memory-used"].split(","))
    await chat.digested(len(said) + 2)
    assert {entry.text for entry in await chat.entries(1) if entry.role == "assistant"} == {"Fine."}
    whole = asking(*(text for one in said for text in (f"{one} {'Well, ' * 100}", "Fine.")), "What did we begin with?")
    await chat.send(whole | {"memory_id": "long"})
    assert SUMMARY not in chat.told, "a client that sends it all is not told it again"


async def test_the_block_stays_where_and_what_it_was_while_tools_answer(chat: Chat) -> None:
    await chat.says("My office is in room 512 of the Turing building.")
    await chat.digested(2)
    question = asking("Where is my office?")
    await chat.says("Where is my office?")
    first = chat.messages
    await chat.says("The Turing building burnt down, my office is gone.")
    call = {"id": "t1", "type": "function", "function": {"name": "map", "arguments": "{}"}}
    question["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "north wing"},
    ]
    await chat.send(question)
    second = chat.messages
    assert "room 512" in json.dumps(first)
    assert second[: len(first)] == first
    assert second[len(first) :] == question["messages"][1:]


async def test_with_results_of_tools_a_named_conversation_is_as_it_was_before_them(chat: Chat) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    loop = [
        {"role": "user", "content": "Look up my plan."},
        {"role": "assistant", "content": "One moment.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "42"},
    ]
    await chat.says("Good morning.", memory_id="o9")
    chat.model.script = saying(lambda seen: "One moment.")
    await chat.says("Look up my plan.", memory_id="o9")
    asked = {"model": "m-1", "memory_id": "o9", "messages": loop}
    assert (await chat.send(asked)).status_code == 200
    before, after = (seen.json["messages"] for seen in chat.model.seen[-2:])
    assert [message["content"] for message in before] == ["Good morning.", "Fine.", "Look up my plan."]
    assert after == [*before, *loop[1:]]


async def test_words_of_any_length_are_read_and_kept_up_to_a_bound(chat: Chat) -> None:
    text = "I like big things. " + "x y z " * 200_000
    chat.model.script = saying(lambda seen: "You said: " + "x y z " * 100_000)
    await chat.says(text)
    assert chat.messages[-1]["content"] == text
    (said,) = [e for e in await chat.entries(1) if e.role == "user"]
    assert text.startswith(said.text)
    assert len(said.text) <= 65_536


async def test_what_the_assistant_repeats_from_a_history_that_the_client_sends_is_not_learned(chat: Chat) -> None:
    fact = "My favourite mountain is Grossglockner and I climbed it in 2019."
    chat.model.script = saying(lambda seen: f"{fact} Dachstein is near.")
    await chat.says(fact, "Oh!", "Which one was it?")
    await chat.digested(2)
    assert await chat.texts(2) == {"Which one was it?", "Dachstein is near."}


async def test_blocks_that_come_back_are_neither_asked_for_nor_kept(chat: Chat) -> None:
    block = f"{HEAD}## more\n- [2026-01-01 | user | fact | 1a2b3c4d | c1] I own a yellow submarine\n{TAIL}"
    chat.model.script = saying(lambda seen: f"Look:\n{block}\nThe Louvre is closed on Tuesdays.")
    await chat.says(f"{block}\n\nMy next trip goes to Paris.")
    await chat.digested(2)
    assert [e.text for e in await chat.entries(2) if "submarine" in e.text] == []


async def test_incognito_leaves_nothing(chat: Chat) -> None:
    answer = await chat.says("My diagnosis is secret.", memory_incognito=True)
    assert answer.headers["memory-degraded"] == "incognito"
    await chat.says("I like tea.")
    await chat.digested(2)
    assert all("diagnosis" not in e.text for e in await chat.entries(1))


WRONG: list[tuple[dict[str, Any], list[tuple[str, str]], str]] = [
    ({"memory_top_k": 0}, [], "memory_top_k"),
    ({"memory_topk": 3}, [], "memory_topk"),
    ({}, [("Memory-Top-K", "many")], "memory-top-k"),
    ({}, [("Memory-Ingocnito", "true")], "memory-ingocnito"),
    ({}, [("Memory-Id", "a"), ("Memory-Id", "b")], "memory-id"),
    ({}, [("Memory-Used", "x")], "memory-used"),
]


@pytest.mark.parametrize(("fields", "headers", "named"), WRONG)
async def test_a_wish_that_is_wrong_misspelt_or_comes_twice_is_named_and_no_model_asked(
    chat: Chat, fields: dict[str, Any], headers: Any, named: str
) -> None:
    body = asking("My stove burns alcohol.", **fields)
    answer = await chat.http.post("/chat/completions", json=body, headers=[("Memory-User", chat.user), *headers])
    assert (answer.status_code, chat.model.seen) == (400, [])
    assert named in answer.json()["error"]["message"].lower()


async def test_a_greeting_brings_no_memories(chat: Chat) -> None:
    await chat.says("My stove burns alcohol.")
    await chat.digested(2)
    for greeting in ("hello!", "Hello there"):
        assert "memory-used" not in (await chat.says(greeting)).headers
    assert "memory-used" in (await chat.says("What does my stove burn?")).headers


async def test_other_paths_pass(chat: Chat) -> None:
    headers = {"Authorization": "Bearer sk-of-the-caller"}
    assert (await chat.http.get("/models", headers=headers)).json()["data"][0]["id"] == "m-1"
    assert chat.model.seen[-1].headers["authorization"] == "Bearer sk-of-the-caller"
    assert (await chat.http.get("/models/m-1")).status_code == 200
    assert chat.model.seen[-1].path == "/v1/models/m-1"


async def test_pages_of_other_sites_are_refused(chat: Chat) -> None:
    answer = await chat.http.post("/chat/completions", json=asking("Hi"), headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "MEMORYBUS_GATEWAY_CORS_ORIGINS" in answer.json()["error"]["message"]
    assert chat.model.seen == []
