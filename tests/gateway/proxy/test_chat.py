"""The chat proxy with memory: what a model is told, what a client sees, and what is remembered."""

from __future__ import annotations

import asyncio
import json
from threading import Event
from typing import Any

import httpx
import pytest

from contracts.v1.commands import ListRequest
from contracts.v1.entries import Entry
from services.shared.client import MemoryClient
from services.shared.context.block import HEAD, TAIL
from services.shared.context.echoes import memories_in
from services.shared.context.overview import CARDS, SUMMARY
from tests.claims import leave_claim
from tests.gateway.proxy.backend import ModelServer, Script, Seen, begin, chunk, event, saying
from tests.gateway.proxy.backend import answer as answered
from tests.gateway.proxy.conftest import Place
from tests.polling import eventually

PETS = "cat dog parrot hamster rabbit turtle goldfish pony".split()


def asking(*texts: str, **more: Any) -> dict[str, Any]:
    """A request whose messages are of the user and the assistant by turns."""
    roles = ("user", "assistant")
    return {"model": "m-1", "messages": [{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)], **more}


async def chat(http: httpx.AsyncClient, user: str, *texts: str, **more: Any) -> httpx.Response:
    answer = await http.post("/chat/completions", json=asking(*texts, **more), headers={"Memory-User": user})
    assert answer.status_code == 200, answer.text
    return answer


async def answer_to(http: httpx.AsyncClient, user: str, *texts: str, **more: Any) -> str:
    """What is answered."""
    return str((await chat(http, user, *texts, **more)).json()["choices"][0]["message"]["content"])


async def entries(client: MemoryClient, user: str, count: int) -> list[Entry]:
    """The entries of a user once there are so many, in order."""
    request = ListRequest(user_id=user)
    reply = await eventually(lambda: client.list(request), lambda r: r.total_count >= count)
    return sorted(reply.items, key=lambda entry: entry.created_at)


async def digested_all(client: MemoryClient, user: str, turns: int) -> None:
    await eventually(lambda: client.status(user), lambda s: s.turns >= turns and s.pending == 0)


