"""The commands as they are typed: help with examples, and expected failures in one line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from contracts.ports import Unavailable
from contracts.v1.sessions import RollingSummary, SessionsReply
from services.cli import (
    ask,
    asking,
    audit,
    cards,
    conflicts,
    demo,
    erase,
    forget,
    loops,
    profile,
    publish,
    reconcile,
    rollup,
    sessions,
    status,
)
from tests.cli.files import A_TURN, lines, written

MODULES = (
    *(publish, ask, status, demo, forget, erase, reconcile, audit),
    *(cards, conflicts, loops, profile, rollup, sessions),
)
NAMES = [module.__name__.rpartition(".")[2] for module in MODULES]


ARGUMENTS = {
    "ask": ["what?", "--user", "me"],
    "forget": ["e1", "--user", "me"],
    "erase": ["--user", "me", "--yes"],
    "cards": ["--user", "me"],
    "conflicts": ["--user", "me"],
    "loops": ["--user", "me"],
    "profile": ["--user", "me"],
    "rollup": ["--user", "me", "--topic", "tea"],
    "sessions": ["--user", "me"],
}


def arguments_of(name: str, folder: Path) -> list[str]:
    """What the command cannot do without."""
    return [str(written(folder, lines(A_TURN)))] if name == "publish" else ARGUMENTS.get(name, [])


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The commands on an app of their own, beside whatever runs on this machine."""
    monkeypatch.delenv("MEMORYBUS_NATS_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    app = typer.Typer(rich_markup_mode="rich")
    for name, module in zip(NAMES, MODULES, strict=True):
        app.command(epilog=module.EPILOG)(getattr(module, name))
    return app


@pytest.mark.parametrize("name", NAMES)
def test_without_an_instance_each_command_says_how_to_start_one(app: typer.Typer, name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [name, *arguments_of(name, tmp_path), "--data", str(tmp_path / "nothing")])
    assert result.exit_code == 1
    assert result.output.startswith("error: nothing runs in ")
    assert "start it with `memorybus up`" in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_bus_that_does_not_answer_is_one_line(
    app: typer.Typer, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def refused(url: str) -> AsyncIterator[None]:
        raise Unavailable(f"no bus answers at {url}")
        yield

    for module in (*MODULES, asking):
        monkeypatch.setattr(module, "memory_client", refused, raising=False)
    result = CliRunner().invoke(app, [name, *arguments_of(name, tmp_path), "--nats", "nats://127.0.0.1:9"])
    assert (result.exit_code, result.output) == (1, "error: no bus answers at nats://127.0.0.1:9\n")


def test_a_format_that_is_not_known_is_told_with_those_that_are(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["publish", "x", "--format", "xml"])
    assert result.exit_code == 2
    assert all(known in result.output for known in ("jsonl", "locomo", "openai"))


def test_a_topic_without_words_is_refused_before_anything_is_asked(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["rollup", "--user", "me", "--topic", " ", "--data", str(tmp_path)])
    assert (result.exit_code, result.output.startswith("error: --topic: name words")) == (1, True)


def test_one_fact_is_decided_at_a_time(app: typer.Typer, tmp_path: Path) -> None:
    given = ["profile", "--user", "me", "--is-so", "a:1-2:home", "--not-so", "b:1-2:home", "--data", str(tmp_path)]
    result = CliRunner().invoke(app, given)
    told = "error: --is-so, --not-so and --undecided: one of them at a time\n"
    assert (result.exit_code, result.output) == (1, told)


@pytest.mark.parametrize("side", ["--newer", "--older"])
def test_which_statements_without_what_holds_is_no_question(app: typer.Typer, side: str, tmp_path: Path) -> None:
    given = ["conflicts", "--user", "me", side, "c2dca980", "--data", str(tmp_path / "nothing")]
    result = CliRunner().invoke(app, given)
    assert (result.exit_code, result.output) == (
        1,
        "error: --newer and --older need --keep new, old or both: what holds; or open: to be asked again\n",
    )


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        (0, "conversation c1: it is summed up from its fourth turn on"),
        (4, "conversation c1 as of turn 4: I like [b]tea\\x1b[2J.\n"),
    ],
)
def test_a_conversation_that_is_too_short_to_be_summed_up_says_when_it_is(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch, turns: int, told: str
) -> None:
    text = "I like [b]tea\x1b[2J." if turns else ""
    rolling = RollingSummary(conversation_id="c1", text=text, turns=turns, characters=0, sentences=())
    monkeypatch.setattr(asking, "talk", lambda *_: SessionsReply(items=(), total_count=0, rolling=rolling))
    result = CliRunner().invoke(app, ["sessions", "--user", "me", "--rolling", "c1"])
    assert told in result.output
