"""Looking up what may be the same statement, and what was said around an entry."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.ports import Accepted, Key, Scope, SimilarityQuery, TextStore
from contracts.v1.entries import Entry
from services.shared.stores.opensearch.claims import MOST_LISTED
from tests.stores.builders import (
    NOON,
    a_session,
    a_user,
    an_entry,
    entry_of,
    log_proposals,
    minutes,
    similarity_query,
    store_entries,
)
from tests.stores.changing import modify


async def similar(store: TextStore, *queries: SimilarityQuery) -> list[list[str]]:
    return [[entry.text for entry in entries] for entries in await store.find_similar(queries)]


async def test_entries_that_share_the_hash_or_a_band_are_similar(text_store: TextStore, user: str) -> None:
    entry, other, _ = await store_entries(
        text_store,
        [
            an_entry(user, "same hash", statement_hash="h1", minhash_bands=("a1", "b1")),
            an_entry(user, "shared band", statement_hash="h2", minhash_bands=("a1", "b2")),
            an_entry(user, "neither", statement_hash="h3", minhash_bands=("a3", "b3")),
        ],
    )
    assert (
        await similar(text_store, similarity_query(entry), similarity_query(other))
        == [["same hash", "shared band"]] * 2
    )
    assert await similar(
        text_store, similarity_query(entry, keys=("h1",)), similarity_query(entry, keys=("a1", "none"))
    ) == [
        ["same hash"],
        ["same hash", "shared band"],
    ]
    assert await text_store.find_similar([similarity_query(entry)]) == [[entry, other]]


async def test_nothing_is_similar_to_what_has_no_fingerprint(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user)])
    assert await text_store.find_similar([similarity_query(entry)]) == [[]]
    assert await text_store.find_similar([]) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": Scope("somebody else")},
        {"role": "assistant"},
        {"speaker": "Ben"},
        {"speaker": None},
    ],
)
async def test_what_somebody_else_says_is_not_similar(text_store: TextStore, user: str, fields: dict[str, Any]) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, speaker="Anna", statement_hash="h")])
    assert await similar(text_store, similarity_query(entry), similarity_query(entry, **fields)) == [[entry.text], []]


async def test_what_is_said_elsewhere_is_not_similar(text_store: TextStore, user: str) -> None:
    scopes = [Scope(user), Scope(a_user()), Scope(user, "work"), Scope(user, persona_id="guide")]
    entries = [
        an_entry(s.user_id, "tea", space=s.space, persona_id=s.persona_id, statement_hash="h", minhash_bands=("a",))
        for s in scopes
    ]
    await store_entries(text_store, entries)
    found = await text_store.find_similar([similarity_query(entry) for entry in entries])
    assert found == [[entry] for entry in entries]


async def test_an_entry_out_of_use_is_not_similar(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, statement_hash="h", minhash_bands=("a",))])
    await modify(text_store, [entry], lambda e: e.model_copy(update={"status": "forgotten", "text": ""}))
    assert await text_store.find_similar([similarity_query(entry)]) == [[]]
    await modify(text_store, [entry], lambda e: e.model_copy(update={"status": "active", "text": "back"}))
    assert await similar(text_store, similarity_query(entry)) == [["back"]]


async def test_looking_up_follows_changes(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, statement_hash="h1", minhash_bands=("a1",))])
    update = {"statement_hash": "h2", "minhash_bands": ("a2",), "speaker": "Anna"}
    (changed,) = await modify(text_store, [entry], lambda e: e.model_copy(update=update))
    assert await text_store.find_similar([similarity_query(entry), similarity_query(changed)]) == [[], [changed]]


async def names_around(store: TextStore, entries: list[Entry], reach: int) -> dict[str, dict[int, str]]:
    names = {entry.id: entry.text for entry in entries}
    around = await store.neighbours(entries, reach=reach)
    return {names[id_]: {far: names[near] for far, near in window.items()} for id_, window in around.items()}


async def test_neighbours_are_those_before_and_after_in_the_session(text_store: TextStore, user: str) -> None:
    entries = await store_entries(text_store, a_session(user, list("abcd")))
    await store_entries(text_store, a_session(user, list("xyz"), "s2"))
    assert await names_around(text_store, entries, 2) == {
        "a": {1: "b", 2: "c"},
        "b": {-1: "a", 1: "c", 2: "d"},
        "c": {-2: "a", -1: "b", 1: "d"},
        "d": {-2: "b", -1: "c"},
    }


async def test_neighbours_are_in_the_order_they_were_said(text_store: TextStore, user: str) -> None:
    a, b, c = a_session(user, list("abc"))
    await store_entries(text_store, [c])
    await store_entries(text_store, [a, b])
    assert (await names_around(text_store, [a, b, c], 4))["b"] == {-1: "a", 1: "c"}


async def test_what_is_said_at_one_moment_is_in_the_order_stored(text_store: TextStore, user: str) -> None:
    entries = [an_entry(user, f"{i:02}", session_id="s1") for i in range(30)]
    await store_entries(text_store, entries)
    around = await names_around(text_store, entries, 1)
    assert around["07"] == {-1: "06", 1: "08"}


async def test_entries_out_of_use_are_nobodys_neighbours(text_store: TextStore, user: str) -> None:
    entries = await store_entries(text_store, a_session(user, list("abc")))
    await modify(text_store, [entries[1]], lambda e: e.model_copy(update={"status": "archived"}))
    around = await names_around(text_store, entries, 4)
    assert (around["a"], around["c"]) == ({1: "c"}, {-1: "a"})


async def test_an_entry_without_session_or_reach_has_no_neighbours(text_store: TextStore, user: str) -> None:
    entries = await store_entries(text_store, [an_entry(user, "a"), an_entry(user, "b", created_at=NOON + minutes(1))])
    assert await names_around(text_store, entries, 4) == {"a": {}, "b": {}}
    sessions = await store_entries(text_store, a_session(user, list("cd")))
    assert await names_around(text_store, sessions, 0) == {"c": {}, "d": {}}
    assert await text_store.neighbours([Key(user, "unknown")], reach=4) == {}


async def test_the_same_session_of_another_user_space_or_persona_is_another(text_store: TextStore, user: str) -> None:
    places: list[dict[str, Any]] = [{}, {"space": "work"}, {"persona_id": "guide"}]
    mine = [a_session(user, ["a", "b"], **place) for place in places]
    others = a_session(a_user(), ["x", "y"])
    await store_entries(text_store, [*(entry for session in mine for entry in session), *others])
    around = await text_store.neighbours([session[0] for session in mine], reach=1)
    assert around[mine[0][0].id] == {1: mine[0][1].id}
    assert around[mine[1][0].id] == {1: mine[1][1].id}


@pytest.mark.parametrize(("first", "distance"), [("common", -1), ("private", 1)])
async def test_a_persona_hears_what_is_said_to_all(text_store: TextStore, user: str, first: str, distance: int) -> None:
    one, two = a_session(user, ["one", "two"])
    common, private = (one, two) if first == "common" else (two, one)
    private = private.model_copy(update={"persona_id": "guide"})
    await store_entries(text_store, [common, private])
    assert await text_store.neighbours([common, private], reach=4) == {
        common.id: {},
        private.id: {distance: common.id},
    }


async def test_many_that_share_a_key_are_accepted_beside_what_was_seen(text_store: TextStore, user: str) -> None:
    for proposal in await log_proposals(text_store, user, 80):
        entry = entry_of(proposal, statement_hash=f"own {proposal.id}", typo_hash="shared")
        (seen,) = await text_store.find_similar([similarity_query(entry)])
        assert len(seen) <= MOST_LISTED
        (settled,) = await text_store.apply([Accepted(entry, known_similar=frozenset(other.id for other in seen))])
        assert settled.kind == "stored"
