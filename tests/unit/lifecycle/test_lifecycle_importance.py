"""Importance that lives: grows with repeats and answers, fades with silence, always between its bounds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.lifecycle.importance import KEPT, MOST_FOR_ASKING, level_when_told, living
from tests.stores.builders import NOON, an_entry


def entry(**fields: object) -> Entry:
    return an_entry("ann", "I live in Oslo", created_at=NOON, last_said_at=NOON, **fields)


def value(days: float = 0, **fields: object) -> float:
    return living(entry(**fields), NOON + timedelta(days=days)).value


def test_answers_raise_it_by_less_and_less() -> None:
    values = [value(importance=0.5, asked=asked) for asked in (0, 1, 2, 4, 8, 1000)]
    assert values == sorted(values)
    assert values[0] == 0.5
    assert values[1] - values[0] > values[2] - values[1]
    assert values[-1] <= 0.5 + MOST_FOR_ASKING


def test_silence_takes_half_of_it_and_no_more() -> None:
    values = [value(days, importance=0.8) for days in (0, 90, 180, 360, 36_500)]
    assert values == sorted(values, reverse=True)
    assert values[:3:2] == pytest.approx([0.8, 0.6])
    assert values[-1] == pytest.approx(0.8 * KEPT)


def test_an_answer_breaks_the_silence_and_intent_outlasts_it() -> None:
    asked = {"asked": 1, "asked_at": NOON + timedelta(days=360)}
    assert value(360, importance=0.8, **asked) > value(0, importance=0.8)
    assert value(360, importance=0.8, manually_saved=True) == pytest.approx(0.8)
    assert value(9999, importance=1.0, unpinned_importance=0.2, pinned=True) == 1.0


def test_its_parts_explain_it() -> None:
    lives = living(entry(importance=0.7, repeat_count=1, asked=4), NOON)
    assert lives.parts() == {"own": 0.6, "repeats": 0.1, "answers": 0.075, "kept": 1.0, "value": 0.775, "level": 2}


@pytest.mark.parametrize(("times", "level"), [(1, 1), (2, 1), (3, 2), (9, 2), (10, 3), (500, 3)])
def test_what_is_told_often_is_of_a_higher_level(times: int, level: int) -> None:
    assert level_when_told(1, times) == level
    assert level_when_told(3, times) == 3


@given(st.floats(0, 1), st.integers(0, 10**6), st.integers(0, 10**6), st.floats(-10, 10**5), st.booleans())
def test_it_keeps_within_its_bounds(importance: float, repeats: int, asked: int, days: float, pinned: bool) -> None:
    one = entry(importance=importance, repeat_count=repeats, asked=asked, pinned=pinned)
    lives = living(one, NOON + timedelta(days=days))
    assert 0 <= lives.value <= 1
    assert lives.level in (0, 1, 2, 3)
    assert lives.level == round(3 * lives.value)
    assert KEPT <= lives.kept <= 1
