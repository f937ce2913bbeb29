"""API keys: what each opens, and that it opens nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from contracts import subjects
from contracts.flow import FLOW
from services.cli import app as cli
from services.cli.up import _tell_of_limited_keys
from services.gateway.callers import Caller
from services.gateway.keys import KNOWN_VERBS, READ, KeyRing, KeyStore, new_key
from services.gateway.limits import RateLimits
from services.gateway.settings import GatewaySettings
from services.runtime import Running
from services.shared import telemetry
from services.shared.client import MemoryClient
from tests.flow.raw import contents
from tests.polling import eventually


@pytest.fixture(autouse=True)
def asks_for_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_GATEWAY_AUTH", "true")


async def a_key(memory: MemoryClient, user: str = "ann", *, lasts: timedelta | None = None, **more: Any) -> str:
    token, key = new_key(user, lasts=lasts, **more)
    await KeyStore(memory.bus).put(key)
    return token


@asynccontextmanager
async def asking(instance: Running, token: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        base_url=f"{instance.http}/v1/memory", headers=headers, trust_env=False, verify=False
    ) as http:
        yield http


async def test_a_key_is_its_user_and_nobody_comes_in_without(instance: Running, client: MemoryClient) -> None:
    async with asking(instance, await a_key(client)) as ann, asking(instance, await a_key(client, "bob")) as bob:
        entry = (await ann.post("/entries", json={"text": "I prefer uv over pip"})).json()["entry"]
        assert entry["user_id"] == "ann"
        assert (await ann.get(f"/entries/{entry['id']}")).status_code == 200
        assert (await bob.get(f"/entries/{entry['id']}")).status_code == 404
        assert (await ann.get("/entries", headers={"Memory-User": "bob"})).status_code == 400
    async with httpx.AsyncClient(base_url=instance.http, trust_env=False, verify=False) as nobody:
        for path in ("/v1/memory/entries", "/v1/memory/status"):
            assert (await nobody.get(path)).status_code == 401
        assert (await nobody.get("/openapi.json")).status_code == 200


async def test_a_key_that_was_changed_expired_or_revoked_opens_nothing(instance: Running, client: MemoryClient) -> None:
    good = await a_key(client)
    id_ = good.split("_")[1]
    expired = await a_key(client, lasts=timedelta(seconds=-1))
    strange = [f"mb_{id_}_{'A' * 43}", good[:-1], f"{good}x", f"mb_{'0' * 16}_{good[-43:]}", expired, "mb_"]
    for token in strange:
        async with asking(instance, token) as http:
            assert (await http.get("/status")).status_code == 401, token
    async with asking(instance, good) as http:
        assert (await http.get("/status")).status_code == 200
        assert await KeyStore(client.bus).revoke(id_)

        async def answered() -> int:
            return (await http.get("/status")).status_code

        await eventually(answered, lambda status: status == 401)
    assert not await KeyStore(client.bus).revoke(id_)
    other = (await a_key(client)).split("_")[1]
    for id_ in ("*", ">", "?" * 16, "", f"{other} "):
        assert (await KeyStore(client.bus).get(id_), await KeyStore(client.bus).revoke(id_)) == (None, False), id_
    assert other in [key.id for key in await KeyStore(client.bus).all()]


async def test_a_key_opens_its_verbs(instance: Running, client: MemoryClient) -> None:
    reads, lists = await a_key(client, verbs={"read"}), await a_key(client, verbs={"entries.list"})
    async with asking(instance, reads) as http:
        assert (await http.post("/search", json={"query": "x"})).status_code == 200
        assert (await http.get("/entries")).status_code == 200
        for path in ("/entries", "/turns", "/erase"):
            assert (await http.post(path, json={"text": "x", "role": "user"})).status_code in (403, 422)
        assert (await http.post("/erase", json={})).status_code == 403
        assert (await http.post("/entries", json={"text": "x"})).status_code == 403
    async with asking(instance, lists) as http:
        assert (await http.get("/entries")).status_code == 200
        assert (await http.get("/status")).status_code == 403
        assert (await http.post("/search", json={"query": "x"})).status_code == 403


async def test_a_key_opens_its_spaces(instance: Running, client: MemoryClient) -> None:
    whole, work = await a_key(client), await a_key(client, spaces={"work"})
    two = await a_key(client, spaces={"work", "trips"})
    async with asking(instance, whole) as all_, asking(instance, work) as one, asking(instance, two) as both:
        home = (await all_.post("/entries", json={"text": "The spare key is below the stone.", "space": "home"})).json()
        own = (await one.post("/entries", json={"text": "The stand-up is at nine."})).json()["entry"]
        assert own["space"] == "work"
        assert [e["id"] for e in (await one.get("/entries")).json()["items"]] == [own["id"]]
        assert (await one.get(f"/entries/{own['id']}")).status_code == 200
        for http in (one, both):
            assert (await http.get("/entries", params={"space": "home"})).status_code == 403
            assert (await http.post("/search", json={"query": "key", "space": "home"})).status_code == 403
            assert (await http.post("/turns", json={"text": "x", "role": "user", "space": "home"})).status_code == 403
            assert (await http.get(f"/entries/{home['entry']['id']}")).status_code == 404
            assert (await http.delete(f"/entries/{home['entry']['id'][:8]}")).status_code == 404
            assert (await http.get("/status")).status_code == 403
            assert (await http.post("/erase", json={})).status_code == 403
        assert (await both.get("/entries")).status_code == 403
        assert (await all_.get(f"/entries/{home['entry']['id']}")).status_code == 200


async def test_a_key_for_some_spaces_neither_decides_for_all_nor_hears_of_themes_elsewhere(
    instance: Running, client: MemoryClient
) -> None:
    every, work = await a_key(client, "gus"), await a_key(client, "gus", spaces={"work", "*"})
    async with asking(instance, every) as http:
        await http.post("/themes", json={"slug": "divorce", "display_name": "Divorce"})
        made = (await http.post("/entries", json={"text": "The lease ends in May", "space": "work"})).json()["entry"]
        await http.patch(f"/entries/{made['id']}", json={"themes": ["office"]})
        assert {one["slug"] for one in (await http.get("/themes")).json()["items"]} == {"divorce", "office"}
    async with asking(instance, work) as http:
        refused = await http.post("/settings", json={"space": "*", "memory_enabled": False})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        themes = (await http.get("/themes", params={"space": "work"})).json()["items"]
        assert {one["slug"] for one in themes} == {"office"}


async def test_a_key_for_some_spaces_does_not_decide_what_passes_between_spaces(
    instance: Running, client: MemoryClient
) -> None:
    every, work = await a_key(client, "hal"), await a_key(client, "hal", spaces={"work"})
    async with asking(instance, every) as http:
        await http.post("/settings", json={"space": "*", "gives_tags": ["health"], "takes_tags": ["health"]})
        await http.post("/settings", json={"space": "work", "takes_tags": [], "gives_tags": []})
        await http.post("/entries", json={"text": "The mole was removed in May", "tags": ["health"]})
    bodies: list[dict[str, Any]] = [
        {"space": "work", "change": {"takes_tags": ["health"]}},
        {"takes_tags": ["health"], "soft_cap": 9},
        {"space": "work", "reset": ["takes_tags"]},
        {"space": "work", "gives_tags": ["health"]},
        {"space": "work", "reset": ["gives_tags", "soft_cap"]},
    ]
    async with asking(instance, work) as http:
        for body in bodies:
            refused = await http.post("/settings", json=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), body
        assert not (await http.post("/search", json={"query": "when was the mole removed?"})).json()["items"]
        held = (await http.get("/settings")).json()["own"]
        assert (held["takes_tags"], held["gives_tags"], held.get("soft_cap")) == ([], [], None)
        assert (await http.post("/settings", json={"soft_cap": 9, "takes_tags": None})).status_code == 200


async def test_a_credential_that_comes_twice_opens_nothing(instance: Running, client: MemoryClient) -> None:
    key = await a_key(client)
    async with asking(instance, key) as http:
        del http.headers["Authorization"]
        twice = [("Authorization", f"Bearer {key}"), ("Authorization", "Bearer x")]
        assert (await http.get("/entries", headers=twice)).status_code == 400


async def test_a_tool_asks_ten_times_a_minute_and_then_hears_nothing_without_an_error(
    instance: Running, client: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.gateway.limits.time.time", lambda: 1_800_000_000.0)
    tool, person = await a_key(client), await a_key(client, client="person")
    async with asking(instance, tool) as http, asking(instance, person) as by_hand:
        await http.post("/entries", json={"text": "I prefer uv over pip"})
        answers = [(await http.post("/search", json={"query": "uv or pip?", "min_score": 0})) for _ in range(12)]
        assert {answer.status_code for answer in answers} == {200}
        degraded = ["rate_limited" in answer.json()["degraded"] for answer in answers]
        assert degraded == [False] * 10 + [True] * 2
        assert answers[9].json()["items"]
        assert not answers[10].json()["items"]
        left = [answer.headers["ratelimit"] for answer in answers]
        assert left[::9] == ['"tool-queries";r=9;t=60', '"tool-queries";r=0;t=60']
        assert left[10] == left[9]
        assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"tool-queries";q=10;w=60'}
        assert "rate_limited" not in (await by_hand.post("/search", json={"query": "uv or pip?"})).json()["degraded"]
        for searching in (
            http.get("/entries", params={"q": "uv"}),
            http.post("/commands", json={"text": "what do you remember about uv?"}),
            http.post("/commands", json={"text": "what do you remember about uv?", "confirm": "x"}),
            http.post("/commands", json={"text": "why do you think that I prefer uv?"}),
            http.post("/commands", json={"text": "forget everything about uv"}),
        ):
            refused = await searching
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
            assert refused.headers["ratelimit"] == left[10]
        assert (await http.get("/entries")).json()["total_count"] == 1
        assert (await http.post("/commands", json={"text": "pin that"})).status_code == 200
        about = {"text": "forget everything about uv", "confirm": "x"}
        assert (await http.post("/commands", json=about)).status_code == 422  # no token, and none too many


def test_so_many_queries_begin_before_they_are_counted_as_the_limit_allows(
    client: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_800_000_000.0]
    monkeypatch.setattr("services.gateway.limits.time.time", lambda: now[0])
    limits = RateLimits(client.bus, GatewaySettings(tool_queries_per_minute=2, queries_per_minute=0))
    tool, person = Caller("ann", client="tool"), Caller("ann")
    assert [limits.may_begin(tool) for _ in range(4)] == [True, True, False, False]
    assert limits.may_begin(Caller("bob", client="tool"))
    assert all(limits.may_begin(person) for _ in range(200)), "0 is no limit"
    now[0] += 60
    assert limits.may_begin(tool)


async def test_what_is_not_counted_is_told_and_counted_again_soon(instance: Running, client: MemoryClient) -> None:
    def uncounted() -> float:
        (family,) = telemetry.RATES_NOT_COUNTED.collect()
        return sum(sample.value for sample in family.samples if sample.name.endswith("_total"))

    async with asking(instance, await a_key(client)) as http:

        async def search() -> httpx.Response:
            return await http.post("/search", json={"query": "uv"})

        assert "ratelimit" in (await search()).headers
        await client.bus.js.delete_stream(subjects.LIMITS_STREAM.name)
        before = uncounted()
        answer = await search()
        assert (answer.status_code, "ratelimit" in answer.headers, uncounted()) == (200, False, before + 1)
        await eventually(search, lambda answer: "ratelimit" in answer.headers, within=30)


async def test_what_is_counted_names_nobody(instance: Running, client: MemoryClient) -> None:
    async with asking(instance, await a_key(client, "s3cretUSER")) as http:
        await http.post("/search", json={"query": "s3cretQUERY"})
    state = await client.bus.state(subjects.LIMITS_STREAM.name, f"{subjects.LIMITS}.>")
    assert len(state.subjects or {}) == 1
    assert "s3cret" not in str(state.subjects)


async def test_at_the_start_it_is_told_that_keys_are_of_tools(
    instance: Running, client: MemoryClient, capsys: pytest.CaptureFixture[str]
) -> None:
    await a_key(client, client="person")
    await a_key(client, client="tool", lasts=timedelta(seconds=-1))
    await _tell_of_limited_keys(instance)
    assert capsys.readouterr().out == ""
    await a_key(client, client="tool")
    await _tell_of_limited_keys(instance)
    told = " ".join(capsys.readouterr().out.split())
    assert "1 key of tools may ask 10 questions a minute" in told
    assert "--client person" in told


async def test_of_a_key_only_a_hash_is_kept(instance: Running, client: MemoryClient) -> None:
    token = await a_key(client)
    (key,) = await KeyStore(client.bus).all()
    assert token[-43:] not in key.model_dump_json()
    assert await KeyRing(KeyStore(client.bus)).key_of(token) == key
    folder = instance.host.settings.data
    kept = b"".join(data for _, data in contents(folder))
    assert key.digest.encode() in kept
    assert token[-43:].encode() not in kept


def test_operators_make_list_and_revoke_keys(shared: Running) -> None:
    """At the command line, against a memorybus of its own process."""
    where = ["--nats", shared.nats]

    def said(*command: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli, ["keys", *command, *where])
        assert result.exit_code == code, result.output
        return result.output

    options = ("--space", "work", "--verb", "read", "--days", "30", "--note", "for tests", "--json")
    made = json.loads(said("create", "--user", "ann", *options))
    assert made["key"].startswith(f"mb_{made['id']}_")
    (listed,) = map(json.loads, said("list", "--user", "ann", "--json").splitlines())
    assert listed == {name: value for name, value in made.items() if name != "key"}
    assert "digest" not in listed
    assert "for tests" in said("list")
    assert "no end" not in said("list")
    assert made["client"] == "person", "a chat through it keeps its memory"
    assert said("create", "--user", "bob").strip().splitlines()[-1].startswith("mb_")
    assert "120 questions a minute, as a person" in said("create", "--user", "bob")
    assert "10 questions a minute, as a tool" in said("create", "--user", "bob", "--client", "tool")
    assert "no end" in said("list")
    assert "1 key revoked" in said("revoke", made["id"])
    assert said("list", "--user", "ann", "--json") == ""
    assert made["id"] in said("revoke", made["id"], code=1)
    assert "there is no key *" in said("revoke", "*", code=1)
    wide = json.loads(said("create", "--user", "u" * 60, "--space", "s" * 60, "--note", "n" * 60, "--json"))
    assert wide["id"] in said("list")
    audited = CliRunner().invoke(cli, ["audit", "--json", *where]).output
    assert "keys.create" in audited
    assert "keys.revoke" in audited
    before = said("list", "--json")
    assert "--client is one of" in said("create", "--user", "ann", "--client", "robot", code=1)
    unknown = said("create", "--user", "ann", "--verb", "read", "--verb", "nonsense", code=1)
    assert "there is no verb nonsense; there are" in unknown
    assert "entries.list" in unknown
    for days in ("inf", "1e300", "4000000"):
        assert "error: --days is 36,500 at most" in said("create", "--user", "ann", "--days", days, code=1)
    for space in ("", " "):
        assert "error: --space names a space" in said("create", "--user", "ann", "--space", space, code=1)
    assert said("list", "--json") == before


@pytest.mark.parametrize("command", [("create", "--user", "ann"), ("list",), ("revoke", "0" * 16)])
def test_where_nothing_runs_keys_are_not_made_and_it_is_said_in_a_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = CliRunner().invoke(cli, ["keys", *command, "--data", str(tmp_path / "nothing")])
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert result.output.startswith("error: ")


def test_verbs_that_may_be_in_a_key_are_those_that_paths_ask_for() -> None:
    asked = {READ, "turns", "live", *(answer.name for step in FLOW for answer in step.answers)}
    assert {one for one in asked if not one.startswith("ops.")} == KNOWN_VERBS
    assert new_key("ann", lasts=None, verbs=set(KNOWN_VERBS))[1].verbs == KNOWN_VERBS
