"""The examples that take a framework run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.frameworks.conftest import URLS

EXAMPLES = Path(__file__).resolve().parents[2] / "services" / "client" / "examples"
PREFERENCE = "I prefer uv over pip."


@pytest.mark.parametrize("name", ["agent.py", "graph.py"])
def test_the_second_conversation_knows_what_the_first_one_said(
    name: str, ann: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORYBUS_URL", URLS[0])
    monkeypatch.setattr("sys.argv", [name, ann])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert PREFERENCE in capsys.readouterr().out
