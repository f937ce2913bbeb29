"""A real text store with a few entries, for the handlers that work on entries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.shared.stores.sqlite import SqliteTextStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteTextStore]:
    opened = await SqliteTextStore.open(tmp_path / "memory.sqlite3", synchronous="normal")
    yield opened
    await opened.close()
