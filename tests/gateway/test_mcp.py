"""Memory over MCP, asked by the official client, over standard input and output and over HTTP."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import httpx2
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from services.gateway import mcp_tools
from services.gateway.keys import KeyStore, new_key
from services.runtime import Running, running
from services.shared.bus.streams import Bus
from services.shared.instance import FolderLock
from services.shared.settings import Settings
from tests.claims import leave_change, leave_claim

PREFERENCE = "I prefer uv over pip for managing packages."
SCHEMAS: dict[str, Any] = {}
"""Of the result of each tool, as it was listed."""

Opened = AbstractAsyncContextManager[Client]
Open = Callable[[str], Opened]


def command(user: str, *where: str) -> StdioServerParameters:
    args = ["-m", "services.cli", "mcp", "--user", user, *where]
    light = {"EMBEDDER": "none", "NER": "none", "SYNC": "interval", "LOG_LEVEL": "error"}
    env = {f"MEMORYBUS_{name}": value for name, value in light.items()}
    return StdioServerParameters(command=sys.executable, args=args, env=env, cwd=Path(__file__).parents[2])


@asynccontextmanager
async def over_http(url: str, **headers: str) -> Any:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as asking,
        Client(streamable_http_client(f"{url}/mcp", http_client=asking)) as session,
    ):
        yield session


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, shared: Running) -> Open:
    """Sessions of a user over either transport."""

    def session(user: str) -> Opened:
        if request.param == "http":
            return cast(Opened, over_http(shared.http, **{"memory-user": user}))
        return Client(command(user, "--nats", shared.nats))

    return session


@pytest.fixture
def opened(shared: Running, user: str) -> Opened:
    """A session over HTTP, where what both transports do alike is tried."""
    return cast(Opened, over_http(shared.http, **{"memory-user": user}))


async def called(session: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a tool, which is as its schema says and also stands in the text."""
    result = await session.call_tool(name, arguments)
    assert not result.is_error, result.content
    if name not in SCHEMAS:
        SCHEMAS.update({tool.name: tool.output_schema for tool in (await session.list_tools()).tools})
    jsonschema.validate(result.structured_content, SCHEMAS[name])
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return cast(dict[str, Any], result.structured_content)


