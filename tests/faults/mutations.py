"""Broken builds: each takes one promise away, so that the checker can be seen to notice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nats.aio.msg import Msg

from contracts import subjects, values
from contracts.ports import Change, Erasure, ProposalRecord, Ref
from contracts.subjects import Consumer
from contracts.v1.entries import Entry
from services.curate import control, edits
from services.retrieve import visibility
from services.shared.bus.pull import PullConsumer
from services.shared.bus.streams import Bus
from services.shared.dedup import repeats
from services.shared.dedup.canonical import Reading
from services.shared.stores import decisions
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.scopes import scope_key
from services.shared.stores.sqlite import SqliteTextStore, log, redaction, search, suppression
from services.shared.stores.sqlite import dedupe as store_dedupe
from tests.faults.findings import Kind
from tests.faults.journal import Kind as Step
from tests.faults.patching import in_place_of


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way to break memorybus: what is left out, what the checker must notice, under which load and fault."""

    leaves_out: str
    finding: Kind
    switch_on: Callable[[], None]
    load: tuple[Step, ...] = ("say",)
    kill: str = ""
    trouble: str = ""
    is_midst: bool = False
    """Whether it is shown by an erase in the midst of publishers, killed at `kill`, instead of by a load."""


def _ack_when_read() -> None:
    original: Callable[..., Awaitable[list[Msg]]] = PullConsumer.next_batch

    @in_place_of(PullConsumer, "next_batch")
    async def next_batch(self: PullConsumer) -> list[Msg]:
        batch = await original(self)
        for msg in batch:
            await self._client.publish(msg.reply)
        await self._client.flush()
        return batch


def _drop_before_logged() -> None:
    @in_place_of(Bus, "purge_acked")
    async def purge_acked(self: Bus, consumer: Consumer) -> bool:
        await self.js.purge_stream(consumer.stream)
        return False


def _write_what_was_read_before() -> None:
    original: Callable[..., Awaitable[set[str]]] = SqliteTextStore.replace

    @in_place_of(SqliteTextStore, "replace")
    async def replace(self: SqliteTextStore, changes: Sequence[Change]) -> set[str]:
        await asyncio.sleep(0.2)  # somebody else writes meanwhile
        now = await self.get([change.old for change in changes])
        return await original(self, [Change(now[its.old.id], its.new) for its in changes if its.old.id in now])


def _start_versions_again() -> None:
    @in_place_of(values, "successor")
    @in_place_of(decisions, "successor")
    def successor(old: Entry, new: Entry) -> Entry:
        return new.model_copy(update={"version": 3 - old.version})


def _do_not_look_for_tombstones() -> None:
    in_place_of(suppression, "suppressed")(lambda *_: set())


def _forget_outcomes() -> None:
    original: Callable[..., Awaitable[dict[str, ProposalRecord]]] = SqliteTextStore.pending

    @in_place_of(SqliteTextStore, "pending")
    async def pending(self: SqliteTextStore, proposals: Sequence[Ref], **_: Any) -> dict[str, ProposalRecord]:
        """For the judge alone; who creates an entry still sees what became of it."""
        found = await original(self, proposals)
        task = asyncio.current_task()
        is_judge = task is not None and task.get_name().startswith("dedupe")
        return {id_: replace(record, outcome=None) for id_, record in found.items()} if is_judge else found

    in_place_of(log, "outcomes")(lambda *_: {})
    in_place_of(store_dedupe, "_open")(_every)
    in_place_of(store_dedupe, "_is_as_read")(lambda *_: True)


def _every(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, str]:
    query = "SELECT user_id, space, persona_id FROM proposals JOIN scopes USING (scope) WHERE id = ?"
    return {id_: scope_key(*row) for id_ in users for row in connection.execute(query, (id_,))}


def _compare_without_numbers() -> None:
    original: Callable[[str], Reading] = vars(repeats)["read"]

    @in_place_of(repeats, "read")
    def read(text: str) -> Reading:
        reading = original(text)
        return replace(reading, words=tuple(word for word in reading.words if not word.isdigit()))

    in_place_of(repeats, "same_statement")(lambda *_: True)


def _search_everybody() -> None:
    @in_place_of(search, "visible_scopes")
    def scopes(connection: sqlite3.Connection, *_: Any) -> list[tuple[int, int]]:
        return connection.execute("SELECT scope, numbered FROM scopes ORDER BY scope").fetchall()

    @in_place_of(SqliteTextStore, "get")
    async def get(self: SqliteTextStore, refs: Sequence[Ref], **_: Any) -> dict[str, Entry]:
        return await self.readers.run(lambda db: _entries_of_anybody(db, [ref.id for ref in refs]))

    in_place_of(visibility, "is_visible")(lambda *_, **__: True)


