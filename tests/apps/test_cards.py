"""Cards: under one name each, names decided by the user without a word kept, and in the answers to questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.ports import Erasure, TextStore
from contracts.v1.cards import CardsReply, CardsRequest, NamesRequest
from contracts.v1.loops import LoopsRequest, SettleRequest
from contracts.v1.profile import ProfileRequest
from services.curate import cards, loops
from services.curate import profile as profiles
from services.shared.errors import Rejected
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.telling import said, to_do
from tests.apps.test_edits import Desk
from tests.stores.builders import NOON, store_entries
from tests.stores.sqlite_secrets import found


async def known(store: TextStore, **fields: object) -> CardsReply:
    return await cards.cards(CardsRequest(user_id="ann", **fields), store=store)


async def decide(store: TextStore, one: str, other: str, same: bool | None) -> None:
    await cards.decide_names(NamesRequest(user_id="ann", one=one, other=other, same=same), store=store)


JOSE = (
    said("My brother José is over", "My brother José", "family", whose="José"),
    said("Jose moved to Oslo", "Oslo", day=1, whose="Jose"),
)


async def test_spellings_of_one_person_share_a_card(store: TextStore) -> None:
    await store_entries(store, [*JOSE, said("I live in Rome", "Rome")])
    by_ref = {card.entity_ref: card for card in (await known(store)).items}
    assert set(by_ref) == {"person:me", "person:jose"}
    one = by_ref["person:jose"]
    assert set(one.names) == {"José", "Jose"}
    assert {fact.text for fact in one.facts} == {entry.text for entry in JOSE}
    assert (await known(store, name="jose")).items == (one,)
    assert (await known(store, name="person:jose")).items == (one,)
    assert (await known(store, name="Bob")).items == ()


async def test_a_project_has_a_card_of_its_own(store: TextStore) -> None:
    budget = said("osiołek is due in April", "April", "deadline", whose="osiołek")
    await store_entries(store, [said("we build osiołek", "osiołek", "project", whose="osiołek"), budget])
    (card,) = (await known(store)).items
    assert (card.entity_ref, [fact.text for fact in card.facts]) == ("project:osiołek", [budget.text])


async def test_the_user_decides_which_names_are_of_one_person(store: TextStore) -> None:
    names = ("Makesh", "Mukesh")
    await store_entries(store, [said("I like Makesh", names=names[:1]), said("Mukesh is away", day=1, names=names[1:])])
    (likely,) = (await known(store)).likely
    assert {likely.one, likely.other} == set(names)
    await decide(store, "Makesh", "Mukesh", True)
    reply = await known(store)
    assert [set(card.names) for card in reply.items] == [set(names)]
    assert [(one.same, {one.one, one.other}) for one in reply.decided] == [(True, set(names))]
    await decide(store, "mukesh", "makesh", False)
    reply = await known(store)
    assert ([one.same for one in reply.decided], reply.items, reply.likely) == ([False], (), ())
    await decide(store, "Makesh", "Mukesh", None)
    assert ((await known(store)).decided, len((await known(store)).likely)) == ((), 1)


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
    assert (await known(store)).items == ()
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
    assert (await known(store, name=marker)).items
    assert found(tmp_path / "memory.sqlite3", marker)
    for entry in entries:
        await desk.forget(entry)
    assert await store.compact()
    assert found(tmp_path / "memory.sqlite3", marker) == 0
    assert (await known(store)).items == ()


async def test_who_is_two_things_to_the_user_is_two_people(store: TextStore) -> None:
    clara = said("my daughter Clara is four", "my daughter Clara", "family", whose="Clara")
    wife = said("my wife is Clara Schmidt", "my wife is Clara Schmidt", "partner", day=1, whose="Clara Schmidt")
    await store_entries(store, [clara, wife])
    assert {card.entity_ref for card in (await known(store)).items} == {"person:clara", "person:clara_schmidt"}
    await decide(store, "Clara", "Clara Schmidt", True)
    (card,) = (await known(store)).items
    assert (set(card.names), len(card.facts)) == ({"Clara", "Clara Schmidt"}, 2)
