"""`memorybus eval` with other settings: what is switched off and swept over, on turns that are taken in once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from contracts.v1.turns import Turn
from services.eval import app, variants
from services.eval.datasets import Dataset
from services.eval.metrics import Judged, means
from services.eval.report import Report, Run
from services.eval.runs import Asked, evaluate
from services.eval.variants import BadSweep, Variant, sweep
from services.retrieve.settings import RetrieveSettings
from services.shared.commands.formats import Question
from services.shared.ranking.model import WEIGHTS

SAID = [
    "I row.",
    "My cat sleeps.",
    "Rain fell.",
    "We sold cheese.",
    "Ink is blue.",
    "He paints.",
    "Bells ring.",
    "Owls hoot.",
]


def test_each_value_of_each_setting_is_a_run() -> None:
    assert sweep("tau=1:7, limit=3,relevance=blend") == [
        Variant("tau_days", "tau_days 1", {"MEMORYBUS_RETRIEVE_TAU_DAYS": "1"}),
        Variant("tau_days", "tau_days 7", {"MEMORYBUS_RETRIEVE_TAU_DAYS": "7"}),
        Variant("limit", "limit 3", limit=3),
        Variant("relevance", "relevance blend", {"MEMORYBUS_RETRIEVE_RELEVANCE": "blend"}),
    ]
    assert len(sweep("alpha,beta,gamma,tau,rrf_k,limit")) > 20
    assert sweep("") == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("colour", "there is no setting 'colour'; there are alpha, "),
        ("=3", "there is no setting ''"),
        ("max_concurrency", "name the values of max_concurrency, for example"),
        ("mmr_lambda=0.5:2", "mmr_lambda cannot be '2': MEMORYBUS_RETRIEVE_MMR_LAMBDA: "),
        ("beta=much", "beta cannot be 'much'"),
        ("limit=0", "limit is a whole number from 1 to 200, not '0'"),
    ],
)
def test_what_cannot_be_swept_over_is_refused_with_what_can(tmp_path: Path, wanted: str, said: str) -> None:
    with pytest.raises(BadSweep, match="--sweep: "):
        sweep(wanted)
    result = CliRunner().invoke(app, ["golden", "--sweep", wanted])
    assert result.exit_code == 1
    assert said in result.output
    assert result.output.count("\n") == 1


def test_every_feature_of_the_profile_is_left_out_once() -> None:
    left_out = [name for variant in variants.ablation() for name in variant.without]
    assert set(left_out) == set(WEIGHTS)


def test_every_setting_that_is_switched_exists_and_may_have_that_value() -> None:
    for variant in (*variants.ablation(), *variants.outages(), *sweep(",".join(variants._SWEPT))):
        own = {name: value for name, value in variant.settings.items() if name.startswith(RetrieveSettings.prefix)}
        RetrieveSettings(**{name.removeprefix(RetrieveSettings.prefix).lower(): value for name, value in own.items()})
        assert set(variant.settings) - set(own) <= {"MEMORYBUS_VECTOR_STORE", "MEMORYBUS_EMBEDDER"}


async def test_turns_are_taken_in_once_and_asked_for_with_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_RETRIEVE_MIN_SCORE", "0")
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    turns = [
        Turn(user_id="ann", role="user", text=text, turn_id=text, source_ids=(text,), conversation_id=text)
        for text in SAID
    ]
    dataset = Dataset("made-up", turns, [Question("ann", "zebra?", "any", frozenset(SAID))])
    chosen = [Variant("limit", "limit 3", limit=3), Variant("outages", "half", vectors=0.5)]
    asked = await evaluate(dataset, tmp_path / "up", chosen)
    assert [means(each.judged)["recall@20"] for each in asked] == [1.0, 3 / 8, 0.5]


def test_further_runs_are_in_tables_and_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_EMBEDDER", "none")
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    memories = [{"content": text} for text in SAID]
    case = {"id": "c1", "query": "Do I row?", "expected_retrievals": ["I row."], "setup_memories": memories}
    path, report, html = tmp_path / "cases.json", tmp_path / "report.json", tmp_path / "report.html"
    path.write_text(json.dumps({"cases": [case]}))
    result = CliRunner().invoke(
        app, ["golden", str(path), "--sweep", "limit=1", "--json", str(report), "--html", str(html)]
    )
    assert result.exit_code == 0, result.output
    assert "limit 1" in result.output
    assert "█" in html.read_text()
    (run,) = json.loads(report.read_text())["runs"]
    assert (run["table"], run["name"], run["metrics"]["recall@1"]) == ("limit", "limit 1", 1.0)


def test_a_bus_that_others_use_is_not_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_NATS_URL", "nats://127.0.0.1:4222")
    result = CliRunner().invoke(app, ["golden"])
    assert result.exit_code == 1
    assert result.output.startswith("error: MEMORYBUS_NATS_URL names a bus")


def test_a_page_is_whole_in_itself_and_nothing_in_it_is_taken_for_markup() -> None:
    judged = Judged((("a",), ("b",)), frozenset("a"), sessions={"a": "s", "b": "s"})
    question = Question("ann", "?", "<script>alert(1)</script>", frozenset("a"), half="b&w")
    asked = Asked([question], [judged], [1.0])
    shown = [*variants.ablation()[:2], *variants.outages(), *sweep("beta,limit")]
    report = Report.of(Dataset("<b>made up</b>", [], []), asked, [Run.of(variant, asked) for variant in shown])
    drawn = report.page()
    ElementTree.fromstring(drawn.removeprefix("<!doctype html>\n"))
    assert "<script" not in drawn
    assert "<b>made" not in drawn
    assert not re.search(r"(?:src|href|url|@import)\b", drawn)
    assert drawn.count("recall@10 1") == 1 + 4 + len(shown)
    assert "half b&amp;w" in drawn


def test_a_page_without_questions_is_one_too() -> None:
    assert "<h1>none: 0 questions</h1>" in Report.of(Dataset("none", [], []), Asked([], [], [])).page()
