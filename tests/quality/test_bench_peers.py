"""`memorybus bench peers`: what it makes of answers, and what mem0 is told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.v1.turns import Turn
from services.bench import app, peers
from services.bench.peers import Found, Peer
from services.bench.peers_mem0 import done
from services.shared.commands.formats import Question


class FakeMemory:
    """What is added to mem0, all of which it finds for anything."""

    def __init__(self) -> None:
        self.added: list[tuple[str, str, dict[str, str], bool]] = []

    def add(self, text: str, *, user_id: str, metadata: dict[str, str], infer: bool) -> None:
        self.added.append((text, user_id, metadata, infer))

    def search(self, query: str, *, filters: dict[str, str], top_k: int) -> dict[str, Any]:
        found = [{"metadata": metadata} for _, user, metadata, _ in self.added if user == filters["user_id"]]
        return {"results": found[:top_k]}


def asked(*evidence: str) -> Question:
    return Question("ann", "Where does she live?", "single-hop", frozenset(evidence))


async def test_figures_are_of_every_question_and_of_the_whole_folder(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("one", "below/two"):
        (tmp_path / name).write_bytes(b"x" * 2**20)
    answers: list[Found] = [[{"D1"}, {"D2", "D9"}], [{"D7"}], []]

    async def write(turns: Any) -> float:
        return 0.5

    async def ask(user_id: str, text: str) -> tuple[float, Found]:
        return 0.01 * len(answers), answers.pop(0)

    peer = Peer("it", os.getpid(), tmp_path, write, ask)
    await peer.take([Turn(user_id="ann", role="user", text="I live in Porto.")] * 4)
    for question in (asked("D2", "D3"), asked("D7"), asked("D8")):
        await peer.answer(question)
    rate, median, late, recall, reciprocal_rank, megabytes, files = peer.figures()
    assert (rate, median, late, recall, reciprocal_rank) == ("8", "20.0", "30.0", "0.500", "0.500")
    assert int(megabytes.replace(",", "")) > 10
    assert files == "2 of 2.0 MB"


def test_mem0_keeps_what_was_said_as_it_is_and_says_of_which_turn_it_is() -> None:
    memory = FakeMemory()
    assert done(memory, {"user": "ann", "said": [{"text": "Ann: hello", "source": "D1:1"}]}) == []
    assert memory.added == [("Ann: hello", "ann", {"source": "D1:1"}, False)]
    assert done(memory, {"user": "ann", "query": "what?", "limit": 10}) == ["D1:1"]
    assert done(memory, {"user": "bob", "query": "what?", "limit": 10}) == []


def test_an_environment_that_could_not_be_made_whole_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def create(folder: Path, **_: object) -> None:
        folder.mkdir(exist_ok=True)
        made.append(folder)

    monkeypatch.setattr("services.bench.peers.venv.create", create)
    monkeypatch.setattr(peers, "MEM0", "0.0.0 is no version")
    for _ in range(2):
        with pytest.raises((SystemExit, FileNotFoundError)):
            peers.prepared(tmp_path / "peers")
    assert made == [tmp_path / "peers"] * 2
    (tmp_path / "peers" / "done").touch()
    assert peers.prepared(tmp_path / "peers") == tmp_path / "peers" / "bin" / "python"
    assert len(made) == 2


def test_a_file_without_a_question_that_can_be_judged_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    said = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I live in Porto."}]
    conversation = {"session_1": said, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    sample = {"sample_id": "c1", "conversation": conversation, "qa": [{"question": "Where?", "evidence": ["D9:9"]}]}
    (tmp_path / "locomo.json").write_text(json.dumps([sample]))
    told = CliRunner().invoke(app, ["peers", str(tmp_path / "locomo.json")])
    assert told.exit_code == 1
    assert "no question is answered by what is said there" in told.stderr
