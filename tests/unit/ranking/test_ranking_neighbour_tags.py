"""Tags proposed from neighbours: what most of them have themselves, and nothing that its user decided against."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entity, Entry, NeighbourTag
from services.shared.lifecycle.editing import Edit, edited
from services.shared.lifecycle.lineage import superseded
from services.shared.ranking.neighbour_tags import filed_under, proposed, source_label, with_proposed, without_sources
from tests.stores.builders import NOON, an_entry

RUN = an_entry("ann", "I jogged along the canal")


def near(tag: str, cosine: float = 0.5, **fields: Any) -> tuple[Entry, float]:
    return an_entry("ann", "some words or other", tags=(tag,), **fields), cosine


def tags(*neighbours: tuple[Entry, float], of: Entry = RUN) -> list[str]:
    return [one.tag for one in proposed(of, neighbours)]


def test_what_most_neighbours_have_is_proposed_with_those_it_comes_from() -> None:
    neighbours = [near("sport"), near("sport", 0.7), near("food", 0.3)]
    (found,) = proposed(RUN, neighbours)
    assert found.tag == "sport"
    assert set(found.source_ids) == {one.id for one, _ in neighbours[:2]}
    assert found.confidence == pytest.approx(0.6 * 1.2 / 1.5)


def test_one_neighbour_a_minority_and_those_far_away_propose_nothing() -> None:
    assert tags(near("sport")) == []
    assert tags(near("sport"), near("sport"), *(near(name) for name in ("a1", "bee", "sea", "dee"))) == []
    assert tags(near("sport", 0.2), near("sport", 0.2)) == []


@pytest.mark.parametrize(
    ("tag", "fields"),
    [
        ("12 km", {}),
        ("k0a1b2c3d4e5f", {}),
        ("lunch with ben", {"entities": (Entity(text="Ben", label="PERSON", confidence=1),)}),
        ("ben", {"speaker": "Ben"}),
        ("the", {}),
        ("canal", {}),
        ("sport", {"source": "model"}),
        ("sport", {"status": "superseded"}),
        ("sport", {"type": "summary"}),
    ],
)
def test_numbers_names_and_what_is_said_anyhow_are_not_passed_on(tag: str, fields: dict[str, Any]) -> None:
    assert tags(near(tag, **fields), near(tag, **fields)) == []


def test_what_neighbours_were_proposed_themselves_is_not_passed_on() -> None:
    chained = an_entry("ann", "words", neighbour_tags=(NeighbourTag(tag="sport", confidence=1, source_ids=("a", "b")),))
    assert tags((chained, 0.9), (chained.model_copy(update={"id": "other"}), 0.9)) == []


SPORT = NeighbourTag(tag="sport", confidence=0.5, source_ids=("a", "b", "c"))


def test_nothing_is_proposed_where_the_user_decided_about_the_tags() -> None:
    assert with_proposed(RUN, (SPORT,)).neighbour_tags == (SPORT,)
    assert with_proposed(RUN.model_copy(update={"tags_edited": True}), (SPORT,)).neighbour_tags == ()
    assert with_proposed(RUN.model_copy(update={"tags": ("sport",)}), (SPORT,)).neighbour_tags == ()


@pytest.mark.parametrize("wanted", [("mine",), (), None])
def test_a_change_of_the_tags_dismisses_what_is_proposed_and_any_other_does_not(wanted: tuple[str, ...] | None) -> None:
    entry = edited(with_proposed(RUN, (SPORT,)), Edit(tags=wanted, type="note"), NOON)
    assert entry is not None
    assert entry.tags_edited == (wanted is not None)
    assert entry.neighbour_tags == (() if wanted is not None else (SPORT,))


def test_another_text_leaves_nothing_proposed_for_the_old_one() -> None:
    entry = edited(with_proposed(RUN, (SPORT,)), Edit(text="I bake bread"), NOON)
    assert entry is not None
    assert not entry.neighbour_tags
    assert not entry.tags_edited


def test_what_goes_out_of_use_is_proposed_nothing_and_none_of_its_neighbours_stays_on_file() -> None:
    assert filed_under(superseded(with_proposed(RUN, (SPORT,)), RUN)) == ()


@given(gone=st.sets(st.sampled_from("abcd")))
def test_a_tag_goes_with_all_but_one_of_its_sources(gone: set[str]) -> None:
    entry = with_proposed(RUN, (SPORT,))
    left = without_sources(entry, gone) or entry
    sources = {id_ for one in left.neighbour_tags for id_ in one.source_ids}
    assert sources.isdisjoint(gone)
    assert bool(sources) == (len(set("abc") - gone) >= 2)
    assert set(filed_under(left)) == {source_label(id_) for id_ in sources}
