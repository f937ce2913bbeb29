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
LENGTHS = dict(day=1, night=1, part=1, week=7, weekend=7, fortnight=14, month=30, quarter=91, year=365)
"""Of units, in days."""

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
    """What there is of a name in each year: months, as the number of one and how many (3 3), days, as a month and a day
    of it before (12 24 3), days from Easter on (easter -2 4), or Thanksgiving."""
    first, *numbers = name.split()
    count = [int(number) for number in numbers]
    if first == "thanksgiving":
        return lambda year: _fourth_thursday(midnight.replace(year=year, month=11, day=1))
    if first == "easter":
        return lambda year: _days(_easter(year, midnight), *count)
    if len(count) == 2:
        return lambda year: _days(midnight.replace(year=year, month=int(first), day=1) - _DAY, *count)
    return lambda year: months(midnight, year, int(first), count[0] if count else 1)


def _days(start: datetime, ahead: int, count: int) -> Stretch:
    """So many days, from that many after the start on."""
    return start + ahead * _DAY, start + (ahead + count) * _DAY


def _fourth_thursday(first: datetime) -> Stretch:
    return day_of(first + timedelta(days=(3 - first.weekday()) % 7 + 21))


def _easter(year: int, midnight: datetime) -> datetime:
    """Easter Sunday in the Gregorian calendar, by the paschal full moon."""
    century, golden = year // 100, year % 19
    moon = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    moon -= (moon // 28) * (1 - (moon // 28) * (29 // (moon + 1)) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    return midnight.replace(year=year, month=3, day=28) + (moon - weekday) * _DAY


def latest(of_year: OfYear, now: datetime, *, over: bool = False) -> Stretch:
    """The last one that has begun, or is over."""
    return next(one for year in range(now.year + 1, now.year - 3, -1) if (one := of_year(year))[over] <= now)


def this_years(of_year: OfYear, now: datetime) -> Stretch:
    """That of this year, unless the one that began in the last goes on."""
    before = of_year(now.year - 1)
    return before if before[1] > now else of_year(now.year)


def upcoming(of_year: OfYear, now: datetime) -> Stretch:
    """The next one to begin."""
    return next(one for year in (now.year, now.year + 1) if (one := of_year(year))[0] > now)


def part_of(whole: Stretch, part: str) -> Stretch:
    """A third, half or week of a stretch, in whole months or else days; of a day or two it is all."""
    which, length = part.split()
    place = ("first", "second", "third", "last").index(which)
    if length == "week":
        return _days(whole[1], -7, 7) if which == "last" else _days(whole[0], 7 * place, 7)
    count = {"third": 3, "half": 2}[length]
    place = min(place, count - 1)
    return _cut(whole, place, count), _cut(whole, place + 1, count)


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
