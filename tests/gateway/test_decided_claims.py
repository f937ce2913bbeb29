"""Whether something is so, decided on the command line with what the profile said."""

from __future__ import annotations

import asyncio

from memorybus_client import Memory
from typer.testing import CliRunner

from services.cli import app as cli
from services.runtime import Running
from tests.claims import leave_claim

TEXT = "Thinking about it, Porto feels right."


def test_a_fact_is_decided_on_the_command_line(shared: Running) -> None:
    def said(*options: str) -> str:
        done = CliRunner().invoke(cli, ["profile", "--user", "ann", "--nats", shared.nats, *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    memory = Memory(shared.nats, user="ann")
    entry = memory.remember(TEXT)
    memory.close()
    asyncio.run(leave_claim(shared.host.settings.sqlite_path, "ann", entry.id, "Porto", "home"))
    id_ = f"{entry.id}:19-24:home"
    assert f"perhaps: home: Porto · {TEXT}" in said()
    assert f"(--is-so {id_}, or --not-so)" in said()
    assert said("--is-so", id_) == f"{id_}: is so\n"
    assert (TEXT in said(), "perhaps" in said()) == (True, False)
    assert said("--not-so", id_) == f"{id_}: is not so, and is told no more\n"
    assert said() == "no facts are known\n"
    assert said("--undecided", id_) == f"{id_}: left to memorybus\n"
    assert "perhaps" in said()
