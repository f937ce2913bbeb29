"""A change, from what is said to what is answered, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from services.runtime import Running
from services.shared.client import MemoryClient
from tests.claims import leave_change
from tests.polling import digested

ANN, BOB = {"Memory-User": "ann"}, {"Memory-User": "bob"}
OLD, NEW = "My dentist appointment is on Tuesday", "My dentist appointment has moved from Tuesday to Thursday"


async def test_what_changed_is_answered_as_it_is_now_and_can_be_taken_back(
    ann: httpx.AsyncClient, http: httpx.AsyncClient, client: MemoryClient, instance: Running
) -> None:
    async def asked() -> dict[str, Any]:
        found = await ann.post("/search", json={"query": "when is my dentist appointment?"})
        return dict(found.json())

    for day, text in enumerate((OLD, NEW), 1):
        turn = {"role": "user", "text": text, "created_at": f"2026-03-0{day}T10:00:00Z"}
        await ann.post("/turns", json=turn)
    await digested(client, turns=2)
    ids = {one["text"]: one["id"] for one in (await ann.get("/entries")).json()["items"]}
    await leave_change(instance.host.settings.sqlite_path, "ann", ids[NEW], ids[OLD])

    (was,) = (await ann.get("/entries", params={"status": "superseded"})).json()["items"]
    assert (was["text"], was["valid_until"]) == (OLD, "2026-03-02T10:00:00Z")
    reply = await asked()
    ((before,),) = [item["before"] for item in reply["items"]]
    assert (before["text"], before["until"]) == (OLD, "2026-03-02T10:00:00Z")
    assert f"{NEW} [before: {OLD} (until 2026-03-02)]" in reply["context"]

    pair = {"newer": was["superseded_by"][:8], "older": was["id"][:12], "keep": "both"}
    assert (await http.post("/conflicts/resolve", json=pair, headers=BOB)).status_code == 404
    for wrong in ({"newer": "nope"}, {"older": "c2dca980"}):
        answer = await ann.post("/conflicts/resolve", json=pair | wrong)
        assert (answer.status_code, *wrong.values()) == (404, answer.json()["detail"].split("'")[1])
    assert (await ann.post("/conflicts/resolve", json=pair)).json()["older"]["status"] == "active"
    reply = await asked()
    assert {item["text"] for item in reply["items"]} == {OLD, NEW}
    assert "before:" not in reply["context"]
    for path in ("/conflicts", "/sessions"):
        assert (await ann.get(path, params={"cursor": "no cursor"})).status_code == 422
