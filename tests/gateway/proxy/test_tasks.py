"""Tasks that programs set a model within a conversation: neither kept nor answered with memories, with no effect."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from contracts.v1.commands import ListRequest
from services.shared.client import MemoryClient
from tests.gateway.proxy.backend import ModelServer, every_api, saying
from tests.gateway.proxy.test_chat import asking, digested_all, entries
from tests.polling import eventually

SAID = "I moved to Leeds and my landlord is Owen Marsh."
Sent = tuple[str, dict[str, Any], dict[str, str]]


def _user(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def _system(text: str, *texts: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": text}, *_user(*texts)]


TITLE = "You are a title generator. You output ONLY a thread title. Nothing else."
COMMIT = (
    "You are an expert software engineer that generates concise, one-line Git commit messages based on the provided "
    "diffs. Reply only with the one-line commit message."
)
COMPACT = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the "
    "conversation so far, paying close attention to the user's explicit requests."
)
TAGS = (
    "### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format\n### Chat History:\n<chat_history>\nUSER: "
    f"{SAID}\n</chat_history>"
)
TASKS: list[Sent] = [
    ("/chat/completions", {"messages": _system(TITLE, "Generate a title for this conversation:", f'"{SAID}"')}, {}),
    ("/chat/completions", {"messages": _system(COMMIT, f"diff --git a/x b/x\n--- a/x\n+++ b/x\n+# {SAID}")}, {}),
    ("/chat/completions", {"messages": _user(SAID, COMPACT)}, {}),
    ("/chat/completions", {"messages": _user(TAGS), "stream": False, "max_tokens": 1000}, {}),
    ("/chat/completions", {"messages": _user(SAID), "max_tokens": 1}, {}),
    ("/chat/completions", {"messages": _user(SAID)}, {"Memory-Task": "title"}),
    ("/chat/completions", {"messages": _user(SAID)}, {"Memory-Task": "true"}),
    ("/chat/completions", {"messages": _user(SAID), "memory_task": "tags"}, {}),
    ("/chat/completions", {"messages": _user(SAID), "metadata": {"memory_task": "title", "run": "7"}}, {}),
    ("/chat/completions", {"messages": _user(SAID), "metadata": {"task": "title_generation"}}, {}),
    (
        "/messages",
        {
            "system": [{"type": "text", "text": "You help in a terminal."}, {"type": "text", "text": TITLE}],
            "messages": _user(f"<session>\n{SAID}\n</session>\n\nWrite the title."),
        },
        {},
    ),
    ("/messages", {"messages": _user(SAID), "metadata": {"memory_task": "title"}}, {}),
    (
        "/messages",
        {
            "messages": _user(SAID),
            "output_config": {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}},
        },
        {},
    ),
    ("/responses", {"instructions": TITLE, "input": SAID}, {}),
    ("/responses", {"input": _user(SAID, COMPACT), "store": False}, {"session-id": "0199c2f0-7d1e-7c43-9f3b"}),
    ("/responses", {"input": SAID, "max_output_tokens": 1}, {}),
    (
        "/chat/completions",
        {
            "messages": _user(SAID),
            "tools": [{"type": "function", "function": {"name": "t", "parameters": {"properties": {"title": {}}}}}],
            "tool_choice": {"type": "function", "function": {"name": "t"}},
        },
        {},
    ),
]


async def _send(http: httpx.AsyncClient, user: str, sent: Sent, **more: Any) -> httpx.Response:
    path, body, headers = sent
    body = {"model": "m-1"} | ({"max_tokens": 64} if path == "/messages" else {}) | body | more
    answer = await http.post(path, json=body, headers={"Memory-User": user, **headers})
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("sent", TASKS, ids=lambda sent: f"{sent[0]} {list(sent[1])} {list(sent[2])}")
async def test_of_a_task_nothing_is_kept_and_it_gets_no_memories(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str, sent: Sent
) -> None:
    await http.post("/chat/completions", json=asking("My landlord is Owen Marsh."), headers={"Memory-User": user})
    await digested_all(client, user, 2)
    model.script = saying(lambda seen: "Flat of Owen Marsh in Leeds")
    answer = await _send(http, user, sent)
    assert answer.headers["memory-degraded"] == "task"
    assert "<memory>" not in model.seen[-1].said
    assert "memory" not in str(model.seen[-1].json)
    model.script = saying(lambda seen: "Fine.")
    await http.post("/chat/completions", json=asking("I like tea."), headers={"Memory-User": user})
    await digested_all(client, user, 4)
    texts = {entry.text for entry in await entries(client, user, 3)}
    assert texts == {"My landlord is Owen Marsh.", "I like tea.", "Fine."}


async def test_what_was_just_said_and_answered_within_another_text_is_a_task_in_any_language(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    model.script = saying(lambda seen: "Herons nest early this year.")
    await _told(http, user, SAID)
    await digested_all(client, user, 2)
    task = f"Otsikko?\n\nkäyttäjä: {SAID}\navustaja: Herons nest early this year."
    answer = await http.post("/chat/completions", json=asking(task), headers={"Memory-User": user})
    assert answer.headers["memory-degraded"] == "task"
    for text in (f"I said: {SAID}", "You said: Herons nest early this year. Is it true?"):
        answer = await http.post("/chat/completions", json=asking(text), headers={"Memory-User": user})
        assert "memory-degraded" not in answer.headers


@pytest.mark.parametrize("said", ["false", "none", "chat", ""])
async def test_a_client_can_say_that_a_person_asks(
    http: httpx.AsyncClient, client: MemoryClient, user: str, said: str
) -> None:
    headers = {"Memory-User": user, "Memory-Task": said}
    await http.post("/chat/completions", json=asking("I like tea."), headers=headers)
    await digested_all(client, user, 2)
    text = "Name this chat in at most 5 words. Reply with the name only, no quotes."
    answer = await http.post("/chat/completions", json=asking(text), headers=headers)
    assert ("task" in answer.headers.get("memory-degraded", "")) == (said == "")


async def test_what_persons_ask_in_like_words_is_kept_and_recalled(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    said = [
        "Give me a title for my novel about a lighthouse.",
        "Write a commit message for this change: I renamed the users table.",
        "Summarise our conversation.",
    ]
    for text in said:
        answer = await http.post("/chat/completions", json=asking(text), headers={"Memory-User": user})
        assert "task" not in answer.headers.get("memory-degraded", "")
    await digested_all(client, user, 4)
    assert {entry.text for entry in await entries(client, user, 4) if entry.role == "user"} == set(said)


async def _told(http: httpx.AsyncClient, user: str, *texts: str, **headers: str) -> str:
    given = {"Memory-User": user, **{name.replace("_", "-"): value for name, value in headers.items()}}
    answer = await http.post("/chat/completions", json=asking(*texts), headers=given)
    return str(answer.json()["choices"][0]["message"]["content"])


BETWEEN: list[tuple[str, str, Any]] = [
    *(("POST", path, (body, headers)) for path, body, headers in TASKS),
    ("GET", "/models", None),
    ("POST", "/messages/count_tokens", ({"messages": _user(SAID)}, {})),
]


@pytest.mark.parametrize("name", ["Memory-Id", "session-id"])
@pytest.mark.parametrize(("method", "path", "sent"), BETWEEN)
async def test_a_task_leaves_a_yes_that_is_waited_for(
    http: httpx.AsyncClient, client: MemoryClient, user: str, method: str, path: str, sent: Any, name: str
) -> None:
    conversation = {name: "0199c2f0-7d1e-7c43-9f3b-2f6e4ab80f11"}
    jonas = "My son Jonas starts school."
    await _told(http, user, jonas, **conversation)
    await digested_all(client, user, 2)
    asked = await _told(http, user, jonas, "Fine.", "forget that my son Jonas starts school", **conversation)
    assert "Say yes" in asked
    body, headers = sent or ({}, {})
    body = {"model": "m-1", **body} if sent else None
    headers = {"Memory-User": user, **headers, **conversation}
    await http.request(method, path, json=body, headers=headers)
    said = [jonas, "Fine.", "forget that my son Jonas starts school", asked, "yes"]
    assert "Forgotten" in await _told(http, user, *said, **conversation)


async def test_what_a_program_asks_beside_a_chat_leaves_a_yes_that_is_waited_for(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    jonas, wish = "My son Jonas starts school.", "forget that my son Jonas starts school"
    session = {"session-id": "0199c2f0-7d1e-7c43-9f3b-2f6e4ab80f11"}
    await _told(http, user, jonas, **session)
    await digested_all(client, user, 2)
    asked = await _told(http, user, jonas, "Fine.", wish, **session)
    await _told(http, user, "Look through the folder for tests of the parser.", **session)
    assert await _told(http, user, "yes", **session) == "Fine.", "it is no answer to what was asked"
    assert "Forgotten" in await _told(http, user, jonas, "Fine.", wish, asked, "yes", **session)


async def test_a_task_leaves_a_choice_and_a_list_and_what_was_shown(
    http: httpx.AsyncClient, client: MemoryClient, user: str
) -> None:
    for text in ("My favourite tea is oolong.", "My other tea is sencha."):
        await _told(http, user, text, Memory_Id="c1")
    await digested_all(client, user, 3)
    assert "oolong" in await _told(http, user, "What do you remember about tea?", Memory_Id="c1")
    for sent in TASKS[:5]:
        await _send(http, user, (sent[0], sent[1], {"Memory-Id": "c1"}))
    assert "Which of these" in await _told(http, user, "pin that", Memory_Id="c1")
    for sent in TASKS[:5]:
        await _send(http, user, (sent[0], sent[1], {"Memory-Id": "c1"}))
    assert "Pinned" in await _told(http, user, "the second one", Memory_Id="c1")
    await _told(http, user, "What do you remember about tea?", Memory_Id="c1")
    for sent in TASKS[:5]:
        await _send(http, user, (sent[0], sent[1], {"Memory-Id": "c1"}))
    assert "Say yes" in await _told(http, user, "forget the second one", Memory_Id="c1")


async def test_a_task_leaves_what_was_announced_and_recent_turns(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    await _told(http, user, "What I say next is off the record.", Memory_Id="c1")
    for sent in TASKS[:5]:
        await _send(http, user, (sent[0], sent[1], {"Memory-Id": "c1"}))
    await _told(http, user, "My cult is Gnarfbund.", Memory_Id="c1")
    await _told(http, user, "I like tea.", Memory_Id="c1")
    assert "Owen Marsh" not in model.seen[-1].said
    await digested_all(client, user, 2)
    assert not any("Gnarfbund" in entry.text for entry in await entries(client, user, 2))


async def test_a_task_is_no_wish_of_its_user(http: httpx.AsyncClient, client: MemoryClient, user: str) -> None:
    task = "Name this chat in at most 5 words. Reply with the name only.\n\nuser: go incognito"
    await _told(http, user, "I like tea.", Memory_Id="c1")
    await _told(http, user, task, Memory_Id="c1")
    await _told(http, user, "I like coffee.", Memory_Id="c1")
    await digested_all(client, user, 3)
    assert "I like coffee." in {entry.text for entry in await entries(client, user, 3)}


async def test_a_task_that_goes_on_from_an_answer_leaves_its_chat_as_it_is(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str
) -> None:
    model.script = every_api("Rain is likely in Bergen.")
    first = await _send(http, user, ("/responses", {"input": "I like tea."}, {}))
    title = await _send(http, user, ("/responses", {"input": COMPACT, "previous_response_id": first.json()["id"]}, {}))
    model.script = every_api("Herons nest early in Oslo.")
    again = {"input": "I keep bees.", "previous_response_id": first.json()["id"]}
    second = await _send(http, user, ("/responses", again, {}))
    assert title.headers["memory-conversation"] == second.headers["memory-conversation"]
    await digested_all(client, user, 4)
    assert "Herons nest early in Oslo." in {entry.text for entry in await entries(client, user, 4)}


async def test_what_a_program_says_of_a_summary_beside_a_message_makes_it_no_task(
    http: httpx.AsyncClient, client: MemoryClient
) -> None:
    beside = (
        "<system-reminder>\nthe conversation\n</system-reminder>",
        "<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>\n",
        "Release day moved to Tuesday.",
    )
    parts = [{"type": "text", "text": text} for text in beside]
    body = {"model": "m-1", "max_tokens": 99, "messages": [{"role": "user", "content": parts}]}
    answer = await http.post("/messages", json=body, headers={"memory-user": "rose"})
    assert "task" not in answer.headers.get("memory-degraded", "")
    kept = await eventually(lambda: client.list(ListRequest(user_id="rose")), lambda r: r.total_count >= 1)
    assert beside[2] in {entry.text for entry in kept.items}
