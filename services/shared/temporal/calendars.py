"""Stretches of a calendar as midnights: months, seasons, quarters, weekends and holidays, and parts of them.

Weeks begin on Monday. All are in the zone of the midnight that they are given, and end before the second of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

Stretch: TypeAlias = tuple[datetime, datetime]
OfYear: TypeAlias = Callable[[int], Stretch]
"""What there is once in every year."""

DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_FIXED_HOLIDAYS = {
    "christmas": (12, 24, 3),
    "christmas eve": (12, 24, 1),
    "christmas day": (12, 25, 1),
    "boxing day": (12, 26, 1),
    "new year's eve": (12, 31, 1),
    "new year's day": (1, 1, 1),
    "valentine's day": (2, 14, 1),
    "halloween": (10, 31, 1),
    "st patrick's day": (3, 17, 1),
}
_AROUND_EASTER = {"good friday": (-2, 1), "easter": (-2, 4), "easter monday": (1, 1)}
_DAY = timedelta(days=1)


def day_of(midnight: datetime) -> Stretch:
    return midnight, midnight + _DAY


def weekday_before(name: str, midnight: datetime) -> Stretch:
    """The last day of this name before that of the midnight."""
    return day_of(midnight - timedelta(days=(midnight.weekday() - DAYS.index(name) - 1) % 7 + 1))


def unit_ago(unit: str, count: int, midnight: datetime) -> Stretch:
    """The day, or the calendar's week, month, quarter, year or weekend that was so many ago; a weekend that is not over
    is none. A night goes on into the next day."""
    if unit in ("day", "night", "part"):
        day = midnight - count * _DAY
        return day, day + timedelta(days=1, hours=12 if unit == "night" else 0)
    if weeks := {"week": 1, "weekend": 1, "fortnight": 2}.get(unit):
        monday = midnight - timedelta(days=midnight.weekday() + 7 * weeks * count)
        return monday + timedelta(days=5 if unit == "weekend" else 0), monday + 7 * weeks * _DAY
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    start = (midnight.month - 1) // length * length - count * length
    return months(midnight, midnight.year, start + 1, length)


def months(midnight: datetime, year: int, month: int, count: int) -> Stretch:
    """So many months from one on, which is counted from the January of the year and may lie beyond it."""
    return _first_of(midnight, year, month), _first_of(midnight, year, month + count)


def _first_of(midnight: datetime, year: int, month: int) -> datetime:
    return midnight.replace(year=year + (month - 1) // 12, month=(month - 1) % 12 + 1, day=1)


def of_year(name: str, midnight: datetime) -> OfYear:
    """What there is of a name in each year: a holiday, or months, as a number and how many: 5, 3 3 for the spring."""
    if not name[0].isdecimal():
        return lambda year: _holiday(name, year, midnight)
    first, count = map(int, f"{name} 1".split()[:2])
    return lambda year: months(midnight, year, first, count)


def _holiday(name: str, year: int, midnight: datetime) -> Stretch:
    if name in _FIXED_HOLIDAYS:
        month, day, days = _FIXED_HOLIDAYS[name]
        return _days(midnight.replace(year=year, month=month, day=day), days)
    if name == "new year":
        return _days(midnight.replace(year=year, month=1, day=1) - _DAY, 2)
    if name == "thanksgiving":
        return _fourth_thursday(midnight.replace(year=year, month=11, day=1))
    after, days = _AROUND_EASTER[name]
    month, day = _easter(year)
    return _days(midnight.replace(year=year, month=month, day=day) + after * _DAY, days)


def _days(first: datetime, count: int) -> Stretch:
    return first, first + count * _DAY


def _fourth_thursday(first: datetime) -> Stretch:
    return day_of(first + timedelta(days=(3 - first.weekday()) % 7 + 21))


def _easter(year: int) -> tuple[int, int]:
    """Month and day of Easter Sunday in the Gregorian calendar, by the paschal full moon."""
    century, golden = year // 100, year % 19
    moon = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    moon -= (moon // 28) * (1 - (moon // 28) * (29 // (moon + 1)) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    after = moon - weekday
    month = 3 + (after + 40) // 44
    return month, after + 28 - 31 * (month // 4)


def latest(of_year: OfYear, now: datetime) -> Stretch:
    """The last one that has begun."""
    return next(one for year in _years_back(now) if (one := of_year(year))[0] <= now)


def latest_past(of_year: OfYear, now: datetime) -> Stretch:
    """The last one that is over."""
    return next(one for year in _years_back(now) if (one := of_year(year))[1] <= now)


def this_years(of_year: OfYear, now: datetime) -> Stretch:
    """That of this year, unless the one that began in the last goes on."""
    before = of_year(now.year - 1)
    return before if before[1] > now else of_year(now.year)


def upcoming(of_year: OfYear, now: datetime) -> Stretch:
    """The next one to begin."""
    return next(one for year in (now.year, now.year + 1) if (one := of_year(year))[0] > now)


def _years_back(now: datetime) -> range:
    return range(now.year + 1, now.year - 3, -1)


def part_of(whole: Stretch, part: str) -> Stretch:
    """A third, half or week of a stretch, in whole months or else days; of a day or two it is all."""
    which, length = part.split()
    if length == "week":
        return _week_of(whole, which)
    count = {"third": 3, "half": 2}[length]
    place = {"first": 0, "second": 1, "last": count - 1}[which]
    return _cut(whole, place, count), _cut(whole, place + 1, count)


def _week_of(whole: Stretch, which: str) -> Stretch:
    if which == "last":
        return whole[1] - 7 * _DAY, whole[1]
    return _days(whole[0] + 7 * _DAY * ["first", "second", "third"].index(which), 7)


def _cut(whole: Stretch, place: int, count: int) -> datetime:
    """Where a stretch that is cut into so many has its n-th cut."""
    since, until = whole
    length = (until.year - since.year) * 12 + until.month - since.month
    if since.day == until.day == 1 and length % count == 0:
        return _first_of(since, since.year, since.month + length // count * place)
    return since + timedelta(days=round((until - since).days * place / count)) if place < count else until


def widened(stretch: Stretch) -> Stretch:
    """With what is around it: a third of its length, and three days at least."""
    around = max(3 * _DAY, timedelta(days=(stretch[1] - stretch[0]).days // 3))
    return stretch[0] - around, stretch[1] + around
