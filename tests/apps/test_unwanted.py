"""What was set aside as unwanted is forgotten a day later, unless its user keeps it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import Key, Record, TextStore
from contracts.v1.claims import Reading
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry
from services.curate.unwanted import forget_unwanted
from services.embed.wishes import Wishes
from services.shared.errors import Rejected
from services.shared.lifecycle.unwanted import SET_ASIDE_FOR
from tests.apps.fakes import FakeReader
from tests.apps.test_edits import Desk

SAID = "the bit about my rent stays in this window"


class Setting(Desk):
    """A desk on which a statement was set aside, some time ago."""

    async def set_aside(self, ago: timedelta) -> Entry:
        entry = await self.said(SAID)
        await Wishes(self.store).obey(
            [entry.model_copy(update={"read_by": None})], {entry.id: Reading(wish=1)}, self.vectors
        )
        (mark,) = await self.store.records(entry.user_id, "unwanted")
        older = Record(mark.user_id, mark.kind, mark.name, mark.body, datetime.now(UTC) - ago, mark.version + 1)
        assert await self.store.put_record(older, held=mark.version)
        return await self.stored(entry)

    async def pass_by(self) -> int:
        async def forget(key: Key) -> None:
            await self.editor.forget(ForgetRequest(user_id=key.user_id, id=key.id))

        return await forget_unwanted(self.stores, forget)

    async def marks(self) -> int:
        return len(await self.store.records("ann", "unwanted"))


@pytest.fixture
def desk(store: TextStore) -> Setting:
    return Setting(store, FakeReader())


async def test_it_is_forgotten_once_its_day_is_over_and_not_before(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR - timedelta(minutes=1))
    assert await desk.pass_by() == 0
    assert (await desk.stored(entry)).text == SAID


async def test_when_its_day_is_over_no_word_is_left(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR)
    assert await desk.pass_by() == 1
    assert (await desk.stored(entry)).text == ""
    assert (await desk.pass_by(), await desk.marks()) == (0, 0)


async def test_what_its_user_keeps_is_in_use_again_for_good(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR)
    kept = await desk.update(entry, manually_saved=True)
    assert (kept.status, kept.expires_at, kept.manually_saved) == ("active", None, True)
    await desk.digest([kept])
    assert entry.id in desk.vectors.points
    assert (await desk.pass_by(), await desk.marks()) == (0, 0)
    assert (await desk.stored(entry)).text == SAID


async def test_otherwise_it_cannot_be_changed(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR)
    with pytest.raises(Rejected, match="archived"):
        await desk.update(entry, tags=("rent",))


async def test_what_its_user_forgot_meanwhile_is_no_error(desk: Setting) -> None:
    entry = await desk.set_aside(SET_ASIDE_FOR)
    await desk.forget(entry)
    assert (await desk.pass_by(), await desk.marks()) == (0, 0)
