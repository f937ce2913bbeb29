"""When something is due, as English says it on the day it is said: by Friday, tomorrow, in two weeks, on 12 March."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache

from services.shared.temporal.calendars import DAYS, LENGTHS
from services.shared.temporal.dates import dates_in
from services.shared.temporal.time_words import WORD, time_words

_SAID = (
    r"\b(?:(?P<tomorrow>(?P<day_after>day after )?(?:tomorrow|tmrw))"
    r"|(?P<today>today|tonight|this (?:morning|afternoon|evening)|in (?:an hour|\w+ hours|\w+ minutes))"
    r"|(?P<counted>(?:in|within) (?P<count>{count}) (?P<unit>day|week|fortnight|month)s?)"
    r"|(?P<end>end of (?:the |this |next )?(?:day|week|month|year)|(?:this|next|the) weekend)"
    r"|(?P<of_month>(?:by|on|until|before|for) the (?P<nth>[0-3]?\d)(?:st|nd|rd|th))"
    r"|(?P<weekday>(?P<next>next )?(?P<day>mon|tues?|wed(?:s|nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?(?! the \d))"
    r"|(?P<unit_end>(?:this|next) (?:week|month|year)))\b"
)
"""What may be said, each in a group of the name of its reader."""

_NTH = r"[0-3]?\d(?:st|nd|rd|th)?"
_LOWER_MONTH = re.compile(
    rf"\b(?:by|before|on|until|is|due) (?:the )?(?:{_NTH} (?:of )?(?:mar|march|may)\b|(?:mar|march|may) {_NTH}\b)"
)
"""A day of a month whose name in lower case is a verb, too."""

_LASTING = re.compile(r"\b(?:till|til|until)\b", re.IGNORECASE)
_REASON = re.compile(
    r"^\W*since\b(?! then\b)[^,]*, (?=(?:so |now )?(?:i|we|my|our|the|please|remind|there)\b)", re.IGNORECASE
)
_BY_DAY = re.compile(r"\b(?:by|before|due(?: on| by)?) (?!on\b|at\b|in\b)[^,;]*$", re.IGNORECASE)
_DUE, _PAST, _EVERY = {"by", "before", "due"}, {"since", "last", "ago", "yesterday"}, {"every", "each"}
_NEXT_YEAR_AFTER = 14  # days: "in January", said in March, is not this January


def due_on(sentence: str, said_at: datetime) -> date | None:
    """The day by which what a sentence tells is due, counted from when it was said; None where it names none.

    What lasts "from 3 July till 24 July", be it every day, is due when it ends. What was before, as the reason of it
    ("since the car broke down last week, …"), tells nothing of that.
    """
    sentence = _REASON.sub("", sentence)
    by, is_repeated = _BY_DAY.search(sentence), _has(sentence, _EVERY)
    if by and _has(sentence[: by.start()], _PAST) and not is_repeated:
        sentence = by[0]
    if (last := _LASTING.search(sentence)) and not _has(sentence, _DUE):
        day = _due_on(sentence[last.start() :], said_at.date())
        if day is not None:
            return day
    return _due_on(sentence, said_at.date())


def _has(text: str, words: set[str]) -> bool:
    return not words.isdisjoint(WORD.findall(text.lower()))


def _due_on(sentence: str, today: date) -> date | None:
    lower = " ".join(sentence.lower().split())
    if _has(lower, _PAST | _EVERY):
        return None
    with suppress(ValueError, OverflowError):  # a day that no calendar has
        found = {one.lastgroup or "": one for one in reversed([*_said().finditer(lower)])}
        first = next((name for name in _READERS if name in found), None)
        return _dated(sentence, today) or (_READERS[first](found[first], today) if first else None)
    return None


@cache
def _said() -> re.Pattern[str]:
    return time_words("english").expression(_SAID)


def _dated(sentence: str, today: date) -> date | None:
    sentence = _LOWER_MONTH.sub(lambda found: found[0].replace(" ma", " Ma"), sentence)
    named = next((one for one, _ in dates_in(sentence, time_words("english"))), None)
    if named is None or named.day is None:
        return None
    day = date(named.year or today.year, named.month, named.day)
    is_past = named.year is None and (today - day).days > _NEXT_YEAR_AFTER
    return day.replace(year=today.year + 1) if is_past else day


def _tomorrow(found: re.Match[str], today: date) -> date:
    return today + timedelta(days=2 if found["day_after"] else 1)


def _counted(found: re.Match[str], today: date) -> date:
    count = time_words("english").number(found["count"])
    if found["unit"] == "month":
        return _months_on(today, count)
    return today + timedelta(days=count * LENGTHS[found["unit"]])


def _months_on(today: date, count: int) -> date:
    months = today.month - 1 + count
    return today.replace(year=today.year + months // 12, month=months % 12 + 1, day=min(today.day, 28))


def _end(found: re.Match[str], today: date) -> date:
    """The last working day of a week, the Sunday of a weekend, the last day of a month or year."""
    *_, before, unit = found[0].split()
    ahead = int(before == "next")
    if unit in ("week", "weekend"):
        last = 4 if unit == "week" else 6
        return today + timedelta(days=(last - today.weekday()) % 7 + 7 * ahead)
    if unit == "day":
        return today
    if unit == "year":
        return date(today.year + ahead, 12, 31)
    return _months_on(today.replace(day=1), 1 + ahead) - timedelta(days=1)


def _of_month(found: re.Match[str], today: date) -> date:
    day = int(found["nth"])
    return (today if day >= today.day else _months_on(today, 1)).replace(day=day)


def _weekday(found: re.Match[str], today: date) -> date:
    """The next day of this name; "next Friday", said in the same week before it, is that of the week after."""
    wanted = [day[:3] for day in DAYS].index(found["day"][:3])
    days = (wanted - today.weekday()) % 7 or 7
    return today + timedelta(days=days + (7 if found["next"] and today.weekday() < wanted else 0))


_READERS: Mapping[str, Callable[[re.Match[str], date], date]] = {
    "tomorrow": _tomorrow,
    "today": lambda _, today: today,
    "counted": _counted,
    "end": _end,
    "of_month": _of_month,
    "weekday": _weekday,
    "unit_end": _end,
}
"""By the name of what is said, the surest first."""
