"""What is known of a user and of whom they name, with sources and decisions; nothing of what was forgotten."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from contracts.ports import Change, Erasure, TextStore
from contracts.v1.cards import CardsReply, CardsRequest, NamesRequest
from contracts.v1.claims import Claim, ClaimId, Slot
from contracts.v1.entries import Entry
from contracts.v1.loops import LoopsRequest, SettleRequest
from contracts.v1.profile import DecideReply, DecideRequest, ProfileFact, ProfileReply, ProfileRequest
from services.curate import cards, loops, sessions
from services.curate import profile as profiles
from services.shared.commands.transfer import read_archive, write_archive
from services.shared.errors import Rejected
from services.shared.knowledge.profile import SURE
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.telling import said, to_do
from tests.apps.test_edits import Desk
from tests.claims import a_claim, a_task
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


async def join(store: TextStore, one: str, other: str, same: bool | None) -> None:
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
    await join(store, "Makesh", "Mukesh", True)
    reply = await cards_of(store)
    assert [set(card.names) for card in reply.items] == [set(names)]
    assert [(one.same, {one.one, one.other}) for one in reply.decided] == [(True, set(names))]
    await join(store, "mukesh", "makesh", False)
    reply = await cards_of(store)
    assert ([one.same for one in reply.decided], reply.items, reply.likely) == ([False], (), ())
    await join(store, "Makesh", "Mukesh", None)
    assert ((await cards_of(store)).decided, len((await cards_of(store)).likely)) == ((), 1)


async def test_facts_under_two_names_are_one_value_after_another(store: TextStore) -> None:
    moved = said("Jose moved to Bergen", "Bergen", day=2, whose="Jose")
    await store_entries(store, [JOSE[1], moved])
    await join(store, "Jose", "Pepe", True)
    await store_entries(store, [said("Pepe is in Turku", "Turku", day=3, whose="Pepe")])
    facts = (await profiles.profile(ProfileRequest(user_id="ann"), store=store)).facts
    (home,) = [fact for fact in facts if fact.memory_key.endswith("|home")]
    assert (home.value, [one.value for one in home.before]) == ("Turku", ["Bergen", "Oslo"])


async def test_a_decision_holds_no_word_and_goes_with_the_user(store: TextStore) -> None:
    await join(store, "Zebulon", "Zabulon", True)
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
        await join(store, one, other, True)


async def test_nothing_of_what_is_forgotten_is_on_a_card_or_in_any_file(store: SqliteTextStore, tmp_path: Path) -> None:
    desk, marker = Desk(store), "Zebuloniana"
    entries = [said(f"{marker} lives in Oslo", "Oslo", whose=marker), to_do(f"I need to call {marker} by Friday", 1)]
    await store_entries(store, entries)
    (loop,) = (await loops.list_loops(LoopsRequest(user_id="ann"), store=store)).items
    await loops.settle(SettleRequest(user_id="ann", id=loop.id, state="done"), store=store)
    await join(store, marker, "Zebulona", True)
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
    await join(store, "Clara", "Clara Schmidt", True)
    (card,) = (await cards_of(store)).items
    assert (set(card.names), len(card.facts)) == ({"Clara", "Clara Schmidt"}, 2)


MAYBE, REST = "Thinking about it, Porto feels right.", "Pears again for lunch."
LATER = NOON + timedelta(days=30)


def claim(text: str, value: str, slot: Slot = "home", *, sure: float = 0.4, within: str | None = None) -> Claim:
    """What a reader makes of a text, or of a sentence of it."""
    begin = text.index(within or text)
    return a_claim(text, value, slot, sure=sure, sentence=(begin, begin + len(within or text)))


def read(text: str, *found: Claim, day: int = 0) -> Entry:
    return said(text, day=day, claims=found, read_by="one")


@pytest.fixture
async def maybe(store: TextStore) -> Entry:
    """An entry that likely says where somebody lives."""
    (entry,) = await store_entries(store, [read(MAYBE, claim(MAYBE, "Porto"))])
    return entry


@pytest.fixture
async def two(store: TextStore) -> Entry:
    """An entry of two sentences, each of which likely says something."""
    text = f"{MAYBE} {REST}"
    found = claim(text, "Porto", within=MAYBE), claim(text, "Pears", "like", within=REST)
    (entry,) = await store_entries(store, [read(text, *found)])
    return entry


async def values(store: TextStore) -> dict[str, tuple[bool, float]]:
    """By value whether it is likely only, and how sure."""
    return {fact.value: (fact.is_likely, fact.confidence) for fact in (await known(store)).facts}


async def the_fact(store: TextStore, value: str) -> ProfileFact:
    return next(fact for fact in (await known(store)).facts if fact.value == value)


async def decide(store: TextStore, id_: str | None, is_so: bool | None, *, user: str = "ann") -> DecideReply:
    assert id_ is not None
    return await profiles.decide(DecideRequest(user_id=user, id=id_, is_so=is_so), store=store, now=LATER)


async def held(store: TextStore, entry: Entry) -> Entry:
    return (await store.get([entry]))[entry.id]


async def read_anew(store: TextStore, entry: Entry, *found: Claim) -> None:
    """Another reader reads an entry."""
    now = await held(store, entry)
    assert not await store.replace([Change(now, now.model_copy(update={"claims": found, "read_by": "other"}))])


async def test_what_is_confirmed_is_a_fact_and_what_is_rejected_is_told_nowhere(store: TextStore, maybe: Entry) -> None:
    fact = await the_fact(store, "Porto")
    assert (fact.id, fact.is_likely, fact.decided) == (f"{maybe.id}:19-24:home", True, False)
    assert (await known(store)).cards == ()

    assert await decide(store, fact.id, True) == DecideReply(id=fact.id, is_so=True)
    now = await the_fact(store, "Porto")
    assert (now.id, now.is_likely, now.decided, now.confidence, now.until) == (fact.id, False, True, 1, None)
    assert [card.facts for card in (await known(store)).cards] == [(MAYBE,)]

    await decide(store, fact.id, False)
    assert ((await known(store)).facts, (await known(store)).cards) == ((), ())
    await decide(store, fact.id, None)
    assert await the_fact(store, "Porto") == fact
    assert (await held(store, maybe)).decided_claims == ()


async def test_a_decision_is_one_write_of_its_entry_and_made_again_none(store: TextStore, maybe: Entry) -> None:
    id_ = str(ClaimId(maybe.id, (19, 24), "home"))
    for _ in range(2):
        await decide(store, id_, False)
        now = await held(store, maybe)
        assert now.version == maybe.version + 1
        (made,) = now.decided_claims
        assert (made.value, made.slot, made.is_so, made.at) == ((19, 24), "home", False, LATER)


@pytest.mark.parametrize("is_so", [True, False])
async def test_it_is_obeyed_by_every_reading_of_what_overlaps_it(store: TextStore, maybe: Entry, is_so: bool) -> None:
    await decide(store, f"{maybe.id[:8]}:19-24:home", is_so)
    wider, other = claim(MAYBE, "it, Porto feels"), claim(MAYBE, "Porto", "like", sure=0.9)
    for claims in ((), (wider,), (claim(MAYBE, "Porto", sure=0.95),)):
        await read_anew(store, maybe, *claims)
        assert await values(store) == ({"Porto": (False, 1)} if is_so else {})
    await read_anew(store, maybe, wider, other)
    slots = {fact.memory_key.rpartition("|")[2]: fact.confidence for fact in (await known(store)).facts}
    assert slots == {"like": 0.9} | ({"home": 1} if is_so else {})


async def test_a_new_decision_takes_the_place_of_one_that_it_overlaps(store: TextStore, maybe: Entry) -> None:
    await decide(store, f"{maybe.id}:19-24:home", False)
    await read_anew(store, maybe, claim(MAYBE, "Porto feels"))
    reply = await decide(store, f"{maybe.id}:19-30:home", True)
    assert reply.id == f"{maybe.id}:19-30:home"
    assert await values(store) == {"Porto feels": (False, 1)}


async def test_a_rejected_value_is_not_asked_about_in_what_was_said_before(store: TextStore) -> None:
    older, entry, newer = ("I keep coming back to Porto.", MAYBE, "Porto it is then.")
    said = [read(text, claim(text, "Porto"), day=day) for text, day in ((older, 1), (entry, 2))]
    await store_entries(store, said)
    await decide(store, (await the_fact(store, "Porto")).id, False)
    assert await values(store) == {}
    await store_entries(store, [read(newer, claim(newer, "Porto"), day=40)])
    assert await values(store) == {"Porto": (True, 0.4)}


async def test_what_is_confirmed_was_said_last_of_what_holds_one_value(store: TextStore, maybe: Entry) -> None:
    faro, doubt = "Home is Faro, no doubt.", "Or was it Porto?"
    sure, newer = read(faro, claim(faro, "Faro", sure=0.9), day=5), read(doubt, claim(doubt, "Porto"), day=60)
    await store_entries(store, [sure, newer])
    await decide(store, f"{maybe.id}:19-24:home", True)
    (porto,) = (await known(store)).facts
    assert (porto.value, [(one.value, one.until) for one in porto.before]) == ("Porto", [("Faro", LATER)])
    (then,) = (await known(store, as_of=NOON + timedelta(days=6))).facts
    assert (then.value, then.until, [one.value for one in then.before]) == ("Faro", None, ["Porto"])


async def test_decisions_stay_with_the_sentences_that_a_correction_leaves(store: TextStore, two: Entry) -> None:
    await decide(store, f"{two.id}:19-24:home", False)
    await decide(store, (await the_fact(store, "Pears")).id, True)
    corrected = f"Right. {REST} Porto feels right."
    await Desk(store).update(two, text=corrected)
    (kept,) = (await held(store, two)).decided_claims
    assert (kept.slot, corrected[slice(*kept.value)], corrected[slice(*kept.sentence)]) == ("like", "Pears", REST)
    await read_anew(store, two, claim(corrected, "Porto"))
    assert await values(store) == {"Pears": (False, 1), "Porto": (True, 0.4)}


async def test_a_decision_is_forgotten_with_its_entry(store: TextStore, maybe: Entry) -> None:
    await decide(store, f"{maybe.id}:19-24:home", True)
    await Desk(store).forget(maybe)
    assert (await values(store), (await held(store, maybe)).decided_claims) == ({}, ())
    with pytest.raises(Rejected, match="no entry"):
        await decide(store, f"{maybe.id}:19-24:home", False)


async def test_decisions_are_exported_and_imported_and_claims_are_not(store: TextStore, tmp_path: Path) -> None:
    no, yes = read(MAYBE, claim(MAYBE, "Porto")), read("So, Faro.", claim("So, Faro.", "Faro"), day=1)
    await store_entries(store, [no, yes])
    await decide(store, f"{no.id}:19-24:home", False)
    await decide(store, f"{yes.id}:4-8:home", True)
    with (file := tmp_path / "ann.jsonl").open("w+b") as out:
        await write_archive(store, out, file.name, "ann")
    assert b'"claims"' not in file.read_bytes()
    other = await SqliteTextStore.open(tmp_path / "other.sqlite3", synchronous="normal")
    try:
        await read_archive(other, file)
        assert await values(other) == {"Faro": (False, 1)}
        await read_anew(other, no, claim(MAYBE, "Porto", sure=0.9))
        assert await values(other) == {"Faro": (False, 1)}
    finally:
        await other.close()


async def test_what_is_no_claim_of_the_user_is_refused(store: TextStore) -> None:
    (entry,) = await store_entries(store, [read(MAYBE, a_task(MAYBE, "Thinking"), claim(MAYBE, "Porto"))])
    for claimed in ("0-8:home", "19-24:like", "19-24:nonsense", "24-19:home", ""):
        with pytest.raises(Rejected, match="no fact") as refused:
            await decide(store, f"{entry.id}:{claimed}" if claimed else entry.id, True)
        assert refused.value.info.code == "not_found"
    for id_, user in (("c2dca980-0000-5000-8000-000000000001", "ann"), (entry.id, "bob")):
        with pytest.raises(Rejected, match="no entry") as refused:
            await decide(store, f"{id_}:19-24:home", True, user=user)
        assert refused.value.info.code == "not_found"
    assert (await held(store, entry)).version == entry.version


async def test_two_decisions_at_once_are_both_kept(store: TextStore, two: Entry) -> None:
    ids = [f"{two.id}:{one.value[0]}-{one.value[1]}:{one.slot}" for one in two.claims]
    await asyncio.gather(*(decide(store, id_, False) for id_ in ids))
    assert [one.slot for one in (await held(store, two)).decided_claims] == ["home", "like"]
    assert await values(store) == {}