async def read(session: Client, uri: str) -> str:
    return str((await session.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]


async def refused(session: Client, name: str, **arguments: Any) -> str:
    result = await session.call_tool(name, arguments)
    assert result.is_error, result.structured_content
    return str(result.content[0].text)  # type: ignore[union-attr]


async def test_a_preference_is_found_in_a_new_session_and_by_nobody_else(connect: Open, user: str) -> None:
    async with connect(user) as session:
        added = await called(session, "add", type="preference", content=PREFERENCE, theme="tools", tags=["python"])
        assert added["status"] == "pending"
    async with connect(user) as session:
        (found,) = (await called(session, "search", query="uv or pip", types=["preference"]))["results"]
        assert (found["id"], found["theme"], found["content_snippet"]) == (added["id"], "tools", PREFERENCE)
        assert found["signals"] == {"fts": True, "semantic": False}
    async with connect(f"{user}-other") as session:
        assert (await called(session, "search", query="uv or pip"))["results"] == []
        for name in ("get", "delete", "why"):
            assert "not_found" in await refused(session, name, item_id=added["id"])
        assert "not_found" in await refused(session, "update", item_id=added["id"], content="mine")
        with pytest.raises(MCPError, match="not_found"):
            await session.read_resource(f"memory://entries/{added['id']}")


async def test_every_tool_is_listed_and_does_what_it_says(connect: Open, user: str) -> None:
    async with connect(user) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert list(tools) == ["search", "add", "get", "update", "delete", "list_themes", "summary", "why"]
        hints = {name: tool.annotations for name, tool in tools.items() if tool.annotations}
        assert {name for name, hint in hints.items() if hint.destructive_hint} == {"update", "delete"}
        assert {name for name, hint in hints.items() if not hint.read_only_hint} == {"add", "update", "delete"}

        id_ = (await called(session, "add", type="fact", content="My locker has the code 4007.", theme="work"))["id"]
        assert (await called(session, "get", item_id=id_[:8]))["id"] == id_
        changed = await called(session, "update", item_id=id_, content="My locker has code 4008.", tags=["door"])
        assert changed["text"] == "My locker has code 4008."
        assert (changed["tags"], changed["themes"]) == (["door"], ["work"])
        (theme,) = (await called(session, "list_themes"))["themes"]
        assert (theme["slug"], theme["display_name"], theme["count"]) == ("work", "work", 1)
        assert (await called(session, "summary"))["entries"] == 1
        told = await called(session, "why", item_id=id_, query="locker code")
        assert (told["match"]["rank"], len(told["history"]), told["role"]) == (1, 2, "user")
        assert (await called(session, "why", item_id=id_, query="umbrella"))["match"] is None
        assert not any((await called(session, "delete", item_id=id_))["left"].values())
        assert (await called(session, "search", query="locker"))["results"] == []


async def test_what_cannot_be_done_is_told_by_the_tool_and_the_session_goes_on(connect: Open, user: str) -> None:
    async with connect(user) as session:
        for name, arguments, why in HOSTILE:
            assert why in await refused(session, name, **arguments), (name, why)
        with pytest.raises(MCPError, match="no such resource"):
            await session.read_resource("memory://entries")
        assert (await called(session, "search", query="'; DROP TABLE entries; --"))["results"] == []


GIVE_AN_ID = "': give the id that search returns, or its first 8 characters or more"
HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("no_such_tool", {}, "there is no such tool"),
    ("search", {}, "query: "),
    ("search", {"query": "x" * 9000}, "query: "),
    ("search", {"query": "uv", "limit": 51}, "limit: "),
    ("search", {"query": "uv", "limit": "many"}, "limit: "),
    ("search", {"query": "uv", "types": "secret"}, "types.0: "),
    ("search", {"query": "uv", "types": {"fact": True}}, "types: "),
    ("add", {"content": "a", "type": "secret"}, "type: "),
    ("get", {"id": ""}, "id: "),
    ("delete", {"id": "nobody-has-it", "item_id": "nobody-has-that"}, "two names"),
    ("update", {"id": "nobody-has-it", "content": "", "type": None, "tags": ""}, "give what is to change"),
    ("search", {"query": {"$gt": ""}}, "query: "),
    ("search", {"query": "uv", "recency_days": -1}, "recency_days: "),
    ("add", {"type": "fact", "content": "   "}, "invalid_request"),
    ("add", {"type": "fact", "content": "x" * 70_000}, "content: "),
    ("add", {"type": "fact", "content": "a", "tags": [""]}, "tags.0: "),
    ("get", {"item_id": "../../etc/passwd"}, "not_found"),
    ("get", {"item_id": "short"}, "there is no entry 'short': give the id"),
    ("delete", {"item_id": "nobody-has-it"}, GIVE_AN_ID),
    ("update", {"item_id": "nobody-has-it", "content": "x"}, "not_found"),
    ("update", {"item_id": "nobody-has-it", "tags": []}, "not_found"),
]


