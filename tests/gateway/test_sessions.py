"""Sessions over HTTP: from what is said to what it amounts to."""

from __future__ import annotations

import httpx

from services.runtime import Running
from services.shared.settings import Settings
from tests.claims import leave_task
from tests.gateway.test_conflicts import ANN, BOB, said


async def test_a_session_is_listed_and_summed_up(
    http: httpx.AsyncClient, instance: Running, settings: Settings
) -> None:
    text = "I'll send Clara the marmalade by Friday"
    await said(http, instance, text)
    (entry,) = (await http.get("/entries", headers=ANN)).json()["items"]
    await leave_task(settings.sqlite_path, "ann", entry["id"])
    reply = (await http.get("/sessions", headers=ANN)).json()
    (session,) = reply["items"]
    assert (session["turn_count"], session["started_at"]) == (1, "2026-03-01T10:00:00Z")
    one = (await http.get(f"/sessions/{session['id']}", headers=ANN)).json()
    ((loop,), ids) = (one["summary"]["open_loops"], one["entry_ids"])
    assert (loop["text"], loop["source_ids"]) == (text, ids)
    assert (await http.get(f"/sessions/{session['id']}", headers=BOB)).status_code == 404
    assert (await http.get("/sessions", headers=BOB)).json()["items"] == []
    assert (await http.get("/summary", headers=ANN)).json()["spine"]["open_loops"][0]["text"] == text
    assert (await http.get("/sessions", params={"cursor": "no cursor"}, headers=ANN)).status_code == 422
