"""Cards over HTTP: from what is said to whom it is about, and names that a user decides about."""

from __future__ import annotations

import httpx

from services.runtime import Running
from services.shared.settings import Settings
from tests.claims import leave_claim, leave_task
from tests.gateway.test_conflicts import ANN, BOB, asked, said


async def test_names_are_joined_told_apart_and_told_on_top(http: httpx.AsyncClient, instance: Running) -> None:
    await said(http, instance, "José lives in Oslo", "Jose has a new job at Zara")
    listed = (await http.get("/entries", headers=ANN)).json()["items"]
    ids, file = {one["text"]: one["id"] for one in listed}, instance.host.settings.sqlite_path
    await leave_claim(file, "ann", ids["José lives in Oslo"], "Oslo", "home", whose="José", sure=0.9)
    await leave_claim(file, "ann", ids["Jose has a new job at Zara"], "Zara", "employer", whose="Jose", sure=0.9)
    (card,) = (await http.get("/cards", headers=ANN)).json()["items"]
    assert (set(card["names"]), len(card["facts"])) == ({"José", "Jose"}, 2)
    assert (await http.get("/cards", params={"name": "Bob"}, headers=ANN)).json()["items"] == []
    assert (await http.get("/cards", headers=BOB)).json()["items"] == []
    (told,) = (await asked(http, "where does Jose live?"))["entity_cards"]
    assert set(told["facts"]) == set(ids)

    names = {"one": "José", "other": "Jose"}
    assert (await http.post("/cards/names", json=names | {"same": False}, headers=ANN)).json()["same"] is False
    reply = (await http.get("/cards", headers=ANN)).json()
    assert ({one["label"] for one in reply["items"]}, len(reply["decided"])) == ({"José", "Jose"}, 1)
    assert (await http.post("/cards/names", json=names | {"same": None}, headers=ANN)).json()["same"] is None
    assert len((await http.get("/cards", headers=ANN)).json()["items"]) == 1
    assert (
        await http.post("/cards/names", json={"one": "Sara", "other": "sara", "same": True}, headers=ANN)
    ).status_code == 422


async def test_what_is_to_be_done_is_listed_and_settled(
    http: httpx.AsyncClient, instance: Running, settings: Settings
) -> None:
    await said(http, instance, "I need to renew my passport by 12 April")
    (entry,) = (await http.get("/entries", headers=ANN)).json()["items"]
    await leave_task(settings.sqlite_path, "ann", entry["id"])
    (loop,) = (await http.get("/loops", headers=ANN)).json()["items"]
    assert (loop["due_on"], loop["state"]) == ("2026-04-12", "open")
    assert (await http.get("/loops", headers=BOB)).json()["items"] == []
    done = {"id": loop["id"], "state": "done"}
    assert (await http.post("/loops/settle", json=done, headers=BOB)).status_code == 404
    assert (await http.post("/loops/settle", json=done | {"state": "lost"}, headers=ANN)).status_code == 422
    assert (await http.post("/loops/settle", json=done, headers=ANN)).json()["loop"]["decided"] is True
    assert (await http.get("/loops", headers=ANN)).json()["items"] == []
    assert len((await http.get("/loops", params={"state": "all"}, headers=ANN)).json()["items"]) == 1


async def test_what_is_known_from_the_start_is_given_once(http: httpx.AsyncClient, instance: Running) -> None:
    facts = {"facts": ["I live in Lisbon", "My sister Clara lives in Oslo"]}
    first = (await http.post("/profile", json=facts, headers=ANN)).json()["items"]
    assert (await http.post("/profile", json=facts, headers=ANN)).json()["items"] == first
    (one, other) = (await http.get("/entries", headers=ANN)).json()["items"]
    assert {one["repeat_count"], other["repeat_count"], *one["source_ids"]} == {0, "seeded_profile"}
    assert (await http.post("/profile", json={"facts": []}, headers=ANN)).status_code == 422
    assert (await http.get("/themes/proposals", headers=ANN)).json()["items"] == []
