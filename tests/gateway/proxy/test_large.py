"""Chats of very many messages: they pass, while everybody else is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from threading import current_thread
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from services.gateway.proxy.bodies import MOST_MESSAGES, read_body
from services.gateway.proxy.dialects import DIALECTS, Asked
from services.gateway.proxy.refusals import Refusal, refuse_names_of_others
from services.gateway.proxy.withheld import MOST_SENT, is_announced
from tests.gateway.proxy.backend import ModelServer


def _messages(count: int, text: Callable[[int], str] = lambda at: f"{at}") -> list[dict[str, str]]:
    return [{"role": "user" if at % 2 == 0 else "assistant", "content": text(at)} for at in range(count)]


def _read(said: list[dict[str, str]]) -> tuple[Any, Asked]:
    read = read_body(DIALECTS["/v1/chat/completions"], json.dumps({"model": "m", "messages": said}).encode())
    assert read is not None
    return read


@pytest.mark.parametrize("path", DIALECTS)
@pytest.mark.parametrize(("count", "is_read"), [(MOST_MESSAGES - 1, True), (MOST_MESSAGES, False)])
def test_a_chat_of_too_many_messages_is_not_read(path: str, *, count: int, is_read: bool) -> None:
    said = [*_messages(count), {"role": "user", "content": "hi"}]
    body = {"model": "m", "input" if path.endswith("responses") else "messages": said}
    assert (read_body(DIALECTS[path], json.dumps(body).encode()) is not None) is is_read


@pytest.mark.parametrize("part", [b"{}", b"[]", b'{"k":[]}', b"1"])
def test_a_body_of_too_many_parts_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch, part: bytes) -> None:
    monkeypatch.setattr("services.gateway.proxy.bodies._loads", lambda raw: pytest.fail("it was parsed"))
    body = b'{"messages": [], "x": [' + (part + b",") * 2_100_000 + part + b"]}"
    assert read_body(DIALECTS["/v1/chat/completions"], body) is None
    with pytest.raises(Refusal) as refused:
        refuse_names_of_others("/chat/completions", "application/json", body)
    assert refused.value.status == 413


def test_of_a_very_long_message_both_ends_are_looked_at() -> None:
    document = "We walked along the shore and had tea. " * 100_000
    text = f"<document>\n{document}\n</document>\n\nWhat is this about?"
    assert _read([{"role": "user", "content": text}])[1].question == "What is this about?"
    question = _read([{"role": "user", "content": document}])[1].question or ""
    assert len(question) < 300_000
    assert question.startswith("We walked along the shore")


def test_of_one_message_so_much_is_looked_at_as_a_memory_can_have() -> None:
    body, asked = _read([*_messages(2, lambda at: "x" * 1_000_000), {"role": "user", "content": "hi"}])
    assert sum(len(one.text) for one in asked.history) < 300_000
    assert asked.stripped is body, "the model gets all of it"


def test_of_very_many_commands_the_newest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [*_messages(5000, lambda at: "Forget that." if at % 2 == 0 else "Done."), {"role": "user", "content": "hi"}]
    _, asked = _read(said)
    verb = Mock(return_value="forget")
    monkeypatch.setattr("services.gateway.proxy.withheld.verb_of", verb)
    assert not is_announced(asked.history)
    assert verb.call_count == MOST_SENT


@pytest.mark.parametrize("count", [18_000, 330_000], ids=["read", "passed on unread"])
async def test_a_very_long_chat_is_read_beside_the_loop(
    http: httpx.AsyncClient, model: ModelServer, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    where = dict[str, str]()
    for module, name in (("app", "read_body"), ("app", "conversation_of"), ("app", "dumped"), ("memory", "fresh")):
        place = f"services.gateway.proxy.{module}"
        monkeypatch.setattr(f"{place}.{name}", _noting_its_thread(getattr(import_module(place), name), name, where))
    filler = "x" * (300 if count < 100_000 else 1)
    said = [*_messages(count, lambda at: f"{at} {filler}"), {"role": "user", "content": "hi"}]
    raw = json.dumps({"model": "m-1", "messages": said, "memory_top_k": 3}).encode()
    answer = await http.post("/chat/completions", content=raw, headers={"content-type": "application/json"}, timeout=60)
    assert answer.status_code == 200
    is_read = count <= MOST_MESSAGES
    assert ("unread" in answer.headers.get("memory-degraded", "")) is not is_read
    assert len(model.seen[0].json["messages"]) == count + 1
    assert set(where) == ({"read_body", "conversation_of", "dumped", "fresh"} if is_read else {"read_body"})
    assert all(thread.startswith("asyncio_") for thread in where.values()), where


def _noting_its_thread(work: Callable[..., Any], name: str, where: dict[str, str]) -> Callable[..., Any]:
    def noting(*args: Any, **named: Any) -> Any:
        where[name] = current_thread().name
        return work(*args, **named)

    return noting
