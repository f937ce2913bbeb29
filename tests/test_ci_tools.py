"""`.ci/tools` brings Chromium and promtool where it may, costs nothing where they are, and never fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent / ".ci" / "tools"
NEEDED = ("sh", "mktemp", "timeout", "tail", "rm")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine on which nothing is but what a script stands on."""
    for name in NEEDED:
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    return tmp_path


def there(machine: Path, name: str, does: str = "true") -> None:
    """A program that does what these words of sh say."""
    (machine / name).write_text(f"#!/bin/sh\n{does}\n")
    (machine / name).chmod(0o755)


def told(machine: Path) -> str:
    """What the script says; it succeeds."""
    run = subprocess.run([TOOLS], env={"PATH": str(machine)}, capture_output=True, text=True, check=True, timeout=20)
    assert run.stdout == ""
    return run.stderr


def test_nothing_is_asked_for_where_both_are(machine: Path) -> None:
    for name in ("chromium-headless-shell", "promtool"):
        there(machine, name)
    there(machine, "apt-get", "echo asked >&2; exit 1")
    there(machine, "id", "echo 0")
    assert told(machine) == ""


@pytest.mark.parametrize(
    ("has", "asked"),
    [
        ("promtool", ["chromium-headless-shell"]),
        ("chromium-headless-shell", ["prometheus"]),
        ("google-chrome", ["chromium-headless-shell", "prometheus"]),
    ],
)
def test_what_is_missing_is_installed_quietly(machine: Path, has: str, asked: list[str]) -> None:
    there(machine, has)
    there(machine, "id", "echo 0")
    there(machine, "apt-get", f'echo "$@" >>"{machine}/log"; echo words')
    assert told(machine) == ""
    update, *installs = (machine / "log").read_text().splitlines()
    assert update.endswith("update")
    assert [install.split()[-2:] for install in installs] == [["install", one] for one in asked]


def test_one_that_is_nowhere_does_not_keep_the_other_away(machine: Path) -> None:
    there(machine, "id", "echo 0")
    there(machine, "apt-get", f'echo "$@" >>"{machine}/log"; case "$*" in *shell) echo unknown; exit 100;; esac')
    assert "could not be installed: chromium-headless-shell -" in told(machine)
    assert (machine / "log").read_text().splitlines()[-1].endswith("install prometheus")


def test_who_may_not_install_is_told_what_is_missing(machine: Path) -> None:
    there(machine, "id", "echo 1000")
    there(machine, "apt-get", "echo asked >&2")
    assert "takes root and apt-get: chromium-headless-shell prometheus" in told(machine)
    (machine / "apt-get").unlink()
    there(machine, "id", "echo 0")
    assert "takes root and apt-get: chromium-headless-shell prometheus" in told(machine)


def test_a_failure_is_told_with_its_reason(machine: Path) -> None:
    there(machine, "id", "echo 0")
    there(machine, "apt-get", "echo no such mirror >&2; exit 100")
    said = told(machine)
    assert "no such mirror" in said
    assert "could not be installed: chromium-headless-shell prometheus" in said
