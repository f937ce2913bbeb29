"""Entries are pinned, corrected and sorted by their user: one's own and no others, once however often it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from contracts.ports import Change, Erasure, Key, Outcome, TextStore, Unavailable
from contracts.v1.commands import ForgetRequest, GetRequest, ListRequest
from contracts.v1.edits import BulkRequest, HistoryRequest, PinRequest, UpdateRequest
from contracts.v1.entries import Entry, EntryAccepted, EntryEvent
from services.curate import commands
from services.curate.edits import Editor
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from services.shared.errors import Rejected
from services.shared.lifecycle.fitting import size_of
from tests.apps.fakes import FakeAnnotator, FakeEmbedder
from tests.apps.settling import refs, settle
from tests.apps.test_forgetting import DAY, embed, places, say, the_entry
from tests.stores.builders import NOON, a_proposal, outcomes_of

LONG = 100


class Desk:
    """An editor on a real text store, and what it told."""

    def __init__(self, store: TextStore, embedder: FakeEmbedder | None = None) -> None:
        self.store = store
        self.embedder = embedder or FakeEmbedder()
        self.stores, self.vectors, self.in_flight = places(store, self._say)
        self.told: list[EntryEvent] = []
        self.unfinished: list[Key] = []
        self.editor = Editor(self.stores, self._finishing, DAY, LONG)

    async def _say(self, events: Sequence[EntryEvent]) -> None:
        self.told += events

    @contextmanager
    def _finishing(self, key: Key, again: object) -> Iterator[None]:
        try:
            yield
        except Unavailable:
            self.unfinished.append(key)
            raise

    async def said(self, text: str, user: str = "ann", **fields: Any) -> Entry:
        entry = await the_entry(self.store, await say(self.store, text, user, **fields))
        await self.digest([entry])
        return (await self.store.get([entry]))[entry.id]

    async def digest(self, entries: Sequence[Entry]) -> None:
        """Let enrich and embed do what they are told of."""
        accepted = EntryAccepted.of(refs(entries), at=NOON)
        told = await enrich_entries([accepted], store=self.store, annotator=FakeAnnotator())
        await embed_entries(told, store=self.store, vectors=self.vectors, embedder=self.embedder)

    async def update(self, entry: Entry, **change: Any) -> Entry:
        request = UpdateRequest(user_id=entry.user_id, id=entry.id, **change)
        return (await self.editor.update(request)).entry

    async def pin(self, entry: Entry) -> Entry:
        return (await self.editor.pin(PinRequest(user_id=entry.user_id, id=entry.id))).entry

    async def forget(self, entry: Entry) -> None:
        await self.editor.forget(ForgetRequest(user_id=entry.user_id, id=entry.id))

    async def stored(self, entry: Entry) -> Entry:
        return (await self.store.get([entry]))[entry.id]

    async def outcome(self, text: str, **fields: Any) -> Outcome:
        """What becomes of a text that is said."""
        proposal = a_proposal(await say(self.store, text, **fields))
        return (await outcomes_of(self.store, [proposal]))[proposal.id]

    async def history(self, entry: Entry) -> list[tuple[str, str | None]]:
        reply = await self.editor.history(HistoryRequest(user_id=entry.user_id, id=entry.id))
        return [(item.text, item.by) for item in reply.items]


@pytest.fixture
def desk(store: TextStore) -> Desk:
    return Desk(store)


async def test_a_pinned_entry_has_importance_1_until_it_is_unpinned(desk: Desk) -> None:
    entry = await desk.said("I like tea.")
    request = PinRequest(user_id="ann", id=entry.id[:8])
    held = (await desk.editor.pin(request)).entry
    assert (held.pinned, held.importance, held.level) == (True, 1.0, 3)
    assert desk.vectors.points[entry.id].entry.pinned
    assert (await desk.editor.pin(request)).entry == held == await desk.stored(entry)
    free = (await desk.editor.unpin(request)).entry
    assert (free.pinned, free.importance) == (False, entry.importance)
    assert (await desk.editor.unpin(request)).entry == free
    assert not desk.vectors.points[entry.id].entry.pinned


async def test_another_text_is_found_shown_and_told_with_its_history(desk: Desk) -> None:
    entry = await desk.said("I live in Porto")
    new = await desk.update(entry, text="I live in Faro", by="the page")
    assert (new.text, new.revisions) == ("I live in Faro", ())
    assert entry.id not in desk.vectors.points
    (event,) = desk.told
    assert [ref.id for ref in event.entries] == [entry.id]
    assert isinstance(event, EntryAccepted)
    await desk.digest([entry])
    now = await desk.stored(entry)
    assert (now.embedding_state, now.tags) == ("ready", ("i", "faro"))
    assert desk.vectors.points[entry.id].entry.text == "I live in Faro"
    assert await desk.history(entry) == [("I live in Faro", "the page"), ("I live in Porto", None)]
    for reply in (
        (await commands.get(GetRequest(user_id="ann", id=entry.id), store=desk.store)).entry,
        (await commands.list_entries(ListRequest(user_id="ann"), store=desk.store)).items[0],
    ):
        assert "Porto" not in reply.model_dump_json()
    assert (await desk.outcome("I live in Faro")).entry_id == entry.id
    assert (await desk.outcome("I live in Porto")).kind == "stored"


async def test_an_update_of_what_was_changed_meanwhile_is_a_conflict(desk: Desk) -> None:
    entry = await desk.said("I live in Porto")
    await desk.digest([entry])
    first = await desk.update(entry, text="I live in Faro", version=1)  # enrich and embed change nothing of the user's
    with pytest.raises(Rejected, match="changed since version 1") as error:
        await desk.update(entry, text="I live in Lagos", version=1)
    assert error.value.info.code == "conflict"
    await desk.digest([entry])
    await desk.update(entry, text="I live in Lagos", version=first.version)
    await desk.pin(entry)
    with pytest.raises(Rejected, match="read it again"):
        await desk.update(entry, text="I live in Braga", version=first.version + 1)


async def test_what_another_entry_says_is_a_conflict_that_names_it(desk: Desk) -> None:
    entry, other = await desk.said("I live in Porto"), await desk.said("I live in Faro")
    with pytest.raises(Rejected, match=f"entry {other.id} says the same") as error:
        await desk.update(entry, text="i live in  faro!")
    assert error.value.info.code == "conflict"
    assert (await desk.stored(entry)).text == "I live in Porto"
    assert (await desk.update(entry, text="I live in porto!")).text == "I live in porto!"
    await desk.forget(other)
    with pytest.raises(Rejected, match="forgotten on request"):
        await desk.update(entry, text="I live in Faro")


async def test_of_entries_that_are_made_the_same_at_once_one_is_and_no_change_of_one_entry_is_lost(desk: Desk) -> None:
    entries = [await desk.said(f"I live in number {n}") for n in range(4)]
    found = await asyncio.gather(
        *(desk.update(entry, text="I live in Faro") for entry in entries), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in found) == ["Entry", "Rejected", "Rejected", "Rejected"]
    listed = await commands.list_entries(ListRequest(user_id="ann"), store=desk.store)
    assert [one.text for one in listed.items].count("I live in Faro") == 1

    entry = await desk.said("number 0")
    await asyncio.gather(*(desk.update(entry, text=f"number {n}") for n in range(1, 9)))
    assert sorted(text for text, _ in await desk.history(entry)) == [f"number {n}" for n in range(9)]


async def test_a_redacted_entry_leaves_no_earlier_word(desk: Desk) -> None:
    first = await say(desk.store, "My PIN is 4711.", tags=("4711", "bank"))
    again = await say(desk.store, "my pin is 4711")
    entry = await the_entry(desk.store, first)
    await embed(desk.vectors, entry)
    desk.in_flight.turns = {"ann": [again.turn_id, "another"]}
    new = await desk.update(entry, text="My PIN is in the safe.", redact=True)
    assert (new.tags, new.repeat_count) == (("bank",), 1)
    log = await desk.store.export_log("ann", after=None, limit=9)
    assert [(one.turn.text, one.proposals[0].outcome is not None) for one in log] == [("[forgotten]", True)] * 2
    assert entry.id not in desk.vectors.points
    assert desk.in_flight.turns == {"ann": ["another"]}
    assert await desk.history(entry) == [("My PIN is in the safe.", "user")]
    assert "4711" not in (await desk.stored(entry)).model_dump_json()
    assert (await desk.outcome("my PIN is 4711")).kind == "refused"
    for change in ({"text": "My PIN is in the safe."}, {}):  # its vector is removed, and made again
        await desk.digest([entry])
        assert desk.vectors.points[entry.id].entry.text == "My PIN is in the safe."
        await desk.update(entry, redact=True, **change)
        assert entry.id not in desk.vectors.points


async def test_what_is_changed_while_the_vectors_are_away_is_embedded_as_it_is_and_twice_is_once(desk: Desk) -> None:
    entry = await desk.said("I live in Porto")
    desk.vectors.fails = True
    change = {"text": "I live in Faro", "tags": ("home",), "themes": ("places",), "version": entry.version}
    new = await desk.update(entry, **change)
    assert await desk.update(entry, **change) == new
    assert (len(desk.told), len(await desk.history(entry))) == (1, 2)
    await desk.update(entry, tags=("house",))
    await desk.pin(entry)
    desk.vectors.fails = False
    await desk.digest([entry])
    assert desk.vectors.points[entry.id].entry.text == "I live in Faro"


async def test_redacting_that_was_broken_off_is_completed_by_the_same_request(desk: Desk) -> None:
    entry = await desk.said("My PIN is 4711.")
    await desk.update(entry, text="My PIN is 4712.")
    await embed(desk.vectors, await desk.stored(entry))
    desk.vectors.fails = True
    with pytest.raises(Unavailable):
        await desk.update(entry, text="It is in the safe.", redact=True)
    assert desk.unfinished == [Key("ann", entry.id)]
    desk.vectors.fails = False
    new = await desk.update(entry, text="It is in the safe.", redact=True)
    assert entry.id not in desk.vectors.points
    assert new.embedding_state == "pending"
    assert len(await desk.history(entry)) == 1


async def test_forgotten_after_updates_nothing_of_it_comes_back(desk: Desk) -> None:
    entry = await desk.said("My PIN is 4711.")
    await desk.update(entry, text="My PIN is 4712.")
    await desk.update(entry, text="My PIN is 4713.")
    await desk.forget(entry)
    tombstone = await desk.stored(entry)
    assert (tombstone.text, tombstone.revisions) == ("", ())
    for number in (4711, 4712, 4713):
        assert (await desk.outcome(f"my PIN is {number}")).kind == "refused"
    with pytest.raises(Rejected, match="no entry"):
        await desk.history(entry)


class Meanwhile(FakeEmbedder, FakeAnnotator):
    """A model during whose work an entry is corrected."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__()
        self._desk, self._entry = desk, entry

    async def _correct(self) -> None:
        await self._desk.update(self._entry, text="I live in Faro")

    async def embed(self, texts: Sequence[str]) -> Any:
        await self._correct()
        return await FakeEmbedder.embed(self, texts)

    async def annotate(self, texts: Sequence[str]) -> Any:
        await self._correct()
        return await FakeAnnotator.annotate(self, texts)


