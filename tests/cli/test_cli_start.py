"""A command line that starts at once imports only what the command needs; help knows every command all the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from services.cli import COMMANDS, command

HEAVY = {
    *("numpy", "spacy", "onnxruntime", "sqlite3", "qdrant_edge", "qdrant_client", "opensearchpy"),
    *("aiohttp", "faststream", "httpx", "uvicorn", "prometheus_client"),
}
PROGRAM = """
import json, sys
from services.cli import command, main
try:
    sys.argv[1:] = {arguments}
    main()
except SystemExit as ended:
    print(json.dumps([ended.code, sorted({{name.partition(".")[0] for name in sys.modules}})]), file=sys.stderr)
"""


def imported_by(*arguments: str) -> tuple[int, set[str]]:
    """The exit code of a command line, and the packages that are imported when it ends."""
    program = PROGRAM.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    code, packages = json.loads(done.stderr.splitlines()[-1])
    return code, set(packages)


def test_help_imports_nothing_but_itself() -> None:
    code, packages = imported_by("--help")
    assert code == 0
    assert packages & (HEAVY | {"nats", "pydantic"}) == set()


@pytest.mark.parametrize("name", ["ask", "status", "publish", "forget", "address"])
def test_what_asks_a_running_memorybus_imports_no_engine_and_no_model(name: str) -> None:
    arguments = {"ask": ["what?", "--user", "me"], "forget": ["deadbeef", "--user", "me"], "publish": ["/dev/null"]}
    code, packages = imported_by(name, *arguments.get(name, []), "--data", "/nowhere")
    assert code == 1
    assert packages & HEAVY == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_of_each_command_what_the_command_says_of_itself(name: str) -> None:
    assert (command(name).help or "").split("\n\n")[0].replace("\n", " ") == COMMANDS[name]
