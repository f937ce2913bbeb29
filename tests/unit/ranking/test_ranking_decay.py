"""Recency decays by age."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.ranking.scoring import recency

ages = st.floats(min_value=0, max_value=1e9)


def test_what_was_just_said_counts_fully_and_a_tau_later_a_third() -> None:
    assert recency(0, 7.0) == 1.0
    assert recency(7.0, 7.0) == pytest.approx(math.exp(-1))


def test_a_moment_in_the_future_counts_as_now() -> None:
    assert recency(-3600, 7.0) == 1.0


@given(ages, ages)
def test_the_older_never_counts_more(a: float, b: float) -> None:
    young, old = sorted((a, b))
    assert 0.0 <= recency(old, 3600) <= recency(young, 3600) <= 1.0


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_a_decay_time_must_be_positive(tau: float) -> None:
    with pytest.raises(ValueError, match="tau must be positive"):
        recency(1.0, tau)
