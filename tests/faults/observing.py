"""Looks at what a stopped memorybus has left: log, entries, vectors, dead letters, raw bytes."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from contracts import subjects
from contracts.ports import Key, LogRecord, Place, TextStore, VectorStore
from contracts.v1.dead import DeadLetter
from contracts.v1.entries import Entry
from services.shared.app import open_opensearch, open_vectors
from services.shared.client import MemoryClient
from services.shared.preferences import Marks
from services.shared.settings import Settings
from services.shared.stores.sqlite import SqliteTextStore
from tests.faults.journal import UNKEPT, Kind
from tests.faults.loader import letter_of
from tests.flow.raw import contents

_PAGE = 500
_MARKER = re.compile(rb"qq[bcdfghjklmnpqrstvwxz]{7}")


@dataclass(frozen=True, slots=True)
class Stored:
    """What stores hold; `lacking` are the entries whose point is missing or is filtered by something else.

    `decided` are the users who want nothing kept: because their memory is off, or a conversation is incognito.
    """

    records: Sequence[LogRecord]
    entries: Sequence[Entry]
    points: Sequence[Key]
    lacking: frozenset[str]
    decided: frozenset[tuple[Kind, str]]


async def stored(settings: Settings) -> Stored:
    """What the stores hold of a memorybus that does not run."""
    text = await open_text(settings)
    try:
        records, entries = await text_of(text)
        decided = frozenset([one async for one in _decided(text)])
        identity = await text.get_embedding_identity()
    finally:
        await text.close()
    assert identity is not None, "it never had vectors"
    vectors = await open_vectors(settings, identity)
    try:
        embedded = [entry for entry in entries if entry.status == "active" and entry.embedding_state == "ready"]
        lacking = frozenset(await vectors.lacking(embedded))
        return Stored(records, entries, await points_of(vectors), lacking, decided)
    finally:
        await vectors.close()


async def open_text(settings: Settings) -> TextStore:
    """The text store that the settings choose."""
    if settings.text_store == "opensearch":
        return await open_opensearch(settings)
    return await SqliteTextStore.open(settings.sqlite_path)


async def text_of(text: TextStore) -> tuple[list[LogRecord], list[Entry]]:
    """All that a text store holds."""
    records: list[LogRecord] = []
    entries: list[Entry] = []
    for user in await _all_users(text):
        after: Place | None = None
        while page := await text.export_log(user, after=after, limit=_PAGE):
            records += page
            last = page[-1].turn
            after = Place(last.created_at, last.space, last.turn_id)
        after = None
        while kept := await text.export_entries(user, after=after, limit=_PAGE):
            entries += kept
            after = Place(kept[-1].created_at, kept[-1].space, kept[-1].id)
    return records, entries


async def _decided(text: TextStore) -> AsyncIterator[tuple[Kind, str]]:
    for kind in UNKEPT:
        cursor = None
        while True:
            page = await text.page_records(kind, user_id=None, limit=_PAGE, cursor=cursor)
            for record in page.records:
                if record.body.get("memory_enabled") is False or Marks.model_validate(record.body).marks:
                    yield kind, record.user_id
            if (cursor := page.cursor) is None:
                break


async def _all_users(text: TextStore) -> list[str]:
    users: list[str] = []
    while page := await text.users(after=users[-1] if users else "", limit=_PAGE):
        users += page
    return users


async def points_of(vectors: VectorStore) -> list[Key]:
    """All points of a vector store."""
    points: list[Key] = []
    while page := await vectors.scan(after=points[-1].id if points else "", limit=_PAGE):
        points += page
    return points


async def dead_letters(client: MemoryClient) -> Counter[str]:
    """How often each message is among the dead letters."""
    stream = subjects.DEAD_STREAM.name
    js = client.nats.jetstream(timeout=60.0)
    state = (await js.stream_info(stream)).state
    found: Counter[str] = Counter()
    for number in range(state.first_seq, state.last_seq + 1) if state.messages else ():
        with suppress(Exception):  # one that was dropped in between
            message = await js.get_msg(stream, number)
            letter = DeadLetter.model_validate_json(message.data or b"")
            found[letter_of(base64.b64decode(letter.body))] += 1
    return found


def markers_in(folders: Iterable[Path]) -> frozenset[str]:
    """The markers that stand anywhere in the raw bytes of folders."""
    found: set[str] = set()
    for _, content in (each for folder in folders for each in contents(folder)):
        found |= {word.decode() for word in _MARKER.findall(content.lower())}
    return frozenset(found)


class Versions:
    """The highest version seen of each entry while memorybus ran, and the entries of which one was seen to fall."""

    def __init__(self) -> None:
        self.highest: dict[str, int] = {}
        self.fallen: set[str] = set()

    def see(self, entries: Sequence[Entry]) -> None:
        """Note what a listing shows."""
        for entry in entries:
            known = self.highest.get(entry.id, 0)
            if entry.version < known:
                self.fallen.add(entry.id)
            self.highest[entry.id] = max(entry.version, known)
