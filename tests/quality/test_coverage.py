"""What facts, spine and summaries show of what is asked for: counted on chats, and printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.ports import Vector
from contracts.v1.claims import Claim, Reading, Relation
from services.eval import app, coverage
from services.eval.coverage import covered, overviews
from services.eval.datasets import chats
from services.shared.settings import Settings
from tests.apps.fakes import FakeEmbedder
from tests.claims import a_claim, a_task

SAID = [
    ("user", "I live in Lisbon and work as a nurse."),
    ("assistant", "Noted. The weather there is mild, the trams are old, and the coffee is strong."),
    ("user", "ok"),
    ("user", "I need to renew my passport by May."),
]
ASKED: list[dict[str, Any]] = [
    {"q": "Where do I live?", "kind": "fact", "evidence": ["t0"]},
    {"q": "What did I agree to?", "kind": "fact", "evidence": ["t2"]},
    {"q": "What do I have to renew?", "kind": "changed", "evidence": ["t3"]},
    {"q": "What is my dog called?", "kind": "no_answer", "evidence": []},
]


def written(folder: Path) -> Path:
    turns = [
        {"id": f"t{n}", "conversation_id": "c1", "role": role, "created_at": f"2026-03-01T10:0{n}:00Z", "text": text}
        for n, (role, text) in enumerate(SAID)
    ]
    file = folder / "chats.json"
    file.write_text(json.dumps([{"id": "ann", "turns": turns, "questions": ASKED}]))
    return file


class Reads(FakeEmbedder):
    """Reads the home and what is to be renewed, and nothing else."""

    reader = "reader-1"

    async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
        return await self.embed(texts), [Reading(tuple(self._claims(text))) for text in texts]

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        return [Relation(1, 0, 0, 0) for _ in pairs]

    def _claims(self, text: str) -> Iterator[Claim]:
        if "Lisbon" in text:
            yield a_claim(text, "Lisbon", "home")
        if "renew" in text:
            yield a_task(text, "renew my passport")


async def test_a_question_is_covered_when_half_of_an_answer_is_shown(tmp_path: Path) -> None:
    dataset = chats(written(tmp_path))
    of = await overviews(dataset.turns, Reads())
    found = {one.question.text: one.is_covered for one in covered(dataset.questions, of, 10)}
    assert found == {"Where do I live?": True, "What did I agree to?": False, "What do I have to renew?": True}
    shown, said = of["ann"].characters
    assert 0 < shown < said
    assert len(covered(dataset.questions, of, 2)) == 2


def test_the_command_prints_it_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def opened(settings: Settings) -> Reads:
        assert (settings.embedder, settings.reader) == ("memorybus", "memorybus")
        return Reads()

    monkeypatch.setattr(coverage, "open_embedder_of", opened)
    result = CliRunner().invoke(app, ["coverage", str(written(tmp_path))])
    assert result.exit_code == 0, result.output
    assert "2 of 3 questions are covered: 0.67" in " ".join(result.output.split())


@pytest.mark.parametrize("text", ["", "[]", "{}", '[{"id": "a"}]'])
def test_a_file_without_chats_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "no.json").write_text(text)
    result = CliRunner().invoke(app, ["coverage", str(tmp_path / "no.json")])
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
