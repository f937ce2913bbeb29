"""The client of a language model: bounded in time and size, tried again, left alone, and silent about what it said."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from services.shared.llm.breaker import FAILURES, Breaker
from services.shared.llm.chat import ATTEMPTS, ChatModel, SettingNames
from services.shared.settings import UnusableSetting
from tests.servers.models import Manner, ScriptedModel, scripted_model

NAMES = SettingNames("the address", "the model", "the key")
HELLO = [{"role": "user", "content": '{"turn": "hello"}'}]


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModel]:
    async with scripted_model() as model:
        yield model


def client_of(server: ScriptedModel, key: str | None = None, *, within: float = 0.15) -> ChatModel:
    secret = SecretStr(key) if key else None
    return ChatModel(server.url, "tiny", names=NAMES, api_key=secret, answer_within=within, longest_wait=0.0)


async def test_a_model_is_asked_for_json_at_temperature_0_with_the_key(server: ScriptedModel) -> None:
    model = client_of(server, "k1")
    assert await model.complete(HELLO, {"type": "object"}) == '{"claims": []}'
    (body,) = server.asked
    assert (body["model"], body["temperature"], body["stream"]) == ("tiny", 0, False)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert body["response_format"]["json_schema"]["name"] == "answer"
    assert server.keys == {"Bearer k1"}
    await model.close()


@pytest.mark.parametrize("manner", ["slow", "dead", "broken", "busy"])
async def test_a_model_that_does_not_answer_is_asked_again_then_left_alone(
    server: ScriptedModel, manner: Manner
) -> None:
    server.manner, model = manner, client_of(server, within=0.5 if manner == "slow" else 30.0)
    for _ in range(FAILURES):
        with pytest.raises(ModelFailed) as failed:
            await model.complete(HELLO, {})
        assert "MARKER" not in str(failed.value)
    assert len(server.asked) == FAILURES * ATTEMPTS
    with pytest.raises(Unavailable):
        await model.complete(HELLO, {})
    assert len(server.asked) == FAILURES * ATTEMPTS
    await model.close()


@pytest.mark.parametrize("manner", ["endless", "no JSON", "no chat", "compressed"])
async def test_an_answer_that_is_none_is_neither_read_to_its_end_nor_told(
    server: ScriptedModel, manner: Manner
) -> None:
    server.manner, model = manner, client_of(server)
    with pytest.raises(NoAnswer) as refused:
        await model.complete(HELLO, {})
    assert "MARKER" not in str(refused.value)
    assert len(server.asked) == 1
    model.check()
    await model.close()


async def test_a_wrong_key_is_told_as_a_setting_and_asked_with_once(server: ScriptedModel) -> None:
    server.manner, model = "refusing", client_of(server, "s3cret")
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"HTTP 401.*the address, the model and the key") as told:
            await model.complete(HELLO, {})
        assert "s3cret" not in str(told.value)
    assert len(server.asked) == 1
    await model.close()


@pytest.mark.parametrize("address", ["127.0.0.1:80", "ftp://x/v1", "http://", "http://[::1"])
def test_an_address_that_cannot_be_used_is_a_wrong_setting(address: str) -> None:
    with pytest.raises(UnusableSetting, match="the address"):
        ChatModel(address, "tiny", names=NAMES)


def test_the_breaker_lets_one_attempt_through_after_a_pause_that_grows() -> None:
    now, told = [0.0], list[bool]()
    breaker = Breaker(told.append, clock=lambda: now[0])
    for _ in range(FAILURES):
        breaker.check()
        breaker.failed("away")
    pauses = []
    for _ in range(8):
        began = now[0]
        while True:
            try:
                breaker.check()
                break
            except Unavailable:
                now[0] += 1.0
        pauses.append(now[0] - began)
        breaker.failed("away")
    assert pauses == [15, 30, 60, 120, 240, 300, 300, 300]
    breaker.succeeded()
    breaker.check()
    assert (told[0], told[-1]) == (True, False)
