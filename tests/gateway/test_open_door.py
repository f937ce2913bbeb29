"""A gateway that asks for no credential: one that comes all the same is told so, and nobody is taken for `me`."""

from __future__ import annotations

import httpx
import pytest
from starlette.requests import Request

from services.gateway.callers import OpenDoor, is_unfilled
from services.gateway.keys import new_key
from services.gateway.problems import Problem
from services.runtime import Running

KEY, _ = new_key("eve", lasts=None)
FOREIGN = {"Authorization": "Bearer sk-of-a-provider"}
ENTRIES, MODELS = "/v1/memory/entries", "/v1/models"


async def outcome(path: str, **headers: str) -> str:
    """The user that a request is taken for, or what it is refused with."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "GET", "path": path, "headers": raw, "query_string": b""})
    try:
        return (await OpenDoor(passing_on="/v1/").let_in(request)).user_id
    except Problem as problem:
        return problem.detail


@pytest.mark.parametrize("path", [ENTRIES, "/v1/memory/search", "/mcp"])
async def test_a_credential_that_nobody_reads_is_not_me(path: str) -> None:
    for credential in ("Bearer sk-1", "bearer eyJ.e30.x", "Bearer"):
        assert "name the user in the header Memory-User" in await outcome(path, authorization=credential)
    assert await outcome(path) == "me"
    assert await outcome(path, authorization="Basic YW5uOng=") == "me"  # of a proxy before us
    assert await outcome(path, authorization="Bearer sk-1", memory_user="ann") == "ann"


@pytest.mark.parametrize("path", [ENTRIES, "/mcp", MODELS, "/v1/chat/completions"])
@pytest.mark.parametrize("name", ["authorization", "x_api_key", "api_key"])
async def test_a_key_of_ours_is_never_passed_over_nor_passed_on(path: str, name: str) -> None:
    for shown in (KEY, f"Bearer {KEY}"):
        for user in ({}, {"memory_user": "ann"}):
            assert "leave out the memorybus key" in await outcome(path, **{name: shown}, **user)


async def test_the_key_of_a_provider_is_for_the_provider() -> None:
    assert await outcome(MODELS, authorization="Bearer sk-1") == "me"
    assert await outcome(MODELS, x_api_key="sk-1", memory_user="ann") == "ann"


async def test_who_is_named_twice_is_nobody() -> None:
    raw = [(b"memory-user", name) for name in (b"eve", b"ann")]
    request = Request({"type": "http", "method": "GET", "path": ENTRIES, "headers": raw, "query_string": b""})
    with pytest.raises(Problem, match="stands there twice"):
        await OpenDoor(passing_on="/v1/").let_in(request)


UNFILLED = [
    "", " ", "-", '""', "''", "\u200b",
    "{{USER_ID}}", "{{ user.id }}", "openwebui-{{USER_ID}}", "{{USER_ID", "USER_ID}}", "%7B%7BUSER_ID%7D%7D",
    "{USER_ID}", "{% user.id %}", "<%= user.id %>", "#{user.id}", "[[user.id]]", "[USER_NAME]", "<user-id>",
    "${USER_ID}", "team/${user}", "$(USER_ID)", "${{ user.id }}", "$USER_ID", "%USER_ID%",
    "<no value>", "<nil>", "(null)", "null", "None", "undefined", "openwebui-undefined", "[object Object]",
]  # fmt: skip
NAMES = [
    "ann", "Ann {the first}", "{x", "a$b", "my $5 idea", "100%", "A<B", "ann@example.org", "CORP\\ann", "Urlaub [2026]",
    "<ann@example.org> Ann", "7", "李", "د", "44082d0a-dce3-4a6a-ac66-946c1d17dcd7", "C%C3%A9line", "Ann (work)", "🦊",
    "none-1", "O'Null", "Nan", "nullable", "chris-null",
]  # fmt: skip


@pytest.mark.parametrize("name", UNFILLED)
def test_a_template_that_nobody_filled_in_is_no_name(name: str) -> None:
    assert is_unfilled(name)


@pytest.mark.parametrize("name", NAMES)
async def test_whoever_has_an_odd_name_is_a_user(name: str) -> None:
    assert not is_unfilled(name)
    assert await outcome(ENTRIES, memory_user=name) == name


@pytest.mark.parametrize("path", [ENTRIES, "/mcp", MODELS, "/v1/chat/completions"])
async def test_a_template_that_nobody_filled_in_is_no_user(path: str) -> None:
    assert "names no user" in await outcome(path, memory_user="{{USER_ID}}")


async def test_over_http_it_is_a_problem_and_nothing_is_read_or_written(instance: Running) -> None:
    async with httpx.AsyncClient(base_url=instance.http, trust_env=False, verify=False, timeout=30) as http:
        assert (await http.post(ENTRIES, json={"text": "My diary is under the mattress."})).status_code == 201
        for headers in (FOREIGN, {"Authorization": f"Bearer {KEY}"}):
            for answer in (
                await http.get(ENTRIES, headers=headers),
                await http.post(ENTRIES, json={"text": "Eve was here."}, headers=headers),
                await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers),
            ):
                assert (answer.status_code, answer.json()["code"]) == (400, "credential_unread")
                assert "MEMORYBUS_GATEWAY_AUTH=true" in answer.json()["detail"]
        assert [one["text"] for one in (await http.get(ENTRIES)).json()["items"]] == ["My diary is under the mattress."]
