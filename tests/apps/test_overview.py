"""A user's memory as a whole: themes and what is proposed as one, a summary, an export, and facts given first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from contracts.errors import Unavailable
from contracts.ports import Change, Erasure, Record, Selection, TextStore
from contracts.v1.commands import CreateRequest, EntryReply
from contracts.v1.entries import Entry
from contracts.v1.overview import (
    ExportRequest,
    SummaryRequest,
    ThemeProposal,
    ThemeProposalsRequest,
    ThemeRemoveRequest,
    ThemeSaveRequest,
    ThemesRequest,
)
from contracts.v1.profile import SeedRequest
from services.curate import overview, profile, themes
from services.shared.commands import transfer
from services.shared.errors import Rejected
from services.shared.lifecycle.fitting import size_of
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeVectors
from tests.apps.test_edits import Desk
from tests.apps.test_forgetting import embed, places
from tests.stores.builders import NOON, an_entry, log_texts, store_entries
from tests.unit.context.test_context_clusters import BREAD


async def themes_of(store: TextStore, space: str | None = None, user: str = "ann") -> dict[str, tuple[str, int]]:
    reply = await themes.list_themes(ThemesRequest(user_id=user, space=space), store=store)
    return {theme.slug: (theme.display_name, theme.count) for theme in reply.items}


async def save(store: TextStore, slug: str, name: str) -> None:
    await themes.save_theme(ThemeSaveRequest(user_id="ann", slug=slug, display_name=name), stores=places(store)[0])


async def test_themes_are_those_described_and_those_in_use_the_largest_first(store: TextStore) -> None:
    filed = [an_entry("ann", themes=("tea",)), an_entry("ann", themes=("Old Trips", "tea"), space="work")]
    await store_entries(store, [*filed, an_entry("bob", themes=("boats",))])
    await save(store, "tea", "Tea")
    await save(store, "empty", "Nothing yet")
    await save(store, "tea", "All about tea")
    expected = [("tea", ("All about tea", 2)), ("Old Trips", ("Old Trips", 1)), ("empty", ("Nothing yet", 0))]
    assert list((await themes_of(store)).items()) == expected
    assert (await themes_of(store, "work"))["tea"] == ("All about tea", 1)
    assert await themes_of(store, user="bob") == {"boats": ("boats", 1)}


@pytest.mark.parametrize("slug", ["", "Tea", "green tea", "-tea", "t" * 65])
def test_a_slug_is_small_letters_digits_and_dashes(slug: str) -> None:
    with pytest.raises(ValueError, match="slug"):
        ThemeSaveRequest(user_id="ann", slug=slug, display_name="Tea")


async def test_a_removed_theme_is_off_its_entries_and_their_vectors(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(themes, "_PAGE", 2)
    everywhere, vectors, _ = places(store)
    entries = [an_entry("ann", f"tea {n}", themes=("a", "tea"), embedding_state="ready") for n in range(5)]
    await store_entries(store, [*entries, other := an_entry("bob", themes=("tea",))])
    for entry in entries:
        await embed(vectors, entry)
    await save(store, "tea", "Tea")
    request = ThemeRemoveRequest(user_id="ann", slug="tea")
    assert (await themes.remove_theme(request, stores=everywhere)).entries == 5
    assert await themes_of(store) == {"a": ("a", 5)}
    assert {vectors.points[entry.id].entry.themes for entry in entries} == {("a",)}
    assert await store.get([other]) == {other.id: other}
    with pytest.raises(Rejected, match="no theme 'tea'"):
        await themes.remove_theme(request, stores=everywhere)


async def test_a_summary_says_in_words_what_it_counts(store: TextStore) -> None:
    ready = {"embedding_state": "ready", "type": "fact"}
    entries = [an_entry("ann", f"{n}", themes=("tea",), **ready) for n in range(3)]
    entries += [an_entry("ann", type="summary", pinned=True, created_at=NOON + timedelta(days=31), manually_saved=True)]
    entries += [an_entry("ann", themes=(name,), **ready) for name in ("b", "c", "d")]
    await store_entries(store, [*entries, an_entry("bob")])
    await save(store, "tea", "Green tea")
    reply = await overview.summarize(SummaryRequest(user_id="ann", space="default"), store=store)
    assert reply.text == (
        "7 memories in the space “default”: 6 facts and 1 summary. 1 pinned and 1 saved. "
        "Themes: Green tea (3), b (1), c (1) and 1 more. The latest is of 4 March 2026. 1 found by words alone so far."
    )
    assert (reply.entries, reply.pinned, reply.manually_saved) == (7, 1, 1)
    assert (reply.types, reply.states) == ({"fact": 6, "summary": 1}, {"ready": 6, "pending": 1})
    empty = [await overview.summarize(SummaryRequest(user_id="cid", space=one), store=store) for one in (None, "work")]
    assert [one.text for one in empty] == ["Nothing is remembered.", "Nothing is remembered in the space “work”."]


async def exported(store: TextStore, limit: int, user: str = "ann") -> list[str]:
    reply = await overview.export(ExportRequest(user_id=user, limit=limit), store=store)
    lines = [*reply.lines]
    while reply.next_cursor is not None:
        assert 0 < len(reply.lines) <= limit + 1
        reply = await overview.export(ExportRequest(user_id=user, cursor=reply.next_cursor, limit=limit), store=store)
        lines += reply.lines
    return lines


@pytest.mark.parametrize("limit", [1, 3, 1000])
async def test_an_export_page_by_page_is_the_file_that_the_command_writes(
    store: SqliteTextStore, tmp_path: Path, limit: int
) -> None:
    desk = Desk(store)
    entries = [await desk.said(text, created_at=NOON + timedelta(hours=n)) for n, text in enumerate("abcd")]
    await desk.update(entries[1], text="corrected")
    await log_texts(store, "ann", "undecided")
    await log_texts(store, "bob", "of another")
    themes = [Record("ann", "theme", slug, {"display_name": slug}, NOON) for slug in "xyz"]
    settings = [Record("ann", "settings", "*", {"soft_cap": 7}, NOON), Record("bob", "settings", "*", {}, NOON)]
    done = Record("ann", "action", "1", {"verb": "pin"}, NOON)
    await store.add_records([*themes, *settings, done])
    file = tmp_path / "memory.jsonl"
    with file.open("w+b") as opened:
        await transfer.write_archive(store, opened, "memory.jsonl", "ann")
    pages = await exported(store, limit)
    assert "\n".join(pages) + "\n" == file.read_text()
    other = await SqliteTextStore.open(tmp_path / "other.sqlite3")
    await transfer.read_archive(other, file)
    assert await Desk(other).history(entries[1]) == [("corrected", "user"), ("b", None)]
    assert (await other.page(Selection("ann"), limit=9, cursor=None)).total == 4
    assert await other.records("ann", "theme") == themes
    assert await other.records("ann", "settings") == settings[:1]
    assert await other.records("ann", "action") == []
    await other.close()


async def test_an_export_that_does_not_fit_is_shortened_and_goes_on(store: TextStore) -> None:
    await store_entries(store, [an_entry("ann", f"{n}" * 100) for n in range(9)])
    request = ExportRequest(user_id="ann")
    whole = await overview.export(request, store=store)
    shorter = await overview.shorten_export(request, whole, 6000, store=store)
    assert size_of(shorter) <= 6000
    assert whole.lines[: len(shorter.lines)] == shorter.lines
    rest = await overview.export(ExportRequest(user_id="ann", cursor=shorter.next_cursor), store=store)
    assert (*shorter.lines, *rest.lines) == whole.lines
    with pytest.raises(Rejected, match="longer than the bus takes"):
        await overview.shorten_export(request, whole, 2050, store=store)


async def test_a_cursor_of_something_else_is_refused(store: TextStore) -> None:
    for cursor in ("", "nonsense", '{"place": 1}'):
        with pytest.raises(Rejected, match="cursor"):
            await overview.export(ExportRequest(user_id="ann", cursor=cursor), store=store)


async def test_of_a_user_who_is_being_erased_there_is_nothing(store: TextStore) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", themes=("tea",))])
    await save(store, "tea", "Tea")
    await store.record_erasure("ann", None, Erasure("ann", 7, NOON))
    assert await themes_of(store) == {}
    assert (await overview.summarize(SummaryRequest(user_id="ann"), store=store)).entries == 0
    assert [line[:10] for line in await exported(store, 9)] == ['{"memorybu', '{"end":{"t']
    with pytest.raises(Rejected, match="no theme"):
        await themes.remove_theme(ThemeRemoveRequest(user_id="ann", slug="tea"), stores=places(store)[0])
    assert not await store.replace([Change(entry, entry)])


async def embedded(store: TextStore, vectors: FakeVectors, **fields: object) -> list[Entry]:
    entries = await store_entries(store, [an_entry("ann", text, embedding_state="ready", **fields) for text in BREAD])
    for entry in entries:
        await embed(vectors, entry)
    return entries


async def proposed(store: TextStore, vectors: FakeVectors | None, space: str | None = None) -> list[ThemeProposal]:
    request = ThemeProposalsRequest(user_id="ann", space=space)
    return list((await themes.propose_themes(request, stores=replace(places(store)[0], vectors=vectors))).items)


async def test_a_proposed_theme_is_saved_with_its_entries_and_proposed_no_more(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    entries = await embedded(store, vectors)
    (theme,) = await proposed(store, vectors)
    assert (theme.count, set(theme.ids)) == (4, {entry.id for entry in entries})
    assert theme.slug.startswith("sourdough")
    save = ThemeSaveRequest(user_id="ann", slug=theme.slug, display_name="Bread", ids=(*theme.ids, "nothing"))
    assert (await themes.save_theme(save, stores=everywhere)).theme.count == 4
    assert (await themes.save_theme(save, stores=everywhere)).theme.count == 4
    assert await proposed(store, vectors) == []


@pytest.mark.parametrize("fields", [{"themes": ("tea",)}, {"role": "assistant"}, {"status": "archived"}])
async def test_what_is_filed_said_by_others_or_out_of_use_suggests_nothing(
    store: TextStore, fields: dict[str, object]
) -> None:
    vectors = FakeVectors()
    await embedded(store, vectors, **fields)
    assert await proposed(store, vectors) == []


async def test_spaces_erasures_and_stores_that_are_away(store: TextStore) -> None:
    vectors = FakeVectors()
    await embedded(store, vectors, space="home")
    assert len(await proposed(store, vectors, "home")) == len(await proposed(store, vectors)) == 1
    assert await proposed(store, vectors, "work") == await proposed(store, None) == []
    vectors.fails = True
    with pytest.raises(Unavailable):
        await proposed(store, vectors)
    vectors.fails = False
    await store.record_erasure("ann", None, Erasure("ann", 7, NOON))
    assert await proposed(store, vectors) == []


async def test_facts_given_at_the_start_are_saved_once_each_and_refusals_told() -> None:
    asked: list[CreateRequest] = []

    async def create(request: CreateRequest) -> EntryReply:
        asked.append(request)
        if "secret" in request.text:
            raise Rejected("refused", "memory is off")
        if "late" in request.text:
            raise Unavailable("it waits behind others")
        return EntryReply(entry=an_entry("ann", request.text, id=f"e{len(asked)}"))

    facts = ("I live in Lisbon", "a secret", "too late", "I live in Lisbon")
    request = SeedRequest(user_id="ann", facts=facts, space="home", persona_id="coach")
    lisbon, secret, late = (await profile.seed(request, create=create)).items
    assert (lisbon.id, secret.refused, late.refused) == ("e1", "memory is off", "it waits behind others")
    first = asked[0]
    assert (first.manually_saved, first.source_ids) == (True, ("seeded_profile",))
    assert (first.space, first.persona_id) == ("home", "coach")
    assert len({one.correlation_id for one in asked}) == 1
