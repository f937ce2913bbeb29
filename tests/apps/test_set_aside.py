"""What was set aside is forgotten a day later, unless its user keeps it until then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from contracts.ports import Key, TextStore, Unavailable
from contracts.v1.claims import Reading
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry
from services.curate.retention import put_away
from services.curate.set_aside import forget_set_aside
from services.embed.wishes import Wishes
from services.shared.changes import change_entries
from services.shared.commands.transfer import read_archive, write_archive
from services.shared.errors import Rejected
from services.shared.lifecycle.set_aside import SET_ASIDE_FOR
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeReader
from tests.apps.test_edits import Desk
from tests.stores.builders import NOON

SAID = "the bit about my rent stays in this window"
LONG_AGO = SET_ASIDE_FOR + timedelta(minutes=2)


class Setting(Desk):
    """A desk on which a statement was set aside, some time ago."""

    async def set_aside(self, ago: timedelta, text: str = SAID) -> Entry:
        entry = await self.said(text)
        unread = entry.model_copy(update={"embedding_model": None})
        assert await Wishes(self.store).obey([unread], {entry.id: Reading(wish=1)}, self.vectors) == {entry.id}
        (mark,) = await self.store.records(entry.user_id, "unwanted", [entry.id])
        older = replace(mark, at=mark.at - ago, version=mark.version + 1)
        assert await self.store.put_record(older, held=mark.version)
        await change_entries(self.store, [await self.stored(entry)], lambda one: _earlier(one, ago))
        return await self.stored(entry)

    async def pass_by(self, broken: str | None = None) -> int:
        """What is due is forgotten; of the `broken` one half is done."""

        async def forget(key: Key) -> None:
            if key.id == broken:
                await self.store.forget([key], until=None)
                raise Unavailable("the bus is away")
            await self.editor.forget(ForgetRequest(user_id=key.user_id, id=key.id, may_return=True))

        return await forget_set_aside(self.stores, forget)

    async def marks(self) -> int:
        return len(await self.store.records("ann", "unwanted"))


def _earlier(entry: Entry, ago: timedelta) -> Entry | None:
    return entry.model_copy(update={"expires_at": entry.expires_at - ago}) if entry.expires_at else None


@pytest.fixture
def desk(store: TextStore) -> Setting:
    return Setting(store, FakeReader())


async def test_it_is_forgotten_once_its_day_is_over_and_not_before(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR - timedelta(minutes=1))
    assert (await desk.pass_by(), await desk.marks()) == (0, 1)
    assert (await desk.stored(entry)).text == SAID


async def test_when_its_day_is_over_no_word_is_left_and_it_may_be_said_again(desk: Setting) -> None:
    entry = await desk.set_aside(LONG_AGO)
    assert await desk.pass_by() == 1
    assert (await desk.stored(entry)).text == ""
    assert (await desk.pass_by(), await desk.marks()) == (0, 0)
    assert (await desk.said(SAID)).status == "active"


async def test_what_is_broken_off_is_completed_and_keeps_no_other_waiting(desk: Setting) -> None:
    broken, other = await desk.set_aside(LONG_AGO), await desk.set_aside(LONG_AGO, "nor does this leave the room")
    assert (await desk.pass_by(broken=broken.id), await desk.marks()) == (1, 1)
    assert (await desk.stored(other)).text == ""
    assert (await desk.pass_by(), await desk.marks()) == (1, 0)


async def test_what_its_user_keeps_is_in_use_again_for_good(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR - timedelta(minutes=1))
    kept = await desk.update(entry, manually_saved=True)
    assert (kept.status, kept.expires_at, kept.manually_saved) == ("active", None, True)
    await desk.digest([kept])
    assert entry.id in desk.vectors.points
    assert await desk.pass_by() == 0
    assert (await desk.stored(entry)).text == SAID


async def test_what_was_kept_and_put_away_since_is_not_forgotten(desk: Setting) -> None:
    entry = await desk.set_aside(LONG_AGO)
    await change_entries(
        desk.store, [entry], lambda one: one.model_copy(update={"status": "active", "expires_at": None})
    )
    await change_entries(desk.store, [await desk.stored(entry)], lambda one: put_away(one, None, now=NOON))
    assert (await desk.pass_by(), await desk.marks()) == (0, 0)
    assert (await desk.stored(entry)).text == SAID


async def test_once_its_day_is_over_it_cannot_be_kept(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR)
    with pytest.raises(Rejected, match="archived"):
        await desk.update(entry, manually_saved=True)


async def test_what_was_said_again_meanwhile_stands_in_its_place(desk: Setting) -> None:
    entry = await desk.set_aside(timedelta(0))
    again = await desk.said(SAID)
    assert again.id != entry.id
    with pytest.raises(Rejected, match=again.id):
        await desk.update(entry, manually_saved=True)


async def test_otherwise_it_cannot_be_changed(desk: Setting) -> None:
    entry = await desk.set_aside(timedelta(0))
    with pytest.raises(Rejected, match="archived"):
        await desk.update(entry, tags=("rent",))


async def test_what_its_user_forgot_meanwhile_is_no_error(desk: Setting) -> None:
    entry = await desk.set_aside(LONG_AGO)
    await desk.forget(entry)
    await desk.pass_by()
    assert await desk.marks() == 0


async def test_imported_elsewhere_it_is_read_anew(desk: Setting, tmp_path: Path) -> None:
    entry = await desk.set_aside(timedelta(0))
    with (file := tmp_path / "ann.jsonl").open("w+b") as out:
        await write_archive(desk.store, out, file.name, "ann")
    other = await SqliteTextStore.open(tmp_path / "other.sqlite3", synchronous="normal")
    try:
        await read_archive(other, file)
        (there,) = (await other.get([entry])).values()
    finally:
        await other.close()
    assert (there.status, there.expires_at, there.embedding_state) == ("active", None, "pending")
