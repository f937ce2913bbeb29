"""Looking up what may be the same statement, and what was said around an entry."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from contracts.ports import Accepted, Key, Outcome, Scope, TextStore
from contracts.v1.entries import Entry
from services.shared.dedup.fingerprint import MOST_SIMILAR
from services.shared.dedup.repeats import find_canonical, prints_of
from tests.stores.builders import (
    NOON,
    a_session,
    a_user,
    an_entry,
    entry_of,
    log_proposals,
    log_texts,
    minutes,
    similar_to,
    store_entries,
)
from tests.stores.changing import modify


async def similar(store: TextStore, *candidates: Entry) -> list[list[str]]:
    return [[entry.text for entry in entries] for entries in await similar_to(store, *candidates)]


async def test_entries_that_share_the_statement_or_a_band_are_similar(text_store: TextStore, user: str) -> None:
    entry, other, _ = await store_entries(
        text_store,
        [
            an_entry(user, "same statement", statement_hash="h1", minhash_bands=("a1", "b1")),
            an_entry(user, "shared band", statement_hash="h2", minhash_bands=("a1", "b2")),
            an_entry(user, "neither", statement_hash="h3", minhash_bands=("a3", "b3")),
        ],
    )
    assert await similar(text_store, entry, other) == [["same statement", "shared band"]] * 2
    same = an_entry(user, statement_hash="h1", minhash_bands=())
    near = an_entry(user, statement_hash="h9", minhash_bands=("a1", "none"))
    assert await similar(text_store, same, near) == [["same statement"], ["same statement", "shared band"]]
    assert await similar_to(text_store, entry) == [[entry, other]]


async def test_nothing_is_similar_to_what_has_no_fingerprint(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user)])
    assert await similar_to(text_store, entry) == [[]]
    assert await similar_to(text_store) == []


@pytest.mark.parametrize(
    "fields", [{"user_id": "somebody else"}, {"role": "assistant"}, {"speaker": "Ben"}, {"speaker": None}]
)
async def test_what_somebody_else_says_is_not_similar(text_store: TextStore, user: str, fields: dict[str, Any]) -> None:
    entry = an_entry(user, speaker="Anna", statement_hash="h", minhash_bands=("a",))
    await store_entries(text_store, [entry])
    assert await similar(text_store, entry, entry.model_copy(update=fields)) == [[entry.text], []]


async def test_what_is_said_elsewhere_is_not_similar(text_store: TextStore, user: str) -> None:
    scopes = [Scope(user), Scope(a_user()), Scope(user, "work"), Scope(user, persona_id="guide")]
    entries = [
        an_entry(s.user_id, "tea", space=s.space, persona_id=s.persona_id, statement_hash="h", minhash_bands=("a",))
        for s in scopes
    ]
    await store_entries(text_store, entries)
    found = await similar_to(text_store, *entries)
    assert found == [[entry] for entry in entries]


async def test_an_entry_out_of_use_is_not_similar(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, statement_hash="h", minhash_bands=("a",))])
    await modify(text_store, [entry], lambda e: e.model_copy(update={"status": "forgotten", "text": ""}))
    assert await similar_to(text_store, entry) == [[]]
    await modify(text_store, [entry], lambda e: e.model_copy(update={"status": "active", "text": "back"}))
    assert await similar(text_store, entry) == [["back"]]


async def test_looking_up_follows_changes(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, statement_hash="h1", minhash_bands=("a1",))])
    update = {"statement_hash": "h2", "minhash_bands": ("a2",), "speaker": "Anna"}
    (changed,) = await modify(text_store, [entry], lambda e: e.model_copy(update=update))
    assert await similar_to(text_store, entry, changed) == [[], [changed]]


async def names_around(store: TextStore, entries: list[Entry], reach: int) -> dict[str, dict[int, str]]:
    names = {entry.id: entry.text for entry in entries}
    around = await store.neighbours(entries, reach=reach)
    return {names[id_]: {far: names[near] for far, near in window.items()} for id_, window in around.items()}


async def test_neighbours_are_those_said_before_and_after_in_the_session_whenever_stored(
    text_store: TextStore, user: str
) -> None:
    a, b, c, d = a_session(user, list("abcd"))
    for stored in ([c], [a, b, d], a_session(user, list("xyz"), "s2")):
        await store_entries(text_store, stored)
    assert await names_around(text_store, [a, b, c, d], 2) == {
        "a": {1: "b", 2: "c"},
        "b": {-1: "a", 1: "c", 2: "d"},
        "c": {-2: "a", -1: "b", 1: "d"},
        "d": {-2: "b", -1: "c"},
    }
    await modify(text_store, [b], lambda e: e.model_copy(update={"status": "archived"}))
    around = await names_around(text_store, [a, c, d], 4)
    assert (around["a"], around["c"]) == ({1: "c", 2: "d"}, {-1: "a", 1: "d"})


async def test_what_is_said_at_one_moment_is_in_the_order_stored(text_store: TextStore, user: str) -> None:
    entries = [an_entry(user, f"{i:02}", session_id="s1") for i in range(30)]
    await store_entries(text_store, entries)
    around = await names_around(text_store, entries, 1)
    assert around["07"] == {-1: "06", 1: "08"}


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


async def test_many_that_are_near_each_other_are_accepted_beside_what_was_seen(
    text_store: TextStore, user: str
) -> None:
    for proposal in await log_proposals(text_store, user, 80):
        entry = entry_of(proposal, statement_hash=f"own {proposal.id}", minhash_bands=("shared",))
        (seen,) = await similar_to(text_store, entry)
        assert len(seen) <= MOST_SIMILAR
        (outcome,) = await text_store.apply([Accepted(entry, known_similar=frozenset(other.id for other in seen))])
        assert outcome.kind == "stored"


async def test_entries_that_share_a_key_and_state_different_things_stay_beside_each_other(
    text_store: TextStore, user: str
) -> None:
    known: frozenset[str] = frozenset()
    for proposal in await log_texts(text_store, user, "I speak Polish", "I speak polish", "I SPEAK polish"):
        accepted = Accepted(entry_of(proposal, statement_hash="h"), known_similar=known)
        assert await text_store.apply([accepted]) == [Outcome(proposal.id, "stored", proposal.id)]
        known |= {proposal.id}
    assert {entry.id for entry in (await similar_to(text_store, accepted.entry))[0]} | {proposal.id} == known


async def test_a_misspelt_copy_is_found_among_many_texts_of_its_template(text_store: TextStore, user: str) -> None:
    words = "the northern warehouse received new valves and the manager counted every single pallet again".split()
    texts = [f"Report {number}. {' '.join(words * 4)} In all {7 * number} were left." for number in range(150)]
    entries = [with_prints(an_entry(user, text, created_at=NOON + minutes(i))) for i, text in enumerate(texts)]
    await store_entries(text_store, entries)
    copy = with_prints(an_entry(user, texts[3].replace("warehouse", "warehosue", 1)))
    (found,) = await text_store.find_similar([copy])
    assert entries[3] in found.entries
    assert len(found.entries) <= MOST_SIMILAR
    assert find_canonical(copy, found.entries) == entries[3]


def with_prints(entry: Entry) -> Entry:
    """The entry as dedupe makes it, with all that it is looked up by."""
    return entry.model_copy(update=asdict(prints_of(entry.text, entry.created_at)))
