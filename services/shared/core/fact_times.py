"""When the time of an appointment or a deadline is over, as the words that tell it and the day they were said tell."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from services.shared.core import wordlists
from services.shared.core.dates import english_dates
from services.shared.core.due import due_on
from services.shared.core.facts import Fact
from services.shared.core.statements import kinds

_SLOTS = ("time", "deadline")
_AGAIN = re.compile(rf"\b{wordlists.pattern('facts', 'held again')}\b", re.IGNORECASE)
_SOME_DAYS = timedelta(days=7)
"""What is told with a time of day alone is in the next days."""

_ANYWHERE = timedelta(hours=12)
"""A day ends that much later in the last time zone."""


def time_over(fact: Fact, said_at: datetime, now: datetime) -> datetime | None:
    """The end of the day of an appointment or deadline that was said then, if it is over by now in any time zone."""
    if fact.slot not in _SLOTS:
        return None
    end = _end_of(fact, said_at)
    return end if end and end + _ANYWHERE <= now else None


def may_be_held_again(fact: Fact) -> bool:
    """Whether a time without a date may be one of many: that of a class on Mondays, of a stand-up at nine."""
    is_dated = any(True for _ in english_dates(fact.value))
    return not is_dated and _AGAIN.search(f"{fact.entity_label} {fact.value}") is not None


def _end_of(fact: Fact, said_at: datetime) -> datetime | None:
    """None where it may be held again and again: a class on Mondays, a stand-up at nine."""
    named = next(english_dates(fact.value), None)
    if named and named.day is None:
        return _end_of_month(named.month, named.year or said_at.year + (named.month < said_at.month))
    if may_be_held_again(fact):
        return None
    if (day := due_on(fact.value, said_at)) is not None:
        return datetime.combine(day, time(), UTC) + timedelta(days=1)
    return said_at + _SOME_DAYS if kinds(fact.value.lower()).keys() == {"clock"} else None


def _end_of_month(month: int, year: int) -> datetime:
    return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
