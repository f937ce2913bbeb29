"""The verbs of memory over HTTP: each does what its request on the bus does, for the user who asks and nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from contracts.v1.commands import ListRequest
from contracts.v1.retrieval import RetrieveRequest
from services.gateway.settings import is_loopback
from services.runtime import Running, running
from services.shared.client import MemoryClient
from services.shared.settings import Settings, UnusableSetting
from services.shared.site import MOST_FOR_APPLICATION
from tests.polling import digested

ANN, BOB = {"Memory-User": "ann"}, {"Memory-User": "bob"}
JSON = {"Content-Type": "application/json"}
HALF = b'{"text": "\\ud800"}'
HALF_ASKED = b'{"query": "\\ud800"}'


async def remembered(asking: httpx.AsyncClient, text: str, **more: Any) -> dict[str, Any]:
    answer = await asking.post("/entries", json={"text": text} | more)
    assert answer.status_code == 201, answer.text
    entry: dict[str, Any] = answer.json()["entry"]
    return entry


async def test_http_and_the_bus_answer_the_same(
    ann: httpx.AsyncClient, http: httpx.AsyncClient, client: MemoryClient
) -> None:
    for n in range(3):
        await remembered(ann, f"Shelf {n} holds {n} {'jar' if n == 1 else 'jars'} of jam.", tags=["kitchen"][:n])
    for words, found in ((None, 3), ("jar 1", 1), ("jars of jam", 3), ("kitchen", 2)):
        listed = await client.list(ListRequest(user_id="ann", q=words))
        assert len(listed.items) == found
        params = {} if words is None else {"q": words}
        assert (await ann.get("/entries", params=params)).json() == listed.model_dump(mode="json")
    listed = await client.list(ListRequest(user_id="ann"))
    asked = RetrieveRequest(user_id="ann", query="jars of jam", now=listed.items[0].created_at)
    over_bus = (await client.retrieve(asked)).model_dump(mode="json")
    body = asked.model_dump(mode="json", exclude={"user_id"})
    over_http = (await ann.post("/search", json=body)).json()
    for reply in (over_bus, over_http):
        assert reply.pop("retrieval_ms") >= 0
        reply.pop("query_embedding_ms")
    assert over_http == over_bus


async def test_any_name_of_a_user_is_taken_as_it_is(http: httpx.AsyncClient) -> None:
    for user in ("Ünal", "a b/c", "~x", "0" * 512):
        made = await http.post("/entries", json={"text": "A name is a name."}, headers={b"Memory-User": user.encode()})
        assert made.json()["entry"]["user_id"] == user


async def test_a_header_that_names_nobody_is_refused(http: httpx.AsyncClient) -> None:
    for user in (b"", b"\xff\xfe", b"0" * 513):
        answer = await http.get("/entries", headers={b"Memory-User": user})
        assert answer.status_code == 400
        assert "Memory-User" in answer.json()["detail"]


async def test_a_user_in_the_body_is_refused(ann: httpx.AsyncClient) -> None:
    for path, body in (
        ("/entries", {"text": "x"}),
        ("/search", {"query": "x"}),
        ("/turns", {"role": "user", "text": "x"}),
        ("/erase", {}),
    ):
        answer = await ann.post(path, json=body | {"user_id": "bob"})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "user_id"), path
    assert (await ann.get("/entries", params={"user_id": "bob"})).status_code == 422


PROBLEMS: dict[str, tuple[str, str, dict[str, Any], int, str, str]] = {
    "a field is missing": ("POST", "/entries", {"json": {}}, 422, "invalid_request", "text"),
    "no list": ("POST", "/entries/bulk", {"json": {"ids": "x", "action": "pin"}}, 422, "invalid_request", "be a list"),
    "a filter is misspelt": ("GET", "/entries?pined=true", {}, 422, "invalid_request", "pined"),
    "no such entry": ("GET", "/entries/0", {}, 404, "not_found", "no entry"),
    "no such path": ("GET", "/nothing", {}, 404, "not_found", ""),
    "no such method": ("PUT", "/entries", {"json": {}}, 405, "method", "This path takes GET, POST."),
    "not JSON": ("POST", "/entries", {"content": b'{"text":', "headers": JSON}, 422, "invalid_request", "character 8"),
    "a form": ("POST", "/entries", {"data": {"text": "x"}}, 422, "invalid_request", JSON["Content-Type"]),
    "of no kind": ("POST", "/entries", {"content": b"{}"}, 422, "invalid_request", JSON["Content-Type"]),
    "half a character": ("POST", "/entries", {"content": HALF, "headers": JSON}, 422, "invalid_request", ""),
    "half of a question": ("POST", "/search", {"content": HALF_ASKED, "headers": JSON}, 422, "invalid_request", ""),
    "words of what has none": ("GET", "/entries?q=x&status=archived", {}, 422, "invalid_request", ""),
    "a strange cursor": ("GET", "/entries?cursor=x", {}, 422, "invalid_request", "cursor"),
    "a blank turn": ("POST", "/turns", {"json": {"role": "user", "text": " "}}, 422, "invalid_request", "text"),
    "a long turn": ("POST", "/turns", {"json": {"role": "user", "text": "x" * 65_537}}, 413, "too_large", "65,536"),
}


async def test_what_is_wrong_is_said_as_a_problem(http: httpx.AsyncClient) -> None:
    for name, (method, path, more, status, code, says) in PROBLEMS.items():
        answer = await http.request(method, path, **more)
        assert (answer.status_code, answer.json()["code"]) == (status, code), name
        assert answer.headers["content-type"] == "application/problem+json", name
        assert says in answer.json()["detail"] != "", name
        assert answer.headers["cache-control"] == "no-store", name
        assert answer.headers.get("allow") == ("GET, POST" if status == 405 else None)


async def test_what_was_said_is_not_in_a_problem(http: httpx.AsyncClient) -> None:
    answer = await http.post("/entries", json={"text": ["s3cretMARKER"], "s3cret": "s3cretMARKER"})
    assert answer.status_code == 422
    assert "MARKER" not in answer.text


async def test_a_body_is_long_or_of_unknown_length_in_vain(http: httpx.AsyncClient) -> None:
    async def parts() -> Any:
        yield b"{}"

    reader, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
    writer.write(
        b"POST /v1/memory/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (MOST_FOR_APPLICATION + 1)
    )
    assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.close()
    assert (await http.post("/search", content=parts(), headers=JSON)).status_code == 411


async def test_the_page_of_another_site_gets_nothing_done(ann: httpx.AsyncClient) -> None:
    entry = await remembered(ann, "My locker at work has the code 4007.")
    own = str(ann.base_url.copy_with(path="/")).rstrip("/")
    origins = ("https://evil.example", "null", "http://localhost:3000", "http://[")
    for headers in [
        *({"Origin": origin} for origin in origins),
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ]:
        assert (await ann.post("/erase", json={}, headers=headers)).status_code == 403
        assert (await ann.delete(f"/entries/{entry['id']}", headers=headers)).status_code == 403
        answer = await ann.get("/entries", headers=headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    for headers in ({"Origin": own}, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert (await ann.get("/entries", headers=headers)).json()["total_count"] == 1


async def test_the_same_request_with_the_same_key_has_the_effect_of_one(
    http: httpx.AsyncClient, client: MemoryClient
) -> None:
    key = ANN | {"Idempotency-Key": "k1"}
    answers = [await http.post("/entries", json={"text": "One is enough."}, headers=key) for _ in range(2)]
    assert answers[0].json()["entry"]["id"] == answers[1].json()["entry"]["id"]
    turns = [await http.post("/turns", json={"role": "user", "text": "Once."}, headers=key) for _ in range(2)]
    assert turns[0].json()["turn_id"] == turns[1].json()["turn_id"]
    for body in ({"text": "Twice."}, {"text": "Once.", "conversation_id": "c2"}):
        changed = await http.post("/turns", json={"role": "user"} | body, headers=key)
        assert changed.json()["turn_id"] != turns[0].json()["turn_id"], body
    made = await http.post("/entries", json={"text": "Two are more."}, headers=key)
    assert made.json()["entry"]["id"] != answers[0].json()["entry"]["id"]
    await digested(client, turns=5)
    assert (await client.status("ann")).turns == 5
    other = await http.post("/turns", json={"role": "user", "text": "Once."}, headers=BOB | {"Idempotency-Key": "k1"})
    assert other.json()["turn_id"] != turns[0].json()["turn_id"]


async def test_an_entry_carries_its_version_and_is_not_sent_again_unchanged(ann: httpx.AsyncClient) -> None:
    entry = await remembered(ann, "Versions are counted.")
    shown = await ann.get(f"/entries/{entry['id']}")
    tag = shown.headers["etag"]
    assert tag == f'"{entry["version"]}"'
    again = await ann.get(f"/entries/{entry['id']}", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


async def test_the_documentation_needs_no_other_host(instance: Running) -> None:
    async with httpx.AsyncClient(base_url=instance.http, trust_env=False, verify=False) as http:
        document = (await http.get("/openapi.json")).json()
        page = await http.get("/openapi")
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        assert path in page.text
        for operation in methods.values():
            assert operation["summary"]
            assert {"4XX", "5XX"} <= set(operation["responses"])
            assert "user_id" not in [one["name"] for one in operation.get("parameters", ())]
    for name, schema in document["components"]["schemas"].items():
        assert not name.endswith(("Body", "Query")) or "user_id" not in schema["properties"]
    assert "://" not in page.text.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("setting", "more", "origins"),
    [
        ("MEMORYBUS_GATEWAY_AUTH", {"http_host": "0.0.0.0"}, ""),
        ("MEMORYBUS_GATEWAY_CORS_ORIGINS", {}, "https://app.example, *"),
    ],
)
async def test_it_does_not_start_where_others_reach_it_without_credentials_or_every_page_would_act_for_any_user(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, setting: str, more: dict[str, str], origins: str
) -> None:
    monkeypatch.setenv("MEMORYBUS_GATEWAY_CORS_ORIGINS", origins)
    with pytest.raises(UnusableSetting, match=setting):
        async with running(settings.model_copy(update=more)):
            pass


async def test_a_page_that_is_listed_may_name_its_user(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_GATEWAY_CORS_ORIGINS", "https://app.example")
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,memory-user"}
    async with running(settings) as up, httpx.AsyncClient(base_url=f"{up.http}/v1/memory") as http:
        page = {"Origin": "https://app.example"}
        assert (await http.options("/search", headers=page | asked)).status_code == 200
        answer = await http.post("/search", json={"query": "uv?"}, headers=page | ANN)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, page["Origin"])
        assert (await http.options("/search", headers={"Origin": "https://evil.example"} | asked)).status_code == 400


def test_loopback_is_known_by_its_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.1.2.3", "gateway", "localhost.example")))
