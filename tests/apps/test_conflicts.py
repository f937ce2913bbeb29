"""Conflicts are listed as questions; what the user decides holds, is undone by another decision, and is one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest

from contracts.ports import Change, Key, Selection, TextStore
from contracts.v1.claims import Reading, Relation
from contracts.v1.conflicts import ConflictsRequest, ResolveRequest
from contracts.v1.entries import Entry, EntryEvent
from contracts.v1.retrieval import RetrieveRequest
from services.curate.conflicts import list_conflicts, resolve
from services.curate.stores import Stores
from services.embed.changes import Rules
from services.shared.errors import Rejected
from services.shared.knowledge.profile import claimed
from tests.apps.asking import a_retriever
from tests.apps.fakes import FakeReader, FakeVectors, claim
from tests.apps.settling import settle
from tests.apps.test_forgetting import places
from tests.stores.builders import NOON, an_entry, minutes, store_entries

HUBER, HOFER = "My landlord is called Huber.", "My landlord is called Hofer."
TUESDAY, THURSDAY = "My dentist appointment is on Tuesday.", "My dentist appointment has moved to Thursday."
ULM, PASSAU = "I live in Ulm.", "I have moved to Passau."
BOSCH, SIEMENS, MIELE = (
    "I work for Bosch and I'm allergic to nuts.",
    "I've just started at Siemens.",
    "I'm at Miele now.",
)
WORK = {
    BOSCH: Reading((claim(BOSCH, "Bosch", "employer"), claim(BOSCH, "nuts", "allergy"))),
    SIEMENS: Reading((claim(SIEMENS, "Siemens", "employer", is_new=True),)),
    MIELE: Reading((claim(MIELE, "Miele", "employer", is_new=True),)),
}


def a_reader() -> FakeReader:
    """What it is told of these texts; of others that contradict each other it is sure, but not that any changed."""
    updates = [(TUESDAY, THURSDAY), (ULM, PASSAU), (BOSCH, SIEMENS), (BOSCH, MIELE), (SIEMENS, MIELE)]
    at_odds = Relation(0, 0.1, 0.9, 0)
    relations = {(HUBER, HOFER): at_odds, ("My shoe size is 42.", "My shoe size is 43."): at_odds}
    return FakeReader(updates=updates, relations=relations, knows=WORK)


class Desk:
    """Two statements of ann, settled by a reader, and what was told since."""

    def __init__(self, stores: Stores, older: Entry, newer: Entry) -> None:
        self.stores, self.older, self.newer = replace(stores, say=self._say), older, newer
        self.told: list[str] = []

    @classmethod
    async def opened(cls, store: TextStore, older: str, newer: str, **fields: object) -> Desk:
        talk = {"conversation_id": "talk"}
        later = an_entry("ann", newer, created_at=NOON + minutes(1), **talk)
        entries = [an_entry("ann", older, **talk, **fields), later]
        await store_entries(store, entries)
        desk = cls(places(store)[0], *entries)
        await desk.settle(*entries)
        return desk

    async def settle(self, *entries: Entry) -> None:
        """One delivery to embed."""
        vectors = self.stores.vectors
        assert isinstance(vectors, FakeVectors)
        await settle(self.stores.text, entries, a_reader(), rules=Rules(contradictions=True), vectors=vectors)

    async def _say(self, events: Sequence[EntryEvent]) -> None:
        self.told += [ref.id for event in events for ref in event.entries]

    async def keep(self, keep: Literal["new", "old", "both", "open"], user: str = "ann") -> tuple[str, str]:
        request = ResolveRequest(user_id=user, newer=self.newer.id, older=self.older.id, keep=keep)
        reply = await resolve(request, stores=self.stores)
        return reply.newer.status, reply.older.status

    async def questions(self, user: str = "ann", space: str | None = None) -> list[str]:
        reply = await list_conflicts(ConflictsRequest(user_id=user, space=space, limit=1), store=self.stores.text)
        return [item.question for item in reply.items]

    async def entries(self) -> tuple[Entry, Entry]:
        found = await self.stores.text.get([self.newer, self.older])
        return found[self.newer.id], found[self.older.id]


async def test_a_conflict_is_a_question_to_its_user(store: TextStore) -> None:
    desk = await Desk.opened(store, HUBER, HOFER)
    (question,) = await desk.questions()
    assert question == f"On 01 February 2026 you said “{HOFER}”, before that “{HUBER}”. Which one is true now?"
    assert await desk.questions(space="default") == [question]
    assert await desk.questions(space="work") == await desk.questions(user="bob") == []


@pytest.mark.parametrize(
    ("keep", "states"),
    [("new", ("active", "superseded")), ("old", ("superseded", "active")), ("both", ("active", "active"))],
)
async def test_a_decision_holds_and_the_question_goes_until_it_is_taken_back(
    store: TextStore, keep: Literal["new", "old", "both"], states: tuple[str, str]
) -> None:
    desk = await Desk.opened(store, HUBER, HOFER)
    asked, before = await desk.questions(), await desk.entries()
    assert await desk.keep(keep) == states
    decided = await desk.entries()
    assert all(entry.conflicts_with == () for entry in decided if entry.status == "active")
    assert await desk.keep(keep) == states
    assert await desk.entries() == decided
    assert await desk.questions() == []
    assert await desk.keep("open") == await desk.keep("open") == ("active", "active")
    assert await desk.questions() == asked
    at_odds = [(entry.conflicts_with, entry.supersedes, entry.superseded_by) for entry in await desk.entries()]
    assert at_odds == [(entry.conflicts_with, (), None) for entry in before]


async def test_every_decision_can_be_changed(store: TextStore) -> None:
    desk = await Desk.opened(store, HUBER, HOFER)
    assert await desk.keep("new") == ("active", "superseded")
    assert await desk.keep("old") == ("superseded", "active")
    newer, older = await desk.entries()
    assert (newer.superseded_by, older.superseded_by, older.supersedes) == (older.id, None, (newer.id,))
    assert await desk.keep("both") == ("active", "active")
    newer, older = await desk.entries()
    assert (newer.superseded_by, newer.valid_until, older.supersedes) == (None, None, ())


async def test_what_the_rules_superseded_is_taken_back_for_good(store: TextStore) -> None:
    desk = await Desk.opened(store, TUESDAY, THURSDAY)
    assert [entry.status for entry in await desk.entries()] == ["active", "superseded"]
    assert await desk.keep("both") == ("active", "active")
    assert desk.older.id in desk.told  # on its way to a vector again
    await desk.settle(desk.newer, desk.older)
    newer, older = await desk.entries()
    assert (newer.status, older.status, newer.supersedes) == ("active", "active", ())


async def test_it_comes_back_beside_what_says_the_same_by_now(store: TextStore) -> None:
    desk = await Desk.opened(store, TUESDAY, THURSDAY)
    await store_entries(store, [an_entry("ann", TUESDAY, created_at=NOON + minutes(5))])
    assert await desk.keep("both") == ("active", "active")


async def test_nobody_decides_for_another_nor_about_what_is_no_conflict(store: TextStore) -> None:
    desk = await Desk.opened(store, HUBER, "I like long walks")
    for user in ("ann", "bob"):
        with pytest.raises(Rejected, match="there is no"):
            await desk.keep("new", user=user)


async def test_what_was_forgotten_is_no_conflict_any_more(store: TextStore) -> None:
    desk = await Desk.opened(store, HUBER, HOFER)
    await store.forget([Key("ann", desk.older.id)], until=None)
    assert await desk.questions() == []
    with pytest.raises(Rejected, match="there is no entry"):
        await desk.keep("both")


async def test_the_page_goes_on_beyond_what_is_decided(store: TextStore) -> None:
    first = await Desk.opened(store, HUBER, HOFER)
    second = await Desk.opened(store, "My shoe size is 42.", "My shoe size is 43.")
    await second.keep("both")
    assert HOFER in (await first.questions())[0]


async def texts_found(desk: Desk, query: str, **fields: object) -> list[str]:
    request = RetrieveRequest.model_validate({"user_id": "ann", "query": query} | fields)
    return [item.text for item in (await a_retriever(desk.stores.text).retrieve(request)).items]


async def test_what_goes_on_is_found_and_before_what_replaced_a_part_of_it_unasked(store: TextStore) -> None:
    desk = await Desk.opened(store, BOSCH, SIEMENS, manually_saved=True)
    await desk.keep("new")
    assert await texts_found(desk, "what am I allergic to?") == [BOSCH, SIEMENS]
    assert await texts_found(desk, "Do I work for Bosch?") == [BOSCH, SIEMENS]
    assert await texts_found(desk, "Where do I work?", now=NOON + minutes(0.5)) == [BOSCH]


async def test_a_decision_about_a_part_can_be_changed(store: TextStore) -> None:
    desk = await Desk.opened(store, BOSCH, SIEMENS, manually_saved=True)
    before = [entry.conflicts_with for entry in await desk.entries()]
    for keep in ("both", "open"):
        await desk.keep("new")
        assert await desk.keep(keep) == ("active", "active")
        newer, older = await desk.entries()
        assert (newer.supersedes, older.superseded_by, older.valid_until, older.outdated) == ((), None, None, ())
    assert [entry.conflicts_with for entry in await desk.entries()] == before


async def facts_of(store: TextStore) -> set[tuple[str, bool]]:
    """What is known of ann: each value, and whether it is so now."""
    entries = [
        one
        for status in ("active", "superseded")
        for one in (await store.page(Selection("ann", status=status), limit=9, cursor=None)).entries
    ]
    return {(fact.value, fact.until is None) for fact in claimed(entries)}


@pytest.mark.parametrize(
    ("keep", "known"),
    [
        ("new", {("Passau", True), ("Ulm", False)}),
        ("old", {("Ulm", True)}),
        ("open", {("Passau", True), ("Ulm", False)}),
    ],
)
async def test_a_decision_holds_in_what_is_known(
    store: TextStore, keep: Literal["new", "old", "open"], known: set[tuple[str, bool]]
) -> None:
    desk = await Desk.opened(store, ULM, PASSAU, manually_saved=True)
    await desk.keep(keep)
    assert await facts_of(store) == known


async def test_what_the_newer_one_does_not_touch_goes_on_and_what_it_ended_is_asked_about_no_more(
    store: TextStore,
) -> None:
    desk = await Desk.opened(store, BOSCH, SIEMENS, manually_saved=True)
    assert await facts_of(store) >= {("nuts", True), ("Siemens", True)}
    for _ in range(2):
        assert await desk.keep("new") == ("active", "active")
        assert await desk.questions() == []
        before = await desk.entries()
        assert before[1].outdated == ("Bosch",)
        assert await facts_of(store) == {("nuts", True), ("Siemens", True), ("Bosch", False)}
    await desk.settle(desk.newer, desk.older)
    assert await desk.entries() == before
    later = an_entry("ann", MIELE, created_at=NOON + minutes(60), conversation_id="talk")
    await store_entries(store, [later])
    await desk.settle(later)
    assert await desk.questions() == []
    assert await facts_of(store) == {("nuts", True), ("Miele", True), ("Siemens", False), ("Bosch", False)}
    _, older = await desk.entries()
    await store.replace([Change(older, older.model_copy(update={"last_said_at": NOON + minutes(90)}))])
    assert ("Bosch", True) in await facts_of(store), "it is said again as a whole"
