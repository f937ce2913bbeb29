"""A floor for quality: the golden cases through a whole memorybus, with its defaults; fails when retrieval gets worse.

Each least value is a little below what was measured when it was set. Raise it when retrieval gets better; never lower
it to let a change pass.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from services.eval.datasets import GOLDEN, golden
from services.eval.metrics import means
from services.eval.runs import evaluate

LEAST = {
    "hit@1": 0.83,
    "recall@5": 0.845,
    "mrr": 0.87,
    "precision@5": 0.72,
    "silent": 0.19,
    "within_budget": 1.0,
}
MOST = {"refused": 0.03, "cross_user": 0.0}


async def test_the_golden_cases_are_answered_no_worse_than_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    (asked,) = await evaluate(golden(GOLDEN), tmp_path / "up")
    found = means(asked.judged)
    worse = {name: found[name] for name, least in LEAST.items() if found[name] < least}
    worse |= {name: found[name] for name, most in MOST.items() if found[name] > most}
    assert worse == {}
