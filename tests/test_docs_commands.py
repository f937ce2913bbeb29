"""Every command of ours that a page shows runs, at a size that fits; what does not run here says why."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contracts.v1.turns import Turn
from services.bench.process import until_digested, up_process
from services.cli import app
from services.shared.client import memory_client
from tests.pages import pages
from tests.quality.test_eval import CHATS, LOCOMO, LONGMEMEVAL
from tests.quality.test_eval_knowledge import CHAT, LABELS

ROOT = Path(__file__).resolve().parent.parent
OURS = ("memorybus", "scripts/run")
PATIENCE = 300.0

NOT_RUN: Mapping[str, str] = {
    "up": "is what the others run against; its options are those that it names in --help",
    "mcp": "speaks with a program: tests/servers and tests/flow start it",
    "import": "needs an export of another memory: tests/cli/test_cli_archive.py",
    "export": "needs the folder of another memory: tests/cli/test_cli_archive.py",
    "provision": "needs a bus of servers: tests/cli/test_cli_provision.py",
    "migrate": "needs OpenSearch",
    "bench engines": "needs OpenSearch",
    "bench peers": "installs mem0: tests/quality/test_bench_peers.py",
    "rollup --undo": "needs the id of a roll-up: tests/apps",
    "profile --is-so": "needs a fact that was read: tests/gateway/test_decided_claims.py",
    "sessions --id": "shows the id of a session of its own",
    "eval golden": "takes minutes, and is tests/quality/test_floor.py",
    "eval locomo": "takes minutes beside other programs: tests/quality/test_eval.py",
    "eval longmemeval": "takes minutes beside other programs: tests/quality/test_eval.py",
    "eval fit": "takes minutes beside other programs: tests/quality/test_eval_fit.py",
    "eval coverage": "takes minutes beside other programs: tests/quality/test_coverage.py",
    "eval chats --sweep": "takes minutes: tests/quality/test_eval_variants.py",
    "eval --llm": "needs a language model",
    "dead show": "needs a dead letter: tests/cli/test_cli_dead.py",
    "dead retry": "needs a dead letter: tests/cli/test_cli_dead.py",
    "dead drop": "needs a dead letter: tests/cli/test_cli_dead.py",
    "reindex": "replaces the vectors of a memory: tests/cli/test_cli_reindex.py",
}
"""Commands with the first of their words, or with an option, and why they are not run here."""

_SMALL: Mapping[str, tuple[str, ...]] = {
    "bench write": ("--turns", "10", "--users", "2", "--probes", "40", "--embedder", "none", "--ner", "none"),
    "bench http": ("--entries", "100", "--requests", "10"),
    "bench lookalikes": ("--length", "6"),
    "bench retrieve": ("--entries", "500", "--users", "1", "--queries", "10"),
    "bench stalls": ("--texts", "10", "--words", "10", "--reads", "4", "--embedder", "none", "--ner", "none"),
    "bench proxy": ("--entries", "100", "--requests", "10", "--streams", "2"),
}
"""Options of a command that make it small; they replace those that the page gives."""

_FILES: Mapping[str, object] = {
    "eval locomo": LOCOMO,
    "eval chats": CHATS,
    "eval coverage": CHATS,
    "eval knowledge": [CHAT | LABELS],
    "eval fit": [{**CHATS[0], "id": user} for user in ("u1", "u2")],
    "eval longmemeval": LONGMEMEVAL,
}
_FACTS = "I live in Oslo.\nI prefer uv over pip\n"
_MEM0 = {"results": [{"id": "1", "memory": "Likes tea", "user_id": "ann"}]}
_LAST = ("forget", "rollup", "erase")  # of what the others are asked about; a roll-up goes with all that it rolled up
_ID = re.compile(r"ID|[0-9a-f]{8}(-[0-9a-f-]{4,})?")


def shown() -> Iterator[tuple[str, ...]]:
    """The words of each command of ours in the pages, once: those in blocks, and those in text with what they take."""
    for page in pages():
        text = page.read_text()
        for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
            yield from _ours(re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE))
        yield from _ours(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)))


def _ours(lines: list[str]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        if not re.match(rf"(?:[A-Z_]+=\S+ )*(?:{'|'.join(OURS)})(?: |$)", line):
            continue
        words = shlex.split(line, comments=True)
        while words[0] not in OURS:
            words.pop(0)  # a setting: of servers, or of files that are not there
        if len(words) > 1 and words[1] != "COMMAND" and not words[1].startswith("-"):
            yield tuple(words[1:])


COMMANDS = list(dict.fromkeys(shown()))


def name_of(words: tuple[str, ...]) -> str:
    """The command with its group: `bench write`."""
    return " ".join(words[:2]) if words[0] in ("bench", "eval", "dead", "keys") else words[0]


def why_not(words: tuple[str, ...]) -> str | None:
    """Why a command is not run."""
    keys = [words[0], name_of(words), *(f"{name} {word}" for name in (words[0], name_of(words)) for word in words[1:])]
    return next((NOT_RUN[key] for key in keys if key in NOT_RUN), None)


def small(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command at a size that fits."""
    name = name_of(words)
    options = _SMALL.get(name, ())
    named = {option for option in options if option.startswith("--")}
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in named:
            next(rest)
        else:
            kept.append(word)
    return (*kept, *options)


