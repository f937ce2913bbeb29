"""What a user says of what was read in their entries: obeyed by every reading, gone with the words, nobody else's."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from contracts.ports import Change, TextStore
from contracts.v1.claims import Claim, ClaimId, Slot
from contracts.v1.entries import Entry
from contracts.v1.profile import DecideReply, DecideRequest, ProfileFact, ProfileReply, ProfileRequest
from services.curate import profile as profiles
from services.shared.commands.transfer import read_archive, write_archive
from services.shared.errors import Rejected
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.telling import said
from tests.apps.test_edits import Desk
from tests.claims import a_claim, a_task
from tests.stores.builders import NOON, store_entries

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


async def told(store: TextStore, user: str = "ann", **fields: object) -> ProfileReply:
    return await profiles.profile(ProfileRequest(user_id=user, **fields), store=store)


async def values(store: TextStore) -> dict[str, tuple[bool, float]]:
    """By value whether it is likely only, and how sure."""
    return {fact.value: (fact.is_likely, fact.confidence) for fact in (await told(store)).facts}


async def the_fact(store: TextStore, value: str) -> ProfileFact:
    return next(fact for fact in (await told(store)).facts if fact.value == value)


async def decide(
    store: TextStore, id_: str | None, is_so: bool | None, *, user: str = "ann", now: datetime = LATER
) -> DecideReply:
    assert id_ is not None
    return await profiles.decide(DecideRequest(user_id=user, id=id_, is_so=is_so), store=store, now=now)


async def held(store: TextStore, entry: Entry) -> Entry:
    return (await store.get([entry]))[entry.id]


async def read_anew(store: TextStore, entry: Entry, *found: Claim) -> None:
    """Another reader reads an entry."""
    now = await held(store, entry)
    assert not await store.replace([Change(now, now.model_copy(update={"claims": found, "read_by": "other"}))])


async def test_what_is_confirmed_is_a_fact_and_what_is_rejected_is_told_nowhere(store: TextStore, maybe: Entry) -> None:
    fact = await the_fact(store, "Porto")
    assert (fact.id, fact.is_likely, fact.decided) == (f"{maybe.id}:19-24:home", True, False)
    assert (await told(store)).cards == ()

    assert await decide(store, fact.id, True) == DecideReply(id=fact.id, is_so=True)
    now = await the_fact(store, "Porto")
    assert (now.id, now.is_likely, now.decided, now.confidence, now.until) == (fact.id, False, True, 1, None)
    assert [card.facts for card in (await told(store)).cards] == [(MAYBE,)]

    await decide(store, fact.id, False)
    assert ((await told(store)).facts, (await told(store)).cards) == ((), ())
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
    for found in ((), (wider,), (claim(MAYBE, "Porto", sure=0.95),)):
        await read_anew(store, maybe, *found)
        assert await values(store) == ({"Porto": (False, 1)} if is_so else {})
    await read_anew(store, maybe, wider, other)
    slots = {fact.memory_key.rpartition("|")[2]: fact.confidence for fact in (await told(store)).facts}
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
    (porto,) = (await told(store)).facts
    assert (porto.value, [(one.value, one.until) for one in porto.before]) == ("Porto", [("Faro", LATER)])
    (then,) = (await told(store, as_of=NOON + timedelta(days=6))).facts
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
