"""`memorybus bench retrieve`: sizes, users and callers, what was not answered, and a page with plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from contracts.envelope import ErrorInfo
from contracts.errors import Unavailable
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.bench import app
from services.bench.retrieve import ask_all
from services.shared.client import MemoryClient, RequestFailed

OUTCOMES: Sequence[Exception | None] = (
    None,
    Unavailable("no answer within 2.0 s"),
    RequestFailed(ErrorInfo(code="deadline_exceeded", message="too late")),
    RequestFailed(ErrorInfo(code="overloaded", message="too many at once", retryable=True)),
)


class Flaky:
    """Answers as listed, again and again; notes how many it is asked by at the same time."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def retrieve(self, request: RetrieveRequest, *, patience: float = 2.0) -> RetrieveReply:
        self.asked.append((request.user_id, request.query))
        if (outcome := OUTCOMES[len(self.asked) % len(OUTCOMES)]) is not None:
            raise outcome
        return RetrieveReply.nothing(request, "disabled")


async def test_what_is_not_answered_is_counted_by_why_and_does_not_stop_the_others() -> None:
    flaky, asked = Flaky(), [(f"u{n}", f"q{n}") for n in range(12)]
    load = await ask_all(cast(MemoryClient, flaky), asked, callers=5)
    assert (len(load.took), dict(load.failed)) == (3, {"timeouts": 6, "refused": 3})
    assert sorted(flaky.asked) == sorted(asked)
    assert load.rate == pytest.approx(3 / load.seconds)


async def test_without_any_answer_a_percentile_is_all_the_time_that_was_waited() -> None:
    load = await ask_all(cast(MemoryClient, Flaky()), [("u", "q")], callers=1)
    assert load.at(0.95) == load.seconds * 1000


def test_sizes_are_measured_one_after_the_other_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.bench.retrieve._REAL_VECTORS", 20)
    options = ["--entries", "200", "--entries", "120", "--users", "3", "--queries", "10"]
    result = CliRunner().invoke(app, ["retrieve", *options, "--html", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "120 entries of 3 users" in result.output
    assert result.output.index("120 entries") < result.output.index("200 entries") < result.output.index("how it grows")
    drawn = (tmp_path / "page.html").read_text()
    ElementTree.fromstring(drawn.removeprefix("<!doctype html>\n"))
    assert drawn.count("p99 ms") == 1 + 2 + 2 * (1 + 3)


def test_more_users_than_entries_are_refused_in_one_line() -> None:
    result = CliRunner().invoke(app, ["retrieve", "--entries", "100", "--users", "101"])
    assert result.exit_code == 1
    assert "error: 101 users need as many entries at least" in result.output