async def test_a_preference_is_used_in_the_next_conversation_and_nobody_else_sees_it(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    first = await chat(http, user, "I prefer uv over pip for packages.")
    assert first.json()["choices"][0]["message"]["content"] == "Fine."
    await digested_all(client, user, 2)
    answer = await chat(http, user, "Hello there.", "Hello.", "Which package manager should I use?")
    (known,) = [e for e in await entries(client, user, 1) if "uv over pip" in e.text]
    assert known.id in answer.headers["memory-used"].split(",")
    told = model.seen[-1].json["messages"]
    assert told[:2] == asking("Hello there.", "Hello.")["messages"], "the prefix stays as it was"
    assert "I prefer uv over pip" in json.dumps(told[2:])
    other = await chat(http, f"{user}-other", "Which package manager should I use?")
    assert "memory-used" not in other.headers
    assert "uv over pip" not in model.seen[-1].said


async def test_both_turns_are_kept_once_however_often_a_request_is_sent(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    model.script = saying(lambda seen: "Congratulations, Lisbon is on the Tagus river.")
    for _ in range(3):
        await chat(http, user, "My sister moved to Lisbon.", memory_id="c-7")
    await digested_all(client, user, 2)
    found = await entries(client, user, 2)
    assert {(e.role, e.text, e.conversation_id) for e in found} == {
        ("user", "My sister moved to Lisbon.", "c-7"),
        ("assistant", "Congratulations, Lisbon is on the Tagus river.", "c-7"),
    }
    assert (await client.status(user)).turns == 2
    assert all("memory_id" not in seen.json for seen in model.seen)


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


async def test_a_stream_comes_as_the_model_speaks_and_is_kept(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    spoken = Event()
    model.script = pausing("Rome is", spoken, " lovely in May.")
    body = asking("We travel to Rome.", stream=True)
    async with http.stream("POST", "/chat/completions", json=body, headers={"Memory-User": user}) as answer:
        chunks = answer.aiter_raw()
        assert b"Rome is" in await asyncio.wait_for(anext(chunks), 30)
        spoken.set()
        assert b"lovely in May" in b"".join([part async for part in chunks])
    found = await entries(client, user, 2)
    assert [e.text for e in found] == ["We travel to Rome.", "Rome is lovely in May."]


@pytest.mark.parametrize("removing", [("DELETE", "/memory/conversations/c1"), ("POST", "/memory/erase")])
async def test_what_was_asked_before_all_of_it_was_removed_is_not_kept(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, removing: tuple[str, str]
) -> None:
    spoken = Event()
    model.script = pausing("A vault", spoken, " has a code.")
    body = asking("My vault has the code 990.", stream=True, memory_id="c1")
    async with http.stream("POST", "/chat/completions", json=body, headers={"Memory-User": user}) as answer:
        chunks = answer.aiter_raw()
        await asyncio.wait_for(anext(chunks), 30)
        method, path = removing
        removed = await http.request(method, path, json={} if method == "POST" else None, headers={"Memory-User": user})
        assert removed.status_code == 200, removed.text
        spoken.set()
        assert b"has a code" in b"".join([part async for part in chunks])
    model.script = saying(lambda seen: "A red one.")
    await chat(http, user, "I own a kayak.", memory_id="c2")
    await digested_all(client, user, 2)
    assert [e.text for e in await entries(client, user, 2)] == ["I own a kayak.", "A red one."]


async def test_a_client_that_goes_ends_the_stream_of_the_model_and_what_was_said_counts(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await begin(writer)
        await chunk(writer, event({"content": "The Danube flows through Vienna"}))
        await asyncio.sleep(60)

    model.script, before = script, model.left
    body = asking("Which river is there?", stream=True)
    async with http.stream("POST", "/chat/completions", json=body, headers={"Memory-User": user}) as answer:
        await anext(answer.aiter_raw())

    async def left() -> int:
        return model.left

    await eventually(left, lambda count: count == before + 1, within=30)
    assert "The Danube flows through Vienna" in [e.text for e in await entries(client, user, 2)]


async def test_a_model_that_dies_in_mid_stream_is_seen_as_such(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await begin(writer)
        await chunk(writer, event({"content": "Bees make honey"}))

    model.script = script
    with pytest.raises(httpx.RemoteProtocolError):
        await chat(http, user, "What do bees make?", stream=True)
    assert {"What do bees make?", "Bees make honey"} == {e.text for e in await entries(client, user, 2)}


async def test_what_the_model_refuses_passes_as_it_is_and_nothing_is_stored(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = b'{"error":{"message":"too many","type":"x"}}'
        await answered(writer, body, status="429 Too Many Requests", more="retry-after: 7\r\n")

    model.script = script
    body = asking("I live in Graz.")
    answer = await http.post("/chat/completions", json=body, headers={"Memory-User": user})
    assert (answer.status_code, answer.headers["retry-after"], answer.headers["x-request-id"]) == (429, "7", "req-1")
    assert answer.content == b'{"error":{"message":"too many","type":"x"}}'
    model.script = saying(lambda seen: "Fine.")
    await chat(http, user, "I live in Linz.")
    await digested_all(client, user, 2)
    assert all("Graz" not in e.text for e in await entries(client, user, 1))


async def test_a_body_that_needs_no_change_is_passed_on_to_the_byte(
    http: httpx.AsyncClient, model: ModelServer, user: str
) -> None:
    raw = b'{ "messages" : [ {"role":"user","content":"h\\u00e9llo \\ud83d"} ],\n "x": 1.0, "model":"m-1" }'
    answer = await http.post("/chat/completions?api=1", content=raw, headers={"Memory-User": user, "X-Mine": "1"})
    assert answer.status_code == 200
    seen = model.seen[-1]
    assert seen.body == raw
    assert seen.target == "/v1/chat/completions?api=1"
    assert seen.headers["x-mine"] == "1"
    assert not [name for name in seen.headers if name.startswith("memory-")]


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[1]", b'{"messages": 3}', b"[" * 100_000, b'{"x": 1e999}'])
async def test_what_the_proxy_does_not_understand_is_for_the_model_to_judge(
    http: httpx.AsyncClient, model: ModelServer, user: str, raw: bytes
) -> None:
    model.script = saying(lambda seen: "")
    await http.post("/models", content=raw, headers={"Memory-User": user})

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answered(writer, b"bad", status="400 Bad Request", kind="text/plain")

    model.script = script
    answer = await http.post("/chat/completions", content=raw, headers={"Memory-User": user})
    assert (answer.status_code, answer.content) == (400, b"bad")
    assert model.seen[-1].body == raw


async def test_a_client_that_sends_only_the_newest_message_is_helped_out(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    model.script = saying(lambda seen: "Nice name.")
    await chat(http, user, "My cat is called Minka.", memory_id="c1")
    await digested_all(client, user, 2)
    await chat(http, user, "What is my cat called, and how old may she get?", memory_id="c1")
    assert model.seen[-1].said.count("My cat is called Minka.") == 1, "what is sent as it was said is not told as well"
    await chat(http, user, "How old may she get?", memory_id="c1")
    told = model.seen[-1].json["messages"]
    assert [m["role"] for m in told] == ["user", "assistant", "user", "assistant", "user"]
    assert told[:2] == asking("My cat is called Minka.", "Nice name.")["messages"]
    await chat(http, user, "How old may she get?", memory_id="c2")
    assert [m["role"] for m in model.seen[-1].json["messages"]] == ["user"]


async def test_cards_of_whom_a_question_is_about_come_with_its_memories_until_they_are_forgotten(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, place: Place, user: str
) -> None:
    for text in ("My sister Clara moved to Lisbon.", "I work as a nurse.", "I like my sister Clara."):
        await chat(http, user, text)
    await digested_all(client, user, 6)
    of = {entry.text: entry.id for entry in await entries(client, user, 3)}
    await leave_claim(
        place.file, user, of["My sister Clara moved to Lisbon."], "Lisbon", "home", whose="Clara", sure=0.9
    )
    await leave_claim(place.file, user, of["I work as a nurse."], "nurse", "work", sure=0.9)

    async def told(memory_id: str) -> str:
        await chat(http, user, "Which flowers does Clara like?", memory_id=memory_id, memory_top_k=1)
        return model.seen[-1].said

    block = await eventually(lambda: told("c2"), lambda said: CARDS in said)
    cards = [line for line in block.split("\\n") if "| card | " in line]
    assert len(cards) == 1, "nothing of anybody else"
    assert "Clara moved to Lisbon" in cards[0]
    await chat(http, f"{user}-other", "Which flowers does Clara like?")
    assert CARDS not in model.seen[-1].said
    for entry in await entries(client, user, 1):
        await http.delete(f"/memory/entries/{entry.id}", headers={"Memory-User": user})
    assert CARDS not in await told("c3"), "what is forgotten is in no prompt any more"


async def test_a_long_conversation_is_summed_up_for_a_client_that_sends_only_the_newest_message(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    said = [
        f"My {name} is called {name.title()}ina and needs {6000 + number} euros." for number, name in enumerate(PETS)
    ]
    for text in said:
        await chat(http, user, f"{text} {'Well, ' * 100}", memory_id="long")
    await digested_all(client, user, len(said) + 1)  # the model says the same each time
    model.script = saying(lambda seen: " ".join(memories_in(seen.json["messages"][-1]["content"])) or "Fine.")
    answer = await eventually(
        lambda: chat(http, user, "What did we begin with?", memory_id="long", memory_top_k=1),
        lambda _: SUMMARY in model.seen[-1].said,
    )
    block = model.seen[-1].json["messages"][-1]["content"].partition(TAIL)[0]
    summed = [line for line in block.splitlines() if "| summary |" in line]
    assert summed
    assert all(entry[:8] in block for entry in answer.headers["memory-used"].split(","))
    await digested_all(client, user, len(said) + 2)
    assert {entry.text for entry in await entries(client, user, 1) if entry.role == "assistant"} == {"Fine."}
    whole = asking(*(text for one in said for text in (f"{one} {'Well, ' * 100}", "Fine.")), "What did we begin with?")
    await http.post("/chat/completions", json=whole | {"memory_id": "long"}, headers={"Memory-User": user})
    assert SUMMARY not in model.seen[-1].said, "a client that sends it all is not told it again"


async def test_the_block_stays_where_and_what_it_was_while_tools_answer(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    await chat(http, user, "My office is in room 512 of the Turing building.")
    await digested_all(client, user, 2)
    question = asking("Where is my office?")
    await chat(http, user, "Where is my office?")
    first = model.seen[-1].json["messages"]
    await chat(http, f"{user}", "The Turing building burnt down, my office is gone.")
    call = {"id": "t1", "type": "function", "function": {"name": "map", "arguments": "{}"}}
    question["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "north wing"},
    ]
    await http.post("/chat/completions", json=question, headers={"Memory-User": user})
    second = model.seen[-1].json["messages"]
    assert "room 512" in json.dumps(first)
    assert second[: len(first)] == first
    assert second[len(first) :] == question["messages"][1:]


async def test_with_results_of_tools_a_named_conversation_is_as_it_was_before_them(
    http: httpx.AsyncClient, model: ModelServer, user: str
) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    loop = [
        {"role": "user", "content": "Look up my plan."},
        {"role": "assistant", "content": "One moment.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "42"},
    ]
    await chat(http, user, "Good morning.", memory_id="o9")
    model.script = saying(lambda seen: "One moment.")
    await chat(http, user, "Look up my plan.", memory_id="o9")
    asked = {"model": "m-1", "memory_id": "o9", "messages": loop}
    assert (await http.post("/chat/completions", json=asked, headers={"Memory-User": user})).status_code == 200
    before, after = (seen.json["messages"] for seen in model.seen[-2:])
    assert [message["content"] for message in before] == ["Good morning.", "Fine.", "Look up my plan."]
    assert after == [*before, *loop[1:]]


async def test_words_of_any_length_are_read_and_kept_up_to_a_bound(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    text = "I like big things. " + "x y z " * 200_000
    model.script = saying(lambda seen: "You said: " + "x y z " * 100_000)
    await chat(http, user, text)
    assert model.seen[-1].json["messages"][-1]["content"] == text
    (said,) = [e for e in await entries(client, user, 1) if e.role == "user"]
    assert text.startswith(said.text)
    assert len(said.text) <= 65_536


async def test_what_the_assistant_repeats_from_a_history_that_the_client_sends_is_not_learned(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    fact = "My favourite mountain is Grossglockner and I climbed it in 2019."
    model.script = saying(lambda seen: f"{fact} Dachstein is near.")
    await chat(http, user, fact, "Oh!", "Which one was it?")
    await digested_all(client, user, 2)
    assert {entry.text for entry in await entries(client, user, 2)} == {"Which one was it?", "Dachstein is near."}


async def test_blocks_that_come_back_are_neither_asked_for_nor_kept(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    block = f"{HEAD}## more\n- [2026-01-01 | user | fact | 1a2b3c4d | c1] I own a yellow submarine\n{TAIL}"
    model.script = saying(lambda seen: f"Look:\n{block}\nThe Louvre is closed on Tuesdays.")
    await chat(http, user, f"{block}\n\nMy next trip goes to Paris.")
    await digested_all(client, user, 2)
    assert [e.text for e in await entries(client, user, 2) if "submarine" in e.text] == []


async def test_incognito_leaves_nothing(http: httpx.AsyncClient, client: MemoryClient, user: str) -> None:
    answer = await chat(http, user, "My diagnosis is secret.", memory_incognito=True)
    assert answer.headers["memory-degraded"] == "incognito"
    await chat(http, user, "I like tea.")
    await digested_all(client, user, 2)
    assert all("diagnosis" not in e.text for e in await entries(client, user, 1))


async def test_fields_that_are_wrong_are_named(http: httpx.AsyncClient, user: str) -> None:
    for header in ("Memory-Incognito", "Memory-Top-K"):
        answer = await http.post("/chat/completions", json=asking("Hi"), headers={"Memory-User": user, header: "maybe"})
        assert answer.status_code == 400
        assert header.lower() in answer.json()["error"]["message"].lower()
    for field, value in (("memory_top_k", 0), ("memory_id", ""), ("memory_incognito", "yes"), ("memory_topk", 3)):
        answer = await http.post("/chat/completions", json=asking("Hi", **{field: value}))
        assert answer.status_code == 400
        assert field in answer.json()["error"]["message"]
    answer = await http.post("/chat/completions", json=asking("Hi"), headers={"Memory-Top-K": "many"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "headers",
    [[("Memory-Ingocnito", "true")], [("Memory-Id", "a"), ("Memory-Id", "b")], [("Memory-Used", "x")]],
)
async def test_a_header_of_memory_that_is_misspelt_or_comes_twice_is_refused(
    http: httpx.AsyncClient, model: ModelServer, user: str, headers: list[tuple[str, str]]
) -> None:
    seen = len(model.seen)
    answer = await http.post(
        "/chat/completions", json=asking("My stove burns alcohol."), headers=[("Memory-User", user), *headers]
    )
    assert (answer.status_code, len(model.seen)) == (400, seen)
    assert headers[-1][0].lower() in answer.json()["error"]["message"].lower()


async def test_a_greeting_brings_no_memories(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    await chat(http, user, "My stove burns alcohol.")
    await digested_all(client, user, 2)
    for greeting in ("hello!", "Hello there"):
        assert "memory-used" not in (await chat(http, user, greeting)).headers
    assert "memory-used" in (await chat(http, user, "What does my stove burn?")).headers


async def test_other_paths_pass(http: httpx.AsyncClient, model: ModelServer) -> None:
    headers = {"Authorization": "Bearer sk-of-the-caller"}
    assert (await http.get("/models", headers=headers)).json()["data"][0]["id"] == "m-1"
    assert model.seen[-1].headers["authorization"] == "Bearer sk-of-the-caller"
    assert (await http.get("/models/m-1")).status_code == 200
    assert model.seen[-1].path == "/v1/models/m-1"


async def test_pages_of_other_sites_are_refused(http: httpx.AsyncClient, model: ModelServer) -> None:
    answer = await http.post("/chat/completions", json=asking("Hi"), headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "MEMORYBUS_GATEWAY_CORS_ORIGINS" in answer.json()["error"]["message"]
    assert model.seen == []