@pytest.mark.parametrize("stage", ["enrich", "embed"])
async def test_what_was_read_out_of_a_text_is_not_said_of_another(desk: Desk, stage: str) -> None:
    entry = await the_entry(desk.store, await say(desk.store, "I live in Porto"))
    model = Meanwhile(desk, entry)
    if stage == "enrich":
        await enrich_entries([EntryAccepted.of(refs([entry]), at=NOON)], store=desk.store, annotator=model)
    else:
        await settle(desk.store, [entry], model, vectors=desk.vectors)
    now = await desk.stored(entry)
    assert (now.text, now.enriched, now.embedding_state, now.tags) == ("I live in Faro", False, "pending", ())
    await desk.digest([entry])
    assert (await desk.stored(entry)).tags == ("faro", "i")
    assert desk.vectors.points[entry.id].entry.text == "I live in Faro"


async def test_a_repeat_of_what_was_said_before_is_not_merged_into_a_corrected_entry(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is corrected between the look for what is similar and the decision."""
    entry = await desk.said("I live in Porto")
    apply, corrected = desk.store.apply, list[Entry]()

    async def late(decisions: Any) -> Any:
        if not corrected:
            corrected.append(await desk.update(entry, text="I live in Faro"))
        return await apply(decisions)

    monkeypatch.setattr(desk.store, "apply", late)
    outcome = await desk.outcome("I live in Porto!")
    assert outcome.kind == "stored"
    assert outcome.entry_id not in (None, entry.id)
    assert (await desk.stored(entry)).repeat_count == 0


@pytest.mark.parametrize("text", ["", "  \n", "x" * (LONG + 1)])
async def test_a_text_that_cannot_be_is_refused(desk: Desk, text: str) -> None:
    entry = await desk.said("I live in Porto")
    with pytest.raises((Rejected, ValueError)):
        await desk.update(entry, text=text)
    assert await desk.stored(entry) == entry


@pytest.mark.parametrize("model", [UpdateRequest, BulkRequest])
def test_a_misspelt_field_of_a_change_is_refused(model: type[UpdateRequest]) -> None:
    with pytest.raises(ValueError, match="verison"):
        model.model_validate({"user_id": "ann", "id": "x", "ids": ["x"], "action": "pin", "verison": 1})


async def test_an_archived_entry_is_not_changed_and_can_be_unpinned(desk: Desk) -> None:
    entry = await desk.said("I live in Porto")
    archived = entry.model_copy(update={"status": "archived", "pinned": True, "importance": 1.0})
    assert not await desk.store.replace([Change(entry, archived)])
    for change in (desk.update(entry, tags=("a",)), desk.pin(entry)):
        with pytest.raises(Rejected, match="the entry is archived") as error:
            await change
        assert error.value.info.code == "conflict"
    assert not (await desk.editor.unpin(PinRequest(user_id="ann", id=entry.id))).entry.pinned


def requests_about(desk: Desk, entry: Entry, user: str) -> list[Awaitable[object]]:
    """Whatever may be asked about one entry."""
    asked = {"user_id": user, "id": entry.id}
    return [
        desk.editor.update(UpdateRequest(**asked, text="x")),
        desk.editor.update(UpdateRequest(**asked, redact=True)),
        desk.editor.pin(PinRequest(**asked)),
        desk.editor.unpin(PinRequest(**asked)),
        desk.editor.history(HistoryRequest(**asked)),
    ]


async def test_entries_of_others_are_unknown(desk: Desk) -> None:
    entry = await desk.said("I live in Porto", user="bob")
    for call in requests_about(desk, entry, "ann"):
        with pytest.raises(Rejected, match="no entry") as error:
            await call
        assert error.value.info.code == "not_found"
    for action in ("pin", "unpin", "forget", "tag", "untag"):
        tags = ("a",) if "tag" in action else ()
        reply = await desk.editor.bulk(BulkRequest(user_id="ann", ids=(entry.id,), action=action, tags=tags))
        assert (reply.done, [one.code for one in reply.failed]) == ((), ["not_found"])
    assert await desk.stored(entry) == entry
    assert desk.told == []


async def test_a_user_who_is_being_erased_has_no_entries(desk: Desk) -> None:
    entry = await desk.said("I live in Porto")
    await desk.store.record_erasure("ann", None, Erasure("ann", 7, NOON + timedelta(days=1)))
    bulk = desk.editor.bulk(BulkRequest(user_id="ann", ids=(entry.id,), action="pin"))
    for call in [*requests_about(desk, entry, "ann"), bulk]:
        with pytest.raises(Rejected, match="no entry"):
            await call
    assert await desk.stored(entry) == entry


async def test_a_bulk_does_it_to_exactly_the_ids_given(desk: Desk) -> None:
    first, second, third = [await desk.said(f"I own the number {n}") for n in range(3)]
    other = await desk.said("I live in Porto", user="bob")

    async def bulk(action: str, *ids: str, **more: Any) -> tuple[tuple[str, ...], dict[str, str]]:
        reply = await desk.editor.bulk(BulkRequest.model_validate(dict(user_id="ann", ids=ids, action=action, **more)))
        return reply.done, {failure.id: failure.code for failure in reply.failed}

    asked = (second.id, other.id, first.id[:8], second.id, third.id[:7])
    wrong = {other.id: "not_found", third.id[:7]: "not_found"}
    assert await bulk("pin", *asked) == ((second.id, first.id[:8]), wrong)
    assert await bulk("unpin", second.id) == ((second.id,), {})
    assert await bulk("tag", *asked, tags=("home", "x")) == ((second.id, first.id[:8]), wrong)
    assert await bulk("untag", first.id, tags=("x", "unknown")) == ((first.id,), {})
    assert await bulk("forget", second.id) == ((second.id,), {})
    assert await bulk("forget", second.id, "unknown") == ((second.id,), {"unknown": "not_found"})
    now = {entry.id: await desk.stored(entry) for entry in (first, second, third, other)}
    assert (now[first.id].pinned, now[first.id].tags) == (True, (*first.tags, "home"))
    assert now[second.id].status == "forgotten"
    assert now[third.id] == third
    assert now[other.id] == other
    for action, tags in (("tag", ()), ("pin", ("a",))):
        with pytest.raises(Rejected, match="tags"):
            await bulk(action, first.id, tags=tags)


async def test_a_history_that_does_not_fit_is_cut_at_its_end(desk: Desk) -> None:
    entry = await desk.said("number 0")
    for n in range(1, 9):
        await desk.update(entry, text=f"number {n} " + "x" * 50)
    request = HistoryRequest(user_id="ann", id=entry.id)
    whole = await desk.editor.history(request)
    shorter = await commands.shorten_items(request, whole, 700)
    assert size_of(shorter) <= 700
    assert shorter.truncated
    assert shorter.items == whole.items[: len(shorter.items)]
    assert len(shorter.items) > 1


async def test_a_list_that_does_not_fit_is_a_shorter_page_or_a_part_of_one_entry(desk: Desk) -> None:
    for n in range(8):
        await desk.said(f"number {n} " + "x" * 2000)
    request = ListRequest(user_id="ann")
    whole = await commands.list_entries(request, store=desk.store)
    for room, count in ((12_000, 2), (3000, 1)):
        shorter = await commands.shorten_list(request, whole, room, store=desk.store)
        assert size_of(shorter) <= room
        assert (len(shorter.items), shorter.truncated) == (count, count == 1)
        assert [one.id for one in shorter.items] == [one.id for one in whole.items[:count]]
        assert shorter.next_cursor is not None
