"""A command line that starts at once imports only what the command needs; help knows every command all the same."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.cli import COMMANDS, app, command
from services.cli.up import _announce
from services.runtime import Running
from services.shared.app import Host
from services.shared.settings import Settings

HEAVY = {
    *("numpy", "spacy", "onnxruntime", "sqlite3", "qdrant_edge", "qdrant_client", "opensearchpy"),
    *("aiohttp", "faststream", "httpx", "uvicorn", "prometheus_client"),
    *("contracts.ports", "contracts.values", "services.runtime", "services.shared.app", "services.shared.stores"),
}
ASK = ("ask", "what?", "--user", "me", "--data", "/nowhere")
PROGRAM = """
import json, sys
from services.cli import main
try:
    sys.argv[1:] = {arguments}
    main()
except SystemExit as ended:
    compiled = {{name: getattr(module, "__cached__", None) for name, module in sys.modules.items() if module}}
    print(json.dumps([ended.code, compiled]), file=sys.stderr)
"""


@cache
def imported_by(*arguments: str) -> tuple[int, dict[str, str | None]]:
    """The exit code of a command line, and the modules that are imported when it ends, with the files of byte code."""
    program = PROGRAM.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, modules


def test_help_imports_nothing_but_itself() -> None:
    code, modules = imported_by("--help")
    assert code == 0
    assert modules.keys() & (HEAVY | {"nats", "pydantic"}) == set()


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_has_examples_line_by_line(name: str) -> None:
    told = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"})
    assert told.exit_code == 0
    examples = [line for line in told.stdout.partition("Examples:")[2].splitlines() if f"memorybus {name}" in line]
    assert examples
    assert all(line.count("memorybus ") <= 1 + line.count("|") for line in examples)


@pytest.mark.parametrize("name", ["up", "status", "export", "reindex"])
def test_a_folder_without_a_name_is_refused(name: str) -> None:
    told = CliRunner().invoke(app, [name, *(["x.jsonl"] if name == "export" else []), "--data", ""])
    assert told.exit_code == 2
    assert "is empty: name a folder" in told.stderr


def test_it_says_which_version_it_is() -> None:
    told = CliRunner().invoke(app, ["--version"])
    assert (told.exit_code, told.stdout) == (0, f"memorybus {version('memorybus')}\n")


@pytest.mark.parametrize("name", ["ask", "status", "publish", "forget", "address"])
def test_what_asks_a_running_memorybus_imports_no_engine_and_no_model(name: str) -> None:
    arguments = {"ask": ASK[1:], "forget": ("deadbeef", "--user", "me", *ASK[4:]), "publish": ("/dev/null", *ASK[4:])}
    code, modules = imported_by(name, *arguments.get(name, ASK[4:]))
    assert code == 1
    assert modules.keys() & HEAVY == set()


@pytest.mark.parametrize("arguments", [("--help",), ASK])
def test_what_a_start_imports_was_compiled_when_it_was_installed(arguments: tuple[str, ...]) -> None:
    _, modules = imported_by(*arguments)
    installed = [Path(file) for file in modules.values() if file and "site-packages" in file]
    assert len(installed) > 50
    assert [file for file in installed if not file.exists()] == [], "scripts/setup has not been run here"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_of_each_command_what_the_command_says_of_itself(name: str) -> None:
    assert (command(name).help or "").split("\n\n")[0].replace("\n", " ") == COMMANDS[name]


def announced(only: list[str]) -> None:
    bus = "nats://ann:s3cret@127.0.0.1:4222"
    instance = Running(bus, "http://127.0.0.1:8400", host=Host(Settings(), bus))
    _announce(instance, Settings(), only, as_json=False)


def test_a_start_says_plainly_where_the_page_is(capsys: pytest.CaptureFixture[str]) -> None:
    announced([])
    assert "  page  http://127.0.0.1:8400  (open it in a browser)" in capsys.readouterr().out.splitlines()


def test_a_service_of_many_says_in_its_log_alone_that_it_is_ready(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    announced(["dedupe"])
    (record,) = caplog.records
    said = {name: record.__dict__[name] for name in ("message", "services", "bus", "http")}
    bus, http = "nats://127.0.0.1:4222", "http://127.0.0.1:8400"
    assert said == {"message": "ready", "services": ["dedupe"], "bus": bus, "http": http}
    assert capsys.readouterr().out == ""
