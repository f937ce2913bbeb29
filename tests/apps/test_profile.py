"""What is known of a user: facts of their own entries, cards, bounds, and nothing of what was forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.ports import Erasure, TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry
from contracts.v1.profile import ProfileReply, ProfileRequest
from services.curate import profile as profiles
from services.curate import sessions
from services.shared.core.fitting import size_of
from tests.apps.test_edits import Desk
from tests.stores.builders import NOON, an_entry, store_entries


def said(text: str, day: int = 0, **fields: object) -> Entry:
    at = NOON + timedelta(days=day)
    return an_entry("ann", text, created_at=at, last_said_at=at, **fields)


@pytest.fixture
def desk(store: TextStore) -> Desk:
    return Desk(store)


async def known(store: TextStore, **fields: object) -> ProfileReply:
    return await profiles.profile(ProfileRequest(user_id="ann", **fields), store=store)


async def test_facts_come_with_their_sources_and_as_cards(store: TextStore) -> None:
    sister, moved = said("My sister Clara lives in Oslo"), said("I moved to Porto", 3)
    entries = [said("I live in Lisbon"), moved, sister, said("I love hiking"), an_entry("bob", "I live in Rome")]
    await store_entries(store, entries)
    reply = await known(store)
    home = next(fact for fact in reply.facts if fact.memory_key == "profile|person|me|home")
    assert (home.value, home.source_ids, [one.value for one in home.before]) == ("Porto", (moved.id,), ["Lisbon"])
    assert {card.entity_ref: set(card.facts) for card in reply.cards} == {
        "person:me": {"Lives in Porto"},
        "person:clara": {"Clara is their sister", "Clara lives in Oslo"},
    }
    assert (reply.entries_read, reply.left_out, reply.truncated) == (4, 0, False)


async def test_space_and_persona_limit_what_is_known(store: TextStore) -> None:
    await store_entries(store, [said("I live in Lisbon", space="home"), said("I love chess", persona_id="coach")])
    assert [fact.value for fact in (await known(store, space="home")).facts] == ["Lisbon"]
    assert {fact.value for fact in (await known(store, persona_id="coach")).facts} == {"Lisbon", "chess"}
    assert {fact.value for fact in (await known(store, persona_id="other")).facts} == {"Lisbon"}


async def test_what_is_forgotten_is_not_known_any_more(desk: Desk, store: TextStore) -> None:
    home, work = said("I live in Lisbon"), said("I work at Siemens", 1)
    await store_entries(store, [home, work])
    assert {fact.value for fact in (await known(store)).facts} == {"Lisbon", "Siemens"}
    await desk.editor.forget(ForgetRequest(user_id="ann", id=home.id))
    assert {fact.value for fact in (await known(store)).facts} == {"Siemens"}


async def test_of_a_user_who_is_being_erased_nothing_is_known(store: TextStore) -> None:
    await store_entries(store, [said("I live in Lisbon")])
    await store.record_erasure("ann", None, Erasure("ann", 7, NOON))
    assert (await known(store)).facts == ()


async def test_older_entries_than_the_bound_are_left_out_and_counted(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "_MOST", 3)
    monkeypatch.setattr(sessions, "_PAGE", 2)
    await store_entries(store, [said(f"I love game number{n}", n) for n in range(5)])
    reply = await known(store)
    assert (len(reply.facts), reply.entries_read, reply.left_out) == (3, 3, 2)


async def test_a_reply_that_does_not_fit_is_shortened(store: TextStore) -> None:
    await store_entries(store, [said(f"My friend Anna{chr(97 + n)} lives in Oslo", n) for n in range(9)])
    whole = await known(store)
    room = size_of(whole) // 2
    short = await profiles.shorten_profile(ProfileRequest(user_id="ann"), whole, room)
    assert size_of(short) <= room
    assert short.truncated
    assert 0 < len(short.facts) < len(whole.facts)
