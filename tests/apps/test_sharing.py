"""Spaces that share by tag, and the foundation of pinned entries: what is seen, and that nothing else ever is."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.ports import Conversation, Record
from contracts.v1.control import SpaceSettings
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.app import decided, located, shared_with
from services.shared.preferences import PreferenceReader
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.asking import a_retriever
from tests.sizes import sized
from tests.stores.builders import a_session, an_entry, store_entries

TAGS, SPACES = ("food", "home", "work"), ("a", "b", "c", "d")


async def ask(store: SqliteTextStore, space: str, user: str = "ann", **given: Any) -> RetrieveReply:
    """Asked as `retrieve` asks."""
    request = RetrieveRequest.model_validate({"user_id": user, "query": "lamp", "space": space, "limit": 200, **given})
    retriever = a_retriever(store, min_score=0.0, candidates=1000, lexical_depth=1000)
    _, settings = await decided(request, PreferenceReader(store))
    return await retriever.retrieve(request, await shared_with(request, settings.takes_tags or (), store))


async def decide(store: SqliteTextStore, space: str, user: str = "ann", **settings: Any) -> None:
    await store.put_record(Record(user, "settings", space, settings, datetime.now(UTC)), held=None)


def some(chance: random.Random, of: tuple[str, ...]) -> list[str]:
    return [one for one in of if chance.random() < 0.4]


async def a_world(store: SqliteTextStore, user: str, chance: random.Random) -> list[Entry]:
    """Entries in four spaces with tags, and what each space gives and takes."""
    entries = [
        an_entry(user, f"lamp {n}", space=chance.choice(SPACES), tags=tuple(some(chance, TAGS))) for n in range(12)
    ]
    for space in (*SPACES, "*"):
        if chance.random() < 0.7:
            decided = {"gives_tags": some(chance, TAGS), "takes_tags": some(chance, TAGS)}
            await decide(store, space, user, **decided, memory_enabled=chance.random() < 0.8)
    return await store_entries(store, entries)


async def test_a_space_sees_its_own_entries_and_those_that_another_gives_and_it_takes_and_no_other(
    store: SqliteTextStore,
) -> None:
    shared = 0
    for seed in range(sized(150)):
        user, chance = f"u{seed}", random.Random(seed)
        entries = await a_world(store, user, chance)
        own = PreferenceReader(store)
        places = {space: Conversation(user, space, "") for space in SPACES}
        held = {space: (await own.of([place]))[place].settings for space, place in places.items()}
        for space in SPACES:
            wanted = some(chance, TAGS) if chance.random() < 0.3 else []
            reply = await ask(store, space, user, tags=wanted or None)
            passing = [one for one in entries if not wanted or not set(wanted).isdisjoint(one.tags)]
            expected = {one.id for one in passing if one.space == space or _is_given(one, held[space], held)}
            assert {item.id for item in reply.items} == expected, (seed, space)
            shared += sum(item.space != space for item in reply.items)
    assert shared > 7, "nothing was ever shared"


def _is_given(entry: Entry, here: SpaceSettings, held: dict[str, SpaceSettings]) -> bool:
    there = held[entry.space]
    tags = set(entry.tags) & set(here.takes_tags or ()) & set(there.gives_tags or ())
    return bool(tags) and there.memory_enabled is not False


async def test_what_is_shared_stays_within_persona_and_user(store: SqliteTextStore) -> None:
    shared = {"space": "b", "tags": ("food",)}
    own, of_guide = an_entry("ann", "lamp", **shared), an_entry("ann", "lamp", persona_id="guide", **shared)
    await store_entries(store, [own, of_guide, an_entry("bob", "lamp", **shared)])
    await decide(store, "*", gives_tags=["food"], takes_tags=["food"])
    assert [item.id for item in (await ask(store, "a")).items] == [own.id]
    assert {item.id for item in (await ask(store, "a", persona_id="guide")).items} == {own.id, of_guide.id}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, ["door", "key"]),
        ({"tags": ["home"]}, ["key"]),
        ({"persona_id": "guide"}, ["door", "guide", "key"]),
        ({"space": "b"}, ["elsewhere"]),
        ({"space": "c"}, []),
        ({"query": "lamp"}, ["door", "key"]),
        ({"token_budget": 0}, []),
    ],
)
async def test_the_foundation_is_what_is_pinned_in_the_scope_whatever_was_asked(
    store: SqliteTextStore, given: dict[str, Any], shown: list[str]
) -> None:
    here = {"space": "a", "pinned": True}
    pinned = [
        an_entry("ann", "the key is under the mat", tags=("home",), **here),
        an_entry("ann", "the door sticks", **here),
        an_entry("ann", "the guide is tired", persona_id="guide", **here),
        an_entry("ann", "elsewhere it rains", space="b", pinned=True, tags=("food",)),
        an_entry("bob", "bob has a key", **here),
    ]
    await store_entries(store, [*pinned, an_entry("ann", "the lamp is in the attic", space="a")])
    await decide(store, "*", gives_tags=["food"], takes_tags=["food"])
    reply = await ask(store, **{"space": "a", "query": "where?", **given})
    assert sorted(word for one in reply.foundation for word in shown if word in one.snippet) == shown
    assert len(reply.foundation) == len(shown)
    assert all(one.snippet in reply.context and one.pinned for one in reply.foundation)
    assert ("## pinned" in reply.context) == bool(shown)


@pytest.mark.parametrize(("budget", "told", "left_out"), [(1000, 8, 0), (140, 3, 5), (70, 1, 7), (0, 0, 8)])
async def test_the_newest_pinned_ones_have_what_is_left_of_the_budget_and_how_many_had_no_room_is_told(
    store: SqliteTextStore, budget: int, told: int, left_out: int
) -> None:
    dishes = [f"never serve me dish {n}" for n in range(8)]
    pins = a_session("ann", dishes, space="a", pinned=True)
    await store_entries(store, pins)
    reply = await ask(store, "a", query="where?", token_budget=budget)
    assert [one.snippet for one in reply.foundation] == dishes[::-1][:told]
    assert (reply.pinned_left_out, reply.truncated) == (left_out, bool(left_out))
    assert reply.token_count <= budget


async def test_a_pinned_entry_that_answers_is_an_item_too_and_in_the_context_once(store: SqliteTextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "the lamp is in the attic", space="a", pinned=True)])
    reply = await ask(store, "a")
    assert [item.id for item in reply.items] == [one.id for one in reply.foundation] == [entry.id]
    assert reply.context.count("attic") == 1


async def test_a_question_is_read_in_the_zone_that_is_set_unless_it_names_one(store: SqliteTextStore) -> None:
    await decide(store, "*", time_zone="Europe/Vienna")
    await decide(store, "b", time_zone="Asia/Tokyo")
    for space, named, read in (("a", None, "Europe/Vienna"), ("b", None, "Asia/Tokyo"), ("b", "UTC", "UTC")):
        request = RetrieveRequest(user_id="ann", query="lamp", space=space, time_zone=named)
        _, settings = await decided(request, PreferenceReader(store))
        assert located(request, settings).time_zone == read


async def test_what_a_shared_entry_superseded_is_not_shared_with_it(store: SqliteTextStore) -> None:
    await decide(store, "home", gives_tags=["shared"])
    await decide(store, "work", takes_tags=["shared"])
    old = an_entry("ann", "the lamp is red, says Eve", space="home", status="superseded")
    new = an_entry("ann", "the lamp is blue now", space="home", tags=("shared",), supersedes=(old.id,))
    old = old.model_copy(update={"superseded_by": new.id, "valid_until": new.created_at})
    await store_entries(store, [old, new])
    (own,), (taken,) = [(await ask(store, space)).items for space in ("home", "work")]
    assert [one.text for one in own.before] == [old.text]
    assert (taken.text, taken.before) == (new.text, ())
