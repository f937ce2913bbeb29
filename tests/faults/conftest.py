"""A memorybus on real engines without models, for messages that nobody should send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.runtime import Running, running
from tests.flow.conftest import light


@pytest.fixture
async def instance(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(light(tmp_path / "data", sync="interval")) as up:
        yield up
