"""Whether something is so, decided over HTTP with what the profile said, by its user alone, and kept account of."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
from memorybus_client import Memory
from typer.testing import CliRunner

from services.cli import app as cli
from services.shared.settings import Settings
from tests.claims import leave_claim
from tests.gateway.test_conflicts import ANN, BOB
from tests.polling import eventually

TEXT = "Thinking about it, Porto feels right."


async def test_a_fact_is_confirmed_rejected_and_left_open_again(http: httpx.AsyncClient, settings: Settings) -> None:
    made = await http.post("/entries", json={"text": TEXT}, headers=ANN)
    id_ = made.json()["entry"]["id"]
    await leave_claim(settings.sqlite_path, "ann", id_, "Porto", "home")
    (fact,) = (await http.get("/profile", headers=ANN)).json()["facts"]
    assert (fact["value"], fact["is_likely"], fact["decided"]) == ("Porto", True, False)

    for is_so, told in ((True, [("Porto", False, True)]), (False, []), (None, [("Porto", True, False)])):
        body = {"id": fact["id"], "is_so": is_so}
        answer = await http.post("/profile/decide", json=body, headers=ANN)
        assert (answer.status_code, answer.json()["id"], answer.json()["is_so"]) == (200, fact["id"], is_so)
        facts = (await http.get("/profile", headers=ANN)).json()["facts"]
        assert [(one["value"], one["is_likely"], one["decided"]) for one in facts] == told

    assert (await http.post("/profile/decide", json={"id": fact["id"], "is_so": True}, headers=BOB)).status_code == 404
    assert (await http.post("/profile/decide", json={"id": "nothing", "is_so": True}, headers=ANN)).status_code == 404
    assert (await http.post("/profile/decide", json={"is_so": True}, headers=ANN)).status_code == 422

    async def audited() -> list[tuple[str, list[str]]]:
        items = (await http.get("/audit", headers=ANN)).json()["items"]
        return [(item["outcome"], item["about"]) for item in items if item["verb"] == "memory.decide"]

    done = await eventually(audited, lambda found: len(found) == 4)
    assert [about for outcome, about in done if outcome == "ok"] == [[id_]] * 3


def test_a_fact_is_decided_on_the_command_line(tmp_path: Path, up: str) -> None:
    def said(*options: str) -> str:
        done = CliRunner().invoke(cli, ["profile", "--user", "ann", "--nats", up, *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    memory = Memory(up, user="ann")
    entry = memory.remember(TEXT)
    memory.close()
    file = Settings(data=tmp_path / "up").sqlite_path
    asyncio.run(leave_claim(file, "ann", entry.id, "Porto", "home"))
    id_ = f"{entry.id}:19-24:home"
    assert f"perhaps: home: Porto · {TEXT}" in said()
    assert f"(--is-so {id_}, or --not-so)" in said()
    assert said("--is-so", id_) == f"{id_}: is so\n"
    assert (TEXT in said(), "perhaps" in said()) == (True, False)
    assert said("--not-so", id_) == f"{id_}: is not so, and is told no more\n"
    assert said() == "no facts are known\n"
    assert said("--undecided", id_) == f"{id_}: left to memorybus\n"
    assert "perhaps" in said()
