"""Erasing: a mark first, completed by whoever finds it, from every place; counted by looking again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from contracts.ports import Conversation, InFlightCounts, TextStore, Unavailable
from contracts.v1.commands import EraseReceipt, EraseRequest, GetRequest, ListRequest
from contracts.v1.control import IncognitoStartRequest, SettingsReply, SettingsRequest, SpaceSettings
from services.curate import commands, control, privacy
from services.curate.privacy import Eraser, begin, complete
from services.curate.stores import Stores
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.preferences import PreferenceReader
from tests.apps.fakes import FakeInFlight, FakeVectors, Instead, say_nothing
from tests.apps.test_forgetting import embed, places, say, the_entry
from tests.polling import eventually
from tests.stores.builders import texts_logged
from tests.stores.changing import modify


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again at once."""
    for name in ("SETTLING", "_LOOK_EVERY"):
        monkeypatch.setattr(privacy, name, 0.01)
    monkeypatch.setattr(control, "SETTLES", 0.0)


async def erase(user_id: str, everywhere: Stores, *, within: float = 30.0, **given: Any) -> EraseReceipt:
    return (await Eraser(everywhere).erase(EraseRequest(user_id=user_id, **given), within=within)).receipt


async def test_a_user_is_erased_everywhere_and_the_receipt_counts_by_looking(store: TextStore) -> None:
    everywhere, vectors, in_flight = places(store)
    await embed(vectors, await the_entry(store, await say(store, "My PIN is 4711.")))
    hers = await the_entry(store, await say(store, "I live in Porto.", user="eve"))
    await embed(vectors, hers)
    in_flight.turns, in_flight.letters = {"ann": ["t9"], "eve": ["t8"]}, {"ann": 2}

    receipt = await erase("ann", everywhere)

    removed = receipt.removed
    assert (receipt.state, receipt.swept, receipt.drained) == ("done", False, False)
    assert [removed[what] for what in ("turns", "vectors", "waiting messages", "dead letters")] == [1, 1, 1, 2]
    assert receipt.left == dict.fromkeys(removed, 0)
    assert await store.get([hers]) == {hers.id: hers}
    assert list(vectors.points) == [hers.id]
    assert await store.erasures() == []
    again = await erase("ann", everywhere)
    assert again.swept
    assert set(again.removed.values()) == {0}


async def test_from_the_mark_on_nothing_is_shown_and_only_of_this_user(store: TextStore) -> None:
    everywhere, _, _ = places(store)
    entry = await the_entry(store, await say(store, "My PIN is 4711."))
    hers = await the_entry(store, await say(store, "My PIN is 4711.", user="eve"))
    mark = await begin("ann", stores=everywhere)

    listed = await commands.list_entries(ListRequest(user_id="ann"), store=store)
    assert (listed.items, listed.total_count) == ((), 0)
    with pytest.raises(Rejected, match="no entry"):
        await commands.get(GetRequest(user_id="ann", id=entry.id), store=store)
    assert await is_hidden(store, "ann")
    assert (await commands.get(GetRequest(user_id="eve", id=hers.id), store=store)).entry == hers

    await store.record_erasure("ann", mark, replace(mark, cleared=True))
    assert not await is_hidden(store, "ann")


async def test_what_reaches_the_store_while_a_user_is_erased_is_found_and_removed_too(store: TextStore) -> None:
    everywhere, _, _ = places(store)
    await say(store, "My PIN is 4711.")

    class Late(FakeVectors):
        has_come = False

        async def erase(self, user_id: str) -> None:
            if not self.has_come:
                self.has_come = True
                await say(store, "it was in hand when the erasing began", user=user_id)

    receipt = await erase("ann", replace(everywhere, vectors=Late()))
    assert (receipt.state, set(receipt.left.values())) == ("done", {0})
    assert await texts_logged(store, "ann") == []


class Failing:
    """A port that fails once when one of its methods is called the nth time."""

    def __init__(self, port: object, method: str, nth: int) -> None:
        self._port, self._method, self._left = port, method, nth

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name == self._method:
            self._left -= 1
            if self._left == 0:
                raise Unavailable(f"{name} is away")
        return found


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("method", ["erasures", "record_erasure", "count_remaining", "erase", "count", "drop"])
async def test_broken_off_anywhere_it_is_completed_by_whoever_finds_the_mark(
    store: TextStore, method: str, nth: int
) -> None:
    everywhere, vectors, in_flight = places(store)
    await embed(vectors, await the_entry(store, await say(store, "My PIN is 4711.")))
    in_flight.turns, in_flight.letters = {"ann": ["t9"]}, {"ann": 2}
    mark = await begin("ann", stores=everywhere)
    broken = Stores(
        Failing(store, method, nth), Failing(vectors, method, nth), Failing(in_flight, method, nth), say_nothing
    )
    try:
        await complete(mark, stores=broken)
    except Unavailable:
        assert len(await store.erasures(["ann"])) == 1

    running = asyncio.create_task(Eraser(everywhere).run())
    await eventually(store.erasures, lambda marks: not marks)
    running.cancel()
    assert set((await store.count_remaining("ann")).values()) == {0}
    assert (vectors.points, in_flight.turns["ann"], in_flight.letters["ann"]) == ({}, [], 0)


