"""Users at once, by every kind of credential and over the bus: nobody reads or changes what is another's."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import httpx
import jwt
import pytest

from contracts.v1.commands import ForgetRequest, GetRequest, ListRequest
from contracts.v1.retrieval import RetrieveRequest
from services.gateway.keys import KeyStore, new_key
from services.runtime import Running
from services.shared.client import MemoryClient, RequestFailed
from tests.sizes import LONG

USERS, ROUNDS, AT_ONCE = (50, 140, 8) if LONG else (10, 6, 4)
SECRET = "a secret of the issuer, long enough to be one"
SPACES = ("home", "work")
VERBS = ("add", "list", "search", "get", "meddle", "on_the_bus")
KINDS = 2 * (1 + len(SPACES))
"""A key and a JWT for all spaces, and for each alone."""

ACTIONS = ROUNDS * len(VERBS) * KINDS

REACHES: tuple[tuple[str, str, Any], ...] = (
    ("GET", "", None),
    ("GET", "/history", None),
    ("PATCH", "", {"text": "Mine now."}),
    ("POST", "/pin", {}),
    ("DELETE", "/pin", None),
    ("DELETE", "", None),
)
"""All that may be done to an entry by its id."""


@dataclass
class Person:
    """A user, the credentials by the spaces they open, and the entries that are the user's."""

    name: str
    credentials: dict[str, frozenset[str]] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)


@pytest.fixture(autouse=True)
def asks_for_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AUTH": "true", "JWT_SECRET": SECRET, "REQUESTS_PER_MINUTE": "0"}.items():
        monkeypatch.setenv(f"MEMORYBUS_GATEWAY_{name}", value)
    for kind in ("QUERIES", "TOOL_QUERIES"):
        monkeypatch.setenv(f"MEMORYBUS_GATEWAY_{kind}_PER_MINUTE", "0")


async def person(name: str, client: MemoryClient) -> Person:
    made = Person(name)
    for spaces in (None, *({one} for one in SPACES)):
        token, key = new_key(name, lasts=None, spaces=spaces)
        await KeyStore(client.bus).put(key)
        claims = {"sub": name, "aud": "memorybus", "exp": int(time.time()) + 900}
        signed = jwt.encode(claims | ({"spaces": sorted(spaces)} if spaces else {}), SECRET, "HS256")
        made.credentials |= dict.fromkeys((token, signed), frozenset(spaces or SPACES))
    return made


