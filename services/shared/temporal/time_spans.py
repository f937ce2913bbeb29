"""Times that a question names relative to the moment it is asked: last week, two weeks ago, since Monday, in 2025."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain, dropwhile, islice
from typing import NamedTuple

from services.shared.language import wordlists
from services.shared.temporal import calendars
from services.shared.temporal.asked_times import OF_PAST
from services.shared.temporal.calendars import LENGTHS, OfYear, Stretch
from services.shared.temporal.dates import NamedDate, date_of, interval, numeric_date
from services.shared.temporal.time_words import WORD, TimeWords, lowered, plain, words_for

_BOUNDS = ("since", "before", "after", "until")
_SEVERAL = 3
_PLURAL = wordlists.words("time_spans", "plural units")

_MOST = 8
"""Times of a question that are read."""

_MOVED = re.compile(r"(?:moved|postponed|shifted|changed|rescheduled|pushed|switched|delayed)(?: \w+){0,2} $")
_TOLD_OF = re.compile(
    r"\b(?:(?:say|said|tell|told|know|remember|mention|mentioned|share|shared)(?: (?:you|me|us))? about|ue?ber) $",
    re.IGNORECASE,
)
"""What stands before a time that is itself the topic, unlike that after "talk about"."""

_YEAR_AND_MONTH = re.compile(
    r"(?<![0-9])(?P<year>(?:19|20)[0-9]{2})(?:年|년)(?![前間间代来來度전간])(?: ?(?P<month>1[0-2]|0?[1-9])[月월])?"
)
"""As Chinese, Japanese and Korean write them."""

_OPENING, _ASKING, _SAYING, _DOING = (
    wordlists.words("time_spans", f"{it} words") for it in ("opening", "asking", "saying", "doing")
)


class Span(NamedTuple):
    """A stretch of time, and the words that name it; None is no end."""

    text: str
    since: datetime | None
    until: datetime | None


def spans_named(question: str, now: datetime, *, dates_too: bool = False) -> list[Span]:
    """The stretches of time that a question names relative to `now`, in its zone, whose weeks begin on Monday.

    Knows English, German, Spanish and French, and years and months as East Asia writes them. "In May", "on 7 May 2025"
    and "2025-05-07" are dates, as `named_dates` reads them, and none of these, unless asked for: a May is the one that
    is nearest to each memory, or here the last.
    """
    return list(_spans_named(question, now, now.tzinfo, now.fold, dates_too=dates_too))


@lru_cache(maxsize=16)  # one question is looked at from several sides
def _spans_named(question: str, now: datetime, zone: tzinfo | None, fold: int, *, dates_too: bool) -> tuple[Span, ...]:
    """Those of a moment in its own zone: the same moment is equal in another one, where other days are named."""
    text, words = plain(question), words_for(question)
    found = _years_and_months(text, now)
    if words:
        found = chain(found, _found(text, words, now, dates_too=dates_too))
    return tuple(Span(question[start:end], *ends) for start, end, ends in islice(found, _MOST))


def times_asked_for(question: str, now: datetime) -> list[Span]:
    """The stretches of time, dates among them, that are all that a question asks for, as `asks_only_when` tells; else
    none."""
    spans = spans_named(question, now, dates_too=True)
    return spans if asks_only_when(question, spans) else []


def times_of_telling(question: str, now: datetime) -> list[Span]:
    """When that may have been said which a question asks for that asks for nothing but its times; else none.

    What was said then, was said then. What was done then is told at any time afterwards, and as a plan not long before.
    """
    times = times_asked_for(question, now)
    if _DOING.isdisjoint(WORD.findall(plain(without(question, times)).lower())):
        return times
    day = timedelta(days=1)
    return [Span(text, since and since - max(day, (until or now) - since), None) for text, since, until in times]


def asks_of_then(question: str, now: datetime) -> bool:
    """Whether a question is for what was so at a time that is over: "What was Emil's shoe size in January?"."""
    if not OF_PAST.search(question):
        return False
    return any(span.until and span.until < now for span in spans_named(question, now, dates_too=True))


def _years_and_months(text: str, now: datetime) -> Iterator[_Found]:
    for found in islice(_YEAR_AND_MONTH.finditer(text), _MOST):
        month = int(found["month"] or 1)
        yield *found.span(), calendars.months(_midnight(now), int(found["year"]), month, 1 if found["month"] else 12)


def without(question: str, spans: Sequence[Span]) -> str:
    """The question without the words of its spans."""
    for span in spans:
        question = question.replace(span.text, " ")
    return question


def asks_only_when(question: str, spans: Sequence[Span]) -> bool:
    """Whether nothing is left of a question but its times and words that ask what was said or happened then.

    "What did I say yesterday?" and "Last week?" are such questions, "What did I say about the bike yesterday?" is none.
    """
    text = plain(question)
    of_topic = any(_TOLD_OF.search(text, max(0, (at := question.find(span.text)) - 40), max(0, at)) for span in spans)
    return bool(spans) and not of_topic and _asks_what_was(plain(without(question, spans)))


def _asks_what_was(text: str) -> bool:
    """Whether a text without its times asks what was said or happened, or nothing."""
    left, known = list(dropwhile(_OPENING.__contains__, WORD.findall(text.lower()))), _SAYING | _DOING
    return all(word in _ASKING or word in known for word in left) and (not left or not known.isdisjoint(left))


_Ends = tuple[datetime | None, datetime | None]
_Found = tuple[int, int, _Ends]


def _found(text: str, words: TimeWords, now: datetime, *, dates_too: bool) -> Iterator[_Found]:
    """Where the text names which times."""
    for pattern in (words.between, words.from_to):
        for match in islice(pattern.finditer(text.lower()), _MOST):
            if ends := _between(match, words, now):
                yield match.start(), match.end(), ends
                text = f"{text[: match.start()]}{' ' * len(match[0])}{text[match.end() :]}"
    low = lowered(text)
    for match in islice(words.times.finditer(low), _MOST):
        if words.unit_before.search(low, max(0, match.start() - 12), match.start()) and match["relation"]:
            continue  # "two weeks before May" is neither
        with suppress(OverflowError, ValueError):  # before all time, or no day of a calendar
            if ends := _Expression(text, match, words, now, dates_too=dates_too).ends():
                yield match.start(), match.end(), ends


def _between(match: re.Match[str], words: TimeWords, now: datetime) -> _Ends | None:
    one, other = (words.end.fullmatch(match[name]) for name in ("one", "other"))
    if not one or not other or (match.re is words.from_to and _is_no_past(match, one, other)):
        return None
    which = match.groupdict().get("which_year")
    year = _year_of(words.key("which", which), now) if which else None
    with suppress(OverflowError, ValueError):
        return _stretch_between(one, other, words, now, year)
    return None


def _is_no_past(match: re.Match[str], one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether it tells what was moved from one to the other, or a habit: from Monday to Friday."""
    before = match.string[max(0, match.start() - 30) : match.start()]
    return bool(one["weekday"] or other["weekday"] or _MOVED.search(before))


