"""Months and days that a question names, and how near a moment is to them."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

_FADES_AFTER, _FADES_BEFORE = 10.0, 3.0  # days: what happened is told afterwards, what is planned shortly before
_DAY = 86400.0

_MOST = 16
"""Dates of a question that are read."""

_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    "[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|Mar(?:ch)?|[Aa]pr(?:il)?|May|[Jj]une?|[Jj]uly?|[Aa]ug(?:ust)?|"
    "[Ss]ept?(?:ember)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?"
)
_NUMBER = r"[0-3]?\d"
DATE = (
    rf"\b(?:(?P<before>{_NUMBER})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b\.?"
    rf"(?: (?P<after>{_NUMBER})(?:st|nd|rd|th)?\b)?(?:,? (?P<year>(?:19|20)\d\d)\b)?"
    r"|\b(?P<iso>(?:19|20)\d\d-[01]\d-[0-3]\d)\b"
)
"""A day or a month, as a pattern that minds the case: May, not may."""

_DATE = re.compile(DATE)


class NamedDate(NamedTuple):
    """A month, or a day of it; None is what was not said."""

    month: int
    day: int | None = None
    year: int | None = None


def named_dates(question: str) -> list[NamedDate]:
    """The months and days in a question: 7 May 2023, May 7th, in March, 2023-05-07."""
    return [_read(found) for found in islice(_DATE.finditer(question), _MOST)]


def _read(found: re.Match[str]) -> NamedDate:
    if found["iso"]:
        year, month, day = map(int, found["iso"].split("-"))
        return NamedDate(max(1, min(12, month)), day, year)
    day_said = found["before"] or found["after"]
    month = 1 + _NAMES.index(found["month"][:3].lower())
    return NamedDate(month, int(day_said) if day_said else None, int(found["year"]) if found["year"] else None)


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
