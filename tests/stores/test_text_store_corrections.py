"""Corrected entries: what may be said instead, what is kept of what was said before, and what is gone of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from contracts.ports import Accepted, Change, Filters, Overview, Scope, TextStore
from contracts.v1.entries import Entry
from services.shared.lifecycle.editing import Edit, edited
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import (
    NOON,
    a_repeat,
    a_user,
    an_entry,
    entry_of,
    forget,
    log_of,
    log_proposals,
    log_texts,
    similar_to,
    store_entries,
    suppressed,
    tomorrow,
)
from tests.stores.changing import modify
from tests.stores.sqlite_secrets import QUOTED, fill, found, store_a_told

LATER = NOON + timedelta(hours=1)


def changed(entry: Entry, text: str, *, known: frozenset[str] | None = frozenset(), redact: bool = False) -> Change:
    new = edited(entry, Edit(text=text, redact=redact), LATER)
    assert new is not None
    return Change(entry, new, known)


async def ids_of(store: TextStore, user: str, query: str) -> list[str]:
    return [hit.id for hit in await store.search(Scope(user), query, limit=9, filters=Filters())]


async def test_another_text_is_found_by_its_words_and_compared_by_them(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, "I prefer uv", statement_hash="old")])
    change = changed(entry, "I live in Porto")
    assert await text_store.replace([change]) == set()
    assert (await text_store.get([entry]))[entry.id] == change.new
    assert await ids_of(text_store, user, "Porto") == [entry.id]
    assert await ids_of(text_store, user, "uv") == []
    same, old = an_entry(user, statement_hash=change.new.statement_hash), an_entry(user, statement_hash="old")
    assert await similar_to(text_store, same, old) == [[change.new], []]


async def test_what_another_says_can_be_said_by_who_knows_of_it_and_what_was_forgotten_by_nobody(
    text_store: TextStore, user: str
) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, "one", statement_hash="old")])
    other, gone = (changed(an_entry(user, "two"), text).new for text in ("I live in Porto", "I live in Faro"))
    await store_entries(text_store, [other, gone])
    await forget(text_store, gone, until=tomorrow())
    for text in ("I live in Porto", "I live in Faro"):
        assert await text_store.replace([changed(entry, text)]) == {entry.id}
        assert (await text_store.get([entry]))[entry.id] == entry
    known = frozenset([other.id])
    assert await text_store.replace([changed(entry, "I live in Porto", known=known)]) == set()


async def test_of_entries_that_are_made_the_same_at_once_one_is(text_store: TextStore, user: str) -> None:
    entries = await store_entries(text_store, [an_entry(user, f"{n}", statement_hash=f"{n}") for n in range(6)])
    conflicts = await asyncio.gather(*(text_store.replace([changed(one, "I live in Porto")]) for one in entries))
    now = (await text_store.get(entries)).values()
    assert [one.text for one in now].count("I live in Porto") == 6 - sum(map(len, conflicts)) <= 1
    assert {one.text for one in now} <= {*"012345", "I live in Porto"}


async def test_a_forgotten_entry_may_come_back_in_no_text_it_ever_had(text_store: TextStore, user: str) -> None:
    (first,) = await store_entries(text_store, [changed(an_entry(user, "one"), "I live in Porto").new])
    second = changed(first, "I live in Faro")
    third = changed(second.new, "I live in Lagos")
    assert not await text_store.replace([second])
    assert not await text_store.replace([third])
    await forget(text_store, third.new, until=tomorrow())
    said = [first, second.new, third.new]
    again = [one.model_copy(update={"id": an_entry(user).id, "revisions": ()}) for one in said]
    assert await suppressed(text_store, again) == {one.id for one in again}
    (tombstone,) = (await text_store.get([first])).values()
    assert tombstone.revisions == ()


async def test_redacted_the_log_has_no_words_and_what_was_said_may_not_come_back(
    text_store: TextStore, user: str
) -> None:
    first, again, other = await log_texts(text_store, user, "I live in Porto", "i live in porto", "I own a bike")
    entry = entry_of(first, statement_hash="porto")
    await text_store.apply([Accepted(entry), a_repeat(again, first.id), Accepted(entry_of(other))])
    entry = (await text_store.get([entry]))[entry.id]
    change = changed(entry, "I live by the sea", redact=True)
    for _ in range(2):  # broken off and done again
        assert await text_store.redact([change], until=tomorrow()) == {
            entry.id: (first.turn.turn_id, again.turn.turn_id)
        }
        change = Change(change.new, change.new)
    log = await log_of(text_store, user)
    assert [log[one.turn.turn_id].text for one in (first, again, other)] == ["[forgotten]"] * 2 + ["I own a bike"]
    now = (await text_store.get([entry]))[entry.id]
    assert (now.text, now.status, now.repeat_count, now.revisions) == ("I live by the sea", "active", 1, ())
    late = an_entry(user, statement_hash="porto")
    same = an_entry(user, exact_hash=now.exact_hash, statement_hash=now.statement_hash)
    assert await suppressed(text_store, [late, same]) == {late.id}
    assert (await ids_of(text_store, user, "sea"))[0] == entry.id


async def test_what_was_changed_meanwhile_is_not_redacted(text_store: TextStore, user: str) -> None:
    (proposal,) = await log_proposals(text_store, user, 1)
    await text_store.apply([Accepted(entry_of(proposal))])
    (entry,) = (await text_store.get([proposal])).values()
    await modify(text_store, [entry], lambda one: one.model_copy(update={"tags": ("a",)}))
    assert await text_store.redact([changed(entry, "other", redact=True)], until=tomorrow()) == {}
    assert (await log_of(text_store, user))[proposal.turn.turn_id].text == proposal.text


async def test_no_earlier_text_of_what_was_redacted_is_in_any_byte(
    sqlite_store: SqliteTextStore, path: Path, user: str
) -> None:
    await fill(sqlite_store, "keptword")
    entry = await store_a_told(sqlite_store, user, QUOTED, speaker=None)
    entry = (await sqlite_store.get([entry]))[entry.id]
    assert entry.revisions
    bare = {"tags": (), "themes": (), "source_ids": ()}
    for _ in range(2):
        assert found(path, QUOTED)
        change = changed(entry, "it is well", redact=True)
        change = Change(entry, change.new.model_copy(update=bare))
        assert await sqlite_store.redact([change], until=tomorrow())
        assert await sqlite_store.compact()
        assert found(path, QUOTED) == 0
        said_again = changed(change.new, f"another {QUOTED}", known=None)
        assert not await sqlite_store.replace([said_again])
        entry = said_again.new
    assert found(path, "keptword7x")


async def test_an_overview_counts_what_is_active_by_what_it_is(text_store: TextStore, user: str) -> None:
    entries = [
        an_entry(user, type="fact", themes=("tea", "green tea"), pinned=True, last_said_at=LATER),
        an_entry(user, type="fact", themes=("tea",), persona_id="guide", embedding_state="ready"),
        an_entry(user, 'says "themes":[]', type="note", manually_saved=True, created_at=NOON - timedelta(days=1)),
        an_entry(user, space="work", themes=("tea",), pinned=True, manually_saved=True),
        an_entry(user, status="archived", themes=("tea",)),
        an_entry(a_user(), themes=("tea",)),
    ]
    await store_entries(text_store, entries)
    home = Overview(3, 1, 1, {"fact": 2, "note": 1}, {"tea": 2, "green tea": 1}, {"pending": 2, "ready": 1}, LATER)
    for personas in ((), ("*",), ("guide",)):
        assert await text_store.overview(user, "default", *personas) == home
    for other in ("", "mate"):
        assert (await text_store.overview(user, "default", other)).themes == {"tea": 1, "green tea": 1}
        assert (await text_store.overview(user, None, other)).entries == 3
    assert await text_store.overview(user, "nowhere") == Overview()
    everywhere = await text_store.overview(user)
    assert (everywhere.entries, everywhere.pinned, everywhere.manually_saved) == (4, 2, 2)
    assert everywhere.themes == {"tea": 3, "green tea": 1}
    assert everywhere.types == {"fact": 2, "note": 1, "other": 1}
