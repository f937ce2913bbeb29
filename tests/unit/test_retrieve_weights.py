"""Weights of the profile from a file: what it names counts, what it cannot mean is refused with what helps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.retrieve.settings import RetrieveSettings
from services.retrieve.weights import load_weights
from services.shared.ranking.model import WEIGHTS
from services.shared.settings import UnusableSetting


def test_without_a_file_they_are_those_of_memorybus() -> None:
    assert load_weights(RetrieveSettings().weights) == WEIGHTS


def test_features_that_a_file_does_not_name_keep_their_weights(tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    file.write_text(json.dumps({"weights": {"spk": [0, -1.5]}, "made by": "somebody"}))
    assert load_weights(str(file)) == {**WEIGHTS, "spk": (0.0, -1.5)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("", "Invalid JSON"),
        ("[]", "Input should be"),
        ("{}", "weights: Field required"),
        ('{"weights": {"spk": [1, "much"]}}', "weights.spk.1"),
        ('{"weights": {"spk": [1, 1e9]}}', "weights.spk.1"),
        ('{"weights": {"colour": [1, 1]}}', "there is no feature 'colour'; there are bm_ctx, "),
        ('{"weights": {"a": ' + "[" * 100_000, "weights"),
        ("\xff" * 3_000_000, "Invalid JSON"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "weights.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UnusableSetting) as refused:
        load_weights(str(file))
    assert str(refused.value).startswith(f"MEMORYBUS_RETRIEVE_WEIGHTS: {file}: ")
    assert said in str(refused.value)
    assert str(refused.value).count("\n") == 0
    assert len(str(refused.value)) < 1000
