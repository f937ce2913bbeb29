"""When something was said, as exports write it, and as follows from what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from services.shared.commands.formats.source import later

STEP = timedelta(seconds=1)

_MILLISECONDS, _MICROSECONDS, _NANOSECONDS = 1e11, 1e14, 1e17
"""Unix times count in these from here on: in seconds it would be the year 5138."""

_MOST = 1e19

_NEVER = (datetime(1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC))
"""The zeros of programs, which have no time then."""


def _as_given(value: Any) -> Any:
    """A time as pydantic reads it: Unix time in seconds, or ISO 8601; None where there is none."""
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None
        try:
            value = float(value)
        except ValueError:
            return _of_mail(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if abs(value) > _MOST:
        raise ValueError("is no time")
    counted = ((_NANOSECONDS, 1e9), (_MICROSECONDS, 1e6), (_MILLISECONDS, 1e3))
    return next((value / unit for least, unit in counted if abs(value) >= least), value)


def _of_mail(text: str) -> Any:
    """The time in a text as mails have it; any other text as it is."""
    if text[:1].isdigit():
        return text
    try:
        return parsedate_to_datetime(text[:64])
    except (ValueError, TypeError, IndexError, OverflowError):
        return text


def _in_utc(at: datetime | None) -> datetime | None:
    if at is None:
        return None
    at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return None if at in _NEVER else at


When = Annotated[datetime | None, BeforeValidator(_as_given), AfterValidator(_in_utc)]
"""A time in ISO 8601, as mails have it, or as Unix time; without a zone it is UTC, and empty or zero it is none."""


def filled(times: Sequence[datetime | None], began: datetime | None = None) -> list[datetime]:
    """The times of what was said in this order; what has none was said a second apart from what is next to it.

    Before the first that is dated that is when all `began`, if it is earlier; where nothing is dated all `began` then,
    or the last was said now.
    """
    found: list[datetime] = []
    missing = 0
    for at in (*times, None):
        is_end = len(found) + missing == len(times)
        if at is None and not is_end:
            missing += 1
            continue
        found += _between(found[-1] if found else None, at, missing, began)
        missing = 0
        if at is not None:
            found.append(at)
    return found


def _between(before: datetime | None, after: datetime | None, count: int, began: datetime | None) -> list[datetime]:
    if before is not None:
        apart = (after - before) / (count + 1) if after is not None and after >= before else STEP
        return [later(before, n * min(STEP, apart)) for n in range(1, count + 1)]
    latest = later(after or datetime.now(UTC), -count * STEP)
    first = began if began is not None and (after is None or began < latest) else latest
    return [later(first, n * STEP) for n in range(count)]
