"""Fusion and diversification: the laws they obey."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.shared.ranking.fusion import (
    maximal_marginal_relevance,
    pairwise_similarity,
    reciprocal_rank_fusion,
    tag_counts,
)

ids = st.lists(st.sampled_from("abcdefgh"), unique=True)
values = st.lists(st.floats(min_value=0, max_value=3), min_size=1, max_size=12)


def _alike(n: int, seed: int) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return pairwise_similarity(list(vectors), [()] * n)


def test_a_place_is_worth_its_weight_over_k_plus_rank() -> None:
    fused = reciprocal_rank_fusion({"x": ["a", "b"], "y": ["b"]}, {"x": 2.0}, k=60)
    assert fused == {"b": pytest.approx(2 / 62 + 1 / 61), "a": pytest.approx(2 / 61)}
    assert list(fused) == ["b", "a"]


@given(ids, ids, ids)
def test_the_order_of_the_rankings_does_not_matter(a: list[str], b: list[str], c: list[str]) -> None:
    forth = reciprocal_rank_fusion({"a": a, "b": b, "c": c})
    back = reciprocal_rank_fusion({"c": c, "b": b, "a": a})
    assert forth == pytest.approx(back)


@given(ids.filter(lambda found: len(found) > 1), ids)
def test_moving_up_in_a_ranking_raises_the_score(a: list[str], b: list[str]) -> None:
    before = reciprocal_rank_fusion({"a": a, "b": b})
    after = reciprocal_rank_fusion({"a": [a[-1], *a[:-1]], "b": b})
    assert after[a[-1]] > before[a[-1]]


@given(ids)
def test_one_ranking_keeps_its_order_and_an_empty_one_changes_nothing(a: list[str]) -> None:
    assert list(reciprocal_rank_fusion({"a": a, "b": []})) == a


def test_an_id_that_is_repeated_counts_once() -> None:
    assert reciprocal_rank_fusion({"a": ["x", "x", "y"]}) == reciprocal_rank_fusion({"a": ["x", "y"]})


@given(values, st.integers(0, 99))
@example([0.0, 2.0, 5e-324], 0)
def test_with_lambda_one_the_order_is_that_of_the_values(worth: list[float], seed: int) -> None:
    order = maximal_marginal_relevance(worth, _alike(len(worth), seed), lambda_=1.0, limit=len(worth))
    assert order == sorted(range(len(worth)), key=lambda i: -worth[i])


@given(values, st.integers(0, 99), st.floats(0, 1), st.integers(0, 15))
def test_every_candidate_is_taken_at_most_once_and_none_beyond_the_limit(
    worth: list[float], seed: int, lambda_: float, limit: int
) -> None:
    order = maximal_marginal_relevance(worth, _alike(len(worth), seed), lambda_=lambda_, limit=limit)
    assert len(order) == len(set(order)) == min(limit, len(worth))


@given(
    values.filter(lambda found: max(found) > 0), st.integers(0, 99), st.floats(0.05, 0.95), st.sampled_from([0.5, 4.0])
)
def test_scaling_all_values_changes_nothing(worth: list[float], seed: int, lambda_: float, scale: float) -> None:
    alike = _alike(len(worth), seed)
    scaled = [value * scale for value in worth]
    forth = maximal_marginal_relevance(worth, alike, lambda_=lambda_, limit=9)
    assert maximal_marginal_relevance(scaled, alike, lambda_=lambda_, limit=9) == forth


def test_a_copy_of_what_was_taken_waits_for_something_new() -> None:
    vectors = [np.array(v, dtype=np.float32) for v in ([1, 0], [1, 0], [0, 1])]
    alike = pairwise_similarity(vectors, [(), (), ()])
    assert maximal_marginal_relevance([1.0, 0.9, 0.6], alike, lambda_=0.5, limit=3) == [0, 2, 1]
    assert maximal_marginal_relevance([1.0, 0.9, 0.6], alike, lambda_=0.95, limit=3) == [0, 1, 2]


def test_of_equal_candidates_the_one_with_fewer_shared_tags_is_next() -> None:
    tags = [("tea",), ("tea",), ("coffee",)]
    order = maximal_marginal_relevance(
        [1.0, 0.5, 0.5], np.eye(3, dtype=np.float32), lambda_=0.5, limit=3, shared_tags=tag_counts(tags)
    )
    assert order == [0, 2, 1]


def test_nothing_is_chosen_from_nothing() -> None:
    assert maximal_marginal_relevance([], np.zeros((0, 0), dtype=np.float32), lambda_=0.5, limit=3) == []
    assert pairwise_similarity([], []).shape == (0, 0)


def test_similarity_is_the_cosine_where_both_have_vectors_else_the_overlap_of_tags() -> None:
    vectors = [np.array([1, 0], dtype=np.float32), np.array([0.6, 0.8], dtype=np.float32), None]
    alike = pairwise_similarity(vectors, [("a", "b"), ("z",), ("b", "c", "b")])
    assert alike[0, 1] == pytest.approx(0.6)
    assert alike[0, 2] == pytest.approx(1 / 3)
    assert alike[1, 2] == 0.0
    assert np.array_equal(alike, alike.T)
    assert np.array_equal(alike.diagonal(), np.ones(3))


def test_opposite_meanings_are_not_alike_rather_than_less_than_that() -> None:
    vectors = [np.array([1, 0], dtype=np.float32), np.array([-1, 0], dtype=np.float32)]
    assert pairwise_similarity(vectors, [(), ()])[0, 1] == 0.0
