"""When something is due, as English says it on the day it is said: by Friday, tomorrow, in two weeks, on 12 March."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta

from services.shared.temporal.calendars import DAYS
from services.shared.temporal.dates import DATE, english_dates

_SHORT = {day[:3]: day for day in DAYS} | {
    "tues": "tuesday",
    "weds": "wednesday",
    "thur": "thursday",
    "thurs": "thursday",
}
_NUMBERS = "a one two three four five six seven eight nine ten".split()
_COUNT = rf"\d{{1,2}}|an|a couple of|a few|{'|'.join(_NUMBERS)}"
_LENGTHS = {"day": 1, "week": 7, "fortnight": 14}
_DAY = "|".join([*DAYS, *sorted(_SHORT, key=len, reverse=True)])
_TODAY = re.compile(r"\b(?:today|tonight|this (?:morning|afternoon|evening)|in (?:an hour|\w+ hours|\w+ minutes))\b")
_TOMORROW = re.compile(r"\b(?P<after>day after )?(?:tomorrow|tmrw)\b")
_IN = re.compile(rf"\b(?:in|within) (?P<count>{_COUNT}) (?P<unit>day|week|fortnight|month)s?\b")
_WEEKDAY = re.compile(rf"\b(?:(?P<which>next|this|coming|the following) )?(?P<day>{_DAY})\b(?! the \d)")
_END = re.compile(
    r"\b(?:end of (?:the |this |next )?(?P<end>day|week|month|year)|(?P<weekend>(?:this|next|the) weekend))\b"
)
_NEXT = re.compile(r"\b(?P<which>this|next) (?P<unit>week|month|year)\b")
_OF_MONTH = re.compile(r"\b(?:by|on|until|before|for) the (?P<day>[0-3]?\d)(?:st|nd|rd|th)\b")
_DATED = re.compile(DATE)
_NTH = r"[0-3]?\d(?:st|nd|rd|th)?"
_LOWER_MONTH = re.compile(
    rf"\b(?:by|before|on|until|is|due) (?:the )?(?:{_NTH} (?:of )?(?:mar|march|may)\b|(?:mar|march|may) {_NTH}\b)"
)
"""A day of a month whose name in lower case is a verb, too."""

_LASTING = re.compile(r"\b(?:till|til|until)\b", re.IGNORECASE)
_BY = re.compile(r"\b(?:by|before|due)\b", re.IGNORECASE)
_REASON = re.compile(
    r"^\W*since\b(?! then\b)[^,]*, (?=(?:so |now )?(?:i|we|my|our|the|please|remind|there)\b)", re.IGNORECASE
)
_BY_DAY = re.compile(r"\b(?:by|before|due(?: on| by)?) (?!on\b|at\b|in\b)[^,;]*$", re.IGNORECASE)
_PAST = re.compile(r"\b(?:since|last|ago|yesterday)\b", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:every|each)\b", re.IGNORECASE)
_NOT_YET = re.compile(r"\b(?:since|last|ago|yesterday|every|each)\b")
_NEXT_YEAR_AFTER = 14  # days: "in January", said in March, is not this January


def due_on(sentence: str, said_at: datetime) -> date | None:
    """The day by which what a sentence tells is due, counted from when it was said; None where it names none.

    What lasts "from 3 July till 24 July", be it every day, is due when it ends. What was before, as the reason of it
    ("since the car broke down last week, …"), tells nothing of that.
    """
    sentence = _REASON.sub("", sentence)
    if (by := _BY_DAY.search(sentence)) and _PAST.search(sentence[: by.start()]) and not _EVERY.search(sentence):
        sentence = by[0]
    if (last := _LASTING.search(sentence)) and not _BY.search(sentence):
        day = _due_on(sentence[last.start() :], said_at)
        if day is not None:
            return day
    return _due_on(sentence, said_at)


def _due_on(sentence: str, said_at: datetime) -> date | None:
    lower = " ".join(sentence.lower().split())
    if _NOT_YET.search(lower):
        return None
    with suppress(ValueError, OverflowError):  # a day that no calendar has
        for read in _READERS:
            if (day := read(sentence if read is _dated else lower, said_at.date())) is not None:
                return day
    return None


def _dated(sentence: str, today: date) -> date | None:
    sentence = _LOWER_MONTH.sub(lambda found: found[0].replace(" ma", " Ma"), sentence)
    found = _DATED.search(sentence)
    named = next(english_dates(found[0]), None) if found else None
    if named is None or named.day is None:
        return None
    day = date(named.year or today.year, named.month, named.day)
    is_past = named.year is None and (today - day).days > _NEXT_YEAR_AFTER
    return day.replace(year=today.year + 1) if is_past else day


def _near(lower: str, today: date) -> date | None:
    if found := _TOMORROW.search(lower):
        return today + timedelta(days=2 if found["after"] else 1)
    return today if _TODAY.search(lower) else None


def _counted(lower: str, today: date) -> date | None:
    if not (found := _IN.search(lower)):
        return None
    count = _number(found["count"])
    if found["unit"] == "month":
        return _months_on(today, count)
    return today + timedelta(days=count * _LENGTHS[found["unit"]])


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    return {"an": 1, "a couple of": 2, "a few": 3}.get(word) or max(1, _NUMBERS.index(word))


def _months_on(today: date, count: int) -> date:
    months = today.month - 1 + count
    return today.replace(year=today.year + months // 12, month=months % 12 + 1, day=min(today.day, 28))


def _end_of(lower: str, today: date) -> date | None:
    if not (found := _END.search(lower)):
        return None
    ahead = 7 if " next " in f" {found[0]} " else 0
    if found["weekend"] or found["end"] == "week":
        sunday = 6 if found["weekend"] else 4
        return today + timedelta(days=(sunday - today.weekday()) % 7 + ahead)
    if found["end"] == "day":
        return today
    if found["end"] == "year":
        return date(today.year + (1 if ahead else 0), 12, 31)
    first = _months_on(today.replace(day=1), 2 if ahead else 1)
    return first - timedelta(days=1)


def _weekday(lower: str, today: date) -> date | None:
    """The next day of this name; "next Friday", said in the same week before it, is that of the week after."""
    if not (found := _WEEKDAY.search(lower)):
        return None
    wanted = DAYS.index(_SHORT.get(found["day"], found["day"]))
    days = (wanted - today.weekday()) % 7 or 7
    is_in_this_week = today.weekday() < wanted
    return today + timedelta(days=days + (7 if found["which"] == "next" and is_in_this_week else 0))


def _next(lower: str, today: date) -> date | None:
    """The last working day of a week, the last day of a month or year."""
    if not (found := _NEXT.search(lower)):
        return None
    return _end_of(f"end of {found['which']} {found['unit']}", today)


def _day_of_month(lower: str, today: date) -> date | None:
    if not (found := _OF_MONTH.search(lower)):
        return None
    day = int(found["day"])
    this = today if day >= today.day else _months_on(today, 1)
    return this.replace(day=day)


_READERS: tuple[Callable[[str, date], date | None], ...] = (
    _dated,
    _near,
    _counted,
    _end_of,
    _day_of_month,
    _weekday,
    _next,
)
