"""Times as the stores keep them: whole microseconds since 1970."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The time that many microseconds after 1970, in UTC."""
    return _EPOCH + microseconds * _MICROSECOND