async def test_at_the_deadline_a_receipt_says_that_it_is_under_way_and_asking_again_when_it_is_done(
    store: TextStore,
) -> None:
    everywhere, _, _ = places(store)
    await say(store, "My PIN is 4711.")

    class Away(FakeInFlight):
        is_away = True

        async def drop(self, *given: Any, **named: Any) -> InFlightCounts:
            if self.is_away:
                raise Unavailable("the bus is away")
            return await super().drop(*given, **named)

    away = Away()
    away.turns = {"ann": ["t9"]}
    eraser = Eraser(replace(everywhere, in_flight=away))
    receipt = (await eraser.erase(EraseRequest(user_id="ann"), within=1.0)).receipt
    assert (receipt.state, receipt.removed["turns"], receipt.left["turns"]) == ("under_way", 1, 0)
    assert receipt.left["waiting messages"] == 1
    assert receipt.requested_at is not None
    assert await texts_logged(store, "ann") == []

    await say(store, "I am back.")
    away.is_away = False
    asked = EraseRequest(user_id="ann", requested_at=receipt.requested_at)
    done = (await eraser.erase(asked, within=5.0)).receipt
    assert (done.state, set(done.left.values())) == ("done", {0})
    assert (await eraser.erase(asked, within=5.0)).receipt.state == "done"
    assert await texts_logged(store, "ann") == ["I am back."]


async def test_asked_for_an_erasure_that_never_was_it_says_so(store: TextStore) -> None:
    everywhere, _, _ = places(store)
    await say(store, "My PIN is 4711.")
    never = datetime(2020, 1, 1, tzinfo=UTC)
    with pytest.raises(Rejected, match="no erasure was asked for then"):
        await erase("ann", everywhere, requested_at=never)
    assert await texts_logged(store, "ann") == ["My PIN is 4711."]

    receipt = await erase("ann", everywhere)
    with pytest.raises(Rejected, match="no erasure"):
        await erase("ann", everywhere, requested_at=never)
    with pytest.raises(Rejected, match="no erasure"):
        await erase("eve", everywhere, requested_at=receipt.requested_at)
    again = await erase("ann", everywhere, requested_at=receipt.requested_at)
    assert (again.state, again.removed, again.swept) == ("done", receipt.removed, True)
    assert again.requested_at == receipt.requested_at

    await begin("ann", stores=everywhere)
    with pytest.raises(Rejected, match="no erasure"):
        await erase("ann", everywhere, requested_at=never)
    assert (await erase("ann", everywhere, requested_at=receipt.requested_at)).removed == receipt.removed


async def test_a_request_that_a_later_one_took_over_is_told_its_end(store: TextStore) -> None:
    everywhere, _, _ = places(store)
    await say(store, "My PIN is 4711.")
    first = await begin("ann", stores=everywhere)
    second = await begin("ann", stores=everywhere)
    assert second.requests == (second.requested_at, first.requested_at)
    done = await complete(second, stores=everywhere)
    for mark in (first, second):
        receipt = await erase("ann", everywhere, requested_at=mark.requested_at)
        assert (receipt.state, receipt.removed) == ("done", done.removed)


