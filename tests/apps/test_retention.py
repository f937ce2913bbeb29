"""Capacity and age: what goes, what stays, and that doing it again changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from contracts.ports import Selection, SpaceSize, TextStore, Unavailable
from contracts.v1.entries import Entry
from services.curate.retention import expire, make_room
from services.curate.stores import Stores
from services.shared.ranking.capacity import Ageing
from tests.apps.asking import by_meaning
from tests.apps.fakes import FakeInFlight, FakeVectors, say_nothing
from tests.stores.builders import an_entry, store_entries

NOW = datetime.now(UTC)
SPACE = SpaceSize("ann", "default", 500)


def aged(days: int, text: str, user: str = "ann", **fields: object) -> Entry:
    return an_entry(user, text, created_at=NOW - timedelta(days=days), **fields)


def places(store: TextStore, vectors: FakeVectors | None = None) -> Stores:
    return Stores(store, vectors, FakeInFlight(), say_nothing)


async def said_daily(store: TextStore, days: int) -> list[Entry]:
    return await store_entries(store, [aged(day, f"said {day} days ago") for day in range(days)])


async def vectors_of(entries: list[Entry]) -> FakeVectors:
    return (await by_meaning(entries))[0]


async def active(store: TextStore, user: str = "ann") -> list[str]:
    page = await store.page(Selection(user), limit=100, cursor=None)
    return [entry.text for entry in page.entries]


async def test_the_least_valuable_entries_of_a_full_space_are_archived_with_their_vectors(store: TextStore) -> None:
    entries = await said_daily(store, 6)
    elsewhere = await store_entries(store, [aged(400, "in another space", space="work")])
    vectors = await vectors_of(entries)

    for expected in (2, 0):
        crowds = await store.over_capacity(cap=4, limit=10)
        done = [await make_room(c, stores=places(store, vectors), cap=4, ageing=Ageing()) for c in crowds]
        assert sum(one.archived for one in done) == expected

    assert await active(store) == [*(f"said {days} days ago" for days in range(4)), "in another space"]
    assert set(vectors.points) == {entry.id for entry in entries[:4]}
    archived = await store.page(Selection("ann", status="archived"), limit=10, cursor=None)
    assert [entry.text for entry in archived.entries] == ["said 4 days ago", "said 5 days ago"]
    assert elsewhere[0].id not in {entry.id for entry in archived.entries}


async def test_scores_that_were_computed_for_it_are_kept(store: TextStore) -> None:
    await said_daily(store, 3)
    await make_room(SPACE, stores=places(store), cap=2, ageing=Ageing())
    page = await store.page(Selection("ann"), limit=10, cursor=None)
    assert [entry.last_scores is not None for entry in page.entries] == [True, True]


async def test_the_protected_stay_even_when_nothing_else_is_left_and_it_is_told(store: TextStore) -> None:
    await store_entries(
        store,
        [aged(300, "pinned", pinned=True), aged(200, "saved", manually_saved=True), aged(1, "new"), aged(2, "newer")],
    )
    done = await make_room(SPACE, stores=places(store), cap=1, ageing=Ageing())
    assert (done.archived, done.protected) == (2, 2)
    assert sorted(await active(store)) == ["pinned", "saved"]


async def test_a_space_that_is_much_too_full_is_trimmed_in_small_steps_with_a_pause_after_each(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = await vectors_of(await said_daily(store, 500))
    done: list[tuple[str, int]] = []
    for port, name in ((store, "replace"), (vectors, "remove"), (store, "page")):
        monkeypatch.setattr(port, name, noted(done, name, getattr(port, name)))

    async def pause(seconds: float) -> None:
        done.append(("pause", 0))

    await make_room(SPACE, stores=places(store, vectors), cap=100, ageing=Ageing(), pause=pause)
    assert [size for name, size in done if name == "replace"] == [50] * 10
    assert [size for name, size in done if name == "remove"] == [50] * 8
    steps = [name for name, _ in done]
    assert all("pause" in steps[at + 1 : at + 3] for at, name in enumerate(steps) if name != "pause")
    assert len(vectors.points) == (await store.counts("ann")).entries == 100


def noted(done: list[tuple[str, int]], name: str, call: Any) -> Any:
    """The call, which writes down how much it was asked to do."""

    async def noting(*args: Any, **given: Any) -> Any:
        done.append((name, given["limit"] if "limit" in given else len(args[0])))
        return await call(*args, **given)

    return noting


async def test_trimming_that_was_broken_off_goes_on(store: TextStore) -> None:
    vectors = await vectors_of(await said_daily(store, 200))
    room = partial(make_room, stores=places(store, vectors), cap=20, ageing=Ageing())

    async def never(seconds: float) -> None:
        if (await store.counts("ann")).entries < 200:
            raise Unavailable("broken off")

    with pytest.raises(Unavailable):
        await room(SPACE, pause=never)
    assert (await store.counts("ann")).entries == len(vectors.points) == 150
    assert (await room(SPACE)).archived == 130
    assert await active(store) == [f"said {days} days ago" for days in range(20)]


async def test_what_is_too_old_loses_its_words_unless_it_is_protected(store: TextStore) -> None:
    entries = await store_entries(
        store,
        [aged(200, "old"), aged(100, "less old"), aged(300, "pinned", pinned=True), aged(200, "hers", user="eve")],
    )
    vectors = await vectors_of(entries)
    for expected in (2, 0):
        assert await expire(stores=places(store, vectors), max_age=timedelta(days=180), limit=1) == expected
    assert sorted(await active(store)) == ["less old", "pinned"]
    assert await active(store, "eve") == []
    forgotten = await store.page(Selection("ann", status="forgotten"), limit=10, cursor=None)
    assert [entry.text for entry in forgotten.entries] == [""]
    assert len(vectors.points) == 2


async def test_what_capacity_archived_loses_its_words_when_it_is_too_old(store: TextStore) -> None:
    entries = await store_entries(store, [aged(days, f"said {days} days ago") for days in (1, 20, 40)])
    assert (await make_room(SPACE, stores=places(store), cap=1, ageing=Ageing())).archived == 2
    for expected in (1, 0):
        assert await expire(stores=places(store), max_age=timedelta(days=30), of=SPACE) == expected
    found = await store.get(entries)
    assert [found[one.id].text for one in entries] == ["said 1 days ago", "said 20 days ago", ""]
