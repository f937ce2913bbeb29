"""What is known of a user and of whom they name: facts and cards with sources, and nothing that was forgotten."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from contracts.ports import Erasure, TextStore
from contracts.v1.cards import CardsReply, CardsRequest, NamesRequest
from contracts.v1.claims import Slot
from contracts.v1.loops import LoopsRequest, SettleRequest
from contracts.v1.profile import ProfileReply, ProfileRequest
from services.curate import cards, loops, sessions
from services.curate import profile as profiles
from services.shared.errors import Rejected
from services.shared.knowledge.profile import SURE
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.telling import said, to_do
from tests.apps.test_edits import Desk
from tests.claims import a_claim
from tests.stores.builders import NOON, an_entry, store_entries
from tests.stores.sqlite_secrets import found


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


async def cards_of(store: TextStore, **fields: object) -> CardsReply:
    return await cards.cards(CardsRequest(user_id="ann", **fields), store=store)


async def decide(store: TextStore, one: str, other: str, same: bool | None) -> None:
    await cards.decide_names(NamesRequest(user_id="ann", one=one, other=other, same=same), store=store)


JOSE = (
    said("My brother José is over", "My brother José", "family", whose="José"),
    said("Jose moved to Oslo", "Oslo", day=1, whose="Jose"),
)


async def test_spellings_of_one_person_share_a_card(store: TextStore) -> None:
    await store_entries(store, [*JOSE, said("I live in Rome", "Rome")])
    by_ref = {card.entity_ref: card for card in (await cards_of(store)).items}
    assert set(by_ref) == {"person:me", "person:jose"}
    one = by_ref["person:jose"]
    assert set(one.names) == {"José", "Jose"}
    assert {fact.text for fact in one.facts} == {entry.text for entry in JOSE}
    assert (await cards_of(store, name="jose")).items == (one,)
    assert (await cards_of(store, name="person:jose")).items == (one,)
    assert (await cards_of(store, name="Bob")).items == ()


async def test_a_project_has_a_card_of_its_own(store: TextStore) -> None:
    budget = said("osiołek is due in April", "April", "deadline", whose="osiołek")
    await store_entries(store, [said("we build osiołek", "osiołek", "project", whose="osiołek"), budget])
    (card,) = (await cards_of(store)).items
    assert (card.entity_ref, [fact.text for fact in card.facts]) == ("project:osiołek", [budget.text])


async def test_the_user_decides_which_names_are_of_one_person(store: TextStore) -> None:
    names = ("Makesh", "Mukesh")
    await store_entries(store, [said("I like Makesh", names=names[:1]), said("Mukesh is away", day=1, names=names[1:])])
    (likely,) = (await cards_of(store)).likely
    assert {likely.one, likely.other} == set(names)
    await decide(store, "Makesh", "Mukesh", True)
    reply = await cards_of(store)
    assert [set(card.names) for card in reply.items] == [set(names)]
    assert [(one.same, {one.one, one.other}) for one in reply.decided] == [(True, set(names))]
    await decide(store, "mukesh", "makesh", False)
    reply = await cards_of(store)
    assert ([one.same for one in reply.decided], reply.items, reply.likely) == ([False], (), ())
    await decide(store, "Makesh", "Mukesh", None)
    assert ((await cards_of(store)).decided, len((await cards_of(store)).likely)) == ((), 1)


async def test_facts_under_two_names_are_one_value_after_another(store: TextStore) -> None:
    moved = said("Jose moved to Bergen", "Bergen", day=2, whose="Jose")
    await store_entries(store, [JOSE[1], moved])
    await decide(store, "Jose", "Pepe", True)
    await store_entries(store, [said("Pepe is in Turku", "Turku", day=3, whose="Pepe")])
    facts = (await profiles.profile(ProfileRequest(user_id="ann"), store=store)).facts
    (home,) = [fact for fact in facts if fact.memory_key.endswith("|home")]
    assert (home.value, [one.value for one in home.before]) == ("Turku", ["Bergen", "Oslo"])


async def test_a_decision_holds_no_word_and_goes_with_the_user(store: TextStore) -> None:
    await decide(store, "Zebulon", "Zabulon", True)
    (record,) = await store.records("ann", "names")
    assert "bulon" not in f"{record.name}{dict(record.body)}".casefold()
    erasure = Erasure("ann", 7, NOON)
    await store.record_erasure("ann", None, erasure)
    assert (await cards_of(store)).items == ()
    await store.erase("ann", mark=erasure)
    assert await store.records("ann", "names") == []


@pytest.mark.parametrize(("one", "other"), [("Anna", "anna"), ("!!", "Anna"), ("Anna", "?")])
async def test_one_name_alone_decides_nothing(store: TextStore, one: str, other: str) -> None:
    with pytest.raises(Rejected, match="two names"):
        await decide(store, one, other, True)


async def test_nothing_of_what_is_forgotten_is_on_a_card_or_in_any_file(store: SqliteTextStore, tmp_path: Path) -> None:
    desk, marker = Desk(store), "Zebuloniana"
    entries = [said(f"{marker} lives in Oslo", "Oslo", whose=marker), to_do(f"I need to call {marker} by Friday", 1)]
    await store_entries(store, entries)
    (loop,) = (await loops.list_loops(LoopsRequest(user_id="ann"), store=store)).items
    await loops.settle(SettleRequest(user_id="ann", id=loop.id, state="done"), store=store)
    await decide(store, marker, "Zebulona", True)
    assert (await cards_of(store, name=marker)).items
    assert found(tmp_path / "memory.sqlite3", marker)
    for entry in entries:
        await desk.forget(entry)
    assert await store.compact()
    assert found(tmp_path / "memory.sqlite3", marker) == 0
    assert (await cards_of(store)).items == ()


async def test_who_is_two_things_to_the_user_is_two_people(store: TextStore) -> None:
    clara = said("my daughter Clara is four", "my daughter Clara", "family", whose="Clara")
    wife = said("my wife is Clara Schmidt", "my wife is Clara Schmidt", "partner", day=1, whose="Clara Schmidt")
    await store_entries(store, [clara, wife])
    assert {card.entity_ref for card in (await cards_of(store)).items} == {"person:clara", "person:clara_schmidt"}
    await decide(store, "Clara", "Clara Schmidt", True)
    (card,) = (await cards_of(store)).items
    assert (set(card.names), len(card.facts)) == ({"Clara", "Clara Schmidt"}, 2)
