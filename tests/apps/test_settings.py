"""Settings of a space: who decides what, what holds then, and that curate keeps to it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from contracts.ports import Record, RecordKey, RecordKind, RecordPage, Selection, TextStore, Unavailable
from contracts.v1.control import SettingsReply, SettingsRequest, SpaceSettings
from services.curate import control
from services.curate.retention import own_limits
from services.curate.scheduler import Scheduler
from services.curate.settings import CurateSettings
from services.curate.stores import Stores
from services.shared import preferences
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeInFlight, Instead, say_nothing
from tests.stores.builders import an_entry, store_entries

NOW = datetime.now(UTC)
DEFAULTS = SpaceSettings(memory_enabled=True, incognito_default=False, retention_days=0, soft_cap=100)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "SETTLES", 0.0)


async def ask(store: SqliteTextStore, space: str = "work", reset: tuple[str, ...] = (), **change: Any) -> SettingsReply:
    fields = {"user_id": "ann", "space": space, "reset": reset, "change": change or None}
    return await control.settings(SettingsRequest.model_validate(fields), records=store, defaults=DEFAULTS)


async def test_a_change_is_answered_when_it_was_written_longer_ago_than_any_reader_keeps_what_was_before(
    store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []

    async def wait(seconds: float) -> None:
        (held,) = await store.records("ann", "settings")
        waited.append((seconds, held.body))

    monkeypatch.setattr(control, "SETTLES", preferences.SETTLES)
    monkeypatch.setattr(control, "asyncio", SimpleNamespace(sleep=wait))
    await ask(store, memory_enabled=False)
    await ask(store)
    assert waited == [(preferences.SETTLES, {"memory_enabled": False})]
    assert preferences.FRESH < preferences.SETTLES <= 0.5, "the readme promises half a second"


async def test_a_space_decides_before_all_spaces_and_those_before_the_service(store: SqliteTextStore) -> None:
    assert (await ask(store)).settings == DEFAULTS
    await ask(store, "*", memory_enabled=False, soft_cap=9)
    reply = await ask(store, memory_enabled=True)
    assert reply.settings == DEFAULTS.model_copy(update={"soft_cap": 9})
    assert reply.own == SpaceSettings(memory_enabled=True)
    assert (await ask(store, "home")).settings.memory_enabled is False
    assert (await ask(store, reset=("memory_enabled",))).settings.memory_enabled is False


@pytest.mark.parametrize(
    "change",
    [{"memory_enable": False}, {"retention_days": -1}, {"soft_cap": 1.5}, {"memory_enabled": "perhaps"}],
)
def test_a_change_that_cannot_be_meant_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SettingsRequest.model_validate({"user_id": "ann", "change": change})


async def test_of_many_changes_at_once_each_holds(store: SqliteTextStore) -> None:
    names: dict[str, Any] = {"memory_enabled": False, "incognito_default": True, "soft_cap": 5, "retention_days": 3}
    await asyncio.gather(*(ask(store, **{name: value}) for name, value in names.items()))
    assert (await ask(store)).own == SpaceSettings.model_validate(names)


async def test_others_who_keep_changing_it_are_not_waited_for_without_end(store: SqliteTextStore) -> None:
    async def put_record(record: Record, *, held: int | None) -> bool:
        return False

    with pytest.raises(Unavailable, match="try again"):
        await ask(cast(SqliteTextStore, Instead(store, put_record=put_record)), memory_enabled=True)


@pytest.fixture
def tidy(store: SqliteTextStore) -> Any:
    """Keep limits once, with a cap of 3 and 100 days where a user has decided nothing."""
    settings = CurateSettings(soft_cap=3, max_age_days=100)
    stores = Stores(store, None, FakeInFlight(), say_nothing)
    scheduler = Scheduler(cast(Any, SimpleNamespace()), settings, stores)
    return scheduler.keep_limits


async def texts(store: TextStore, user: str, space: str) -> list[str]:
    page = await store.page(Selection(user, space), limit=100, cursor=None)
    return sorted(entry.text for entry in page.entries)


async def test_curate_keeps_to_the_limits_of_each_space(store: SqliteTextStore, tidy: Any) -> None:
    for user, space in (("ann", "work"), ("ann", "home"), ("bob", "work")):
        days = (1, 2, 3, 4, 20, 200)
        said = [an_entry(user, f"{d:03}", space=space, created_at=NOW - timedelta(days=d)) for d in days]
        await store_entries(store, said)
    twenty_days_ago = NOW - timedelta(days=20)
    out_of_use = an_entry("ann", "gone", space="attic", status="archived", created_at=twenty_days_ago)
    await store_entries(store, [out_of_use])
    await ask(store, "work", soft_cap=0, retention_days=0)
    await ask(store, "*", retention_days=10, soft_cap=2)
    for _ in range(2):  # once more it changes nothing
        await tidy()
    assert (await store.get([out_of_use]))[out_of_use.id].text == "", "where nothing else is left"
    assert await texts(store, "ann", "work") == ["001", "002", "003", "004", "020", "200"]
    assert await texts(store, "ann", "home") == ["001", "002"]
    assert await texts(store, "bob", "work") == ["001", "002", "003"]
    archived = await store.page(Selection("ann", "home", status="archived"), limit=9, cursor=None)
    assert sorted(entry.text for entry in archived.entries) == ["003", "004"]


async def test_curate_reads_no_settings_but_those_that_limit_how_much_is_kept(store: SqliteTextStore) -> None:
    others = [Record(f"user {number}", "settings", "*", {"memory_enabled": True}, NOW) for number in range(300)]
    await store.add_records(others)
    await ask(store, "*", retention_days=10)
    await ask(store, "work", soft_cap=5)
    await ask(store, "work", soft_cap=6, memory_enabled=True)
    read = list[Record]()

    async def get(keys: Collection[RecordKey]) -> dict[RecordKey, Record]:
        found = await store.get_records(keys)
        read.extend(found.values())
        return found

    async def page(kind: RecordKind, **given: Any) -> RecordPage:
        found = await store.page_records(kind, **given)
        read.extend(found.records)
        return found

    own = await own_limits(cast(SqliteTextStore, Instead(store, get_records=get, page_records=page)))
    assert own["ann"].of("work", DEFAULTS).soft_cap == 6
    assert own["ann"].of("home", DEFAULTS).retention_days == 10
    assert (list(own), len(read)) == (["ann"], 4), "two settings, and what leads to them"
    await ask(store, "*", reset=("retention_days",))
    await ask(store, "work", reset=("soft_cap",))
    assert await own_limits(store) == {}
