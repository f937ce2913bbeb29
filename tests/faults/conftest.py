"""A memorybus on real engines without models, for messages that nobody should send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.runtime import Running, running
from services.shared.settings import Settings


@pytest.fixture
async def instance(tmp_path: Path) -> AsyncIterator[Running]:
    settings = Settings(
        data=tmp_path / "data",
        nats_port=0,
        http_port=0,
        embedder="none",
        ner="none",
        sync="interval",
        log_level="error",
    )
    async with running(settings) as up:
        yield up