def _stretch_between(
    one: re.Match[str], other: re.Match[str], words: TimeWords, now: datetime, year: int | None
) -> Stretch | None:
    if one["alone"] and other["alone"]:
        since, until = (_year(int(end["alone"]), now) for end in (one, other))
        return (since[0], until[1]) if since < until else None
    if one["weekday"] and other["weekday"]:
        last = calendars.weekday_before(words.key("day", other["weekday"]), _midnight(now))
        return calendars.weekday_before(words.key("day", one["weekday"]), last[0])[0], last[1]
    if not other["month"] or not (one["month"] or (one["only_day"] and (other["day_before"] or other["day_after"]))):
        return None
    last_date = date_of(other, words)
    return _between_dates(date_of(one, words), last_date._replace(year=last_date.year or year), now)


def _between_dates(one: NamedDate, other: NamedDate, now: datetime) -> Stretch | None:
    """From one to the other, in the year that is said, or else in the last in which it had begun."""
    one = one._replace(month=one.month or other.month)
    wraps = (one.month, one.day or 0) > (other.month, other.day or 31)

    def of_year(year: int) -> Stretch:
        first = one.year or year - wraps
        return interval(one, first, now.tzinfo)[0], interval(other, year, now.tzinfo)[1]

    year = other.year or (one.year and one.year + wraps)
    found = of_year(year) if year else calendars.latest(of_year, now)
    return found if found[0] < found[1] else None


def _year_of(which: str, now: datetime) -> int:
    return now.year + {"last": -1, "this": 0, "next": 1}[which]


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _year(year: int, now: datetime) -> Stretch:
    return calendars.months(_midnight(now), year, 1, 12)


