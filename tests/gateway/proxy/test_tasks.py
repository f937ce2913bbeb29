"""Tasks that programs set a model within a conversation: neither kept nor answered with memories, with no effect."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.gateway.proxy.backend import every_api, saying
from tests.gateway.proxy.chatting import Chat, asking

SAID = "I moved to Leeds and my landlord is Owen Marsh."
Sent = tuple[str, dict[str, Any], dict[str, str]]


def _user(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def _system(text: str, *texts: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": text}, *_user(*texts)]


TITLE = "You are a title generator. You output ONLY a thread title. Nothing else."
COMPACT = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the "
    "conversation so far, paying close attention to the user's explicit requests."
)
TAGS = (
    "### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format\n### Chat History:\n<chat_history>\nUSER: "
    f"{SAID}\n</chat_history>"
)
CHAT, MESSAGES, RESPONSES = "/chat/completions", "/messages", "/responses"
FORMED = {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}}
TITLE_TOOL = {"type": "function", "function": {"name": "t", "parameters": {"properties": {"title": {}}}}}
CALLED = {"tools": [TITLE_TOOL], "tool_choice": {"type": "function", "function": {"name": "t"}}}
SESSION = f"<session>\n{SAID}\n</session>\n\nWrite the title."
TASKS: list[Sent] = [
    (CHAT, {"messages": _system(TITLE, "Generate a title for this conversation:", f'"{SAID}"')}, {}),
    (CHAT, {"messages": _user(SAID, COMPACT)}, {}),
    (CHAT, {"messages": _user(TAGS), "stream": False, "max_tokens": 1000}, {}),
    (CHAT, {"messages": _user(SAID), "max_tokens": 1}, {}),
    (CHAT, {"messages": _user(SAID)}, {"Memory-Task": "title"}),
    (CHAT, {"messages": _user(SAID), "memory_task": "tags"}, {}),
    (CHAT, {"messages": _user(SAID), "metadata": {"memory_task": "title", "run": "7"}}, {}),
    (CHAT, {"messages": _user(SAID), "metadata": {"task": "title_generation"}}, {}),
    (CHAT, {"messages": _user(SAID)} | CALLED, {}),
    (MESSAGES, {"system": [{"type": "text", "text": TITLE}], "messages": _user(SESSION)}, {}),
    (MESSAGES, {"messages": _user(SAID), "metadata": {"memory_task": "title"}}, {}),
    (MESSAGES, {"messages": _user(SAID), "output_config": FORMED}, {}),
    (RESPONSES, {"instructions": TITLE, "input": SAID}, {}),
    (RESPONSES, {"input": _user(SAID, COMPACT), "store": False}, {"session-id": "0199c2f0-7d1e-7c43-9f3b"}),
    (RESPONSES, {"input": SAID, "max_output_tokens": 1}, {}),
]


async def _send(chat: Chat, sent: Sent, **more: Any) -> httpx.Response:
    path, body, headers = sent
    body = {"model": "m-1"} | ({"max_tokens": 64} if path == "/messages" else {}) | body | more
    answer = await chat.http.post(path, json=body, headers={"Memory-User": chat.user, **headers})
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("sent", TASKS, ids=lambda sent: f"{sent[0]} {list(sent[1])} {list(sent[2])}")
async def test_of_a_task_nothing_is_kept_and_it_gets_no_memories(chat: Chat, sent: Sent) -> None:
    await chat.send(asking("My landlord is Owen Marsh."))
    await chat.digested(2)
    chat.model.script = saying(lambda seen: "Flat of Owen Marsh in Leeds")
    answer = await _send(chat, sent)
    assert answer.headers["memory-degraded"] == "task"
    assert "<memory>" not in chat.told
    assert "memory" not in str(chat.model.seen[-1].json)
    chat.model.script = saying(lambda seen: "Fine.")
    await chat.send(asking("I like tea."))
    await chat.digested(4)
    texts = await chat.texts(3)
    assert texts == {"My landlord is Owen Marsh.", "I like tea.", "Fine."}


async def test_what_was_just_said_and_answered_within_another_text_is_a_task_in_any_language(chat: Chat) -> None:
    chat.model.script = saying(lambda seen: "Herons nest early this year.")
    await chat.says(SAID)
    await chat.digested(2)
    task = f"Otsikko?\n\nkäyttäjä: {SAID}\navustaja: Herons nest early this year."
    answer = await chat.send(asking(task))
    assert answer.headers["memory-degraded"] == "task"
    for text in (f"I said: {SAID}", "You said: Herons nest early this year. Is it true?"):
        answer = await chat.send(asking(text))
        assert "memory-degraded" not in answer.headers


@pytest.mark.parametrize("said", ["false", "none", "chat", ""])
async def test_a_client_can_say_that_a_person_asks(chat: Chat, said: str) -> None:
    await chat.send(asking("I like tea."), Memory_Task=said)
    await chat.digested(2)
    text = "Name this chat in at most 5 words. Reply with the name only, no quotes."
    answer = await chat.send(asking(text), Memory_Task=said)
    assert ("task" in answer.headers.get("memory-degraded", "")) == (said == "")


async def _told(chat: Chat, *texts: str, **headers: str) -> str:
    answer = await chat.send(asking(*texts), **headers)
    return str(answer.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("name", ["Memory-Id", "session-id"])
async def test_what_is_no_word_of_the_user_leaves_a_yes_that_is_waited_for(chat: Chat, name: str) -> None:
    conversation = {name: "0199c2f0-7d1e-7c43-9f3b-2f6e4ab80f11"}
    said = ["My son Jonas starts school.", "Fine.", "forget that my son Jonas starts school"]
    await _told(chat, said[0], **conversation)
    await chat.digested(2)
    said.append(await _told(chat, *said, **conversation))
    assert "Say yes" in said[-1]
    for path, body, headers in TASKS:
        await _send(chat, (path, body, headers | conversation))
    await chat.http.get("/models", headers={"Memory-User": chat.user, **conversation})
    await chat.send({"model": "m-1", "messages": _user(SAID)}, "/messages/count_tokens", **conversation)
    assert "Forgotten" in await _told(chat, *said, "yes", **conversation)


async def test_what_a_program_asks_beside_a_chat_leaves_a_yes_that_is_waited_for(chat: Chat) -> None:
    jonas, wish = "My son Jonas starts school.", "forget that my son Jonas starts school"
    session = {"session-id": "0199c2f0-7d1e-7c43-9f3b-2f6e4ab80f11"}
    await _told(chat, jonas, **session)
    await chat.digested(2)
    asked = await _told(chat, jonas, "Fine.", wish, **session)
    await _told(chat, "Look through the folder for tests of the parser.", **session)
    assert await _told(chat, "yes", **session) == "Fine.", "it is no answer to what was asked"
    assert "Forgotten" in await _told(chat, jonas, "Fine.", wish, asked, "yes", **session)


async def _tasks(chat: Chat) -> None:
    """Some tasks in the conversation c1."""
    for path, body, _ in TASKS[:4]:
        await _send(chat, (path, body, {"Memory-Id": "c1"}))


async def test_a_task_leaves_a_choice_and_a_list_and_what_was_shown(chat: Chat) -> None:
    for text in ("My favourite tea is oolong.", "My other tea is sencha."):
        await chat.answer(text, memory_id="c1")
    await chat.digested(3)
    assert "oolong" in await chat.answer("What do you remember about tea?", memory_id="c1")
    await _tasks(chat)
    assert "Which of these" in await chat.answer("pin that", memory_id="c1")
    await _tasks(chat)
    assert "Pinned" in await chat.answer("the second one", memory_id="c1")
    await chat.answer("What do you remember about tea?", memory_id="c1")
    await _tasks(chat)
    assert "Say yes" in await chat.answer("forget the second one", memory_id="c1")


async def test_a_task_leaves_what_was_announced_and_recent_turns(chat: Chat) -> None:
    await chat.answer("What I say next is off the record.", memory_id="c1")
    await _tasks(chat)
    await chat.answer("My cult is Gnarfbund.", memory_id="c1")
    await chat.answer("I like tea.", memory_id="c1")
    assert "Owen Marsh" not in chat.told
    await chat.digested(2)
    assert not any("Gnarfbund" in text for text in await chat.texts(2))


async def test_a_task_is_no_wish_of_its_user(chat: Chat) -> None:
    task = "Name this chat in at most 5 words. Reply with the name only.\n\nuser: go incognito"
    await chat.answer("I like tea.", memory_id="c1")
    await chat.answer(task, memory_id="c1")
    await chat.answer("I like coffee.", memory_id="c1")
    await chat.digested(3)
    assert "I like coffee." in await chat.texts(3)


async def test_a_task_that_goes_on_from_an_answer_leaves_its_chat_as_it_is(chat: Chat) -> None:
    chat.model.script = every_api("Rain is likely in Bergen.")
    first = await _send(chat, ("/responses", {"input": "I like tea."}, {}))
    title = await _send(chat, ("/responses", {"input": COMPACT, "previous_response_id": first.json()["id"]}, {}))
    chat.model.script = every_api("Herons nest early in Oslo.")
    again = {"input": "I keep bees.", "previous_response_id": first.json()["id"]}
    second = await _send(chat, ("/responses", again, {}))
    assert title.headers["memory-conversation"] == second.headers["memory-conversation"]
    await chat.digested(4)
    assert "Herons nest early in Oslo." in await chat.texts(4)


async def test_what_a_program_says_of_a_summary_beside_a_message_makes_it_no_task(chat: Chat) -> None:
    beside = (
        "<system-reminder>\nthe conversation\n</system-reminder>",
        "<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>\n",
        "Release day moved to Tuesday.",
    )
    parts = [{"type": "text", "text": text} for text in beside]
    body = {"model": "m-1", "max_tokens": 99, "messages": [{"role": "user", "content": parts}]}
    answer = await chat.send(body, "/messages")
    assert "task" not in answer.headers.get("memory-degraded", "")
    assert beside[2] in await chat.texts(1)
