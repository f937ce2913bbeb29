"""Scores: relevance from what both legs say, and recency that decays by age."""

import math
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.ports import Vector
from contracts.v1.entries import Entity
from services.shared.ranking.scoring import (
    Candidate,
    blend,
    context_cosines,
    cosine_only,
    entity_blend,
    fused_only,
    recency,
)
from tests.stores.builders import NOON, an_entry

parts = st.one_of(st.none(), st.floats(-1, 1))
candidates = st.builds(
    Candidate,
    id=st.uuids().map(str),
    bm25=st.one_of(st.none(), st.just(0.0), st.floats(0.001, 40)),
    coverage=st.one_of(st.none(), st.floats(0, 1)),
    cosine=parts,
    cosine_context=parts,
    rrf=st.floats(0, 0.04),
)


@given(st.lists(candidates))
def test_relevance_is_between_zero_and_one(found: list[Candidate]) -> None:
    for relevances in (blend(found), cosine_only(found), fused_only(found)):
        assert len(relevances) == len(found)
        assert all(0.0 <= value <= 1.0 for value in relevances)


def test_both_parts_count_the_same() -> None:
    found = [
        Candidate("best", bm25=10, coverage=1.0, cosine=0.1, cosine_context=0.6),
        Candidate("half", bm25=5, coverage=0.5, cosine_context=0.2),
    ]
    assert blend(found) == pytest.approx([0.8, 0.35])


def test_the_best_of_a_hopeless_query_is_not_relevant() -> None:
    assert blend([Candidate("a", bm25=3, coverage=0.1, cosine=0.05)])[0] < 0.1


def test_without_one_leg_the_other_decides_alone() -> None:
    found = [Candidate("a", bm25=4, coverage=0.8), Candidate("b", bm25=2, coverage=0.8)]
    assert blend(found) == cosine_only(found) == pytest.approx([0.8, 0.4])
    found = [Candidate("a", cosine=0.7), Candidate("b", cosine=-0.2)]
    assert blend(found) == cosine_only(found) == pytest.approx([0.7, 0.0])


def test_an_entry_that_shares_no_word_is_not_lifted_by_that() -> None:
    found = [Candidate("words", bm25=8, coverage=0.5, cosine=0.5), Candidate("none", cosine=0.5)]
    assert blend(found) == pytest.approx([0.5, 0.25])


def test_an_entry_without_a_vector_yet_is_judged_by_its_words() -> None:
    found = [Candidate("embedded", bm25=8, coverage=1.0, cosine=0.5), Candidate("new", bm25=6, coverage=1.0)]
    assert blend(found) == pytest.approx([0.75, 0.75])
    assert cosine_only(found) == pytest.approx([0.5, 0.75])


@given(st.lists(candidates, min_size=1), st.floats(0.1, 10))
def test_the_scale_of_bm25_does_not_matter(found: list[Candidate], scale: float) -> None:
    scaled = [
        Candidate(c.id, bm25=None if c.bm25 is None else c.bm25 * scale, coverage=c.coverage, cosine=c.cosine)
        for c in found
    ]
    plain = [Candidate(c.id, bm25=c.bm25, coverage=c.coverage, cosine=c.cosine) for c in found]
    assert blend(scaled) == pytest.approx(blend(plain), abs=1e-6)


def smoothed_cosine(vectors: Sequence[Vector], query: Vector) -> float:
    """What is estimated: of the mixture of turns, each neighbour weighed by half per turn of distance."""
    reach = len(vectors) // 2
    mixture = sum(0.5 ** abs(i - reach) * vector for i, vector in enumerate(vectors))
    return float(mixture @ query / np.linalg.norm(mixture))


def test_the_context_cosine_estimates_that_of_the_smoothed_vector() -> None:
    rng = np.random.default_rng(5)
    topic = rng.normal(size=64)
    draw = [topic * 0.1 + rng.normal(size=64) * 0.12 for _ in range(6)]  # neighbours with cosines of about 0.4
    *turns, query = (np.asarray(v / np.linalg.norm(v), dtype=np.float32) for v in draw)
    (estimate,) = context_cosines(np.array([[v @ query for v in turns]], dtype=np.float64))
    assert estimate == pytest.approx(smoothed_cosine(turns, query), abs=0.08)


def test_the_context_cosine_of_one_turn_is_its_own_and_of_none_zero() -> None:
    nan = math.nan
    alone = [[nan, nan, 0.4, nan, nan], [nan, nan, nan, nan, nan], [nan, 0.4, 0.4, nan, nan]]
    assert context_cosines(np.array(alone))[:2] == pytest.approx([0.4, 0.0])
    assert context_cosines(np.array(alone))[2] > 0.4, "two that agree are surer than one"
    assert context_cosines(np.empty((0, 5))).shape == (0,)


def test_likeness_recency_and_how_often_names_occur_are_blended_as_specified() -> None:
    clara, anna = Entity(text="Clara", label="PERSON", confidence=1), Entity(text="Anna", label="PERSON", confidence=1)
    entries = [
        an_entry("ann", "one", created_at=NOON, entities=(clara,)),
        an_entry("ann", "two", created_at=NOON - timedelta(days=14), entities=(clara, anna)),
        an_entry("ann", "three", created_at=NOON - timedelta(days=28)),
    ]
    found = [Candidate("a", cosine=0.5), Candidate("b", cosine=1.0), Candidate("c", cosine=-1.0)]
    assert entity_blend(found, entries, NOON) == pytest.approx([0.2 + 0.3 + 0.3, 0.4 + 0.15 + 0.3, 0.075])
    assert entity_blend([], [], NOON) == []


def test_what_was_just_said_or_is_yet_to_come_counts_fully_and_a_tau_later_a_third() -> None:
    assert recency(0, 7.0) == recency(-3600, 7.0) == 1.0
    assert recency(7.0, 7.0) == pytest.approx(math.exp(-1))


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_the_older_never_counts_more(a: float, b: float) -> None:
    young, old = sorted((a, b))
    assert 0.0 <= recency(old, 3600) <= recency(young, 3600) <= 1.0


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_a_decay_time_must_be_positive(tau: float) -> None:
    with pytest.raises(ValueError, match="tau must be positive"):
        recency(1.0, tau)
