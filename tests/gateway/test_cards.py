"""Cards over HTTP: from what is said to whom it is about, and names that a user decides about."""

from __future__ import annotations

import httpx

from services.runtime import Running
from tests.gateway.test_conflicts import ANN, BOB, asked, said


async def test_names_are_joined_told_apart_and_told_on_top(http: httpx.AsyncClient, instance: Running) -> None:
    await said(http, instance, "My sister Sarah lives in Oslo", "My sister Sara has a new job")
    (card,) = (await http.get("/cards", headers=ANN)).json()["items"]
    assert (set(card["names"]), len(card["facts"])) == ({"Sarah", "Sara"}, 2)
    assert (await http.get("/cards", params={"name": "Bob"}, headers=ANN)).json()["items"] == []
    assert (await http.get("/cards", headers=BOB)).json()["items"] == []
    (told,) = (await asked(http, "where does Sara live?"))["entity_cards"]
    assert told == {"entity": "person:sara", "facts": ["Sara is their sister"]}  # no recognizer runs: it is one name

    names = {"one": "Sara", "other": "Sarah"}
    assert (await http.post("/cards/names", json=names | {"same": False}, headers=ANN)).json()["same"] is False
    reply = (await http.get("/cards", headers=ANN)).json()
    assert ({one["label"] for one in reply["items"]}, len(reply["decided"])) == ({"Sarah", "Sara"}, 1)
    assert (await http.post("/cards/names", json=names, headers=ANN)).status_code == 422
    assert (
        await http.post("/cards/names", json={"one": "Sara", "other": "sara", "same": True}, headers=ANN)
    ).status_code == 422
