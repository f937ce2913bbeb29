"""Paging: those said last first, complete, unmoved by what is added meanwhile."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from contracts.ports import Scope, Selection, TextStore
from contracts.v1.entries import Entry, NeighbourTag, Saying
from services.shared.ranking.neighbour_tags import source_label
from tests.stores.builders import NOON, a_user, an_entry, minutes, store_entries
from tests.stores.changing import modify


async def walk(store: TextStore, selection: Selection, limit: int) -> list[Entry]:
    found: list[Entry] = []
    cursor = None
    while True:
        page = await store.page(selection, limit=limit, cursor=cursor)
        assert len(page.entries) <= limit
        found += page.entries
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_pages_lead_through_all_entries_those_said_last_first(
    text_store: TextStore, user: str, limit: int
) -> None:
    stored = await store_entries(text_store, [an_entry(user, created_at=NOON + minutes(i)) for i in (4, 1, 0, 3)])
    stored += await store_entries(text_store, [an_entry(user, space=f"s{i}") for i in range(3)])
    again = NOON + minutes(9)
    stored += await store_entries(text_store, [an_entry(user, last_said_at=again) for _ in range(2)])
    (renewed,) = await modify(text_store, stored[1:2], lambda e: e.model_copy(update={"last_said_at": again}))
    stored[1] = renewed
    expected = sorted(stored, key=lambda entry: (entry.last_said_at, entry.id), reverse=True)
    assert await walk(text_store, Selection(user), limit) == expected


async def test_a_cursor_stays_true_while_entries_are_added(text_store: TextStore, user: str) -> None:
    stored = await store_entries(text_store, [an_entry(user, created_at=NOON + minutes(i)) for i in range(6)])
    first = await text_store.page(Selection(user), limit=3, cursor=None)
    await store_entries(text_store, [an_entry(user, created_at=NOON + minutes(i)) for i in (10, 11)])
    second = await text_store.page(Selection(user), limit=3, cursor=first.cursor)
    assert [*first.entries, *second.entries] == stored[::-1]
    assert second.cursor is None
    assert (first.total, second.total) == (6, 8)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, "abcde"),
        ({"space": "work"}, "e"),
        ({"persona_id": "coach"}, "abcd"),
        ({"persona_id": "*"}, "abcde"),
        ({"persona_id": "guide", "space": "work"}, "e"),
        ({"types": ("fact",)}, "a"),
        ({"types": ("fact", "note")}, "ab"),
        ({"tags": (), "types": ("fact",)}, "a"),
        ({"conversation_id": "c1"}, "ac"),
        ({"conversation_id": "c2"}, "ce"),
        ({"conversation_id": "c"}, ""),
        ({"tags": ("red",)}, "ab"),
        ({"tags": ("red", "blue")}, "abc"),
        ({"theme": "travel"}, "c"),
        ({"pinned": True}, "d"),
        ({"pinned": False}, "abce"),
        ({"manually_saved": True, "pinned": False}, "e"),
        ({"types": ("note",), "tags": ("red",), "theme": "travel"}, ""),
        ({"status": "archived"}, "f"),
        ({"since": NOON + minutes(1)}, "cd"),
        ({"until": NOON}, "abce"),
        ({"since": NOON + minutes(1), "until": NOON}, "c"),
    ],
)
async def test_a_selection_finds_exactly_what_fulfils_it(
    text_store: TextStore, user: str, wanted: dict[str, Any], expected: str
) -> None:
    again = Saying(conversation_id="c2", turn_id="t", at=NOON + minutes(2))
    fields: dict[str, dict[str, Any]] = {
        "a": {"type": "fact", "tags": ("red",), "conversation_id": "c1"},
        "b": {"type": "note", "tags": ("red", "blue")},
        "c": {"tags": ("blue",), "themes": ("travel", "tools"), "conversation_id": "c1", "repeated_in": (again,)}
        | {"last_said_at": again.at},
        "d": {"pinned": True, "manually_saved": True, "created_at": NOON + minutes(1)},
        "e": {"space": "work", "manually_saved": True, "persona_id": "guide", "conversation_id": "c2"},
        "f": {"status": "archived", "tags": ("red",)},
    }
    await store_entries(text_store, [an_entry(user, name, **more) for name, more in fields.items()])
    await store_entries(text_store, [an_entry(a_user(), "other", **more) for more in fields.values()])
    page = await text_store.page(Selection(user, **wanted), limit=10, cursor=None)
    assert sorted(entry.text for entry in page.entries) == list(expected)
    assert page.total == len(expected)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"words": "bike"}, "abd"),
        ({"words": "red bike"}, "ab"),
        ({"words": "what about my bike?"}, "abd"),
        ({"words": "garage bike red"}, "b"),
        ({"words": "garage boat"}, ""),
        ({"words": "node.js"}, "c"),
        ({"words": "自行车"}, "e"),
        ({"words": "?!"}, ""),
        ({"words": "bike", "types": ("fact",)}, "a"),
        ({"words": "bike", "pinned": False, "space": "default"}, "b"),
        ({"words": "length"}, ""),
        ({"words": "bike", "status": "archived"}, ""),
    ],
)
async def test_the_words_of_a_selection_are_all_in_text_or_tags(
    text_store: TextStore, user: str, wanted: dict[str, Any], expected: str
) -> None:
    fields: dict[str, dict[str, Any]] = {
        "My red bike is broken.": {"type": "fact", "pinned": True},
        "Two red bikes are for sale.": {"tags": ("garage",)},
        "The server runs on node.js now.": {},
        "The bike of the firm is in the garage.": {"space": "work"},
        "我的自行车是红色的。": {},
        "That bike was stolen.": {"status": "archived"},
    }
    stored = await store_entries(text_store, [an_entry(user, text, **more) for text, more in fields.items()])
    await store_entries(text_store, [an_entry(a_user(), text, **more) for text, more in fields.items()])
    names = dict(zip((entry.id for entry in stored), "abcdef", strict=True))
    page = await text_store.page(Selection(user, **wanted), limit=10, cursor=None)
    assert sorted(names[entry.id] for entry in page.entries) == list(expected)
    assert page.total == len(expected)


async def test_entries_with_a_word_are_paged_like_all_others(text_store: TextStore, user: str) -> None:
    texts = [f"The {'bike' if n % 3 else 'boat'} number {n}." for n in range(12)]
    stored = await store_entries(
        text_store, [an_entry(user, text, created_at=NOON + minutes(n)) for n, text in enumerate(texts)]
    )
    selection = Selection(user, words="bike")
    assert await walk(text_store, selection, 3) == [entry for entry in stored[::-1] if "bike" in entry.text]
    assert (await text_store.page(selection, limit=3, cursor=None)).total == 8
    await modify(text_store, stored[1:2], lambda e: e.model_copy(update={"text": "The kite number 1."}))
    assert (await text_store.page(selection, limit=3, cursor=None)).total == 7


async def test_a_selection_follows_changes(text_store: TextStore, user: str) -> None:
    before: dict[str, Any] = {"tags": ("red",), "themes": ("travel",), "conversation_id": "c1", "type": "other"}
    after: dict[str, Any] = {"tags": ("blue",), "themes": ("tools",), "conversation_id": "c2", "type": "fact"}
    (entry,) = await store_entries(text_store, [an_entry(user, **before)])
    await modify(text_store, [entry], lambda e: e.model_copy(update=after | {"pinned": True}))
    for fields, total in ((before, 0), (after, 1)):
        for wanted in (
            Selection(user, tags=fields["tags"]),
            Selection(user, theme=fields["themes"][0]),
            Selection(user, conversation_id=fields["conversation_id"]),
            Selection(user, types=(fields["type"],)),
            Selection(user, pinned=total == 1),
        ):
            assert (await text_store.page(wanted, limit=10, cursor=None)).total == total, wanted


def a_cursor(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "äöü",
        a_cursor(b"[1]"),
        a_cursor(b'["x", "y"]'),
        a_cursor(b'{"a": 1, "b": 2}'),
        a_cursor(b"[true, 2]"),
        a_cursor(b'[1%s, "id"]' % (b"0" * 30)),
        a_cursor(b"[" * 5000),
    ],
)
async def test_a_cursor_that_no_page_gave_is_an_error(text_store: TextStore, user: str, cursor: str) -> None:
    await store_entries(text_store, [an_entry(user)])
    with pytest.raises(ValueError, match="cursor"):
        await text_store.page(Selection(user), limit=1, cursor=cursor)
    with pytest.raises(ValueError, match="at least 1"):
        await text_store.page(Selection(user), limit=0, cursor=None)


async def test_the_pinned_entries_of_a_scope_are_those_it_sees(text_store: TextStore, user: str) -> None:
    def pinned(after: float, **given: Any) -> Entry:
        return an_entry(user, created_at=NOON + minutes(after), pinned=True, **given)

    common = await store_entries(text_store, [pinned(1), pinned(3), pinned(2)])
    (of_guide,) = await store_entries(text_store, [pinned(4, persona_id="guide")])
    others = [pinned(5, space="work"), pinned(6, status="archived"), an_entry(user), an_entry(a_user(), pinned=True)]
    await store_entries(text_store, others)
    ordered = [common[1], common[2], common[0]]
    assert await text_store.pinned(Scope(user), limit=9) == ordered
    assert await text_store.pinned(Scope(user), limit=2) == ordered[:2]
    for persona in ("guide", "*"):
        assert await text_store.pinned(Scope(user, persona_id=persona), limit=9) == [of_guide, *ordered]
    (unpinned,) = await modify(text_store, common[1:2], lambda entry: entry.model_copy(update={"pinned": False}))
    assert unpinned not in await text_store.pinned(Scope(user), limit=9)
    assert await text_store.pinned(Scope(a_user()), limit=9) == []


async def test_entries_are_found_by_those_that_bear_out_what_is_proposed_for_them(
    text_store: TextStore, user: str
) -> None:
    tag = NeighbourTag(tag="sport", confidence=0.5, source_ids=("a", "b"))
    tagged, other = await store_entries(text_store, [an_entry(user, neighbour_tags=(tag,)), an_entry(user, "other")])
    by_source = Selection(user, tags=(source_label("a"),))
    assert await walk(text_store, by_source, 10) == [tagged]
    assert await walk(text_store, Selection(user, tags=("sport",)), 10) == []
    await modify(text_store, [tagged, other], lambda e: e.model_copy(update={"neighbour_tags": ()}))
    assert await walk(text_store, by_source, 10) == []
