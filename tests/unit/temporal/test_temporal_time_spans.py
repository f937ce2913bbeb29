"""Times that a question names relative to the moment it is asked, and of which time it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.temporal.asked_times import asks_for_former, asks_for_latest
from services.shared.temporal.dates import in_zone, named_dates, nearness, nearness_to_span
from services.shared.temporal.time_spans import asks_of_then, spans_named, without

NOW = datetime(2026, 11, 25, 15, 30, tzinfo=UTC)  # a Wednesday


def day(month: int, day: int, year: int = 2026) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("What did I cook yesterday?", day(11, 24), day(11, 25)),
        ("what did we decide last week", day(11, 16), day(11, 23)),
        ("What did I eat this week?", day(11, 23), NOW),
        ("Where did I travel last year?", day(1, 1, 2025), day(1, 1)),
        ("the film of last weekend", day(11, 21), day(11, 23)),
        ("Where was I last summer?", day(6, 1), day(9, 1)),
        ("How cold was it last winter?", day(12, 1, 2025), day(3, 1)),
        ("What was planned on Monday?", day(11, 23), day(11, 24)),
        ("last Wednesday's recipe", day(11, 18), day(11, 19)),
        ("What have I said since Monday?", day(11, 23), NOW),
        ("Whom did I meet two weeks ago?", day(11, 8), day(11, 15)),
        ("my runs in the last few days", day(11, 22), NOW),
        ("What did I buy since December?", day(12, 1, 2025), NOW),
        ("What did I believe before June?", None, day(6, 1)),
        ("until last Friday", None, day(11, 21)),
        ("after yesterday", day(11, 25), None),
    ],
)
def test_a_time_is_read_from_the_moment_of_the_question(
    question: str, since: datetime | None, until: datetime | None
) -> None:
    ((_, *read),) = spans_named(question, NOW)
    assert read == [since, until]


@pytest.mark.parametrize(
    "question",
    [
        "What is Priya's last name?",
        "the last Tuesday of February",
        "Where was Tim the week before 16 November 2023?",
        "What did she get two weeks before August 11?",
        "What happened in March?",
        "I may march on, may I?",
        "since starting boot camps",
        "Is Monday good?",
        "999 years ago, and 999 years ago" * 9,
    ],
)
def test_what_is_no_such_time_is_left_alone(question: str) -> None:
    spans = spans_named(question, NOW.replace(year=900) if "999" in question else NOW)
    assert spans == []
    assert without(question, spans) == question


def test_the_same_moment_is_another_day_in_another_zone() -> None:
    zones = (UTC, AUCKLAND, VIENNA, UTC)
    days = [spans_named("today", NOW.astimezone(zone))[0].since for zone in zones]
    assert [day and (day.day, day.tzinfo) for day in days] == [(25, UTC), (26, AUCKLAND), (25, VIENNA), (25, UTC)]


def test_an_hour_that_comes_twice_is_told_apart() -> None:
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=VIENNA, fold=fold) for fold in (0, 1))
    ends = [spans_named("since Monday", now)[0].until for now in (first, second, first)]
    assert [end and end.fold for end in ends] == [0, 1, 0]


def test_a_date_in_a_span_names_no_day_besides() -> None:
    question = "What did I plant before June and in April?"
    left = without(question, spans_named(question, NOW))
    assert [date.month for date in named_dates(left)] == [4]


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from(["last week", "this year", "2 months ago", "since May"]))
def test_a_span_lies_in_the_past_and_holds_its_own_ends(now: datetime, question: str) -> None:
    for _, since, until in spans_named(question, now):
        assert since is not None
        assert until is not None
        assert since <= until <= now + timedelta(days=16)
        assert nearness_to_span(since, since, until) == nearness_to_span(until, since, until) == 1


@given(st.integers(0, 4000), st.integers(0, 4000))
def test_what_is_nearer_to_a_span_is_nearer(one: int, other: int) -> None:
    near, far = sorted((one, other))
    since, until = day(3, 1), day(4, 1)
    ahead = [nearness_to_span(until + timedelta(days=days), since, until) for days in (near, far)]
    before = [nearness_to_span(since - timedelta(days=days), since, until) for days in (near, far)]
    assert ahead[0] >= ahead[1]
    assert before[0] >= before[1]
    assert nearness_to_span(day(1, 1), None, None) == 1


def test_of_a_question_so_many_times_are_read_at_most() -> None:
    question = "on Monday or in May, " * 100
    assert 1 < len(spans_named(question, NOW)) <= 8
    assert 1 < len(named_dates(question)) <= 16


VIENNA, AUCKLAND = ZoneInfo("Europe/Vienna"), ZoneInfo("Pacific/Auckland")


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("yesterday", (11, 25), (11, 26)),
        ("last week", (11, 16), (11, 23)),
        ("on Monday", (11, 23), (11, 24)),
        ("before June", None, (6, 1)),
    ],
)
def test_days_begin_where_who_asks_is(question: str, since: tuple[int, int] | None, until: tuple[int, int]) -> None:
    ((_, *read),) = spans_named(question, in_zone(NOW, AUCKLAND))  # Thursday has begun there
    assert read == [one and datetime(2026, *one, tzinfo=AUCKLAND) for one in (since, until)]


def test_a_day_on_which_clocks_change_is_not_24_hours_long() -> None:
    ((_, since, until),) = spans_named("yesterday", datetime(2026, 10, 26, 9, tzinfo=VIENNA))
    assert since is not None
    assert until is not None
    assert until.astimezone(UTC) - since.astimezone(UTC) == timedelta(hours=25)


def test_a_date_begins_in_the_zone_of_who_asks() -> None:
    moment = datetime(2026, 3, 6, 23, 30, tzinfo=UTC)
    on_7_march = named_dates("on 7 March 2026")
    assert nearness(moment, on_7_march, VIENNA) == 1.0
    assert nearness(moment, on_7_march) < 1.0


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from([VIENNA, AUCKLAND, ZoneInfo("America/Anchorage")]))
def test_any_moment_is_read_in_any_zone(moment: datetime, zone: ZoneInfo) -> None:
    now = in_zone(moment, zone)
    assert now == moment
    for span in spans_named("yesterday or since March, before last summer or 300 years ago", now):
        assert 0.0 <= nearness_to_span(moment, span.since, span.until) <= 1.0


@pytest.mark.parametrize(
    ("question", "of_then"),
    [
        ("What was Emil's shoe size in January?", True),
        ("What did the school send round last month?", True),
        ("When was the appointment in the end?", False),
        ("When is the flight in March?", False),
        ("What did I decide this week?", False),
    ],
)
def test_a_question_of_what_was_so_then_names_a_time_that_is_over(question: str, of_then: bool) -> None:
    assert asks_of_then(question, NOW) == of_then


@pytest.mark.parametrize(
    ("question", "is_latest"),
    [
        ("What is my present address?", True),
        ("Who is my landlord at present?", True),
        ("Which present did I buy for Ida?", False),
        ("Where is the birthday present?", False),
        ("What is my present for Tom?", False),
    ],
)
def test_a_present_is_no_present_state(question: str, is_latest: bool) -> None:
    assert asks_for_latest(question) is is_latest


@pytest.mark.parametrize(
    ("question", "is_former"),
    [
        ("When was the standup first planned?", True),
        ("what did we originally agree on?", True),
        ("When is the standup?", False),
    ],
)
def test_what_was_so_at_first_is_asked_for_in_words(question: str, is_former: bool) -> None:
    assert asks_for_former(question) is is_former
