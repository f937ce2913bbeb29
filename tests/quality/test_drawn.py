"""Facts as a model may draw them from labelled turns: what the turn asserts is kept, what it only contains is not."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from services.shared.core.extraction import Exchange, read_answer
from tests.stores.drawing import a_fact

_LINES = (Path(__file__).parent / "drawn.tsv").read_text("utf-8").splitlines()
_ROWS = list(csv.DictReader(_LINES, delimiter="\t", quoting=csv.QUOTE_NONE))
_THINGS = {"standup": "event", "prod": "project"}


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: f"{row['turn']} ({row['about']}, {row['attribute']})")
def test_a_fact_is_kept_where_the_whole_clause_asserts_it(row: dict[str, str]) -> None:
    kind = _THINGS.get(row["about"], "person")
    fact = a_fact(row["span"], row["value"], row["attribute"], row["about"], kind=kind)
    kept, dropped = read_answer(json.dumps({"facts": [fact]}), Exchange(row["turn"]), speaker=None)
    assert (len(kept), dropped) == ((1, 0) if row["kept"] == "yes" else (0, 1))


def test_half_of_the_cases_are_traps() -> None:
    assert len(_ROWS) >= 60
    assert sum(row["kept"] == "no" for row in _ROWS) >= len(_ROWS) / 2
