"""`memorybus eval fit`: what the weights learn from judged questions, and that they are put in use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from services.eval import app
from services.eval.datasets import by_content
from services.eval.fitting import Sample, fit, judged_with, without_own
from services.eval.metrics import means
from services.retrieve.weights import load_weights
from services.shared.commands.formats import FormatError, Question
from services.shared.commands.progress import untold
from services.shared.ranking.model import WEIGHTS

NAMES = list(WEIGHTS)
TOLD = NAMES.index("spk")
START = {name: (0.0, 0.0) for name in NAMES}


def a_sample(user: str, answer: int, *, with_assistant: bool = False, candidates: int = 6, seed: int = 0) -> Sample:
    """Candidates of which the one that answers is alone in what `spk` is; all else is noise."""
    features = np.random.default_rng(seed).normal(0, 1, (candidates, len(NAMES)))
    features[:, TOLD] = np.arange(candidates) == answer
    sources = [{str(number)} for number in range(candidates)]
    sessions = {str(number): "s" for number in range(100)}
    return Sample(Question(user, "?", "any", frozenset({str(answer)})), with_assistant, features, sources, sessions)


def samples(*, with_assistant: bool = False) -> list[Sample]:
    return [
        a_sample(f"u{number % 3}", number % 6, with_assistant=with_assistant, candidates=6 + number % 3, seed=number)
        for number in range(60)
    ]


def test_the_feature_that_tells_gets_the_weight_and_only_for_its_kind_of_memory() -> None:
    weights = fit(samples(), START, strength=1.0)
    among_people = {name: pair[0] for name, pair in weights.items()}
    assert max(among_people, key=lambda name: among_people[name]) == "spk"
    assert {pair[1] for pair in weights.values()} == {0.0}
    assert fit(samples(with_assistant=True), START, strength=1.0)["spk"][1] > 1


def test_it_is_the_minimum() -> None:
    best = np.array([pair[0] for pair in fit(samples(), START, strength=1.0).values()])

    def loss(weights: Any) -> float:
        total = 0.5 * weights @ weights
        for sample in samples():
            scores = sample.features @ weights
            total += np.log(np.exp(scores).sum()) - sample.shares @ scores
        return float(total)

    steps = np.eye(len(NAMES)) * 0.01
    assert all(loss(best) <= loss(best + sign * step) for step in steps for sign in (-1, 1))


def test_what_is_believed_strongly_moves_little() -> None:
    assert fit(samples(), START, strength=1e6)["spk"][0] < 0.01
    assert fit([], dict(WEIGHTS), strength=1.0) == dict(WEIGHTS)


def test_questions_without_a_candidate_that_answers_teach_nothing() -> None:
    assert fit([a_sample("u1", 99)], START, strength=1.0) == START


def test_every_user_is_judged_with_weights_of_the_others() -> None:
    of = samples()
    found = means(without_own(of, START, 1.0, untold))
    assert found["hit@1"] > means(judged_with(of, START))["hit@1"] + 0.3
    alone = [a_sample("only", number) for number in range(6)]
    assert without_own(alone, START, 1.0, untold) == judged_with(alone, START)


def said(number: int, text: str, role: str = "user") -> dict[str, Any]:
    at = f"2026-01-{number + 1:02}T08:00:00Z"
    return {"id": f"t{number}", "conversation_id": f"c{number}", "role": role, "created_at": at, "text": text}


def a_chat(user: str) -> dict[str, Any]:
    turns = [said(0, "My sport is rowing."), said(1, "I eat rye bread."), said(2, "My cat is called Pixel.")]
    asked = [("Which sport do I do?", "t0"), ("What bread do I eat?", "t1"), ("What is my cat called?", "t2")]
    questions = [{"q": q, "kind": "fact", "evidence": [turn], "stale": []} for q, turn in asked]
    return {"id": user, "turns": turns, "questions": questions}


def test_weights_are_fitted_shown_for_other_users_and_written_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    file, output = tmp_path / "chats.json", tmp_path / "weights.json"
    file.write_text(json.dumps([a_chat("ann"), a_chat("ben")]))
    result = CliRunner().invoke(app, ["fit", str(file), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert "fitted on the other users" in result.output
    assert "6 questions" in result.output
    weights = load_weights(str(output))
    assert {name for name, pair in weights.items() if pair[0] != WEIGHTS[name][0]}
    assert {pair[1] for pair in weights.values()} == {pair[1] for pair in WEIGHTS.values()}


@pytest.mark.parametrize(("document", "message"), [([7], "is neither chats nor"), ({"cases": []}, "has no cases")])
def test_files_are_told_apart_by_what_is_in_them(tmp_path: Path, document: object, message: str) -> None:
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=message):
        by_content(file)
    file.write_text(json.dumps([a_chat("ann")]))
    assert by_content(file).name == "chats"


def test_a_folder_that_is_not_there_is_named_before_anything_is_done(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fit", "chats.json", "--output", str(tmp_path / "none" / "weights.json")])
    assert result.exit_code == 1
    assert "is no folder" in result.output