ALONE = list(dict.fromkeys(small(words) for words in COMMANDS if words[0] in ("bench", "eval") and not why_not(words)))
ASKED = [words for words in COMMANDS if words[0] not in ("bench", "eval") and not why_not(words)]


def _run(words: tuple[str, ...], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYBUS_")}
    return subprocess.run(
        [sys.executable, "-m", "services.cli", *words],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_commands_are_found_in_the_pages() -> None:
    assert {"bench write", "eval golden", "erase", "forget"} <= {name_of(words) for words in COMMANDS}
    assert ALONE
    assert ASKED


def test_nothing_is_left_out_that_no_page_shows() -> None:
    groups = {words[0] for words in COMMANDS} | {name_of(words) for words in COMMANDS}
    assert {key.split(" --")[0] for key in NOT_RUN} - {"migrate"} <= groups


@pytest.mark.parametrize("name", sorted({name_of(words) for words in COMMANDS}))
def test_a_command_that_is_shown_has_the_options_that_are_shown(name: str) -> None:
    given = {word for words in COMMANDS if name_of(words) == name for word in words if re.fullmatch(r"--[a-z-]+", word)}
    path = [word for word in name.split() if not word.startswith("-")]
    helped = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"})
    assert helped.exit_code == 0, helped.output
    if name != "eval --llm":
        assert not {option for option in given if option not in helped.output}


@pytest.mark.timeout(PATIENCE + 20)
@pytest.mark.parametrize("words", ALONE, ids=" ".join)
def test_a_command_that_measures_runs(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    file = tmp_path / "file.json"
    file.write_text(json.dumps(_FILES.get(name_of(words), [])))
    meant = tuple(
        str(file) if re.fullmatch(r"FILE|PATH…?|[a-z]+\.json", word) and at > 1 else word
        for at, word in enumerate(words)
    )
    done = _run(meant, tmp_path)
    assert _went_well(words, done), done.stdout[-3000:]


@pytest.mark.timeout(PATIENCE + 20)
async def test_what_is_asked_of_a_memory_is_answered(tmp_path: Path) -> None:
    (tmp_path / "mem0.json").write_text(json.dumps(_MEM0))
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO))
    (tmp_path / "facts.txt").write_text(_FACTS)
    (tmp_path / "FILE").write_text('{"user_id": "me", "role": "user", "text": "I prefer uv over pip"}\n')
    async with up_process(tmp_path / "data", ("--ner", "none", "--embedder", "none")) as up:
        async with memory_client(up.nats) as client:
            for n in range(8):
                text = f"The sourdough starter number {n} lives in the blue jar"
                await client.publish(Turn(user_id="ann", role="user", text=text, conversation_id="c"))
            await until_digested(client, 8)
        for words in sorted(ASKED, key=lambda words: _LAST.index(words[0]) + 1 if words[0] in _LAST else 0):
            failed = await asyncio.to_thread(_failure, words, tmp_path)
            assert not failed, f"{' '.join(words)}: {failed}"


def _failure(words: tuple[str, ...], folder: Path) -> str:
    """What a command says that fails; ids and formats stand for those that are there."""
    data = {"MEMORYBUS_DATA": str(folder / "data")}
    given = list(words)
    if "ID" in given or words[0] == "forget":
        found = json.loads(_run(("ask", "sourdough", "--user", "ann", "--json"), folder, **data).stdout)
        given = [found["items"][0]["id"] if at and _ID.fullmatch(word) else word for at, word in enumerate(given)]
    given = ["jsonl" if word == "FORMAT" else word for word in given]
    given = ["locomo.json" if word == "FILE" and "locomo" in words else word for word in given]
    given += ["--yes"] if words[0] == "erase" else []
    done = _run(tuple(given), folder, **data)
    return "" if _went_well(words, done) else done.stdout[-2000:]


def _went_well(words: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command did what it is for; one that a text only names says how it is used."""
    is_named_only = name_of(words).split() == [*words]
    is_usage = done.returncode == 2 and "Usage:" in done.stdout
    return done.returncode == 0 or (is_named_only and is_usage)
