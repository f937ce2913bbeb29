"""Roll-ups: what may go, that every line is verbatim and traced, and that what comes back is what was."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.context.rollups import (
    LENGTH,
    LINES,
    MOST,
    brought_back,
    draft,
    drafts,
    may_age,
    may_be_rolled_up,
    put_away,
    rollup,
    voices,
    without,
)
from services.shared.ranking.capacity import is_protected
from tests.stores.builders import NOON, an_entry
from tests.unit.test_knowledge_summaries_many import a_text

LATER = NOON + timedelta(days=400)
GARDEN = (
    "The tomatoes in my garden need water twice a day.",
    "I planted basil beside the tomatoes in the garden.",
    "The garden gate was painted green by Clara.",
)
_FIELDS: dict[str, Any] = {
    "role": st.sampled_from(["user", "assistant", "tool", "system"]),
    "speaker": st.sampled_from([None, "Ann"]),
    "persona_id": st.sampled_from([None, "coach"]),
    "type": st.sampled_from(["fact", "other", "preference", "instruction", "summary"]),
    "source": st.sampled_from(["turn", "turn", "turn", "model", "rollup"]),
    "status": st.sampled_from(["active", "active", "active", "archived", "superseded", "forgotten"]),
    "pinned": st.booleans(),
    "manually_saved": st.booleans(),
    "days": st.integers(0, 300),
    "asked": st.integers(0, 300) | st.none(),
    "tags": st.lists(st.sampled_from(["a", "b"]), unique=True).map(tuple),
}


def garden(*texts: str, **fields: Any) -> list[Entry]:
    return [an_entry("ann", text, created_at=NOON + timedelta(days=i), **fields) for i, text in enumerate(texts)]


@st.composite
def memories(draw: st.DrawFn) -> list[Entry]:
    """Entries of any kind, some of which say the same."""
    random = Random(draw(st.integers(0, 10**6)))
    found = []
    for _ in range(draw(st.integers(0, 90))):
        fields = {name: draw(value) for name, value in _FIELDS.items()}
        said = NOON + timedelta(days=fields.pop("days"))
        asked = fields.pop("asked")
        at = None if asked is None else NOON + timedelta(days=asked)
        text = a_text(random) or "a word"
        found.append(an_entry("ann", text, created_at=said, asked_at=at, id=f"e{random.getrandbits(64):x}", **fields))
    return found


@given(memories(), st.integers(0, 300))
@settings(deadline=None, max_examples=40)
def test_only_what_nobody_asked_to_keep_ages_and_every_line_is_traced(entries: list[Entry], days: int) -> None:
    before = NOON + timedelta(days=days)
    old = [one for one in entries if may_age(one, before)]
    for one in old:
        assert not is_protected(one)
        assert one.status == "active"
        assert one.last_said_at < before
        assert one.asked_at is None or one.asked_at < before
        assert one.type not in ("preference", "instruction", "summary")
        assert (one.source, one.role in ("user", "assistant")) == ("turn", True)
    for voice, said in voices(old).items():
        made = [rollup(part, f"r{i}", LATER) for i, part in enumerate(drafts(said))]
        sources = [id_ for one in made for id_ in one.source_ids]
        assert len(sources) == len(set(sources))
        by_id = {one.id: one for one in said}
        for one in made:
            assert (one.space, one.persona_id, one.role, one.speaker) == voice
            lines = one.text.split("\n")
            assert len(lines) == len(one.line_sources) <= LINES
            assert len(one.text) <= LENGTH
            assert 2 <= len(one.source_ids) <= MOST
            for line, ids in zip(lines, one.line_sources, strict=True):
                assert line
                assert ids
                assert all(line in by_id[id_].text for id_ in ids)
            assert one.created_at == max(by_id[id_].last_said_at for id_ in one.source_ids)
            assert all(set(one.tags) <= set(by_id[id_].tags) for id_ in one.source_ids)


@given(memories())
@settings(deadline=None, max_examples=40)
def test_what_is_put_away_comes_back_as_it_was_and_twice_changes_nothing(entries: list[Entry]) -> None:
    for one in entries:
        away = put_away(one, "r1", LATER)
        assert (away is not None) == may_be_rolled_up(one)
        if away is None:
            continue
        assert put_away(away, "r1", LATER) is None
        assert put_away(away, "r2", LATER) is None
        assert brought_back(away, "r2", LATER) is None
        back = brought_back(away, "r1", LATER)
        assert back is not None
        assert brought_back(back, "r1", LATER) is None
        changed = {"updated_at", "embedding_state"}
        assert back.model_dump(exclude=changed) == one.model_dump(exclude=changed)


@given(memories(), st.data())
@settings(deadline=None, max_examples=40)
def test_nothing_stays_of_what_only_the_forgotten_said(entries: list[Entry], data: st.DataObject) -> None:
    for said in voices(filter(may_be_rolled_up, entries)).values():
        for part in drafts(said):
            made = rollup(part, "r1", LATER)
            gone = data.draw(st.sets(st.sampled_from(made.source_ids), min_size=1))
            left = [one for one in part.entries if one.id not in gone]
            new = without(made, gone, left, LATER)
            kept = [line for line, ids in zip(made.text.split("\n"), made.line_sources, strict=True) if set(ids) - gone]
            assert (new.text.split("\n") if new else []) == kept
            if new is not None:
                assert gone.isdisjoint(new.source_ids)
                assert all(ids and gone.isdisjoint(ids) for ids in new.line_sources)
                assert (new.entities, new.enriched, new.statement_hash != made.statement_hash) == (
                    (),
                    False,
                    new.text != made.text,
                )


def test_a_roll_up_says_what_matters_in_the_order_in_which_it_was_said() -> None:
    entries = garden(*GARDEN[:2], tags=("home", "garden"), themes=("garden",))
    entries += garden(GARDEN[2], tags=("garden", "gate"), themes=("garden", "paint"), last_said_at=LATER)
    entries[2] = entries[2].model_copy(update={"created_at": NOON + timedelta(days=2)})
    made = draft(list(reversed(entries)))
    assert made is not None
    one = rollup(made, "r1", LATER)
    assert one.text.split("\n") == list(GARDEN)
    assert one.line_sources == tuple((entry.id,) for entry in entries)
    assert (one.type, one.source, one.tags, one.themes) == ("summary", "rollup", ("garden",), ("garden",))
    assert one.created_at == LATER
    assert (one.status, one.enriched, one.embedding_state, one.turn_id) == ("active", False, "pending", None)


def test_too_few_and_what_says_nothing_are_not_rolled_up() -> None:
    assert draft(garden(GARDEN[0])) is None
    assert draft(garden("ok", "thanks", "hi")) is None
    assert list(drafts([])) == []


def test_a_large_topic_becomes_several_of_like_size() -> None:
    entries = garden(*(f"Tomato number {i} grows beside the garden wall." for i in range(MOST + 2)))
    assert [len(part.entries) for part in drafts(entries)] == [33, 33]


def test_one_whose_text_its_user_changed_cannot_be_told_apart() -> None:
    entries = garden(*GARDEN)
    made = draft(entries)
    assert made is not None
    edited = rollup(made, "r1", LATER).model_copy(update={"text": "mine", "line_sources": ()})
    assert without(edited, {entries[0].id}, entries[1:], LATER) is None
