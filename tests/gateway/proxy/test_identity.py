"""Which conversation a request is of: one that its client names, one whose id it sends, or one that a person began."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.gateway.proxy.naming import sent_name
from tests.gateway.proxy.backend import every_api
from tests.gateway.proxy.chatting import Chat, asking

A, B = "0199c2f0-7d1e-7c43-9f3b-2f6e4ab80f11", "0199c2f0-7d1e-7c43-9f3b-2f6e4ab80f12"
ACCOUNT = "user_" + "ab12" * 16 + "_account_7f3c2c1e-0000-4000-8000-000000000001"
DEVICE = {"device_id": "ab12" * 16, "account_uuid": "7f3c2c1e-0000-4000-8000-000000000001"}

NAMED: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({"session-id": "{}"}, {}),
    ({"session_id": "{}"}, {}),
    ({"thread-id": "{}", "session-id": A}, {}),
    ({"x-claude-code-session-id": "{}", "x-app": "cli"}, {}),
    ({"x-session-id": "ses_{}"}, {}),
    ({"x-session-affinity": "ses_{}"}, {}),
    ({"x-openwebui-chat-id": "{}", "x-openwebui-user-id": A}, {}),
    ({"X-Conversation-Id": "{}"}, {}),
    ({"x-litellm-session-id": "{}"}, {}),
    ({}, {"prompt_cache_key": "{}"}),
    ({}, {"prompt_cache_key": "ses_{}"}),
    ({}, {"metadata": {"user_id": f"{ACCOUNT}_session_{{}}"}}),
    ({}, {"metadata": {"user_id": json.dumps({**DEVICE, "session_id": "SESSION"})}}),
    ({}, {"metadata": {"chat_id": "{}", "user_id": "ann"}}),
    ({}, {"client_metadata": {"thread_id": "{}", "x-codex-installation-id": A}}),
    ({}, {"session_id": "{}"}),
    ({}, {"chatId": "{}"}),
    ({}, {"user": f"{ACCOUNT}_session_{{}}"}),
]

UNNAMED: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({"x-request-id": A, "x-client-request-id": A}, {}),
    ({"mcp-session-id": A}, {}),
    ({"x-parent-session-id": A}, {}),
    ({"x-user-session-id": A}, {}),
    ({"session-id": "{{CHAT_ID}}"}, {}),
    ({"session-id": ""}, {}),
    ({"x-chat-id": "undefined"}, {}),
    ({"session-id": "9" * 5000}, {}),
    ({"session-id": "00000000-0000-0000-0000-000000000000"}, {}),
    ({}, {"prompt_cache_key": "my-app-v1"}),
    ({}, {"prompt_cache_key": "ab12" * 16}),
    ({}, {"metadata": {"user_id": ACCOUNT}}),
    ({}, {"metadata": {"user_id": json.dumps(DEVICE)}}),
    ({}, {"metadata": {"user_id": "ann-17"}}),
    ({}, {"metadata": {"user_id": "[" * 9000}}),
    ({}, {"metadata": ["session_id", A], "session_id": {"id": A}}),
    ({}, {"user": A}),
    ({}, {"session_id": 17.5}),
]


def _with(value: Any, id_: str) -> Any:
    if isinstance(value, dict):
        return {name: _with(one, id_) for name, one in value.items()}
    return value.replace("SESSION", id_).replace("{}", id_) if isinstance(value, str) else value


@pytest.mark.parametrize(("headers", "body"), NAMED)
def test_ids_of_conversations_that_clients_send_are_known(headers: dict[str, str], body: dict[str, Any]) -> None:
    first, second = (sent_name(list(_with(headers, id_).items()), _with(body, id_)) for id_ in (A, B))
    assert first
    assert second
    assert first != second
    assert first == sent_name(list(_with(headers, A).items()), _with(body, A))
    assert len(first) <= 256
    assert first.isprintable()


@pytest.mark.parametrize(("headers", "body"), UNNAMED)
def test_ids_of_anything_else_name_no_conversation(headers: dict[str, str], body: dict[str, Any]) -> None:
    assert sent_name(list(headers.items()), body) is None


async def _name(chat: Chat, body: Any, path: str = "/chat/completions", **headers: str) -> str:
    answer = await chat.send(body, path, **headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["memory-conversation"]


@pytest.mark.parametrize("value", ["", "{{CHAT_ID}}", "undefined"])
async def test_an_empty_memory_id_is_as_if_there_were_none(chat: Chat, value: str) -> None:
    plain = await _name(chat, asking("I play the oboe."))
    assert await _name(chat, asking("I play the oboe."), Memory_Id=value) == plain
    assert await _name(chat, asking("I play the oboe."), Memory_Id=value, Session_Id=A) == A


async def test_what_the_user_calls_a_conversation_goes_before_what_its_client_does(chat: Chat) -> None:
    assert await _name(chat, asking("Hi"), Memory_Id="trip", Session_Id=A) == "trip"
    assert await _name(chat, asking("Hi", memory_id="trip"), X_Session_Id=A) == "trip"


async def test_two_sessions_in_one_folder_are_two_and_one_is_forgotten_alone(chat: Chat) -> None:
    chat.model.script = every_api("Herons nest early.")
    rules = "# AGENTS.md instructions for /srv/app\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"
    for id_, said in ((A, "My staging database is called otter."), (B, "My staging database is called heron.")):
        messages = [{"role": "user", "content": text} for text in (rules, said)]
        body = {"model": "m-1", "input": messages, "store": False}
        assert await _name(chat, body, "/responses", session_id=id_) == id_
    await chat.digested(3)
    gone = await chat.http.delete(f"/memory/conversations/{A}", headers={"Memory-User": chat.user})
    assert gone.status_code < 300, gone.text
    found = {entry.text for entry in await chat.entries(1) if entry.role == "user"}
    assert found == {"My staging database is called heron."}


async def test_a_client_that_sends_an_id_and_all_that_was_said_gets_nothing_more_of_it(chat: Chat) -> None:
    for text in ("I restore old boats.", "What colour is the sky?"):
        await chat.send(asking(text), session_id=A)
    assert len(chat.messages) == 1


EXAMPLES = [
    "Change factorial() to use the library.", "Fine, here is the change.", "Move hello() into a file.", "Done.",
    "I switched to a new code base. Please don't consider the above files or try to edit them any longer.", "Ok.",
]  # fmt: skip


async def test_a_chat_begins_behind_the_exchanges_that_a_program_invents(chat: Chat) -> None:
    first, second = "Add a test for the parser.", "Rename the users table."
    names = [await _name(chat, asking(*EXAMPLES, text)) for text in (first, second)]
    assert names[0] != names[1]
    assert await _name(chat, asking(*EXAMPLES, first, "Fine.", "And one more.")) == names[0]
    assert await _name(chat, asking(first)) == names[0]


@pytest.mark.parametrize(
    "before",
    [
        "I have *added these files to the chat* so you can go ahead and edit them.\n\napp.py\n```\nx = 1\n```",
        "Generate a title for this conversation. Only output the title, nothing else:",
        "The above were examples. Now the real conversation begins.",
    ],
)
async def test_what_a_program_sends_first_in_every_chat_begins_none(chat: Chat, before: str) -> None:
    told = ["My landlord is Owen.", "My landlady is Vera."]
    names = [await _name(chat, asking(before, "Ok.", text, "Fine.", "Thanks.")) for text in told]
    assert names[0] != names[1]
    assert names == [await _name(chat, asking(text)) for text in told]


async def test_a_chat_of_which_a_program_sends_all_has_a_name(chat: Chat) -> None:
    only = "<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>"
    assert (await _name(chat, asking(only))).startswith("chat-")


@pytest.mark.parametrize("more", [{}, {"memory_id": "c1"}])
async def test_one_chat_is_one_however_often_it_goes_on(chat: Chat, more: Any) -> None:
    said = ["I have a boat.", "Fine.", "It is blue.", "Fine.", "What colour is it?"]
    assert len({await _name(chat, asking(*said[:count], **more)) for count in (1, 3, 5)}) == 1