async def test_arguments_are_taken_as_real_clients_send_them(opened: Opened) -> None:
    async with opened as session:
        added = await called(session, "add", content="I keep bees.", theme="", tags='["bees", "hobby"]', type=None)
        assert added["item_id"] == added["id"]
        noted = await called(session, "add", content="The hive is green.", tags="bees, paint", theme=None)
        ids = {"id": added["id"], "item_id": added["id"]}
        for given in ({"id": added["id"]}, {"item_id": added["id"]}, ids):
            got = await called(session, "get", **given)
            assert (got["item_id"], got["tags"]) == (added["id"], ["bees", "hobby"])
        assert (await called(session, "get", id=noted["id"]))["tags"] == ["bees", "paint"]
        no_filter: list[dict[str, Any]] = [
            {"types": None, "theme": None, "recency_days": None, "limit": None},
            {"types": "", "theme": "", "recency_days": "", "limit": " "},
            {"types": "[]", "limit": "5", "recency_days": "30"},
            {"types": "null", "user_id": "bob", "space": None, "random_string": "x"},
        ]
        for given in no_filter:
            found = (await called(session, "search", query="bees", **given))["results"]
            assert found[0]["item_id"] == added["id"], given
        kind = (await called(session, "get", id=added["id"]))["type"]
        for types in (f'["{kind}"]', kind, [kind], f"{kind}, decision"):
            assert (await called(session, "search", query="bees", types=types))["results"], types
        assert (await called(session, "update", id=added["id"], content="I keep wasps.", tags=""))["item_id"]
        assert (await called(session, "why", id=added["id"], query=""))["match"] is None
        assert (await called(session, "summary", random_string="dummy"))["entries"] == 2
        assert (await called(session, "delete", id=added["id"]))["item_id"] == added["id"]


async def test_an_argument_that_a_tool_does_not_have_is_left_out_and_named(
    opened: Opened,
) -> None:
    async with opened as session:
        answer = await session.call_tool("search", {"query": "uv", "space": "office", "user": "bob"})
        assert not answer.is_error
        assert "search has no argument space, user" in cast(Any, answer.content[1]).text


async def test_a_note_that_says_otherwise_is_named_with_the_one_it_may_change(
    opened: Opened, shared: Running, user: str
) -> None:
    async with opened as session:
        old = await called(session, "add", type="fact", content="User lives in Lisbon")
        new = await called(session, "add", type="fact", content="User moved to Berlin")
        await leave_change(shared.host.settings.sqlite_path, user, new["id"], old["id"], in_conflict=True)
        results = (await called(session, "search", query="where does the user live: Lisbon or Berlin?"))["results"]
        conflicts = {one["id"]: one["conflicts_with"] for one in results}
        assert conflicts == {old["id"]: [new["id"]], new["id"]: [old["id"]]}


async def test_an_assistant_hears_nothing_of_what_a_persona_was_told(
    opened: Opened, shared: Running, user: str
) -> None:
    async with opened as session:
        told = [("My sister Calpurnia lives in Rome.", "therapist", "family", "Rome", "Calpurnia")]
        told_to_all = [("I live in Lisbon.", None, "home", "Lisbon", "")]
        headers, entries = {"Memory-User": user}, f"{shared.http}/v1/memory/entries"
        async with httpx.AsyncClient(headers=headers, trust_env=False, verify=False) as http:
            for text, persona, theme, city, whose in (*told, *told_to_all):
                made = (await http.post(entries, json={"text": text, "persona_id": persona})).json()["entry"]
                await http.patch(f"{entries}/{made['id']}", json={"themes": [theme, "all"]})
                file = shared.host.settings.sqlite_path
                await leave_claim(file, user, made["id"], city, "home", whose=whose, sure=0.9)
        heard = [json.dumps(await called(session, tool)) for tool in ("summary", "list_themes")]
        for slug in ("family", "all"):
            heard.append(str(await session.read_resource(f"memory://themes/{slug}")))
        heard += [str(await session.list_resources()), str(await session.get_prompt("memory"))]
        assert not [one for one in heard for name in ("Calpurnia", "Rome", "'family'", '"family"') if name in one]
        assert "Lisbon" in heard[0]
        assert "Lisbon" in heard[3]