async def test_a_vector_store_that_is_away_does_not_keep_newer_turns_out(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    await embed(vectors, await the_entry(store, await say(store, "My PIN is 4711.")))
    mark = await begin("ann", stores=everywhere)
    vectors.fails = True
    with pytest.raises(Unavailable):
        await complete(mark, stores=everywhere)
    (mark,) = await store.erasures(["ann"])
    assert mark.cleared

    entry = await the_entry(store, await say(store, "I am back."))
    vectors.fails = False
    await embed(vectors, entry)
    await modify(store, [entry], lambda one: one.model_copy(update={"embedding_state": "ready"}))
    await complete(mark, stores=everywhere)
    assert vectors.points == {}
    assert await store.erasures() == []
    (again,) = (await store.get([entry])).values()
    assert (again.text, again.embedding_state) == ("I am back.", "pending")


async def test_a_second_request_covers_what_was_published_between_the_two(store: TextStore) -> None:
    everywhere, _, in_flight = places(store)
    in_flight.turns = {"ann": ["t1"]}
    first = await begin("ann", stores=everywhere)
    in_flight.turns = {"ann": ["t1", "t2"]}
    second = await begin("ann", stores=everywhere)
    assert (first.before, second.before) == (1, 2)
    assert await complete(first, stores=everywhere) == first
    assert await store.erasures(["ann"]) == [second]


async def test_what_was_published_until_the_mark_was_there_is_erased_too(store: TextStore) -> None:
    """It may have been logged meanwhile, and its message be gone."""
    everywhere, _, in_flight = places(store)
    in_flight.turns = {"ann": ["t1"]}

    async def publishing(*given: Any) -> Any:
        in_flight.turns["ann"].append("t2")
        return await store.record_erasure(*given)

    publishes = cast(TextStore, Instead(store, record_erasure=publishing))
    mark = await begin("ann", stores=replace(everywhere, text=publishes))
    assert mark.before == 2


async def test_a_mark_that_does_not_say_how_far_it_goes_is_completed_all_the_same(store: TextStore) -> None:
    everywhere, _, in_flight = places(store)
    in_flight.turns = {"ann": ["t1"]}
    with pytest.raises(Unavailable):
        await begin("ann", stores=replace(everywhere, in_flight=Failing(in_flight, "last", 1)))
    (mark,) = await store.erasures(["ann"])
    assert (await complete(mark, stores=everywhere)).before == 1
    assert await store.erasures() == []


async def test_a_mark_of_another_process_is_left_to_it_for_a_while(store: TextStore) -> None:
    everywhere, _, _ = places(store)
    running = asyncio.create_task(Eraser(everywhere).run())
    await asyncio.sleep(0.05)
    mark = await begin("ann", stores=everywhere)
    await asyncio.sleep(0.1)
    assert await store.erasures() == [mark]
    old = replace(mark, requested_at=datetime(2026, 1, 1, tzinfo=UTC))
    await store.record_erasure("ann", mark, old)
    await eventually(store.erasures, lambda marks: not marks)
    running.cancel()


async def test_that_nothing_is_to_be_kept_outlives_an_erase_and_nothing_else_does(store: TextStore) -> None:
    async def decide(space: str, reset: tuple[str, ...] = (), **change: Any) -> SettingsReply:
        request = {"user_id": "ann", "space": space, "change": change or None, "reset": reset}
        asked = SettingsRequest.model_validate(request)
        return await control.settings(asked, records=store, defaults=SpaceSettings(memory_enabled=True))

    everywhere, _, in_flight = places(store)
    await decide("secret work", memory_enabled=False, soft_cap=7, gives_tags=("mine",))
    await decide("home", memory_enabled=True, retention_days=9)
    await decide("*", incognito_default=True)
    start = IncognitoStartRequest(user_id="ann", conversation_id="our chat")
    await control.set_incognito(start, records=store, in_flight=in_flight)
    for _ in range(2):  # erased twice it is no less
        await erase("ann", everywhere)
        reader = PreferenceReader(store)
        spaces = {name: Conversation("ann", name, "any") for name in ("secret work", "home")}
        chat = Conversation("ann", "home", "our chat")
        found = await reader.of([*spaces.values(), chat])
        assert found[spaces["secret work"]].settings == SpaceSettings(memory_enabled=False, incognito_default=True)
        assert found[spaces["home"]].settings == SpaceSettings(incognito_default=True)
        assert found[chat].refuse(by_default=False) == "incognito"
        assert await reader.anything_private("ann", 1, datetime.now(UTC))
        assert not await reader.anything_private("eve", 1, datetime.now(UTC))
    assert set((await store.count_remaining("ann")).values()) == {0}
    settings = (await store.page_records("settings", user_id=None, limit=9, cursor=None)).records
    incognito = (await store.page_records("incognito", user_id=None, limit=9, cursor=None)).records
    kept = [*settings, *incognito]
    assert len(kept) == 3
    assert not any(word in repr(kept) for word in ("ann", "work", "our chat", "*", "mine"))

    reply = await decide("secret work", memory_enabled=True)
    assert reply.own == SpaceSettings(memory_enabled=True)
    assert (await decide("*", reset=("incognito_default",))).settings == SpaceSettings(memory_enabled=True)
    await erase("ann", everywhere)
    assert (await store.page_records("settings", user_id=None, limit=9, cursor=None)).records == ()
