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

from services.shared.temporal.month_names import without_names
from services.shared.temporal.time_words import TimeWords, lowered, may_name_time, plain, words_for

_FADES_AFTER, _FADES_BEFORE = 10.0, 3.0  # days: what happened is told afterwards, what is planned shortly before
_DAY = 86400.0

_MOST = 16
"""Dates of a question that are read."""

_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    "[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|Mar(?:ch)?(?! [Hh]are)|[Aa]pr(?:il)?|May|[Jj]une?|[Jj]uly?|[Aa]ug(?:ust)?|"
    "[Ss]ept?(?:ember)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?"
)
_NUMBER = r"[0-3]?\d"
DATE = (
    rf"\b(?:(?P<before>{_NUMBER})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b\.?"
    rf"(?: (?P<after>{_NUMBER})(?:st|nd|rd|th)?\b)?(?:,?(?: of)? (?P<year>(?:19|20)\d\d)\b)?"
    r"|\b(?P<iso>(?:19|20)\d\d(?:-[01]\d-|/[01]\d/)[0-3]\d)\b"
    r"|(?<![\w./])(?P<numeric>\d{1,2}(?:/\d{1,2}/|\.\d{1,2}\.)(?:19|20)\d\d)(?![\w/])"
)
"""A day or a month, as a pattern that minds the case: May, not may."""

_DATE = re.compile(DATE)
_APART = re.compile("[-/.]")
_MAY_BE = re.compile(
    r"(?:^|[.?!]\s+)(?P<may>May) (?:I|we|you|he|she|it|they|one|the|this|that|my|our|his|her|your|their)\b"
)
"""Where May is a verb."""


class NamedDate(NamedTuple):
    """A month, or a day of it; None is what was not said."""

    month: int
    day: int | None = None
    year: int | None = None


def named_dates(question: str) -> list[NamedDate]:
    """The months and days in a question: 7 May 2023, May 7th, in March, 2023-05-07, 5/7/2023, im Mai, 9. November.

    Knows English, German, Spanish and French.
    """
    text = plain(question)
    if not may_name_time(text) or not (words := words_for(question)):
        return []
    return list(islice(english_dates(question) if words.language == "english" else _other_dates(text, words), _MOST))


def english_dates(question: str) -> Iterator[NamedDate]:
    """The months and days in a text that is known to be English."""
    question = without_names(plain(question))
    verbs = {found.start("may") for found in islice(_MAY_BE.finditer(question), _MOST)}
    for found in islice(_DATE.finditer(question), _MOST):
        if found.start() not in verbs and (date := _date(found)):
            yield date


def _other_dates(text: str, words: TimeWords) -> Iterator[NamedDate]:
    """A month with its day or year, or behind a preposition: Mai alone may be a name."""
    for found in islice(words.times.finditer(lowered(text)), _MOST):
        if found["numeric"]:
            date = numeric_date(found["numeric"], day_first=True)
        elif found["month"] and (found["relation"] or found["day_before"] or found["year"]):
            month = int(words.key("month", found["month"]))
            date = NamedDate(month, _number(found["day_before"]), _number(found["year"]))
        else:
            continue
        if date:
            yield date


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _date(found: re.Match[str]) -> NamedDate | None:
    if numeric := found["iso"] or found["numeric"]:
        return numeric_date(numeric)
    month = 1 + _NAMES.index(found["month"][:3].lower())
    return NamedDate(month, _number(found["before"] or found["after"]), _number(found["year"]))


def numeric_date(text: str, *, day_first: bool = False) -> NamedDate | None:
    """2026-04-07, 7.4.2026, or 4/7/2026, whose month is first unless it can be none; None where no month is.

    With points the day is always first, with slashes it is in languages other than English.
    """
    one, two, three = map(int, _APART.split(text))
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
