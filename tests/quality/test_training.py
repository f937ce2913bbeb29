"""Training learns, leaves the sources as they are, and goes on where it was interrupted; in an environment of its own.

It takes minutes, and is run where `MEMORYBUS_TEST_TRAINING` is set, as in the checks of a change.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from services.shared.reading.weights import READER, load_trained

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-train" / "bin" / "python"
MUST = "MEMORYBUS_TEST_TRAINING"

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not os.environ.get(MUST), reason=f"it takes minutes: {MUST}=1 runs it"),
]


def trained(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "scripts" / "train", *arguments], capture_output=True, text=True, check=False)


def sources() -> dict[str, bytes]:
    """What is shipped, and what it is made from."""
    files = [*READER.parent.iterdir(), *(ROOT / "scripts" / "training").iterdir()]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def test_a_few_steps_learn_and_write_nothing_into_the_sources(tmp_path: Path) -> None:
    before = sources()
    run = trained("--quick", "--work", str(tmp_path / "work"))
    assert run.returncode == 0, run.stderr[-2000:]
    told = re.search(r"loss of the first steps ([\d.]+), of the last ([\d.]+)", run.stdout)
    assert told is not None
    assert float(told[2]) < 0.8 * float(told[1])
    assert sources() == before
    made = load_trained(ROOT / ".training" / "quick.safetensors")
    assert made.version != load_trained().version
    assert any(array.any() for name, array in made.adapter.items() if name.endswith(".b"))


INTERRUPTED = """
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, "scripts/training")
from batches import Comparing, examples
from chats import Chat, Label, Turn
from fit import Plan, train
from main import _model
from pairs import Pair

weights, tokenizer = _model(None)
turns = [Turn(str(n), True, f"I live in Ghent, at number {n}.", (Label("Ghent", "home"),)) for n in range(8)]
known = examples([Chat("told", turns, ())], tokenizer)
plan = Plan(steps=5, batch=2, rank=2, keep=2, longest=32)
PAIRS = [Pair("I live in Ghent.", "I have moved to Bruges.", "update"), Pair("I ride.", "It rains.", "unrelated")]
checkpoint = Path(sys.argv[1])
steps = []


def noted(step, *_):
    steps.append(step)
    if step == int(sys.argv[2]):
        raise KeyboardInterrupt


try:
    made = train(weights, known, None, Comparing(PAIRS, tokenizer), plan, checkpoint, noted)
    np.savez(sys.argv[3], **made)
except KeyboardInterrupt:
    pass
print(steps)
"""


def few_steps(checkpoint: Path, until: int, output: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [PYTHON, "-c", INTERRUPTED, checkpoint, str(until), output]
    environment = {**os.environ, "PYTHONPATH": "."}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def steps_of(checkpoint: Path, until: int, output: Path) -> str:
    run = few_steps(checkpoint, until, output)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout.strip()


def test_what_was_interrupted_goes_on_where_it_was_and_comes_to_the_same(tmp_path: Path) -> None:
    subprocess.run([ROOT / "scripts" / "setup", "train"], check=True)
    whole, resumed = tmp_path / "whole.npz", tmp_path / "resumed.npz"
    assert steps_of(tmp_path / "a.npz", 0, whole) == "[1, 2, 3, 4, 5]"
    assert steps_of(tmp_path / "b.npz", 3, resumed) == "[1, 2, 3]"
    assert not resumed.exists()
    assert steps_of(tmp_path / "b.npz", 0, resumed) == "[3, 4, 5]"
    with np.load(whole) as one, np.load(resumed) as other:
        assert sorted(one.files) == sorted(other.files)
        assert any(one[name].any() for name in one.files if name.endswith("dense.b"))
        for name in one.files:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("content", [b"", b"PK no archive"])
def test_a_checkpoint_that_is_damaged_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    damaged = tmp_path / "a.npz"
    damaged.write_bytes(content)
    run = few_steps(damaged, 0, tmp_path / "made.npz")
    assert run.returncode == 1
    assert f"{damaged} is damaged" in run.stderr
    assert "remove it, and training begins anew" in run.stderr


def test_a_folder_without_chats_says_so(tmp_path: Path) -> None:
    run = trained("--quick", "--chats", str(tmp_path), "--output", str(tmp_path / "quick.safetensors"))
    assert run.returncode == 2
    assert f"{tmp_path}: there are no chats" in run.stderr


def test_a_model_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    run = trained("--quick", "--model", str(tmp_path), "--output", str(tmp_path / "quick.safetensors"))
    assert run.returncode != 0
    assert "run scripts/setup train, or name its folder with --model" in run.stderr
