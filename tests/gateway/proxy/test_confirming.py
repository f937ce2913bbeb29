"""A command that waits for a word is confirmed in every dialect, by a client that sends the history along."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from contracts.v1.commands import CreateRequest, ListRequest
from services.shared.client import MemoryClient

Json = dict[str, Any]


def _chat(said: list[tuple[str, str]]) -> Json:
    return {"model": "m-1", "messages": [{"role": role, "content": text} for role, text in said]}


def _messages(said: list[tuple[str, str]]) -> Json:
    return {"max_tokens": 99, **_chat(said)}


def _responses(said: list[tuple[str, str]]) -> Json:
    return {"model": "m-1", "input": [{"role": role, "content": text} for role, text in said]}


def _items(said: list[tuple[str, str]]) -> Json:
    kinds = {"user": "input_text", "assistant": "output_text"}
    items = [{"type": "message", "role": role, "content": [{"type": kinds[role], "text": text}]} for role, text in said]
    return {"model": "m-1", "store": False, "input": items}


def _answer(path: str, body: Json) -> str:
    if path == "/chat/completions":
        return str(body["choices"][0]["message"]["content"])
    return str((body["content"] if path == "/messages" else body["output"][0]["content"])[0]["text"])


WAYS = {
    "chat": ("/chat/completions", _chat),
    "messages": ("/messages", _messages),
    "responses": ("/responses", _responses),
    "responses of items": ("/responses", _items),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("more", [{}, {"session-id": "0198-aa11"}], ids=["unnamed", "named"])
async def test_a_yes_confirms_what_the_history_asks(
    http: httpx.AsyncClient, client: MemoryClient, way: str, more: dict[str, str]
) -> None:
    path, body_of = WAYS[way]
    user = f"{way} {len(more)}".replace(" ", "-")
    await client.create(CreateRequest(user_id=user, text="My staging box is called heron."))
    said = [("user", "Forget my staging box")]

    async def told() -> str:
        answer = await http.post(path, json=body_of(said), headers={"memory-user": user, **more})
        assert answer.headers.get("memory-command") == "true", answer.text
        said.append(("assistant", _answer(path, answer.json())))
        return said[-1][1]

    assert "heron" in await told()
    said.append(("user", "yes"))
    assert "Forgotten: 1 memory" in await told()
    assert (await client.list(ListRequest(user_id=user))).total_count == 0