class _Expression:
    """An expression of time as it was found, and what it means now."""

    def __init__(self, text: str, match: re.Match[str], words: TimeWords, now: datetime, *, dates_too: bool) -> None:
        self.text, self.match, self.words, self.now, self.dates_too = text, match, words, now, dates_too
        self.said = {name: said for name, said in match.groupdict().items() if said}
        self.midnight = _midnight(now)
        self.part = self._key("part")
        self.relation = self._key("relation")

    def ends(self) -> _Ends | None:
        """Since when, and until when; None where it names no time, or none that can be told."""
        if self._is_date() and not self.dates_too:
            return None
        stretch = self._stretch()
        return self._related(*stretch) if stretch else None

    def _is_date(self) -> bool:
        """Whether it is no more than a month or day, with its year or without."""
        is_whole = "month" in self.said or self.said.get("numeric", "")[:4].isdecimal()
        is_counted = "which_year" in self.said or "which" in self.said
        return is_whole and not is_counted and not self.part and self.relation in ("", "in", "on")

    def _cut(self, stretch: Stretch) -> Stretch:
        """The part of it that is named; of a few days it is all of them."""
        return calendars.part_of(stretch, self.part) if self.part and (stretch[1] - stretch[0]).days > 6 else stretch

    def _related(self, since: datetime, until: datetime) -> _Ends:
        if self.relation == "around":
            return calendars.widened((since, until))
        bounds: dict[str, _Ends] = {
            "since": (since, self.now),
            "before": (None, since),
            "after": (until, None),
            "until": (None, until),
        }
        return bounds.get(self.relation, (since, until))

    def _stretch(self) -> Stretch | None:
        said = self.said
        if "back" in said:
            return calendars.unit_ago("day", int(self._key("back")), self.midnight)
        if "before_last" in said:
            return self._before_last(said["before_last"])
        if "half_year" in said:
            return self._around_day(182, 45)
        if "count" in said:
            return self._ago(self.words.number(said["count"]), said["ago"])
        if "recent" in said:
            unit = self.words.key("unit", said["recent_unit"])
            return self._days_until_now(self.words.number(said["recent"]) * LENGTHS[unit])
        if which := said.get("which") or said.get("which_before"):
            one = self._one_of(self.words.key("which", which), said.get("thing") or said["thing_after"])
            return self._cut(one) if one else None
        return self._named()

    def _ago(self, count: int, text: str) -> Stretch:
        """A day, or as long as the unit is, around the same day so long ago."""
        section, key = self.words.thing(text)
        if section == "day":
            return calendars.weekday_before(key, self.midnight - timedelta(days=7 * (count - 1)))
        if key == "weekend":
            return calendars.unit_ago(key, count, self.midnight)
        return self._around_day(count * LENGTHS[key], LENGTHS[key] // 2)

    def _around_day(self, days: int, half: int) -> Stretch:
        day = self.midnight - timedelta(days=days)
        return day - timedelta(days=half), day + timedelta(days=half + 1)

    def _before_last(self, text: str) -> Stretch:
        section, key = self.words.thing(text)
        if section == "day":
            return self._ago(2, text)
        if section == "unit":
            return calendars.unit_ago(key, 2, self.midnight)
        of_year = calendars.of_year(key, self.midnight)
        last = calendars.latest(of_year, self.now, over=True)
        return calendars.latest(of_year, last[0], over=True)

    def _days_until_now(self, days: int) -> Stretch:
        return self.midnight - timedelta(days=days), self.now

    def _one_of(self, which: str, text: str) -> Stretch | None:
        """The last, this or the next one of what comes again and again."""
        section, key = self.words.thing(text)
        if section not in ("unit", "day"):
            of_year = calendars.of_year(key, self.midnight)
            if which == "last":
                return calendars.latest(of_year, self.now, over=True)
            return (calendars.this_years if which == "this" else calendars.upcoming)(of_year, self.now)
        if which == "next":
            return None
        if section == "day":
            return calendars.weekday_before(key, self.midnight + timedelta(days=which == "this"))
        return self._last(key, text) if which == "last" else self._this(key)

    def _last(self, unit: str, text: str) -> Stretch:
        if text in _PLURAL or unit == "fortnight":
            return self._days_until_now(LENGTHS[unit] * (_SEVERAL if text in _PLURAL else 1))
        return calendars.unit_ago(unit, 1, self.midnight)

    def _this(self, unit: str) -> Stretch:
        """So far, unless a part of it is named."""
        since, until = calendars.unit_ago(unit, 0, self.midnight)
        if since > self.now and self.words.behind.search(self.match.string):
            return calendars.unit_ago(unit, 1, self.midnight)  # what did I do this weekend?
        return (since, until) if self.part or since > self.now else (since, self.now)

    def _named(self) -> Stretch | None:
        """What is named by its own name, without telling which one."""
        said = self.said
        if "weekday" in said:
            return self._weekday()
        if "numeric" in said:
            date = numeric_date(said["numeric"], day_first=self.words.language != "english")
            return interval(date, date.year or 0, self.now.tzinfo) if date else None
        if "today" in said:
            return self._today()
        if "this_year" in said:
            return _year(int(said["this_year"]), self.now) if self._stands_alone() else None
        if "alone" in said:
            return self._cut(_year(int(said["alone"]), self.now)) if self._is_year() else None
        if "bare" in said:
            return self._bare(self.words.key("unit", said["bare"]))
        return self._of_some_year()

    def _today(self) -> Stretch | None:
        """Today, where the question asks what was said: what is on today may have been told on any day."""
        text, (start, end) = self.match.string, self.match.span()
        is_asked = not self._is_ahead() and _asks_what_was(f"{text[:start]} {text[end:]}")
        return (self.midnight, self.now) if is_asked else None

    def _weekday(self) -> Stretch | None:
        """On Monday, el lunes, lundi: Monday alone, le lundi and los lunes may be any, and Monday 3 May is a date."""
        if self.words.dated.match(self.match.string, self.match.end()):
            return None
        article = self.said.get("article")
        is_every = self.match.string.endswith("chaque ", 0, self.match.start())
        is_one = {"spanish": article == "el", "french": not article and not is_every}.get(self.words.language, False)
        day = self._key("weekday", "day")
        return calendars.weekday_before(day, self.midnight) if self.relation or is_one else None

    def _is_year(self) -> bool:
        """Whether it is a year: what stands after "at" and "over" is an hour or a number."""
        return bool(self.part or self.relation not in ("", "on")) and self._stands_alone()

    def _stands_alone(self) -> bool:
        return self.words.alone.match(self.text, self.match.end()) is not None

    def _is_ahead(self) -> bool:
        """Whether the question is about what will be."""
        text = self.match.string
        return self.words.ahead.search(text) is not None and self.words.behind.search(text) is None

    def _bare(self, unit: str) -> Stretch | None:
        """Over the weekend; at the beginning of the year."""
        if self._is_ahead():
            return None
        this = calendars.unit_ago(unit, 0, self.midnight)
        if self.part.startswith("first"):
            return self._cut(this)
        is_one = self.relation in ("in", "on") and ("article" in self.said or self.words.language == "german")
        if unit != "weekend" or not is_one:
            return None
        return this if this[0] <= self.now else calendars.unit_ago(unit, 1, self.midnight)

    def _of_some_year(self) -> Stretch | None:
        whole = self._recurring()

        def of_year(year: int) -> Stretch:
            return self._cut(whole(year))

        if which := self._key("which_year", "which"):
            return of_year(_year_of(which, self.now))
        if year := self.said.get("year"):
            return of_year(int(year))
        return calendars.latest(of_year, self.now) if self._is_the_last() else None

    def _recurring(self) -> OfYear:
        if "month" in self.said:
            date = date_of(self.match, self.words)
            return lambda year: interval(date, year, self.now.tzinfo)
        key = self._key("season") or self._key("holiday") or self._key("months")
        return calendars.of_year(key, self.midnight)

    def _is_the_last(self) -> bool:
        """Whether, without a year, it is the last one that is meant."""
        said = self.said
        if "month" in said:
            return self._is_date() or self.relation in _BOUNDS or bool(self.part and not self._is_ahead())
        is_quarter = said.get("months", "").startswith("q")
        if self._is_ahead() or ("months" in said and not is_quarter):
            return False
        if self.part or not self.relation:
            return bool(self.part)
        if "holiday" in said:
            return self.relation not in ("before", "until") and self._stands_alone()
        return is_quarter or "article" in said or self.words.language != "english"

    def _key(self, group: str, section: str = "") -> str:
        """What the words of a group stand for; nothing where there are none."""
        return self.words.key(section or group, self.said[group]) if group in self.said else ""
