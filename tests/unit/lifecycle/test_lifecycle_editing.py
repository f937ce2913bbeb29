"""Corrections and pins: what follows from another text, what is kept of the one before, and what a pin is worth."""

from __future__ import annotations

import unicodedata
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entity, Entry
from services.shared.dedup.repeats import prints_of
from services.shared.lifecycle import editing
from services.shared.lifecycle.editing import Edit, edited
from services.shared.lifecycle.pinning import own_importance, pinned, unpinned, weighed
from services.shared.lifecycle.sayings import repeated_by
from tests.stores.builders import NOON, an_entry

LATER = NOON + timedelta(hours=1)

TEXTS = st.sampled_from(["I prefer uv over pip.", "I prefer poetry.", "My PIN is 4711", "i prefer UV over pip"])


def said(text: str, **fields: object) -> Entry:
    prints = prints_of(text, NOON)
    hashes = {"exact_hash": prints.exact_hash, "statement_hash": prints.statement_hash, "simhash": prints.simhash}
    return an_entry("ann", text, **hashes, **fields)


def changed(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry


def test_another_text_makes_a_new_version_with_its_history() -> None:
    entry = said("I prefer uv.", version=7, enriched=True, embedding_state="ready")
    first = changed(edited(entry, Edit(text="I prefer poetry.", by="ann"), LATER))
    assert (first.text, first.edited_at, first.edited_by, first.edited_version) == ("I prefer poetry.", LATER, "ann", 8)
    assert [(one.version, one.at, one.text, one.by) for one in first.revisions] == [(7, NOON, "I prefer uv.", None)]
    assert first.statement_hash == prints_of("I prefer poetry.", NOON).statement_hash
    assert (first.enriched, first.embedding_state) == (False, "pending")
    again = changed(edited(first.model_copy(update={"version": 9}), Edit(text="I use pip."), LATER))
    assert [(one.version, one.text, one.by) for one in again.revisions] == [
        (9, "I prefer poetry.", "ann"),
        (7, "I prefer uv.", None),
    ]


def test_what_was_read_out_of_the_old_text_goes_and_what_the_user_gave_stays() -> None:
    who = Entity(text="Zoe", label="PERSON", confidence=0.9)
    entry = said("Zoe likes green tea", tags=("zoe", "green tea", "kitchen", "tea"), entities=(who,), summary="tea")
    new = changed(edited(entry, Edit(text="Bob likes black tea"), LATER))
    assert (new.tags, new.entities, new.summary) == (("kitchen", "tea"), (), None)
    given = changed(edited(entry, Edit(text="Bob likes black tea", tags=("zoe", "zoe")), LATER))
    assert given.tags == ("zoe",)


def test_a_redacted_entry_has_no_word_left_of_any_earlier_text() -> None:
    entry = said("my zanzibar code", tags=("about zanzibar", "door"), themes=("zanzibar",), source_ids=("m zanzibar",))
    once = changed(edited(entry, Edit(text="my other quokka code"), LATER))
    assert "zanzibar" in once.model_dump_json()
    new = changed(edited(once, Edit(text="my code", redact=True), LATER))
    assert not {"zanzibar", "quokka"} & set(new.model_dump_json().replace('"', " ").split())
    assert (new.revisions, new.tags) == ((), ("door",))


def test_a_correction_whose_letters_and_accents_are_written_apart_is_read_as_one() -> None:
    entry = said("Käthe lives in Köln")
    assert edited(entry, Edit(text=unicodedata.normalize("NFD", entry.text)), LATER) is None
    new = changed(edited(entry, Edit(text=unicodedata.normalize("NFD", "Käthe lives in Düren")), LATER))
    assert new.text == "Käthe lives in Düren"


def test_what_changes_nothing_is_no_change() -> None:
    entry = said("I prefer uv.", tags=("a",), type="preference")
    for edit in (Edit(), Edit(text="I prefer uv."), Edit(tags=("a",), type="preference"), Edit(redact=True)):
        assert edited(entry, edit, LATER) is None
    assert edited(entry.model_copy(update={"status": "archived"}), Edit(text="x"), LATER) is None


def test_a_history_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "MOST_REVISED", 25)
    entry = said("0" * 10)
    for n in range(1, 6):
        entry = edited(entry, Edit(text=str(n) * 10), LATER) or entry
    assert [one.text[0] for one in entry.revisions] == ["4", "3"]
    monkeypatch.setattr(editing, "MOST_REVISIONS", 1)
    assert [one.text[0] for one in (edited(entry, Edit(text="x"), LATER) or entry).revisions] == ["5"]


def test_importance_follows_type_and_wish_to_save() -> None:
    entry = said("The door is green", importance=0.2)
    saved = changed(edited(entry, Edit(manually_saved=True), LATER))
    assert saved.importance == pytest.approx(0.7)
    lasting = changed(edited(saved, Edit(type="preference"), LATER))
    assert lasting.importance == 1.0
    back = changed(edited(lasting, Edit(type="other", manually_saved=False), LATER))
    assert back.importance == pytest.approx(0.2)


@given(st.floats(0, 1), st.booleans())
def test_unpinned_an_entry_is_worth_what_it_was(importance: float, enriched: bool) -> None:
    entry = an_entry("ann", importance=importance)
    held = changed(pinned(entry, LATER))
    assert (held.pinned, held.importance, own_importance(held)) == (True, 1.0, importance)
    assert pinned(held, LATER) is None
    if enriched:
        importance = 0.25
        held = held.model_copy(update=weighed(held, importance))
    assert held.importance == 1.0
    free = changed(unpinned(held, LATER))
    assert (free.pinned, free.importance, free.unpinned_importance) == (False, importance, None)
    assert unpinned(free, LATER) is None


def test_a_repeat_of_a_pinned_entry_counts_once_it_is_unpinned() -> None:
    entry = an_entry("ann", importance=0.4)
    held = changed(pinned(entry, LATER))
    again = repeated_by(held, an_entry("ann", importance=0.5))
    assert again.importance == 1.0
    free = changed(unpinned(again, LATER))
    assert free.importance == repeated_by(entry, an_entry("ann", importance=0.5)).importance > 0.5


def test_what_is_out_of_use_is_not_pinned_and_can_be_unpinned() -> None:
    archived = an_entry("ann", status="archived", pinned=True, importance=1.0, unpinned_importance=0.3)
    assert pinned(archived.model_copy(update={"pinned": False}), LATER) is None
    free = changed(unpinned(archived, LATER))
    assert free.importance == 0.3


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=8))
def test_a_history_is_complete_and_an_edit_is_idempotent(edits: list[tuple[str, bool]]) -> None:
    entry, told = said("The first words"), ["The first words"]
    for text, redact in edits:
        new = edited(entry, Edit(text=text, redact=redact), LATER)
        if redact:
            told = [text]
        elif text != entry.text:
            told.append(text)
        entry = (new or entry).model_copy(update={"version": entry.version + (new is not None)})
        assert edited(entry, Edit(text=text, redact=redact), LATER) is None
        assert [entry.text, *(one.text for one in entry.revisions)] == told[::-1]
