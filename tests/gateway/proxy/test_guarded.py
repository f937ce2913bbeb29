"""The chat proxy behind credentials: they name the user, open what they open, and no model ever sees them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, cast
from unittest.mock import Mock

import httpx
import pytest

from contracts.v1.commands import CreateRequest, ListRequest
from services.gateway.keys import KeyStore, new_key
from services.gateway.proxy.app import Proxy
from services.gateway.proxy.refusals import Refusal, refuse_names_of_others, refuse_what_is_of_others
from services.gateway.proxy.settings import ProxySettings
from tests.gateway.proxy.chatting import Chat, asking
from tests.polling import eventually


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {"MEMORYBUS_GATEWAY_AUTH": "true", "MEMORYBUS_OPENAI_API_KEY": "sk-of-the-operator"}


async def a_key(chat: Chat, user: str, **more: Any) -> str:
    token, key = new_key(user, lasts=None, **more)
    await KeyStore(chat.client.bus).put(key)
    return token


async def ask(chat: Chat, text: str, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await chat.http.post("/chat/completions", json=asking(text), headers=given)


async def test_the_key_names_the_user_and_never_reaches_the_model(chat: Chat) -> None:
    ann, bob = await a_key(chat, "ann"), await a_key(chat, "bob")
    assert (await ask(chat, "I play the oboe.", Authorization=f"Bearer {ann}", X_Other=f"is {ann}")).status_code == 200
    await eventually(lambda: chat.client.list(ListRequest(user_id="ann")), lambda r: r.total_count >= 2)
    assert "memory-used" in (await ask(chat, "What do I play?", X_API_Key=ann)).headers
    assert "oboe" in chat.told
    assert "memory-used" not in (await ask(chat, "What do I play?", Authorization=f"Bearer {bob}")).headers
    assert "oboe" not in chat.told
    assert all(seen.headers["authorization"] == "Bearer sk-of-the-operator" for seen in chat.model.seen)
    assert all(ann not in str(seen) and bob not in str(seen) for seen in chat.model.seen)


async def test_forgetting_a_topic_goes_as_far_as_the_credential_does(chat: Chat) -> None:
    for space in ("default", "work"):
        await chat.client.create(CreateRequest(user_id="fay", text=f"Drubbelina is at the {space} desk.", space=space))
    every, work = await a_key(chat, "fay"), await a_key(chat, "fay", spaces={"work"})
    told = await ask(chat, "forget everything about Drubbelina", Authorization=f"Bearer {work}", Memory_Space="work")
    assert "work desk" in told.text
    assert "default" not in told.text
    told = await ask(chat, "forget everything about Drubbelina", Authorization=f"Bearer {every}")
    assert "2 memories will be forgotten" in told.text
    assert "1 of them in the space “work”" in told.json()["choices"][0]["message"]["content"]
    assert "work desk. (in the space “work”)" in told.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"openai_base_url": "http://m/v1"}, {"MEMORYBUS_OPENAI_API_KEY"}),
        ({"anthropic_base_url": "http://m/v1", "openai_api_key": "sk"}, {"MEMORYBUS_ANTHROPIC_API_KEY"}),
        ({"openai_base_url": "http://m/v1", "openai_api_key": "sk"}, set()),
        ({}, set()),
    ],
)
def test_a_model_whose_key_is_not_set_is_told_at_the_start(
    settings: dict[str, str], told: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    given: dict[str, Any] = {"openai_base_url": "", "openai_api_key": None, **settings}
    for guarded in (False, True):
        Proxy(cast(Any, Mock()), ProxySettings(**given), Mock(), guarded=guarded)
        records = [record for record in caplog.records if record.message == "model_without_key"]
        assert {record.__dict__["set"] for record in records} == (told if guarded else set())


async def test_anthropic_clients_show_it_as_they_show_keys(chat: Chat) -> None:
    key = await a_key(chat, "cat")
    body = {"model": "m-1", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    for headers in ({"X-Api-Key": key}, {"Authorization": f"Bearer {key}"}):
        await chat.http.post("/messages", json=body, headers=headers)
    assert chat.model.seen[0].headers["x-api-key"] == "sk-of-the-operator"
    assert chat.model.seen[1].headers["authorization"] == "Bearer sk-of-the-operator"
    assert all(key not in str(seen) for seen in chat.model.seen)


async def test_nobody_comes_in_without(chat: Chat) -> None:
    for headers in ({}, {"Authorization": "Bearer sk-x"}, {"X-Api-Key": "mb_0"}):
        answer = await ask(chat, "Hi", **headers)
        assert answer.status_code == 401
        assert answer.json()["error"]["type"] == "authentication_error"
    assert (await ask(chat, "Hi", Memory_User="ann")).status_code == 400
    assert chat.model.seen == []


@pytest.mark.parametrize("path", ["/models", "/models/m-1", "/messages/count_tokens", "/messages/batches", "/files"])
async def test_errors_are_in_the_words_of_the_api_that_is_spoken(chat: Chat, path: str) -> None:
    wrong = {"X-Api-Key": "sk-ant-wrong"}
    theirs = (await chat.http.get(path, headers=wrong | {"Anthropic-Version": "2023-06-01"})).json()
    assert (theirs["type"], theirs["error"]["type"]) == ("error", "authentication_error")
    assert "begins with mb_" in theirs["error"]["message"]
    others = (await chat.http.get("/models", headers={"Authorization": "Bearer sk-wrong"})).json()
    assert (others.keys(), others["error"]["code"]) == ({"error"}, "unauthenticated")


async def test_what_a_key_does_not_open_is_left_out_and_told(chat: Chat) -> None:
    reads, writes = await a_key(chat, "dan", verbs={"read"}), await a_key(chat, "dan", verbs={"turns"})
    answer = await ask(chat, "I collect stamps.", Authorization=f"Bearer {writes}")
    assert answer.headers["memory-degraded"] == "not_allowed_to_retrieve"
    await eventually(lambda: chat.client.list(ListRequest(user_id="dan")), lambda r: r.total_count >= 2)
    answer = await ask(chat, "I collect coins, what else do I collect?", Authorization=f"Bearer {reads}")
    assert "stamps" in chat.told
    assert answer.headers["memory-degraded"] == "not_allowed_to_publish"
    answer = await ask(chat, "Forget everything about stamps.", Authorization=f"Bearer {reads}")
    assert answer.json()["choices"][0]["message"]["content"].startswith("Nothing was changed. The credential of this")
    answer = await ask(chat, "What do you remember about stamps?", Authorization=f"Bearer {reads}")
    assert answer.json()["choices"][0]["message"]["content"] == "Fine.", "a question that is not opened is a chat"
    await ask(chat, "I collect watches.", Authorization=f"Bearer {writes}")
    found = await eventually(lambda: chat.client.list(ListRequest(user_id="dan")), lambda r: r.total_count >= 3)
    assert not [entry for entry in found.items if "coins" in entry.text]


async def test_a_key_for_one_space_stays_in_it(chat: Chat) -> None:
    work, every = await a_key(chat, "eve", spaces={"work"}), await a_key(chat, "eve")
    await ask(chat, "The launch is code-named Heron.", Authorization=f"Bearer {work}")
    found = await eventually(lambda: chat.client.list(ListRequest(user_id="eve")), lambda r: r.total_count >= 2)
    assert {entry.space for entry in found.items} == {"work"}
    await ask(chat, "What is the launch code-named?", Authorization=f"Bearer {every}")
    assert "Heron" not in chat.told
    await ask(chat, "What is the launch code-named?", Authorization=f"Bearer {every}", Memory_Space="work")
    assert "Heron" in chat.told
    assert (await ask(chat, "Hi", Authorization=f"Bearer {work}", Memory_Space="home")).status_code == 403


async def test_a_command_does_no_more_than_its_key_opens(chat: Chat) -> None:
    every = await a_key(chat, "fay")
    limited = {
        "memory.erase is about all spaces": await a_key(chat, "fay", spaces={"work"}),
        "does not open memory.erase": await a_key(chat, "fay", verbs={"retrieve", "turns", "memory.commands"}),
    }
    await ask(chat, "My locker is 17.", Authorization=f"Bearer {every}")
    await eventually(lambda: chat.client.list(ListRequest(user_id="fay")), lambda r: r.total_count >= 2)

    async def told(text: str, key: str) -> str:
        answer = await ask(chat, text, Authorization=f"Bearer {key}", Memory_Id="c1")
        return str(answer.json()["choices"][0]["message"]["content"])

    for why, key in limited.items():
        assert why in await told("Forget everything about me.", key)
        assert await told("yes", key) == "Fine."
        commands = f"{chat.http.base_url}".replace("/v1/", "/v1/memory/commands")
        bearer = {"Authorization": f"Bearer {key}"}
        assert (
            await chat.http.post(commands, json={"text": "Forget everything about me."}, headers=bearer)
        ).status_code == 403
    work = limited["memory.erase is about all spaces"]
    assert "incognito-start is about all spaces" in await told("Go incognito.", work)
    assert (await chat.client.list(ListRequest(user_id="fay"))).total_count >= 2
    await ask(chat, "The badge is green.", Authorization=f"Bearer {work}", Memory_Id="c1")
    work_only = ListRequest(user_id="fay", space="work", q="badge")
    await eventually(lambda: chat.client.list(work_only), lambda r: r.total_count == 1)
    assert "forgotten: “The badge is green.”" in await told("Forget that.", work)
    assert "Forgotten: 1 memory." in await told("yes", work)


async def test_who_may_not_read_is_not_told_what_was_said_just_before(chat: Chat) -> None:
    every, writes = await a_key(chat, "hal"), await a_key(chat, "hal", verbs={"turns"})
    await ask(chat, "The honeymoon is in Vaduz.", Authorization=f"Bearer {every}", Memory_Id="c1")
    await ask(chat, "And what else?", Authorization=f"Bearer {writes}", Memory_Id="c1")
    assert "Vaduz" not in chat.told
    await ask(chat, "And what else?", Authorization=f"Bearer {every}", Memory_Id="c1")
    assert "Vaduz" in chat.told


async def test_with_the_operators_key_nobody_sees_what_others_have_there(chat: Chat) -> None:
    headers = {"Authorization": f"Bearer {await a_key(chat, 'ann')}"}
    assert (await chat.http.get("/models", headers=headers)).status_code == 200
    seen = len(chat.model.seen)
    for path in ("/files", "/responses/resp_1", "/batches", "/models/../files", "/organization/users"):
        answer = await chat.http.get(path, headers=headers)
        assert answer.status_code in (403, 404), path
    assert len(chat.model.seen) == seen


OPEN = "POST /chat/completions, POST /audio/transcriptions, GET /models, GET /models/meta-llama/Llama-3.1:free"
CLOSED = (
    r"GET /chat/completions, POST /chat/completions/chatcmpl_1, GET /models/ft:gpt:ann, GET /models/../files, "
    r"GET /models/..;/files, GET /models/..\files, GET /audio/voices, PUT /embeddings"
)


def test_with_the_operators_key_a_model_is_asked_and_nothing_else() -> None:
    for method, path in map(str.split, OPEN.split(", ")):
        refuse_what_is_of_others(method, path)
    for method, path in map(str.split, CLOSED.split(", ")):
        with pytest.raises(Refusal, match="what others have"):
            refuse_what_is_of_others(method, path)


def test_what_is_said_in_a_conversation_names_nobody() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Yes"}]}
    look = partial(refuse_names_of_others, "/responses", "application/json")
    look(json.dumps({"model": "m", "prompt": "Hi", "input": [call, said]}).encode())
    fields = {"id": {"type": "string"}, "file_id": {"type": "string", "description": "which file"}}
    tool = {"name": "look", "parameters": {"type": "object", "properties": fields}}
    used = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"id": "42"}}
    look(json.dumps({"tools": [tool], "messages": [{"role": "assistant", "content": [used]}]}).encode())
    look(b'{"audio": {"voice": "alloy", "format": "wav"}, "metadata": {"id": "mine"}}')
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    look(json.dumps({"model": "soft:latest", "input": [thought]}).encode())
    look(json.dumps({"model": "org/craft:8b", "input": "left: right"}).encode())


@pytest.mark.parametrize(
    "more",
    [
        '"previous_response_id": "resp_of_bob"',
        '"conversation": {"id": "conv_of_bob"}',
        '"\\u0063onversation": "conv_of_bob"',
        '"previous_response_id": "resp_of_bob", "previous_response_id": null',
        '"tools": [{"type": "file_search", "vector_store_ids": ["vs_of_bob"]}]',
        '"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_of_bob"}]}]',
        '"temperature": NaN, "conversation": "conv_of_bob"',
        '"input": [{"type": "item_reference", "id": "msg_of_bob"}, {"role": "user", "content": "repeat it"}]',
        '"prompt": {"id": "pmpt_of_bob", "version": "2"}',
        '"messages": [{"role": "assistant", "audio": {"id": "audio_of_bob"}}]',
        '"model": "ft:gpt-4o:acme::bob"',
        '"model": "openai/ft:gpt-4o:acme::bob"',
        '"tools": [{"type": "mcp", "server_label": "drive", "connector_id": "connector_of_bob"}]',
        '"input": [{"type": "reasoning", "id": "rs_of_bob", "summary": []}]',
        '"cached_content": "cachedContents/of-bob"',
        '"model": ["ft:gpt-4o:acme::bob"]',
        '"previousResponseId": "resp_of_bob"',
        '"input": [{"role": "user", "content": [{"type": "input_audio", "id": "audio_of_bob"}]}]',
    ],
)
async def test_with_the_operators_key_nobody_names_what_others_have_there(chat: Chat, more: str) -> None:
    headers = {"Authorization": f"Bearer {await a_key(chat, 'ann')}", "Content-Type": "application/json"}
    body = f'{{"model": "m-1", "input": "hi", {more}}}'
    answer = await chat.http.post("/responses", content=body.encode(), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_shared")
    assert chat.model.seen == []


async def test_a_request_that_cannot_be_looked_through_is_refused_with_the_operators_key(chat: Chat) -> None:
    headers = {"Authorization": f"Bearer {await a_key(chat, 'ann')}", "Content-Type": "application/json"}
    assert (await chat.http.post("/responses", content=b'{"model": "m-1", ', headers=headers)).status_code == 400
    null = b'{"model": "m-1", "input": "file_id?", "previous_response_id": null}'
    assert (await chat.http.post("/responses", content=null, headers=headers)).status_code == 200
    assert len(chat.model.seen) == 1


@pytest.mark.parametrize(
    ("path", "said_to_be"),
    [
        ("/embeddings", "text/plain"),
        ("/completions", "application/x-www-form-urlencoded"),
        ("/moderations", "multipart/form-data"),
        ("/images/generations", ""),
        ("/audio/speech", "x"),
    ],
)
async def test_what_a_body_names_is_looked_at_whatever_it_is_said_to_be(chat: Chat, path: str, said_to_be: str) -> None:
    headers = {"Authorization": f"Bearer {await a_key(chat, 'ann')}", "Content-Type": said_to_be}
    body = b'{"model": "m-1", "input": "hi", "file_id": "file_of_bob"}'
    answer = await chat.http.post(path, content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_shared")
    assert (await chat.http.post(path, content=b"model=m-1", headers=headers)).status_code == 400
    assert chat.model.seen == []


@pytest.mark.parametrize("query", ["previous_response_id=resp_of_bob", "a=1&file_id=f", "file%5Fid=f", "fileId=f"])
async def test_no_query_names_what_others_have_there(chat: Chat, query: str) -> None:
    headers = {"Authorization": f"Bearer {await a_key(chat, 'ann')}"}
    body = {"model": "m-1", "input": "hi"}
    assert (await chat.http.post(f"/responses?{query}", json=body, headers=headers)).status_code == 403
    assert chat.model.seen == []
    assert (await chat.http.get("/models?limit=2&after=m-1", headers=headers)).status_code == 200


async def test_a_form_with_a_file_passes_and_one_that_names_a_file_of_others_does_not(chat: Chat) -> None:
    headers = {"Authorization": f"Bearer {await a_key(chat, 'ann')}"}
    sound = {"file": ("a.wav", b"RIFF....", "audio/wav")}

    async def status(data: dict[str, str]) -> int:
        return (await chat.http.post("/audio/transcriptions", data=data, files=sound, headers=headers)).status_code

    assert await status({"model": "whisper-1", "language": "de"}) == 200
    named = ("file_id", "file_ids[]", "images[0][file_id]", "fileId")
    refused = [
        {"model": "ft:whisper:bob"},
        {"model": " ft:whisper:bob"},
        *({"model": "m", name: "f"} for name in named),
    ]
    assert [await status(data) for data in refused] == [403] * len(refused)
    assert len(chat.model.seen) == 1


LEADING_ELSEWHERE = """OpenAI-Organization OpenAI-Project X-Original-URL X-Rewrite-URL X-Original-Host X-Forwarded-Host
    X-Forwarded-Prefix Forwarded X-HTTP-Method-Override X-Method-Override X-Host X-Goog-User-Project X-Goog-Api-Key
    X-Auth-Token X-LiteLLM-Api-Key Proxy-Authorization X-Envoy-Original-Path X-Upstream-Url X-Org-Id""".split()


async def test_beside_the_operators_key_no_header_names_an_account_or_leads_elsewhere(chat: Chat) -> None:
    own = {"Authorization": f"Bearer {await a_key(chat, 'ann')}", "X-Title": "mine"}
    headers = own | dict.fromkeys(LEADING_ELSEWHERE, "of-ann")
    await chat.http.post("/embeddings", json={"model": "m-1", "input": "hi"}, headers=headers)
    assert [name for name in LEADING_ELSEWHERE if name.lower() in chat.model.seen[0].headers] == []
    assert chat.model.seen[0].headers["x-title"] == "mine"


async def test_commands_that_search_count_for_the_limit_of_a_tool(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.limits.time.time", lambda: 1_800_000_000.0)
    key = f"Bearer {await a_key(chat, 'fay')}"
    answers = [await ask(chat, "What do you remember about my bees?", Authorization=key) for _ in range(12)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    assert answers[-1].headers["retry-after"] == "60"
    assert chat.model.seen == []
    passed = await ask(chat, "What do you remember about the French Revolution?", Authorization=key)
    assert (passed.status_code, passed.headers["memory-degraded"]) == (200, "rate_limited")


@pytest.mark.parametrize(
    "named",
    [
        {"memory-user": "ida"},
        {"MEMORY-USER": "{{USER_ID}}"},
        {"Memory-User": ""},
        {"Memory_User": "ben"},
        {"X-OpenWebUI-User-Id": "ben", "Memory-User": "ben"},
    ],
)
@pytest.mark.parametrize("shown", ["Authorization", "X-Api-Key"])
async def test_a_key_of_one_user_takes_no_header_of_another(chat: Chat, named: dict[str, str], shown: str) -> None:
    key = await a_key(chat, "ida")
    headers = {shown: f"Bearer {key}" if shown == "Authorization" else key, **named}
    for path in ("/chat/completions", "/responses", "/messages", "/memory/turns", "/memory/entries"):
        body = {"model": "m-1", "messages": [{"role": "user", "content": "I am Ben."}], "input": "I am Ben."}
        assert (await chat.http.post(path, json=body, headers=headers)).status_code in (400, 401, 422)
    assert (await chat.http.get("/models", headers=headers)).status_code == 400 or "Memory_User" in named
    assert all(seen.path == "/v1/models" for seen in chat.model.seen)
    assert (await chat.client.list(ListRequest(user_id="ben"))).total_count == 0


async def test_what_a_client_tells_of_its_people_is_nobodys_name(chat: Chat) -> None:
    key = await a_key(chat, "ines")
    headers = {"Authorization": f"Bearer {key}", "X-OpenWebUI-User-Id": "ben", "X-Forwarded-User": "ben"}
    said = [{"role": "user", "content": "I keep two goats."}]
    body = {"model": "m-1", "messages": said, "user": "ben", "safety_identifier": "ben"}
    assert (await chat.http.post("/chat/completions", json=body, headers=headers)).status_code == 200
    await eventually(lambda: chat.client.list(ListRequest(user_id="ines")), lambda r: r.total_count >= 2)
    assert (await chat.client.list(ListRequest(user_id="ben"))).total_count == 0
