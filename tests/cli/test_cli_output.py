"""Standard output that takes nothing: exit code 1 and a sentence, whichever command prints to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.shared.instance import FolderLock, Instance

MEMORYBUS = [sys.executable, "-m", "services.cli"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[str]]:
    """The command line towards a folder in which something runs, as far as the command line can tell."""
    lock = FolderLock(tmp_path)
    lock.acquire()
    lock.announce(Instance(pid=1, nats="nats://127.0.0.1:1", http=""))
    yield [*MEMORYBUS, "address", "--data", str(tmp_path)]
    lock.release()


def said(command: list[str], to: str) -> tuple[int, str]:
    done = subprocess.run(["sh", "-c", f'"$@" {to}', "sh", *command], stderr=subprocess.PIPE, text=True, timeout=50)
    return done.returncode, done.stderr


def test_a_full_disk_is_told_in_one_line(running: list[str]) -> None:
    told = (1, "error: standard output cannot be written: No space left on device\n")
    assert said(running, ">/dev/full") == told
    assert said([*MEMORYBUS, "--help"], ">/dev/full") == told


def test_a_reader_that_has_read_enough_ends_a_command_without_a_word(running: list[str]) -> None:
    assert said(running, "| true")[1] == ""
    late = ["bash", "-c", 'sleep 0.2; "$@"; echo "ended with $?" >&2', "bash", *running]
    assert said(late, "| exec 0<&- true")[1] == "ended with 1\n"


def test_a_closed_standard_output_is_told_before_anything_is_done(running: list[str]) -> None:
    assert said(running, ">&-") == (
        1,
        "error: standard output is closed: send it to a file, or to /dev/null\n",
    )
