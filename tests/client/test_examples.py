"""The examples of the client run as they stand, against a memorybus that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memorybus_client import AsyncMemory

from services.runtime import Running
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "services" / "client" / "examples"
PREFERENCE, QUESTION = "I prefer uv over pip.", "Do I prefer uv or pip?"


def example(up: Running, name: str, user: str, said: str = "") -> str:
    """What an example prints."""
    environment = {"MEMORYBUS_URL": up.http, "PYTHONPATH": "services/client", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, str(EXAMPLES / name), user]
    run = subprocess.run(command, cwd=ROOT, env=environment, input=said, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


async def test_a_chat_knows_what_was_said_in_an_earlier_one(up: Running) -> None:
    assert "nothing is known" in example(up, "chat_loop.py", "ann", f"{PREFERENCE}\n\n \nquit\nnever said\n")
    async with AsyncMemory(up.http, user="ann") as memory:
        await eventually(memory.status, lambda status: status.turns == 2 and not status.pending)
    assert PREFERENCE in example(up, "chat_loop.py", "ann", QUESTION)
    assert PREFERENCE not in example(up, "chat_loop.py", "bob", QUESTION)


def test_a_program_that_speaks_mcp_remembers_and_finds(up: Running) -> None:
    said = example(up, "mcp_session.py", "carl")
    assert said.startswith("tools: ")
    assert said.endswith(f"found: {PREFERENCE}\n")


def test_every_example_says_how_it_is_run() -> None:
    for path in EXAMPLES.glob("*.py"):
        assert f"python services/client/examples/{path.name}" in path.read_text(), path.name
