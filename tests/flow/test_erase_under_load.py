"""A user is erased again and again in the midst of eight publishers: nothing of before is found, all of after is."""

from __future__ import annotations

import asyncio
import os

import pytest

from services.runtime import Running
from services.shared.client import memory_client
from services.shared.tasks import end
from tests.faults.erasures import Midst
from tests.flow.raw import a_marker

PUBLISHERS = 8
ERASES = int(os.environ.get("MEMORYBUS_TEST_ERASES", "4"))


@pytest.mark.timeout(300)
async def test_nothing_acknowledged_before_an_erase_is_found_after_it(instance: Running) -> None:
    midst = Midst(a_marker())
    async with memory_client(instance.nats) as client:
        publishers = [asyncio.create_task(midst.publish(client)) for _ in range(PUBLISHERS)]
        for _ in range(ERASES):
            await asyncio.sleep(0.5)
            receipt = await midst.erase(client)
        after = len(midst.acknowledged)
        await asyncio.sleep(0.5)
        await end(publishers)
        done = await midst.finish(client, receipt)
        assert set(done.left.values()) == {0}
        newest = midst.acknowledged[after:]
        assert newest
        await midst.remembered(client, newest, within=200)