class Crowd:
    """Does random things in the name of random users, and looks at all that comes back."""

    def __init__(self, people: list[Person], http: httpx.AsyncClient, client: MemoryClient, seed: int) -> None:
        self.people, self.http, self.client = people, http, client
        self.random = random.Random(seed)
        self.refused = 0

    async def act(self, verb: str, kind: int) -> None:
        who, other = self.random.sample(self.people, 2)
        token, spaces = list(who.credentials.items())[kind]
        await getattr(self, verb)(who, other, {"Authorization": f"Bearer {token}"}, spaces)

    def space(self) -> str:
        return self.random.choice(SPACES)

    async def add(
        self, who: Person, other: Person, headers: dict[str, str], spaces: frozenset[str], space: str = ""
    ) -> None:
        space, number = space or self.space(), self.random.randrange(10**9)
        text = f"[{who.name}] the {space} drawer {number} holds spoons."
        answer = await self.http.post("/entries", json={"text": text, "space": space}, headers=headers)
        if space not in spaces:
            assert answer.status_code == 403
            return
        entry = answer.json()["entry"]
        assert (entry["user_id"], entry["space"]) == (who.name, space)
        who.entries[entry["id"]] = space

    async def list(self, who: Person, other: Person, headers: dict[str, str], spaces: frozenset[str]) -> None:
        space = self.random.choice([None, *SPACES])
        answer = await self.http.get("/entries", params={"space": space} if space else {}, headers=headers)
        self.look(answer, who, spaces)

    async def search(self, who: Person, other: Person, headers: dict[str, str], spaces: frozenset[str]) -> None:
        body = {"query": f"[{other.name}] drawer spoons", "space": self.space(), "min_score": 0}
        self.look(await self.http.post("/search", json=body, headers=headers), who, spaces)

    async def get(self, who: Person, other: Person, headers: dict[str, str], spaces: frozenset[str]) -> None:
        if who.entries:
            id_, space = self.random.choice(list(who.entries.items()))
            answer = await self.http.get(f"/entries/{id_}", headers=headers)
            assert answer.status_code == (200 if space in spaces else 404)

    async def meddle(self, who: Person, other: Person, headers: dict[str, str], spaces: frozenset[str]) -> None:
        """Reach for what is another's, by id, and by naming the other."""
        self.refused += 1
        id_ = next(iter(other.entries))
        for method, path, body in REACHES:
            answer = await self.http.request(method, f"/entries/{id_}{path}", json=body, headers=headers)
            assert answer.status_code == 404, (method, path)
        together = await self.http.post("/entries/bulk", json={"ids": [id_], "action": "forget"}, headers=headers)
        assert together.status_code == 404 or together.json()["done"] == []
        named = {"query": "x", "user_id": other.name}
        assert (await self.http.post("/search", json=named, headers=headers)).status_code == 422
        assert (await self.http.get("/entries", headers=headers | {"Memory-User": other.name})).status_code == 400
        self.look(await self.http.get("/entries", headers=headers | {"X-User": other.name}), who, spaces)

    async def on_the_bus(self, who: Person, other: Person, headers: dict[str, str], spaces: frozenset[str]) -> None:
        listed = await self.client.list(ListRequest(user_id=who.name))
        assert {entry.user_id for entry in listed.items} <= {who.name}
        found = await self.client.retrieve(RetrieveRequest(user_id=who.name, query=other.name, space=self.space()))
        assert all(item.text.startswith(f"[{who.name}]") for item in found.items)
        for id_ in list(other.entries)[:1]:
            with pytest.raises(RequestFailed, match="not_found"):
                await self.client.get(GetRequest(user_id=who.name, id=id_))
            with pytest.raises(RequestFailed, match="not_found"):
                await self.client.forget(ForgetRequest(user_id=who.name, id=id_))

    def look(self, answer: httpx.Response, who: Person, spaces: frozenset[str]) -> None:
        """Every memory in an answer is the user's own and of a space that the credential opens."""
        if answer.status_code == 403:
            assert len(spaces) < len(SPACES)
            return
        assert answer.status_code == 200, answer.text
        for item in answer.json()["items"]:
            assert item["text"].startswith(f"[{who.name}] the {item['space']} "), answer.text
            assert item["space"] in spaces


def everything(seed: int) -> Iterator[tuple[str, int]]:
    """Every verb with every kind of credential, in a random order, again and again."""
    some = list(product(VERBS, range(KINDS)))
    random.Random(seed).shuffle(some)
    return iter(some * ROUNDS)


async def test_nobody_reads_or_changes_what_is_anothers(instance: Running, client: MemoryClient) -> None:
    people = [await person(f"user-{n}", client) for n in range(USERS)]
    plan = everything(seed=0)
    async with httpx.AsyncClient(
        base_url=f"{instance.http}/v1/memory", trust_env=False, verify=False, timeout=30
    ) as http:
        crowds = [Crowd(people, http, client, seed) for seed in range(AT_ONCE)]
        for one, space in product(people, SPACES):
            headers = {"Authorization": f"Bearer {next(iter(one.credentials))}"}
            await crowds[0].add(one, one, headers, frozenset(SPACES), space)

        async def acting(crowd: Crowd) -> None:
            for verb, kind in plan:
                await crowd.act(verb, kind)

        await asyncio.gather(*map(acting, crowds))
        for one in people:  # nothing was taken away either
            listed: Any = await client.list(ListRequest(user_id=one.name, limit=1000))
            assert {entry.id for entry in listed.items} == set(one.entries)
            assert not any(entry.pinned for entry in listed.items)
    assert sum(crowd.refused for crowd in crowds) == ACTIONS // len(VERBS)
    assert sum(len(one.entries) for one in people) > USERS * len(SPACES) + ACTIONS / 20
