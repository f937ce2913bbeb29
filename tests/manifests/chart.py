"""Renders the Helm chart: with the program helm where it is on the path, else with the wheel helm-python-sdk."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.manifests.chart_schema import CHART

yaml: Any = pytest.importorskip("yaml", reason="needs a YAML reader: pip install pyyaml")
HELM = shutil.which("helm")
if HELM is None and find_spec("helm_python") is None:
    pytest.skip("needs helm on the path, or: pip install helm-python-sdk", allow_module_level=True)

RELEASE, NAMESPACE = "prod", "assistants"
KUBERNETES = "1.34.0"

Object = dict[str, Any]
Values = Mapping[str, Any]

VALUE_FILES = sorted((CHART / "ci").glob("*-values.yaml"))
CASES = {path.name.removesuffix("-values.yaml"): yaml.safe_load(path.read_text()) for path in VALUE_FILES}


class Refused(Exception):
    """Helm does not render these values; the text says why."""


def manifests(values: Values, *, release: str = RELEASE) -> str:
    """All objects of the chart as one YAML stream.

    Raises:
        Refused: the schema or a template refuses the values.
    """
    return _rendered_once(json.dumps(values), release)


def objects(values: Values, *, release: str = RELEASE) -> list[Object]:
    """All objects of the chart.

    Raises:
        Refused: the schema or a template refuses the values.
    """
    return list(_parsed_once(manifests(values, release=release)))


def of_kind(found: list[Object], kind: str) -> dict[str, Object]:
    """The objects of one kind by their component."""
    return {component(each): each for each in found if each["kind"] == kind}


def only(found: list[Object], kind: str) -> Object:
    """The one object of a kind."""
    (one,) = [each for each in found if each["kind"] == kind]
    return one


def component(found: Object) -> str:
    """What part of memorybus an object belongs to."""
    return str(found["metadata"]["labels"]["app.kubernetes.io/component"])


def pods(found: list[Object]) -> dict[str, Object]:
    """The pod specifications of all workers and of the job, by component."""
    return {
        component(each): each["spec"]["template"]["spec"] for each in found if each["kind"] in ("Deployment", "Job")
    }


def containers(found: list[Object]) -> dict[str, Object]:
    """The one container of each pod, by component."""
    return {name: pod["containers"][0] for name, pod in pods(found).items()}


def environment(found: list[Object], name: str) -> dict[str, Any]:
    """The variables of one component as its process sees them; one that comes from a secret is the reference."""
    maps = {each["metadata"]["name"]: each["data"] for each in found if each["kind"] == "ConfigMap"}
    container = containers(found)[name]
    variables: dict[str, Any] = {}
    for source in container.get("envFrom", ()):
        variables |= maps[source["configMapRef"]["name"]]
    for variable in container.get("env", ()):
        variables[variable["name"]] = variable.get("value", variable.get("valueFrom"))
    return variables


def lint_problems(values: Values, *, chart: Path = CHART) -> Iterator[str]:
    """What helm's linter says from warnings up."""
    if HELM is not None:
        run = _helm("lint", "--strict", "--quiet", str(chart), values=json.dumps(values))
        yield from [] if run.returncode == 0 else [run.stdout + run.stderr]
        return
    import helm_python

    report = helm_python.lint(chart, dict(values), strict=True)
    yield from (str(message) for message in report["messages"] if message["severity"] >= 2)
    yield from report["errors"]


def rendered(values: str, release: str = RELEASE, chart: Path = CHART) -> str:
    """What helm makes of values in JSON, asked anew each time; see `manifests`."""
    if HELM is None:
        return _by_wheel(json.loads(values), release, chart)
    run = _helm("template", release, str(chart), "--namespace", NAMESPACE, values=values)
    if run.returncode != 0:
        raise Refused(run.stderr)
    return run.stdout


_rendered_once = cache(rendered)


@cache
def _parsed_once(text: str) -> tuple[Object, ...]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return tuple(found for found in yaml.load_all(text, loader) if found)


def _helm(*arguments: str, values: str) -> subprocess.CompletedProcess[str]:
    assert HELM is not None
    command = [HELM, *arguments, "--kube-version", KUBERNETES, "--values", "-"]
    return subprocess.run(command, input=values, capture_output=True, text=True, check=False, timeout=30)


def _by_wheel(values: dict[str, Any], release: str, chart: Path) -> str:
    import helm_python

    with helm_python.Chart.load(chart) as loaded:
        try:
            rendered = loaded.render(values, name=release, namespace=NAMESPACE)
        except helm_python.HelmError as error:
            raise Refused(str(error)) from error
    return "\n---\n".join(text for path, text in sorted(rendered.items()) if path.endswith(".yaml"))
