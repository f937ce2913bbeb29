"""The rules of the tree, executed."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from contracts.flow import FLOW

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted([*ROOT.glob("contracts/**/*.py"), *ROOT.glob("services/**/*.py"), *ROOT.glob("tests/**/*.py")])
LONGEST = 500
WORKERS = [step.service for step in FLOW if step.service != "gateway"]


def test_the_import_rules_hold() -> None:
    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


def test_files_are_short() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_modules_say_what_they_are_for() -> None:
    assert [str(path.relative_to(ROOT)) for path in SOURCES if not _explains_itself(path.read_text())] == []


def _explains_itself(source: str) -> bool:
    return not source.strip() or ast.get_docstring(ast.parse(source)) is not None


@pytest.mark.parametrize("service", WORKERS)
def test_every_worker_has_the_same_files(service: str) -> None:
    folder = ROOT / "services" / service
    decides = {"curate": {"commands.py", "privacy.py", "reconcile.py", "retention.py", "scheduler.py"}}
    files = {"app.py", "settings.py", "README.md", *decides.get(service, {"handler.py"})}
    assert files <= {path.name for path in folder.iterdir()}


def test_the_top_level_is_what_the_design_names() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    top = {path.split("/")[0] for path in tracked if not path.startswith(".")}
    folders = {"services", "contracts", "deploy", "tests", "k8s", "scripts", "findings"}
    assert top <= {"pyproject.toml", "README.md", "LICENSE", *folders}


FRAMEWORKS = {
    "google_adk": {"google"},
    "langchain": {"langchain_core"},
    "langgraph": {"langgraph"},
    "llama_index": {"llama_index"},
    "openai_agents": {"agents"},
    "pydantic_ai": {"pydantic_ai"},
}
"""Modules of the client that have an extra of their own, and what each brings."""


def test_the_client_needs_its_libraries_and_the_contract_alone() -> None:
    needs: dict[str, set[str]] = {}
    for path in (ROOT / "services" / "client" / "memorybus_client").glob("*.py"):
        names = {name.partition(".")[0] for name in _imported(ast.parse(path.read_text()))} - sys.stdlib_module_names
        needs.setdefault(path.stem if path.stem in FRAMEWORKS else "", set()).update(names)
    ours = needs.pop("")
    assert ours == {"contracts", "httpx", "memorybus_client", "nats", "pydantic"}
    assert {module: names - ours for module, names in needs.items()} == FRAMEWORKS


@pytest.mark.parametrize("module", FRAMEWORKS)
def test_a_framework_takes_a_short_module_and_an_extra(module: str) -> None:
    client = ROOT / "services" / "client"
    assert len((client / "memorybus_client" / f"{module}.py").read_text().splitlines()) < 150
    assert (
        module.replace("_", "-")
        in tomllib.loads((client / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )


def test_no_service_knows_the_client() -> None:
    ours = [path for path in SOURCES if path.is_relative_to(ROOT / "services") and "client" not in path.parts]
    assert [path for path in ours if "memorybus_client" in _imported(ast.parse(path.read_text()))] == []


def _imported(tree: ast.AST) -> set[str]:
    plain = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    return plain | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
