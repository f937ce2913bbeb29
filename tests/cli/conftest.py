"""Commands as they are typed, towards a client that a test made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from services.cli import asking
from services.cli.common import out
from tests.cli.fake_memory import Typed


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Runs the command of a module; `answer` is what is said to its question."""
    monkeypatch.delenv("MEMORYBUS_NATS_URL", raising=False)
    monkeypatch.setattr(out, "_width", 200)

    def run(module: ModuleType, client: Any, *arguments: str, answer: str | None = None) -> Result:
        @asynccontextmanager
        async def memory_client(url: str) -> AsyncIterator[Any]:
            yield client

        monkeypatch.setattr(asking, "memory_client", memory_client)
        app = typer.Typer(rich_markup_mode="rich")
        app.command(epilog=module.EPILOG)(getattr(module, module.__name__.rpartition(".")[2]))
        return CliRunner().invoke(app, [*arguments, "--nats", "nats://127.0.0.1:1"], input=answer)

    return run
