"""The text stores that the suite runs against: every test sees every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from contracts.ports import TextStore
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import a_user

TextStoreOpener = Callable[[Path], Awaitable[TextStore]]


async def open_sqlite(folder: Path) -> TextStore:
    return await SqliteTextStore.open(folder / "memory.sqlite3", synchronous="normal")


@pytest.fixture(params=[pytest.param(open_sqlite, id="sqlite")])
def open_text_store(request: pytest.FixtureRequest) -> TextStoreOpener:
    opener: TextStoreOpener = request.param
    return opener


@pytest.fixture
async def text_store(open_text_store: TextStoreOpener, tmp_path: Path) -> AsyncIterator[TextStore]:
    store = await open_text_store(tmp_path)
    yield store
    await store.close()


@pytest.fixture
def user() -> str:
    return a_user()