def _entries_of_anybody(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Entry]:
    rows = ((id_, connection.execute("SELECT body FROM entries WHERE id = ?", (id_,)).fetchone()) for id_ in ids)
    return {id_: Entry.model_validate_json(row[0]) for id_, row in rows if row is not None}


def _write_no_vectors() -> None:
    _do_nothing(EdgeVectorStore, "upsert")


def _leave_vectors() -> None:
    _do_nothing(EdgeVectorStore, "remove")
    _do_nothing(EdgeVectorStore, "erase")


def _do_nothing(kind: type, method: str) -> None:
    async def nothing(*_: Any, **__: Any) -> None:
        return None

    in_place_of(kind, method)(nothing)


def _write_no_letters() -> None:
    original: Callable[..., Awaitable[bool]] = Bus.publish

    @in_place_of(Bus, "publish")
    async def publish(self: Bus, subject: str, body: bytes, **kwargs: Any) -> bool:
        return subject.startswith(subjects.DEAD) or await original(self, subject, body, **kwargs)


def _leave_words_in_the_log() -> None:
    in_place_of(redaction, "without_words")(lambda turn: turn)


def _do_not_sweep() -> None:
    @in_place_of(SqliteTextStore, "compact")
    @in_place_of(EdgeVectorStore, "compact")
    async def compact(self: Any) -> bool:
        return True


def _mark_in_memory_only() -> None:
    marks: dict[str, Erasure] = {}
    original: Callable[..., Awaitable[None]] = SqliteTextStore.erase

    @in_place_of(SqliteTextStore, "erasures")
    async def erasures(self: SqliteTextStore, user_ids: Collection[str] | None = None) -> list[Erasure]:
        return [mark for user_id, mark in marks.items() if user_ids is None or user_id in user_ids]

    @in_place_of(SqliteTextStore, "record_erasure")
    async def record_erasure(self: SqliteTextStore, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        if marks.get(user_id) != held:
            return False
        marks.pop(user_id, None)
        if new is not None:
            marks[user_id] = new
        return True

    @in_place_of(SqliteTextStore, "erase")
    async def erase(self: SqliteTextStore, user_id: str, *, mark: Erasure | None = None) -> None:
        await original(self, user_id)


def _pin_nothing() -> None:
    in_place_of(edits, "pinned")(lambda *_: None)


def _correct_nothing() -> None:
    in_place_of(edits, "edited")(lambda *_: None)


def _decide_nothing() -> None:
    @in_place_of(control, "_change")
    @in_place_of(control, "change_record")
    async def change(*_: Any) -> None:
        """Answered, and not written."""


_EARLY = "ingest.append.before"
_ALL: tuple[Step, ...] = ("say", "create", "forget", "erase")
_UNERASED: tuple[Step, ...] = ("say", "create", "forget")

MUTATIONS: dict[str, Mutation] = {
    "ack-before-effect": Mutation("the effect before the ack", "lost", _ack_when_read, kill=_EARLY),
    "drop-before-logged": Mutation("waiting until turns are logged", "lost", _drop_before_logged, kill=_EARLY),
    "blind-write": Mutation("the look at what is stored now", "lost", _write_what_was_read_before),
    "versions-again": Mutation("versions that only grow", "went_back", _start_versions_again),
    "no-tombstones": Mutation("the look for tombstones", "zombie", _do_not_look_for_tombstones, _UNERASED),
    "no-outcomes": Mutation("what was settled before", "duplicated", _forget_outcomes, trouble="everything-twice"),
    "no-numbers": Mutation("the numbers when statements are compared", "merged_wrongly", _compare_without_numbers),
    "no-scope": Mutation("the scope in a query", "foreign", _search_everybody),
    "no-vectors": Mutation("the vector before the mark", "vectors_differ", _write_no_vectors),
    "vectors-stay": Mutation("the removal of vectors", "zombie", _leave_vectors, _ALL),
    "no-letters": Mutation("the dead letter before the term", "letters_differ", _write_no_letters, ("say", "spoil")),
    "words-stay": Mutation("the log when an entry is forgotten", "zombie", _leave_words_in_the_log, _ALL),
    "no-mark": Mutation(
        "the durable mark of an erase", "zombie", _mark_in_memory_only, (), kill="erase.erase.before", is_midst=True
    ),
    "no-pin": Mutation("the write of a pin", "lost", _pin_nothing, ("say", "pin")),
    "no-correction": Mutation("the write of a correction", "lost", _correct_nothing, ("say", "update")),
    "no-settings": Mutation("the write of settings", "foreign", _decide_nothing, ("say", "settings")),
    "no-incognito": Mutation("the mark of incognito", "foreign", _decide_nothing, ("say", "incognito")),
    "no-sweep": Mutation("the sweeping of files", "zombie", _do_not_sweep, _ALL),
}
