"""Months and days that a question names, and how near a moment is to them."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from services.shared.temporal.time_words import TimeWords, lowered, plain, words_for

_FADES_AFTER, _FADES_BEFORE = 10.0, 3.0  # days: what happened is told afterwards, what is planned shortly before
_DAY = 86400.0

_MOST = 16
"""Dates of a question that are read."""


class NamedDate(NamedTuple):
    """A month, or a day of it; None is what was not said."""

    month: int
    day: int | None = None
    year: int | None = None


def named_dates(question: str) -> list[NamedDate]:
    """The months and days in a question: 7 May 2023, May 7th, in March, 2023-05-07, 5/7/2023, im Mai, 9. November.

    Knows English, German, Spanish and French.
    """
    return [date for date, _ in _dates_of(question)]


def places_of_dates(question: str) -> list[tuple[int, int]]:
    """Where these stand."""
    return [place for _, place in _dates_of(question)]


def _dates_of(question: str) -> Iterator[tuple[NamedDate, tuple[int, int]]]:
    words = words_for(question)
    return islice(dates_in(question, words), _MOST) if words else iter(())


def dates_in(text: str, words: TimeWords) -> Iterator[tuple[NamedDate, tuple[int, int]]]:
    """The months and days in a text, and where they stand. In other languages than English a month has its day or
    year, or stands behind a preposition: Mai alone may be a name."""
    for found in words.times.finditer(lowered(plain(text))):
        date = None
        if found["numeric"]:
            date = numeric_date(found["numeric"], day_first=words.language != "english")
        elif found["month"] and (
            words.language == "english" or found["relation"] or found["day_before"] or found["year"]
        ):
            date = date_of(found, words)
        if date:
            yield date, found.span()


def date_of(found: re.Match[str], words: TimeWords) -> NamedDate:
    """The month and day that an expression names; the month is 0 where only a day is named."""
    said = found.groupdict()
    day = said["day_before"] or said["day_after"] or said.get("only_day")
    month = int(words.key("month", said["month"])) if said["month"] else 0
    return NamedDate(month, int(day) if day else None, int(said["year"]) if said["year"] else None)


def numeric_date(text: str, *, day_first: bool = False) -> NamedDate | None:
    """2026-04-07, 7.4.2026, or 4/7/2026, whose month is first unless it can be none; None where no month is.

    With points the day is always first, with slashes it is in languages other than English.
    """
    one, two, three = map(int, re.split("[-/.]", text))
    if one > 99:
        return NamedDate(max(1, min(12, two)), three, one)
    day, month = (one, two) if day_first or "." in text else (two, one)
    if month > 12:
        day, month = month, day
    return NamedDate(month, day, three) if 1 <= month <= 12 and 1 <= day <= 31 else None


def zone_of(name: str | None) -> tzinfo:
    """The time zone of this name; without one UTC."""
    return ZoneInfo(name) if name else UTC


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The moment as clocks of a zone show it; at the ends of all time as it is."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def nearness(moment: datetime, dates: Sequence[NamedDate], zone: tzinfo | None = None) -> float:
    """1 within a named date, falling by days to 0, faster before it than after it; 0 when none is named.

    A date without a year is the one of any year that is nearest; it begins when it does in the zone.
    """
    return max((_nearness(moment, date, zone or UTC) for date in dates), default=0.0)


def _nearness(moment: datetime, date: NamedDate, zone: tzinfo) -> float:
    years = [date.year] if date.year else [moment.year - 1, moment.year, moment.year + 1]
    return max(nearness_to_span(moment, *interval(date, min(9998, max(1, year)), zone)) for year in years)


def interval(date: NamedDate, year: int, zone: tzinfo | None) -> tuple[datetime, datetime]:
    """When the date begins and ends in a year, in a zone."""
    last = monthrange(year, date.month)[1]
    day = None if date.day is None else max(1, min(last, date.day))
    start = datetime(year, date.month, day or 1, tzinfo=zone)
    return start, start + timedelta(days=1 if day else last)


def nearness_to_span(moment: datetime, start: datetime | None, end: datetime | None) -> float:
    """1 within a stretch of time, falling by days to 0, faster before it than after it; None is no end."""
    start, end = start or moment, end or moment
    early, late = (start - moment).total_seconds() / _DAY, (moment - end).total_seconds() / _DAY
    return math.exp(-max(early / _FADES_BEFORE, late / _FADES_AFTER, 0.0))
