"""Times that a question names relative to the moment it is asked: last week, two weeks ago, since Monday."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from services.shared.core.dates import DATE, NamedDate, interval, named_dates

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
_NUMBERS = "a one two three four five six seven eight nine ten eleven twelve".split()
_VAGUE = {"an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3, "several": 4}

_MOST = 8
"""Times of a question that are read."""

_DAY, _UNIT = "|".join(_DAYS), "|".join(_LENGTHS)
_COUNT = rf"\d{{1,3}}|{'|'.join([*_VAGUE, *_NUMBERS])}"
_NAMED = rf"yesterday|(?:last|this|past) (?:{_UNIT}|weekend|night|morning|{'|'.join(_SEASONS)}|{_DAY})"
_EXPRESSION = re.compile(
    rf"(?<!\w)(?:(?P<relation>since|before|after|until|till|on) )?(?:the )?(?:(?P<name>{_NAMED})"
    rf"|(?P<ago>{_COUNT}) (?P<ago_unit>{_UNIT})s? ago|(?:last|past) (?P<recent>{_COUNT}) (?P<recent_unit>{_UNIT})s"
    rf"|(?P<day>{_DAY})|(?-i:(?P<date>{DATE})))(?!\w)(?! (?:of|before|after)\b)",
    re.IGNORECASE,
)
_UNIT_BEFORE = re.compile(rf"\b(?:{_UNIT}|weekend|night|{_DAY})s? $", re.IGNORECASE)


class Span(NamedTuple):
    """A stretch of time, and the words that name it; None is no end."""

    text: str
    since: datetime | None
    until: datetime | None


def spans_named(question: str, now: datetime) -> list[Span]:
    """The stretches of time that a question names relative to `now`, in its zone, whose weeks begin on Monday."""
    found: list[Span] = []
    for match in islice(_EXPRESSION.finditer(question), _MOST):
        relation = (match["relation"] or "").lower()
        without_moment = (match["day"] and not relation) or (match["date"] and relation in ("", "on"))
        if without_moment or _UNIT_BEFORE.search(question, max(0, match.start() - 10), match.start()):
            continue  # "in May" is the May nearest to each memory; "two weeks before May" is neither
        with suppress(OverflowError, ValueError):  # before all time
            found.append(Span(match[0], *_related(relation, *_read(match, now), now)))
    return found


def without(question: str, spans: Sequence[Span]) -> str:
    """The question without the words of its spans."""
    for span in spans:
        question = question.replace(span.text, " ")
    return question


def _related(relation: str, since: datetime, until: datetime, now: datetime) -> tuple[datetime | None, datetime | None]:
    if relation == "since":
        return since, now
    if relation == "after":
        return until, None
    if relation:
        return (since, until) if relation == "on" else (None, since if relation == "before" else until)
    return since, until


def _read(found: re.Match[str], now: datetime) -> tuple[datetime, datetime]:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found["ago"]:
        return _ago(_number(found["ago"]), found["ago_unit"].lower(), midnight)
    if found["recent"]:
        return midnight - timedelta(days=_number(found["recent"]) * _LENGTHS[found["recent_unit"].lower()]), now
    if found["day"]:
        return _last_day(found["day"].lower(), midnight)
    if found["date"]:
        return _last_date(named_dates(found["date"])[0], now)
    if found["name"].lower() == "yesterday":
        return midnight - timedelta(days=1), midnight
    which, name = found["name"].lower().split()
    return _this(name, midnight, now) if which == "this" else _last(name, midnight)


def _number(text: str) -> int:
    text = text.lower()
    return int(text) if text.isdecimal() else _VAGUE.get(text) or max(1, _NUMBERS.index(text))


def _ago(count: int, unit: str, midnight: datetime) -> tuple[datetime, datetime]:
    """A day, or as long as the unit is, around the same day so long ago."""
    day, half = midnight - timedelta(days=count * _LENGTHS[unit]), timedelta(days=_LENGTHS[unit] // 2)
    return day - half, day + half + timedelta(days=1)


def _last_day(name: str, midnight: datetime) -> tuple[datetime, datetime]:
    day = midnight - timedelta(days=(midnight.weekday() - _DAYS.index(name) - 1) % 7 + 1)
    return day, day + timedelta(days=1)


def _last_date(date: NamedDate, now: datetime) -> tuple[datetime, datetime]:
    this = interval(date, date.year or now.year, now.tzinfo)
    return this if date.year or this[0] <= now else interval(date, now.year - 1, now.tzinfo)


def _this(name: str, midnight: datetime, now: datetime) -> tuple[datetime, datetime]:
    """So far."""
    if name in ("morning", "night", "day"):
        return midnight, now
    if name in _DAYS:
        return _last_day(name, midnight + timedelta(days=1))
    if name in _SEASONS:
        return _season(name, midnight.year, midnight)
    return (_monday(midnight) + timedelta(days=5) if name == "weekend" else _start(name, midnight)), now


def _last(name: str, midnight: datetime) -> tuple[datetime, datetime]:
    if name in _DAYS:
        return _last_day(name, midnight)
    if name in _SEASONS:
        this = _season(name, midnight.year, midnight)
        return this if this[1] <= midnight else _season(name, midnight.year - 1, midnight)
    if name == "weekend":
        return _monday(midnight) - timedelta(days=2), _monday(midnight)
    if name in ("night", "morning", "day"):
        return midnight - timedelta(days=1), midnight + timedelta(hours=12 if name == "night" else 0)
    this_start = _start(name, midnight)
    return _start(name, this_start - timedelta(days=1)), this_start


def _start(unit: str, midnight: datetime) -> datetime:
    if unit == "week":
        return _monday(midnight)
    return midnight.replace(day=1) if unit == "month" else midnight.replace(month=1, day=1)


def _monday(midnight: datetime) -> datetime:
    return midnight - timedelta(days=midnight.weekday())


def _season(name: str, year: int, midnight: datetime) -> tuple[datetime, datetime]:
    """Three months, as in the north."""
    first = midnight.replace(year=year, month=_SEASONS[name], day=1)
    last = first + timedelta(days=80)
    return first, (last + timedelta(days=32 - last.day)).replace(day=1)
