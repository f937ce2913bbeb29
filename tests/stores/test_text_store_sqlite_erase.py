"""Erasing in the embedded store while others add to the user: no row is left that nobody finds any more."""

from __future__ import annotations

import pytest

from contracts.ports import Accepted
from services.shared.stores.sqlite import SqliteTextStore, privacy
from tests.stores.builders import a_user, entry_of, log_proposals, undecided_of


@pytest.mark.parametrize("before", privacy.TABLES)
async def test_what_is_added_between_two_steps_goes_with_the_next_round(
    sqlite_store: SqliteTextStore, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other = a_user(), a_user()
    at = privacy.TABLES.index(before)
    await log_proposals(sqlite_store, gone, 3)
    monkeypatch.setattr(privacy, "TABLES", privacy.TABLES[:at])
    await sqlite_store.erase(gone)
    first, *_ = await log_proposals(sqlite_store, gone, 3)
    await sqlite_store.apply([Accepted(entry_of(first))])
    monkeypatch.undo()
    monkeypatch.setattr(privacy, "TABLES", privacy.TABLES[at:])
    await sqlite_store.erase(gone)
    monkeypatch.undo()

    theirs = await log_proposals(sqlite_store, other, 3)  # takes the numbers that are free now
    assert {record.turn.user_id for record in await sqlite_store.export_log(other, after=None, limit=9)} == {other}
    await sqlite_store.erase(gone)
    assert not any((await sqlite_store.count_remaining(gone)).values())
    assert await undecided_of(sqlite_store, theirs) == theirs
    assert (await sqlite_store.counts()).undecided == 3
