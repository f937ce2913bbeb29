"""Findings are scripts that anybody can run: pinned, tidy, named in their README. They are not run here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
INSTALL = re.compile(r"(?:pip\"? install|npm install)((?:\\\n|[^\n])*?) \|\| exit 2$", re.MULTILINE)
PINNED = re.compile(r"[\w@/.-]+(?:\[\w+\])?(?:==|@)\d+\.\d+\.\d+(?:\.\d+)?")

ENDS = [r"""printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen" """.strip(), '[ "$seen" = "$stated" ]']
"""The last lines of each: both texts, and whether they are the same."""


def test_every_finding_is_a_script_and_a_line_of_the_readme() -> None:
    listed = re.findall(r"^\| `([^`]+)` \|", (FOLDER / "README.md").read_text(), flags=re.MULTILINE)
    assert listed == [script.stem for script in SCRIPTS]
    assert {path.name for path in FOLDER.iterdir()} == {"README.md", *(script.name for script in SCRIPTS)}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
class TestFinding:
    def test_it_is_a_program_that_cleans_up(self, script: Path) -> None:
        text = script.read_text()
        assert os.access(script, os.X_OK)
        assert text.startswith("#!/usr/bin/env bash\n# ")
        assert "\nset -euo pipefail\n\nwork=$(mktemp -d)\n" in text
        assert re.search(r"^trap (?:finish|'.*rm -rf \"\$work\"') EXIT$", text, flags=re.MULTILINE)
        assert 'rm -rf "$work"' in text

    def test_it_says_what_is_seen_and_compares(self, script: Path) -> None:
        text = script.read_text()
        words = text.partition("\nset -")[0]
        assert 4 <= words.count("\n# ") <= 9
        assert re.search(r"\d+\.\d+\.\d+", words.splitlines()[1])
        assert text.splitlines()[-2:] == ENDS

    def test_what_it_installs_is_pinned(self, script: Path) -> None:
        text = script.read_text()
        installed = [word for line in INSTALL.findall(text) for word in re.findall(r"'([^']+)'", line)]
        assert installed
        assert [word for word in installed if not PINNED.fullmatch(word)] == []
        assert len(INSTALL.findall(text)) == len(re.findall(r"(?:pip\"?|npm) install", text))

    def test_it_runs_without_memorybus_and_names_no_host(self, script: Path) -> None:
        text = script.read_text()
        assert not re.search(r"memorybus|^\s*(?:from|import) (?:services|contracts)\b", text, flags=re.MULTILINE)
        assert re.findall(r"https?://(?!127\.0\.0\.1)", text) == []

    def test_shellcheck_finds_nothing(self, script: Path) -> None:
        run = subprocess.run(
            [Path(sys.executable).parent / "shellcheck", script], capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout


def test_where_the_code_names_a_finding_there_is_one() -> None:
    sources = "\n".join(path.read_text() for path in (FOLDER.parent / "services").rglob("*.py"))
    named = set(re.findall(r"findings/([\w-]+)\.sh", sources))
    assert named
    assert named <= {script.stem for script in SCRIPTS}
