"""`memorybus bench lookalikes`: what it makes and counts, and floors of a small run of it."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.bench import app
from services.bench.lookalikes import TABLE, code_cases, code_turns, judged, series_cases, series_turns

ALL = json.loads(TABLE.read_text())
LENGTH = 30


class Silent:
    """Tells nothing."""

    async def retrieve(self, request: RetrieveRequest, *, patience: float) -> RetrieveReply:
        assert patience > 0
        return RetrieveReply.nothing(request, "disabled")


def test_the_statements_are_alike_and_all_different() -> None:
    turns = [*code_turns(ALL), *series_turns(ALL, LENGTH)]
    assert len({(turn.user_id, turn.turn_id) for turn in turns}) == len(turns) == 300 + 20 * LENGTH
    assert len({turn.text for turn in code_turns(ALL)}) == 300
    assert turns == [*code_turns(ALL), *series_turns(ALL, LENGTH)]


def test_each_case_wants_what_was_said() -> None:
    said = {(turn.user_id, turn.turn_id) for turn in (*code_turns(ALL), *series_turns(ALL, LENGTH))}
    cases = [*code_cases(ALL), *series_cases(ALL, LENGTH)]
    assert len(cases) == 300 + 20 * 4
    assert all((case.user_id, turn_id) in said for case in cases for turn_id in case.wanted)


async def test_what_is_not_told_is_counted() -> None:
    tallies = await judged(Silent(), series_cases(ALL, LENGTH))
    assert {kind: (one.asked, one.first, one.told) for kind, one in tallies.items()} == {
        "latest": (40, 0, 0),
        "first": (20, 0, 0),
        "month": (20, 0, 0),
    }


def test_codes_and_series_are_told_apart_in_a_whole_memory(tmp_path: Path) -> None:
    """Three templates and four series; the whole table is for the command itself."""
    few = tmp_path / "few.json"
    few.write_text(json.dumps({**ALL, "templates": ALL["templates"][:9:4], "series": ALL["series"][:20:5]}))
    result = CliRunner().invoke(app, ["lookalikes", str(few), "--length", str(LENGTH), "--verbose"])
    assert result.exit_code == 0, result.output
    rows = [line.split("│") for line in result.output.splitlines() if line.startswith("│")]
    first = {row[1].strip(): (float(row[3]), float(row[4])) for row in rows}
    assert first["code"] >= (0.97, 0.97), result.output
    assert first["latest"] >= (0.9, 1.0), result.output
    assert min(first["first"][0], first["month"][0]) >= 0.75, result.output