async def test_themes_and_entries_are_resources_and_a_prompt_tells_how_to_use_them(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened as session:
        monkeypatch.setattr(mcp_tools, "MOST_THEMES", 2)
        for n in range(3):
            await called(session, "add", type="fact", content=f"Drawer {n} holds {n * 7} spoons.", theme=f"drawer-{n}")
        listed = [str(one.uri) for one in (await session.list_resources()).resources]
        assert len(listed) == 4
        assert len(json.loads(await read(session, "memory://themes"))) == 3
        (entry,) = json.loads(await read(session, listed[1]))
        assert json.loads(await read(session, f"memory://entries/{entry['id']}"))["text"] == entry["text"]
        templates = {one.uri_template for one in (await session.list_resource_templates()).resource_templates}
        assert templates == {"memory://themes/{slug}", "memory://entries/{id}"}
        (prompt,) = (await session.list_prompts()).prompts
        text = (await session.get_prompt(prompt.name)).messages[0].content.text  # type: ignore[union-attr]
        assert text.count("drawer-") == 2
        assert "spoons" not in text, "nothing of what is remembered"


@asynccontextmanager
async def leaving(folder: Path) -> AsyncIterator[tuple[Client, Callable[[], Awaitable[None]]]]:
    """A session of a command that works in this folder, and how to end it."""
    opened, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def session() -> None:
        async with Client(command("ann", "--data", str(folder))) as client:
            opened.set_result(client)
            await over.wait()

    async def leave() -> None:
        over.set()
        await serving

    serving = asyncio.create_task(session())
    yield await asyncio.wait_for(opened, 60), leave
    await leave()


async def test_of_assistants_that_start_at_once_in_a_folder_one_goes_on_when_the_other_leaves(tmp_path: Path) -> None:
    async def found(client: Client) -> int:
        return len((await called(client, "search", query="uv"))["results"])

    async with AsyncExitStack() as stack:
        starting = (stack.enter_async_context(leaving(tmp_path / "own")) for _ in range(2))
        (first, first_leaves), (second, second_leaves) = await asyncio.gather(*starting)
        await called(first, "add", type="preference", content=PREFERENCE)
        await first_leaves()
        assert await found(second) == 1
        third, _ = await stack.enter_async_context(leaving(tmp_path / "own"))
        await second_leaves()  # of these two the one that is left did start no memorybus until now
        assert await found(third) == 1


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_with_the_memorybus_that_it_started(tmp_path: Path, signum: signal.Signals) -> None:
    started = command("ann", "--data", str(tmp_path / "own"))
    asks = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    process = await asyncio.create_subprocess_exec(
        started.command, *started.args, env=started.env, cwd=started.cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asks}).encode() + b"\n"
    )
    assert json.loads(await process.stdout.readline())["id"] == 1
    process.send_signal(signum)
    said = await asyncio.wait_for(process.stderr.read(), 60)
    assert (await process.wait(), said) == (0, b"")
    folder = FolderLock(tmp_path / "own")
    folder.acquire()
    assert folder.was_clean
    folder.release()


async def test_over_http_the_credential_names_the_user(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_GATEWAY_AUTH", "true")
    async with running(settings) as up:
        keys = KeyStore(Bus(up.host.client))
        for user, more in (("ann", {}), ("bob", {"verbs": frozenset({"read"})})):
            token, key = new_key(user, lasts=None, **more)
            await keys.put(key)
            async with over_http(up.http, authorization=f"Bearer {token}") as session:
                if user == "ann":
                    await called(session, "add", type="preference", content=PREFERENCE)
                else:
                    assert "forbidden" in await refused(session, "add", type="fact", content="I am not to write.")
                assert len((await called(session, "search", query="uv"))["results"]) == (user == "ann")
        async with httpx.AsyncClient(base_url=up.http, trust_env=False) as http:
            stranger = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            assert (stranger.status_code, stranger.json()["code"]) == (401, "unauthenticated")


async def test_other_sites_and_other_methods_are_refused(shared: Running) -> None:
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        url = f"{shared.http}/mcp"
        assert (await http.post(url, json={}, headers={"origin": "https://evil.example"})).status_code == 403
        assert (await http.get(url)).status_code == 405
        assert (await http.post(url, content=b"{")).status_code == 400
