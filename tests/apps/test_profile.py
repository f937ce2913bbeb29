"""What is known of a user: the claims of their own entries, cards, bounds, and nothing of what was forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.ports import Erasure, TextStore
from contracts.v1.claims import Slot
from contracts.v1.profile import ProfileReply, ProfileRequest
from services.curate import profile as profiles
from services.curate import sessions
from services.shared.knowledge.profile import SURE
from tests.apps.telling import said
from tests.apps.test_edits import Desk
from tests.claims import a_claim
from tests.stores.builders import NOON, an_entry, store_entries


async def known(store: TextStore, **fields: object) -> ProfileReply:
    return await profiles.profile(ProfileRequest(user_id="ann", **fields), store=store)


async def test_facts_come_with_their_sources_and_as_cards(store: TextStore) -> None:
    first, moved = said("I live in Lisbon", "Lisbon"), said("we're in Porto now", "Porto", day=3)
    sister = said("my sister Clara, that is", "my sister Clara", "family", whose="Clara")
    hers = said("Clara found a flat in Oslo", "Oslo", day=1, whose="Clara")
    hobby = said("I love hiking", "hiking", "hobby")
    await store_entries(store, [first, moved, sister, hers, hobby, an_entry("bob", "I live in Rome")])
    reply = await known(store)
    home = next(fact for fact in reply.facts if fact.memory_key == "profile|person|me|home")
    assert (home.value, home.source_ids, [one.value for one in home.before]) == ("Porto", (moved.id,), ["Lisbon"])
    assert (home.before[0].until, home.before[0].source_ids) == (moved.created_at, (first.id,))
    assert {card.entity_ref: set(card.facts) for card in reply.cards} == {
        "person:me": {moved.text},
        "person:clara": {sister.text, hers.text},
    }
    assert (reply.entries_read, reply.left_out, reply.truncated) == (5, 0, False)


async def test_what_is_said_often_is_more_important_and_what_is_pinned_most(store: TextStore) -> None:
    tea = [said(f"{n} cups of tea", "tea", "like", n) for n in range(3)]
    await store_entries(
        store, [*tea, said("I like jazz", "jazz", "like"), said("I like figs", "figs", "like", pinned=True)]
    )
    facts = {fact.value: (fact.importance, fact.times) for fact in (await known(store)).facts}
    assert facts == {"tea": (2, 3), "jazz": (1, 1), "figs": (3, 1)}


@pytest.mark.parametrize(("slot", "until"), [("appointment", True), ("deadline", True), ("event", False)])
async def test_an_appointment_is_over_when_its_day_is(store: TextStore, slot: Slot, until: bool) -> None:
    await store_entries(store, [said("dentist tomorrow at 9", "dentist", slot)])
    now = {"as_of": NOON + timedelta(hours=1)}, {"as_of": NOON + timedelta(days=3)}
    for fields, is_over in zip(now, (False, until), strict=True):
        (fact,) = (await known(store, **fields)).facts
        assert (fact.until is not None) == is_over


async def test_what_is_likely_only_is_told_as_such_and_stands_on_no_card(store: TextStore) -> None:
    text = "Porto feels right"
    await store_entries(store, [said(text, "Porto", claims=(a_claim(text, "Porto", sure=SURE - 0.1),))])
    reply = await known(store)
    assert ([fact.is_likely for fact in reply.facts], reply.cards) == ([True], ())


async def test_of_an_open_conflict_neither_ends_the_other(store: TextStore) -> None:
    old, new = said("I live in Lisbon", "Lisbon", id="a"), said("home is Porto", "Porto", day=1, id="b")
    named = [one.model_copy(update={"conflicts_with": (other,)}) for one, other in ((old, "b"), (new, "a"))]
    await store_entries(store, [*named, said("I like tea", "tea", "like")])
    facts = {fact.value: (fact.until, fact.in_conflict) for fact in (await known(store)).facts}
    assert facts == {"Lisbon": (None, True), "Porto": (None, True), "tea": (None, False)}


async def test_space_and_persona_limit_what_is_known(store: TextStore) -> None:
    home, chess = said("I live in Lisbon", "Lisbon", space="home"), said("chess!", "chess", "hobby", persona_id="coach")
    await store_entries(store, [home, chess])
    assert [fact.value for fact in (await known(store, space="home")).facts] == ["Lisbon"]
    assert {fact.value for fact in (await known(store, persona_id="coach")).facts} == {"Lisbon", "chess"}
    assert {fact.value for fact in (await known(store, persona_id="other")).facts} == {"Lisbon"}


async def test_older_entries_than_the_bound_are_left_out_and_counted(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "_MOST", 3)
    monkeypatch.setattr(sessions, "_PAGE", 2)
    await store_entries(store, [said(f"I love game{n}", f"game{n}", "hobby", n) for n in range(5)])
    reply = await known(store)
    assert (len(reply.facts), reply.entries_read, reply.left_out) == (3, 3, 2)


async def test_what_is_forgotten_or_being_erased_is_not_known_any_more(store: TextStore) -> None:
    home, work = said("I live in Lisbon", "Lisbon"), said("I work at Siemens", "Siemens", "employer", 1)
    await store_entries(store, [home, work])
    assert {fact.value for fact in (await known(store)).facts} == {"Lisbon", "Siemens"}
    await Desk(store).forget(home)
    assert {fact.value for fact in (await known(store)).facts} == {"Siemens"}
    await store.record_erasure("ann", None, Erasure("ann", 7, NOON))
    assert (await known(store)).facts == ()
