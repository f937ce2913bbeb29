"""What the page is looked at with: a memorybus of its own, and a Chromium that is on the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.shared.settings import Settings

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True, slots=True)
class Served:
    """Where a memorybus answers, and the file of its text store."""

    http: str
    nats: str
    file: Path


def chromium() -> str | None:
    """The path of a Chromium, if there is one."""
    return os.environ.get("MEMORYBUS_TEST_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def memorybus(folder: Path) -> Iterator[Served]:
    """A memorybus on free ports whose data is in this folder."""
    options = ("--nats-port", "0", "--http-port", "0", "--ner", "none", "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "services.cli", "up", "--data", str(folder / "data"), *options],
        stdout=subprocess.PIPE,
        env={**os.environ, "MEMORYBUS_CACHE": str(Settings().cache), "MEMORYBUS_LOG_LEVEL": "error"},
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield Served(ready["http"], ready["nats"], Settings(data=folder / "data").sqlite_path)
        process.terminate()
        process.wait(30)
