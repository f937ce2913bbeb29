"""A change and a conflict, from what is said to what is answered, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from services.runtime import Running
from services.shared.client import memory_client
from tests.claims import leave_change
from tests.polling import digested

ANN, BOB = {"Memory-User": "ann"}, {"Memory-User": "bob"}


async def said(http: httpx.AsyncClient, up: Running, *texts: str, saved: bool = False) -> None:
    for day, text in enumerate(texts, 1):
        turn = {"role": "user", "text": text, "created_at": f"2026-03-{day:02}T10:00:00Z", "manually_saved": saved}
        assert (await http.post("/turns", json=turn, headers=ANN)).status_code == 202
        async with memory_client(up.nats) as client:
            await digested(client, turns=day)


async def changed(http: httpx.AsyncClient, up: Running, newer: str, older: str, *, in_conflict: bool = False) -> None:
    """Have one text change the other, as a reader would have it."""
    ids = {item["text"]: item["id"] for item in await listed(http, "/entries")}
    await leave_change(up.host.settings.sqlite_path, "ann", ids[newer], ids[older], in_conflict=in_conflict)


async def listed(http: httpx.AsyncClient, path: str, **params: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await http.get(path, params=params, headers=ANN)).json()["items"]
    return items


async def asked(http: httpx.AsyncClient, query: str) -> dict[str, Any]:
    found: dict[str, Any] = (await http.post("/search", json={"query": query}, headers=ANN)).json()
    return found


async def answers(http: httpx.AsyncClient, query: str) -> list[str]:
    return [item["text"] for item in (await asked(http, query))["items"]]


async def test_what_changed_is_answered_as_it_is_now_and_can_be_taken_back(
    http: httpx.AsyncClient, instance: Running
) -> None:
    old, new = "My dentist appointment is on Tuesday", "My dentist appointment has moved from Tuesday to Thursday"
    await said(http, instance, old, "I like walks", new)
    await changed(http, instance, new, old)
    (was,) = await listed(http, "/entries", status="superseded")
    assert (was["text"], was["valid_until"]) == (old, "2026-03-03T10:00:00Z")
    assert await answers(http, "when is my dentist appointment?") == [new]
    reply = await asked(http, "when is my dentist appointment?")
    ((before,),) = [item["before"] for item in reply["items"]]
    assert (before["text"], before["until"]) == (old, "2026-03-03T10:00:00Z")
    assert f"{new} [before: {old} (until 2026-03-03)]" in reply["context"]

    pair = {"newer": was["superseded_by"], "older": was["id"], "keep": "both"}
    assert (await http.post("/conflicts/resolve", json=pair, headers=BOB)).status_code == 404
    assert (await http.post("/conflicts/resolve", json=pair, headers=ANN)).json()["older"]["status"] == "active"
    assert set(await answers(http, "when is my dentist appointment?")) == {old, new}
    assert "before:" not in (await asked(http, "when is my dentist appointment?"))["context"]


async def test_a_change_of_what_was_saved_is_listed_and_settled(http: httpx.AsyncClient, instance: Running) -> None:
    old, new = "My landlord is called Huber", "My landlord is now called Hofer"
    await said(http, instance, old, new, saved=True)
    await changed(http, instance, new, old, in_conflict=True)
    (conflict,) = await listed(http, "/conflicts")
    assert (conflict["older"]["text"], conflict["newer"]["text"]) == (old, new)
    assert (await http.get("/conflicts", params={"cursor": "no cursor"}, headers=ANN)).status_code == 422
    pair = {"newer": conflict["newer"]["id"][:8], "older": conflict["older"]["id"][:12], "keep": "new"}
    for wrong in ({"newer": "nope"}, {"older": "c2dca980"}):
        answer = await http.post("/conflicts/resolve", json=pair | wrong, headers=ANN)
        assert (answer.status_code, *wrong.values()) == (404, answer.json()["detail"].split("'")[1])
    assert (await http.post("/conflicts/resolve", json=pair, headers=ANN)).status_code == 200
    assert (await http.get("/conflicts", headers=ANN)).json()["items"] == []
    assert await answers(http, "who is my landlord?") == [new]
