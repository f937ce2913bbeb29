"""When something is due: days as they are said, counted from the day on which they are said."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.temporal.due import due_on

MONDAY = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I'll send it by Friday", "2026-03-06"),
        ("I'll do it on Monday", "2026-03-09"),
        ("We meet next Friday", "2026-03-13"),
        ("I need to call tomorrow", "2026-03-03"),
        ("The day after tomorrow I have to pay", "2026-03-04"),
        ("I'll write in two weeks", "2026-03-16"),
        ("I'll write in 3 months", "2026-06-02"),
        ("I have to file it by the end of next month", "2026-04-30"),
        ("I'll clean this weekend", "2026-03-08"),
        ("I'll look at it next week", "2026-03-13"),
        ("I have to pay by the 5th", "2026-03-05"),
        ("I have to pay by the 1st", "2026-04-01"),
        ("I need to renew it by January 5th", "2027-01-05"),
        ("I need to renew it by May 3rd 2028", "2028-05-03"),
        ("I need to renew it by 2026-07-01", "2026-07-01"),
        ("I need to renew it by 7/15/2026", "2026-07-15"),
        ("i need to renew it by the 3rd of may", "2026-05-03"),
        ("I must water them every evening from 3 July till 24 July", "2026-07-24"),
        ("I have to feed the cat each day until Friday", "2026-03-06"),
        ("I left it there yesterday, need to fetch it before Friday", "2026-03-06"),
        ("Since Friday is a holiday, I need to shop on Thursday", "2026-03-05"),
        ("The bill came two weeks ago, I must pay it by the 10th.", "2026-03-10"),
    ],
)
def test_a_day_is_read_as_it_is_said(text: str, day: str) -> None:
    assert due_on(text, MONDAY) == date.fromisoformat(day)


@pytest.mark.parametrize(
    "text",
    [
        "I'll send it",
        "I have to pay by the 31st of Foo 99",
        "I have to call every Friday",
        "I have to pay by February 30",
        "I still owe him since Monday",
        "Since the accident on Friday, I need to see a doctor.",
        "I have to pay since last Friday by check",
        "I must go there since he came by on Friday",
        "I should have paid by last Friday",
        "I have to pay the rent every month by the 5th since we moved in",
        "I need to march on",
    ],
)
def test_no_day_is_made_up(text: str) -> None:
    assert due_on(text, MONDAY) in (None, date(2026, 3, 31))


@given(st.text(max_size=80), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_time_is_read(text: str, said_at: datetime) -> None:
    for words in (text, f"by {text}", "in 12 months", "by the end of next year", "next Friday", "by the 31st"):
        due_on(words, said_at)
