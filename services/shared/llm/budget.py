"""How many turns a language model may read on a day, of one user and of all: counted in records, as processes end."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from contracts.ports import Record, RecordKey, UserRecords
from services.shared.changes import change_record

_COUNT_EVERY = 60.0  # seconds after which the turns of all users are counted anew: others read, too
_PAGE = 1000


def _now() -> datetime:
    return datetime.now(UTC)


class Budget:
    """What is left of a day; the days are those of UTC."""

    def __init__(self, records: UserRecords, *, of_user: int, of_all: int, now: Callable[[], datetime] = _now) -> None:
        self._records, self._of_user, self._of_all, self._now = records, of_user, of_all, now
        self._day = ""
        self._total, self._counted_at = 0, 0.0

    async def take(self, user_id: str) -> bool:
        """Count one more turn of this user; False, and nothing counted, when there is no more room.

        Raises:
            Unavailable: the store is away.
        """
        at = self._now()
        await self._count(at)
        if self._total >= self._of_all:
            return False
        is_within = True

        def one_more(held: Record | None) -> Record | None:
            nonlocal is_within
            turns = int(held.body.get("turns", 0)) if held else 0
            is_within = turns < self._of_user
            return Record(user_id, "extraction", self._day, {"turns": turns + 1}, at) if is_within else None

        self._total += 1
        await change_record(self._records, RecordKey(user_id, "extraction", self._day), one_more)
        self._total -= not is_within
        return is_within

    async def _count(self, at: datetime) -> None:
        day, now = at.date().isoformat(), time.monotonic()
        if day == self._day and now - self._counted_at < _COUNT_EVERY:
            return
        if day != self._day:
            await self._records.expire_records("extraction", before=at - timedelta(days=2))
        total, cursor = 0, None
        while True:
            page = await self._records.page_records("extraction", user_id=None, limit=_PAGE, cursor=cursor)
            todays = [record for record in page.records if record.name == day]
            total += sum(int(record.body.get("turns", 0)) for record in todays)
            cursor = page.cursor
            if cursor is None or not todays:
                break
        self._day, self._total, self._counted_at = day, total, now
