"""The clients that people have, unchanged: what they get through the proxy is what they get from the model itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from contracts.v1.commands import ListRequest
from services.shared.client import MemoryClient
from tests.gateway.proxy.backend import ModelServer, every_api
from tests.gateway.proxy.conftest import Place
from tests.polling import eventually

TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
HELLO: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is Graz?"}]


class Answer(BaseModel):
    """What a structured answer is read into."""

    city: str


@pytest.fixture
def talking(model: ModelServer) -> ModelServer:
    model.script = every_api("It is in Styria.")
    return model


@contextmanager
def both(place: Place, user: str, client: Any, path: str = "/v1") -> Iterator[list[Any]]:
    """A client of the model itself, and the same of the proxy; a user with a "!" is incognito."""
    with (
        _made(client, place.model.url.removesuffix("/v1") + path) as direct,
        _made(client, place.http + path, user) as it,
    ):
        yield [direct, it]


def _made(client: Any, url: str, user: str = "me") -> Any:
    headers = {"Memory-User": user.removesuffix("!")} | ({"Memory-Incognito": "true"} if user.endswith("!") else {})
    return client(base_url=url, api_key="sk-own", max_retries=0, default_headers=headers)


def test_openai_whole_streamed_with_tools_and_structured(place: Place, talking: ModelServer, user: str) -> None:
    def all_of(client: openai.OpenAI) -> list[Any]:
        chat = client.chat.completions
        events = list(chat.create(model="m-1", messages=HELLO, stream=True, stream_options={"include_usage": True}))
        talking.script = every_api('{"city":"Graz"}')
        parsed = chat.parse(model="m-1", messages=HELLO, response_format=Answer).choices[0].message.parsed
        talking.script = every_api("It is in Styria.")
        return [
            chat.create(model="m-1", messages=HELLO, seed=7, logprobs=True).model_dump(),
            [one.model_dump() for one in events],
            chat.create(model="m-1", messages=HELLO, tools=[TOOL]).model_dump(),
            [one.model_dump() for one in chat.create(model="m-1", messages=HELLO, tools=[TOOL], stream=True)],
            parsed,
            client.responses.create(model="m-1", input="Where is Graz?").model_dump(),
            [one.model_dump() for one in client.responses.create(model="m-1", input="Where is Graz?", stream=True)],
            [one.model_dump() for one in client.models.list()],
        ]

    with both(place, f"{user}!", openai.OpenAI) as (direct, proxied):
        expected = all_of(direct)
        seen = [request.body for request in talking.seen]
        talking.seen.clear()
        assert all_of(proxied) == expected
    assert expected[0]["choices"][0]["message"]["content"] == "It is in Styria."
    assert expected[4] == Answer(city="Graz")
    assert [request.body for request in talking.seen] == seen
    assert all(request.headers["authorization"] == "Bearer sk-own" for request in talking.seen)


async def test_openai_names_the_conversation_and_reads_which_memories_were_used(
    place: Place, talking: ModelServer, client: MemoryClient, user: str
) -> None:
    told: Any = [{"role": "user", "content": "My bicycle is a green Brompton."}]
    asked: Any = [{"role": "user", "content": "Which bicycle do I have?"}]
    with both(place, user, openai.OpenAI) as (_, proxied):
        create = proxied.chat.completions.with_raw_response.create
        raw = create(model="m-1", messages=told, extra_body={"memory_id": "c-9", "memory_top_k": 3})
        assert raw.headers["memory-conversation"] == "c-9"
        found = await eventually(lambda: client.list(ListRequest(user_id=user)), lambda r: r.total_count >= 2)
        (bicycle,) = [entry for entry in found.items if entry.role == "user"]
        raw = create(model="m-1", messages=asked)
        assert bicycle.id in raw.headers["memory-used"]
        assert "green Brompton" in talking.seen[-1].said
        proxied.responses.create(model="m-1", input=asked[0]["content"])
        assert "green Brompton" in talking.seen[-1].said


def test_openai_sees_errors_of_the_proxy_as_its_own(place: Place, talking: ModelServer, user: str) -> None:
    with both(place, user, openai.OpenAI) as (_, proxied), pytest.raises(openai.BadRequestError, match="memory_top_k"):
        proxied.chat.completions.create(model="m-1", messages=HELLO, extra_body={"memory_top_k": 0})


async def test_anthropic_whole_and_streamed(
    place: Place, talking: ModelServer, client: MemoryClient, user: str
) -> None:
    import anthropic  # only here: every worker of a run imports this file, and the SDK takes seconds

    asked: Any = [{"role": "user", "content": "My boat is called Calypso."}]
    next_one: Any = [{"role": "user", "content": "What is my boat called?"}]
    found = []
    with both(place, user, anthropic.Anthropic, "") as clients:
        for one in clients:
            whole = one.messages.create(model="m-1", max_tokens=64, messages=asked, system="Be brief.")
            with one.messages.stream(model="m-1", max_tokens=64, messages=asked) as stream:
                found.append([whole.model_dump(), stream.get_final_text()])
        assert found[0] == found[1]
        assert talking.seen[0].headers["authorization"] == talking.seen[-1].headers["authorization"] == "Bearer sk-own"
        await eventually(lambda: client.list(ListRequest(user_id=user)), lambda r: r.total_count >= 2)
        clients[1].messages.create(model="m-1", max_tokens=64, messages=next_one)
        assert "Calypso" in talking.seen[-1].said
        with pytest.raises(anthropic.BadRequestError, match="memory_id"):
            clients[1].messages.create(model="m-1", max_tokens=64, messages=next_one, extra_body={"memory_id": ""})
