"""What the tests of deploy/ read: compose file and Dockerfile as their tools see them, settings, metrics."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.metrics import MetricWrapperBase

from scripts.generate import SETTINGS
from services.shared import telemetry

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
DOCKERFILE = DEPLOY / "Dockerfile"

_REFERENCE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}")


@cache
def written() -> dict[str, Any]:
    """The compose file with its anchors resolved and its variables as they are written."""
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


@cache
def example() -> dict[str, str]:
    """The variables of .env.example, each `generate` replaced as init-env would."""
    lines = (line.strip() for line in (DEPLOY / ".env.example").read_text().splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: f"p{name.lower()}" if value == "generate" else value for name, _, value in pairs}


def references(value: Any) -> set[str]:
    """The names of all variables in a value, however deep."""
    if isinstance(value, dict):
        return set().union(*(references(inner) for inner in value.values()))
    if isinstance(value, list):
        return set().union(*(references(inner) for inner in value))
    return {match["name"] for match in _REFERENCE.finditer(value)} if isinstance(value, str) else set()


def filled(value: Any, variables: dict[str, str]) -> Any:
    """A value with its variables filled in as Compose does.

    Raises:
        KeyError: a variable that must be set is not.
    """
    if isinstance(value, dict):
        return {name: filled(inner, variables) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, variables) for inner in value]
    if not isinstance(value, str):
        return value
    return _REFERENCE.sub(lambda match: _filled_reference(match, variables), value)


def _filled_reference(match: re.Match[str], variables: dict[str, str]) -> str:
    if match["kind"] == "-":
        return variables.get(match["name"]) or match["rest"]
    return variables[match["name"]]


def services() -> dict[str, dict[str, Any]]:
    """Every service of the compose file, variables filled in from .env.example."""
    found: dict[str, dict[str, Any]] = filled(written()["services"], example())
    return found


def ours() -> dict[str, dict[str, Any]]:
    """The services that are built from the Dockerfile."""
    return {name: service for name, service in services().items() if "build" in service}


def setting_names() -> set[str]:
    """Every environment variable that the settings classes read."""
    classes = [settings for of_folder in SETTINGS.values() for settings in of_folder]
    return {f"{settings.prefix}{name}".upper() for settings in classes for name in settings.model_fields}


@dataclass(slots=True)
class Stage:
    """One stage of the Dockerfile: what it starts from, and its instructions as (word, rest)."""

    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """What follows each instruction of this word."""
        return [rest for found, rest in self.instructions if found == word]


@cache
def stages() -> dict[str, Stage]:
    """The Dockerfile by the names of its stages; comments are left out, continued lines joined."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.lstrip().startswith("#")]
    found: dict[str, Stage] = {}
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name.strip()] = Stage(base.strip())
        elif word:
            found[list(found)[-1]].instructions.append((word, rest.strip()))
    return found


def lineage(name: str) -> list[Stage]:
    """A stage and what it is built on, the nearest first."""
    chain = [stages()[name]]
    while chain[-1].base in stages():
        chain.append(stages()[chain[-1].base])
    return chain


def last(name: str, word: str) -> str:
    """The instruction of this word that is in force for a target."""
    return next(stage.all(word)[-1] for stage in lineage(name) if stage.all(word))


def environment(name: str) -> dict[str, str]:
    """The environment that a stage sets, what it is built on included."""
    pairs = [pair for stage in reversed(lineage(name)) for rest in stage.all("ENV") for pair in shlex.split(rest)]
    return dict(pair.split("=", 1) for pair in pairs)


def metrics() -> dict[str, set[str]]:
    """Every series that the services expose, with the names of its labels."""
    found: dict[str, set[str]] = {}
    for metric in vars(telemetry).values():
        if isinstance(metric, MetricWrapperBase):
            labels = set(metric._labelnames)  # there is no public way to ask a metric without children
            for name in _series(metric):
                found[name] = labels | ({"le"} if name.endswith("_bucket") else set())
    return found


def _series(metric: MetricWrapperBase) -> list[str]:
    (family,) = metric.describe()
    suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}[family.type]
    return [f"{family.name}{suffix}" for suffix in suffixes]
