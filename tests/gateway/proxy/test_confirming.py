"""A command that waits for a word is confirmed in every dialect, by a client that sends the history along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contracts.v1.commands import CreateRequest
from tests.gateway.proxy.chatting import Chat

Json = dict[str, Any]


def _listed(said: list[tuple[str, str]]) -> list[Json]:
    return [{"role": role, "content": text} for role, text in said]


def _items(said: list[tuple[str, str]]) -> Json:
    kinds = {"user": "input_text", "assistant": "output_text"}
    items = [{"type": "message", "role": role, "content": [{"type": kinds[role], "text": text}]} for role, text in said]
    return {"model": "m-1", "store": False, "input": items}


def _answer(path: str, body: Json) -> str:
    if path == "/chat/completions":
        return str(body["choices"][0]["message"]["content"])
    return str((body["content"] if path == "/messages" else body["output"][0]["content"])[0]["text"])


WAYS: dict[str, tuple[str, Callable[[list[tuple[str, str]]], Json]]] = {
    "chat": ("/chat/completions", lambda said: {"model": "m-1", "messages": _listed(said)}),
    "messages": ("/messages", lambda said: {"model": "m-1", "max_tokens": 99, "messages": _listed(said)}),
    "responses": ("/responses", lambda said: {"model": "m-1", "input": _listed(said)}),
    "responses of items": ("/responses", _items),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("more", [{}, {"session-id": "0198-aa11"}], ids=["unnamed", "named"])
async def test_a_yes_confirms_what_the_history_asks(chat: Chat, way: str, more: dict[str, str]) -> None:
    path, body_of = WAYS[way]
    await chat.client.create(CreateRequest(user_id=chat.user, text="My staging box is called heron."))
    said = [("user", "Forget my staging box")]

    async def told() -> str:
        answer = await chat.send(body_of(said), path, **more)
        assert answer.headers.get("memory-command") == "true", answer.text
        said.append(("assistant", _answer(path, answer.json())))
        return said[-1][1]

    assert "heron" in await told()
    said.append(("user", "yes"))
    assert "Forgotten: 1 memory" in await told()
    assert await chat.entries(0) == []
