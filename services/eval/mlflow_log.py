"""Reports as runs of an MLflow experiment, beside those of other systems: with the extra `mlflow`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from services.eval.report import Figures, Report
from services.retrieve.settings import RetrieveSettings

if TYPE_CHECKING:
    from mlflow import MlflowClient

_NOT_IN_NAMES = re.compile(r"[^\w./: -]")
_PARENT = "mlflow.parentRunId"
_LONGEST_VALUE = 500


class Untracked(Exception):
    """MLflow is missing, or does not answer; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment where MLFLOW_TRACKING_URI points."""

    client: MlflowClient
    id: str

    @classmethod
    def open(cls, name: str) -> Experiment:
        """The experiment of this name, made where there is none.

        Raises:
            Untracked: MLflow is not installed, or does not answer.
        """
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # or it tells its makers that it is used
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # or a wrong address is noticed after minutes
        try:
            from mlflow import MlflowClient
            from mlflow.exceptions import MlflowException
        except ImportError as error:
            raise Untracked("--mlflow needs MLflow: run `pip install 'memorybus[mlflow]'`") from error
        try:
            client = MlflowClient()
            known = client.get_experiment_by_name(name)
            return cls(client, known.experiment_id if known else client.create_experiment(name))
        except MlflowException as error:
            raise Untracked(f"--mlflow: {error}; MLFLOW_TRACKING_URI names the server") from error

    def log(self, report: Report) -> str:
        """Log a report and its further runs, which are under its own; the id of that.

        Raises:
            Untracked: MLflow does not answer any more.
        """
        from mlflow.exceptions import MlflowException

        given = {name: value for name, value in os.environ.items() if name.startswith(RetrieveSettings.prefix)}
        about = {"dataset": report.dataset, "questions": str(report.questions), "memorybus": version("memorybus")}
        try:
            own = self._run(report.dataset, about | given, {**report.metrics, **_in_ms(report.latency_ms)}, {})
            for run in report.runs:
                figures = {**run.metrics, **_in_ms(run.latency_ms)}
                self._run(run.variant.name, {**given, **run.variant.settings}, figures, {_PARENT: own})
            self.client.log_dict(own, report.as_json(), "report.json")
        except MlflowException as error:
            raise Untracked(f"--mlflow: {error}") from error
        return own

    def _run(self, name: str, params: Mapping[str, str], figures: Figures, tags: Mapping[str, str]) -> str:
        from mlflow.entities import Metric, Param

        id_: str = self.client.create_run(self.id, run_name=name, tags=dict(tags)).info.run_id
        now = int(time.time() * 1000)
        metrics = [Metric(_named(metric), value, now, 0) for metric, value in figures.items()]
        self.client.log_batch(id_, metrics, [Param(key, value[:_LONGEST_VALUE]) for key, value in params.items()])
        self.client.set_terminated(id_)
        return id_


def _in_ms(latency: Figures) -> dict[str, float]:
    return {f"latency_ms/{name}": value for name, value in latency.items()}


def _named(metric: str) -> str:
    """The metric in letters that MLflow allows in a name: recall@5 is recall_at_5."""
    return _NOT_IN_NAMES.sub("_", metric.replace("@", "_at_"))
