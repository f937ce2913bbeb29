"""Wishes not to be remembered that only the reader understood, in whatever words: what was said is out of use at once,
and forgotten a day later (services/curate).

Fixed phrases are obeyed before anything is stored (services/ingest). Here a reader judges, which errs: until it is
forgotten its user may keep it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime

from contracts.ports import Record, TextStore, VectorStore
from contracts.v1.claims import Reading
from contracts.v1.entries import Entry
from services.embed.changes import conversation_of
from services.shared import telemetry
from services.shared.cache import Cache
from services.shared.changes import change_entries, change_record
from services.shared.lifecycle.set_aside import set_aside
from services.shared.paging import pages

SURE = 0.85
"""From so sure a reading on it is a wish: of 900 messages that only sound like one, of writers it never met, 26 are
taken for it, and hardly one of those that do not."""

_CONVERSATIONS, _QUIET_SECONDS = 512, 1800.0
_PAGE = 200


class Wishes:
    """Sets aside what its user does not want kept, and what others answer to it. In mind for late answers: when it was
    said, by conversation; never written."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self._said: Cache[Hashable, datetime] = Cache(_CONVERSATIONS, seconds=_QUIET_SECONDS)

    async def obey(self, entries: Sequence[Entry], readings: Mapping[str, Reading], vectors: VectorStore) -> set[str]:
        """The ids of those entries that are set aside by now, without a vector.

        Raises:
            Unavailable: a store is away.
        """
        gone: set[str] = set()
        for entry in sorted(entries, key=lambda one: one.created_at):
            if entry.id not in gone:
                now = datetime.now(UTC)
                for one in await self._unwanted(entry, readings.get(entry.id)):
                    if await self._put_away(one, vectors, now):
                        gone.add(one.id)
        return gone

    async def _unwanted(self, entry: Entry, reading: Reading | None) -> list[Entry]:
        """What is to be set aside with an entry, and itself last: while a wish stands, all of it is done again."""
        if _is_wanted(entry):
            return []
        if entry.role != "user":
            return [one for one in await self._late_answers(entry) if one.id == entry.id]
        if reading is None or reading.wish < SURE or _was_read(entry):
            return []
        self._note(entry)
        return [*await self._answers(entry, entry.created_at), entry]

    async def _put_away(self, entry: Entry, vectors: VectorStore, now: datetime) -> bool:
        """Whether it is out of use by now: meanwhile somebody may have wanted it."""
        mark = Record(entry.user_id, "unwanted", entry.id, {}, now)
        await change_record(self._store, mark.key, lambda held: None if held else mark)
        await change_entries(self._store, [entry], lambda one: None if _is_wanted(one) else set_aside(one, now))
        held = (await self._store.get([entry])).get(entry.id)
        if held is not None and held.status == "active":
            return False
        await vectors.remove([entry.id])
        return True

    def _note(self, entry: Entry) -> None:
        telemetry.REFUSED.labels("read").inc()
        noted_at = self._said.get(_place(entry))
        if noted_at is None or noted_at < entry.created_at:
            self._said.put(_place(entry), entry.created_at)

    async def _late_answers(self, entry: Entry) -> list[Entry]:
        wished_at = self._said.get(_place(entry))
        return await self._answers(entry, wished_at) if wished_at is not None else []

    async def _answers(self, entry: Entry, wished_at: datetime) -> list[Entry]:
        """What is stored of the answers to what was said in its conversation at a moment."""
        where = conversation_of(entry, since=wished_at)
        if where is None:
            return []
        every = pages(lambda at: self._store.page(where, limit=_PAGE, cursor=at))
        said = [one async for page in every for one in page.entries]
        return answers_among(said, entry.conversation_id, wished_at)


def answers_among(said: Sequence[Entry], conversation_id: str | None, wished_at: datetime) -> list[Entry]:
    """What others said there first from a moment on, until its user went on, were it with what they had said before."""
    turns = [one for entry in said if entry.role == "user" for one in entry.sayings]
    later = [one.at for one in turns if one.conversation_id == conversation_id and one.at > wished_at]
    until = min(later, default=None)
    others = [one for one in said if one.role != "user" and one.conversation_id == conversation_id]
    answers = [one for one in others if wished_at <= one.created_at and (until is None or one.created_at < until)]
    return [one for one in answers if not _is_wanted(one)]


def _is_wanted(entry: Entry) -> bool:
    """Whether somebody wants it kept."""
    return entry.source != "turn" or entry.manually_saved or entry.pinned or entry.edited_at is not None


def _was_read(entry: Entry) -> bool:
    """Whether it was found by meaning before, and so taken for no wish: another reader hides nothing of it."""
    return entry.embedding_model is not None


def _place(entry: Entry) -> Hashable:
    return entry.user_id, entry.space, entry.conversation_id
