"""`memorybus eval --mlflow`: what the real MLflow holds afterwards."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from services.eval import app
from services.eval.mlflow_log import Experiment, Untracked
from services.eval.report import Report, Run
from services.eval.variants import Variant
from services.shared.bus.server import free_port

VARIANT = Variant("sweep", "tau_days=7", {"MEMORYBUS_RETRIEVE_TAU_DAYS": "7"})
REPORT = Report(
    dataset="locomo",
    questions=3,
    metrics={"recall@10": 0.75, "within_budget": 1.0},
    latency_ms={"p95": 12.5},
    halves={},
    kinds={},
    runs=[Run(VARIANT, {"recall@10": 0.5}, {"p95": 13.0})],
)


@pytest.fixture
def tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return tmp_path


def test_a_report_is_a_run_with_its_further_runs_under_it(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_RETRIEVE_BETA", "0.1")
    monkeypatch.setenv("MEMORYBUS_OPENAI_API_KEY", "secret")
    own = Experiment.open("memory").log(REPORT)
    experiment = Experiment.open("memory")
    runs: dict[str, Any] = {run.info.run_name: run for run in experiment.client.search_runs([experiment.id])}
    assert {name: run.data.metrics for name, run in runs.items()} == {
        "locomo": {"recall_at_10": 0.75, "within_budget": 1.0, "latency_ms/p95": 12.5},
        "tau_days=7": {"recall_at_10": 0.5, "latency_ms/p95": 13.0},
    }
    assert runs["locomo"].info.run_id == runs["tau_days=7"].data.tags["mlflow.parentRunId"] == own
    assert runs["locomo"].data.params.items() >= {("questions", "3"), ("MEMORYBUS_RETRIEVE_BETA", "0.1")}
    assert "MEMORYBUS_OPENAI_API_KEY" not in runs["locomo"].data.params
    assert runs["tau_days=7"].data.params["MEMORYBUS_RETRIEVE_TAU_DAYS"] == "7"
    file = experiment.client.download_artifacts(own, "report.json", str(tracked))
    assert json.loads(Path(file).read_text()) == REPORT.as_json()


def test_where_mlflow_does_not_answer_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    done = CliRunner().invoke(app, ["golden", "--mlflow", "memory"])
    assert done.exit_code == 1
    assert "MLFLOW_TRACKING_URI names the server" in done.output


def test_without_mlflow_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(Untracked, match=r"pip install 'memorybus\[mlflow\]'"):
        Experiment.open("memory")
