"""What is told of stores that are asked now and then, and of work in the background that fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from contracts.errors import Unavailable
from services.shared import app, health
from services.shared.health import StoreProbe
from services.shared.tasks import end
from tests.polling import eventually

Ask = Callable[[], Awaitable[object]]


async def _hangs() -> None:
    await asyncio.Event().wait()


def _fails(error: Exception) -> Ask:
    async def ask() -> None:
        raise error

    return ask


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (_fails(Unavailable("it is away")), "text store: it is away"),
        (_fails(RuntimeError("secret of http://ann:pw@host")), "text store: RuntimeError"),
        (_hangs, "text store: no answer within 0 s"),
    ],
)
async def test_a_store_that_does_not_answer_is_named_until_it_does(
    ask: Ask, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(health, "_STORE_PATIENCE", 0.02)
    caplog.set_level(logging.INFO)
    now: list[Ask] = [ask]
    probe = StoreProbe({"text store": lambda: now[0](), "vector store": lambda: asyncio.sleep(0)})
    task = asyncio.create_task(probe.run())
    try:
        (trouble,) = await eventually(lambda: asyncio.sleep(0, probe.troubles), bool)
        await asyncio.sleep(0.1)
        now[0] = lambda: asyncio.sleep(0)
        await eventually(lambda: asyncio.sleep(0, probe.troubles), lambda troubles: not troubles)
    finally:
        await end([task])
    assert trouble.startswith(said)
    assert "pw" not in trouble
    assert [record.message for record in caplog.records] == ["store_away", "store_back"]


async def test_work_that_waits_for_a_store_says_so_in_a_line_and_what_nobody_foresaw_with_its_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = [Unavailable("the store is away"), RuntimeError("unforeseen")]
    pauses: list[float] = []

    async def work() -> None:
        if errors:
            raise errors.pop(0)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("services.shared.app.asyncio.sleep", pause)
    await app._keep_running(work)
    waits, failed = caplog.records
    assert (waits.message, waits.levelname, waits.exc_info) == ("background_work_waits", "WARNING", None)
    assert waits.__dict__["for"] == "the store is away"
    assert waits.__dict__["work"].endswith("work")
    assert (failed.message, failed.levelname) == ("background_work_failed", "ERROR")
    assert failed.exc_info
    assert len(pauses) == 2
