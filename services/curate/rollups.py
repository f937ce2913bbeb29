"""Roll-ups are made, taken back and forgotten, each step as often as need be and by any process. Stores are ports.

A record tells how far a roll-up is, and nothing that anybody said:

planned ──► originals archived ──► roll-up stored ──► done ──► undoing ──► originals in use again ──► undone

An original is archived for one roll-up alone, and only while that is planned: it is read before the record is, and
replaced only if nobody changed it since. Beside the record is a mark while something is under way, so that whoever
comes later finds what others left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal
from uuid import uuid4

from contracts.ports import Accepted, Change, Filters, Key, Record, RecordKey, Scope
from contracts.v1.commands import ForgetReply, ForgetRequest
from contracts.v1.entries import Entry, EntryAccepted
from contracts.v1.rollups import RollUpState
from services.curate import privacy
from services.curate.stores import Stores
from services.shared.changes import change_entries, change_record, until_done
from services.shared.context import rollups
from services.shared.context.embedding import embed_again
from services.shared.context.rollups import Draft, is_original
from services.shared.decided import drop_settled
from services.shared.dedup.repeats import find_canonical
from services.shared.errors import Rejected
from services.shared.lifecycle.lineage import restored_from, superseded
from services.shared.lineage import undecided
from services.shared.paging import pages
from services.shared.ranking.capacity import is_protected

_PAGE = 200
_ASKED, _FOUND = 300, 24
"""Characters of an original by which what may have changed it is looked for, and how much of that is looked at."""

OTHERS = timedelta(seconds=30)
"""Age of a mark from which on another process goes on with what it stands for."""


def state_of(record: Record | None) -> RollUpState | None:
    """How far a roll-up is; None where there never was one."""
    state: RollUpState | None = record.body["state"] if record is not None else None
    return state


def made_at(record: Record) -> datetime:
    """When a roll-up was asked for, or its time had come."""
    return datetime.fromisoformat(record.body["at"])


@dataclass(frozen=True, slots=True)
class RollUps:
    """Makes roll-ups and takes them back. What is in use again, or new, is enriched and embedded."""

    stores: Stores

    async def make(self, draft: Draft) -> Entry | None:
        """Roll up the entries of a draft, as far as they still may go; None where too few of them do.

        Raises:
            Unavailable: a store does not answer; what was begun is completed later.
        """
        first, now = draft.entries[0], datetime.now(UTC)
        ids = [one.id for one in draft.entries]
        body = {"state": "planned", "space": first.space, "sources": ids, "at": now.isoformat()}
        record = Record(first.user_id, "rollup", str(uuid4()), body, now)
        await self._mark(record.key)
        await self.stores.text.put_record(record, held=None)
        await self.go_on(record.key)
        made = await self._entry(record.key)
        return made if made is not None and made.status == "active" else None

    async def undo(self, user_id: str, id_: str) -> tuple[str, ...]:
        """Have the originals of a roll-up in use again, without it; which these are.

        Raises:
            Rejected: there is no such roll-up, or its originals have no words any more.
        """
        key = RecordKey(user_id, "rollup", id_)
        await self.go_on(key)
        record = await self.stores.record(key)
        if record is None:
            raise Rejected("not_found", f"there is no roll-up {id_!r}")
        if state_of(record) in ("emptied", "forgotten"):
            raise Rejected("conflict", "the words of its originals are gone: it cannot be taken back")
        await self._turn(key, ("done",), "undoing")
        entries = (await self.stores.text.get(_keys(record))).values()
        return tuple(one.id for one in entries if one.status == "active")

    async def empty(self, key: RecordKey) -> None:
        """Leave nothing of the words of its originals, which it stands for from now on."""
        await self._turn(key, ("done",), "emptied")

    async def forget(self, request: ForgetRequest, *, refuse_for: timedelta) -> ForgetReply:
        """Forget an entry; see `privacy.forget`. What says it elsewhere goes as well: a line of a roll-up with its
        original, the originals with their roll-up. What it superseded is in use again, unless its user decided that.
        Broken off at any point, the same request completes it.

        Raises:
            Rejected: the user has no such entry.
        """
        await self._restore_what_it_changed(Key(request.user_id, request.id))
        reply = await privacy.forget(request, stores=self.stores, refuse_for=refuse_for)
        gone = (await self.stores.text.get([Key(request.user_id, request.id)])).values()
        await self.have_forgotten(gone, until=None if request.may_return else datetime.now(UTC) + refuse_for)
        record = await self.stores.record(RecordKey(request.user_id, "rollup", request.id))
        originals = (await self.stores.text.get(_keys(record))).values() if record is not None else ()
        turns = sum(1 + one.repeat_count for one in originals if one.status == "forgotten")
        receipt = reply.receipt.model_copy(update={"turns": reply.receipt.turns + turns})
        return reply.model_copy(update={"receipt": receipt})

    async def _restore_what_it_changed(self, key: Key) -> None:
        by = await self.stores.entry(key)
        if by is None or by.status != "active" or by.source != "turn" or not by.supersedes:
            return
        free = await undecided(by, by.supersedes, self.stores.text)
        older = (await self.stores.text.get([Key(key.user_id, id_) for id_ in free])).values()
        back = await change_entries(self.stores.text, older, lambda one: restored_from(one, by))
        await self.stores.tell(EntryAccepted, [one for one in back if one.embedding_state == "pending"])

    async def have_forgotten(self, entries: Iterable[Entry], *, until: datetime | None) -> None:
        """Have nothing left in roll-ups and their originals of what forgotten entries said."""
        for one in entries:
            key = RecordKey(one.user_id, "rollup", one.rolled_up_into or one.id)
            if await self.stores.record(key) is None:
                continue
            await self.go_on(key)
            if one.rolled_up_into is not None:
                await self._say_without(key, {one.id}, until or datetime.now(UTC))
            else:
                told = {"until": until.isoformat()} if until else {}
                await self._turn(key, ("done", "emptied"), "forgotten", **told)

    async def go_on_with_all(self, older: timedelta = OTHERS) -> int:
        """Complete all that has been under way for so long, whoever began it; how many."""
        done, text = 0, self.stores.text
        async for page in pages(lambda at: text.page_records("rolling", user_id=None, limit=_PAGE, cursor=at)):
            for mark in page.records:
                age, key = datetime.now(UTC) - mark.at, mark.key._replace(kind="rollup")
                is_begun = age >= OTHERS or await self.stores.record(key) is not None
                if age >= older and is_begun:
                    await self.go_on(key)
                    done += 1
        return done

    async def go_on(self, key: RecordKey) -> None:
        """Complete what is under way with a roll-up, also what others begin meanwhile."""
        while True:
            done = await self._completed(key)
            await self.stores.text.remove_records(key.user_id, "rolling", [key.name])
            if state_of(await self.stores.record(key)) == done:
                return
            await self._mark(key)

    async def _completed(self, key: RecordKey) -> RollUpState | None:
        """Take every step that is left; how far it is then."""
        while (record := await self.stores.record(key)) is not None:
            match state := state_of(record):
                case "planned":
                    await self._make(record)
                case "undoing":
                    await self._take_back(record)
                case "emptied" | "forgotten":
                    await self._forget_originals(record)
                    return state
                case _:
                    return state
        return None

    async def _make(self, record: Record) -> None:
        id_, now = record.name, datetime.now(UTC)
        if not await self._replace(record, partial(rollups.put_away, into=id_, now=now)):
            return
        originals = await self._originals(record)
        draft = await asyncio.to_thread(rollups.draft, originals)
        if draft is None:
            await self._change(record.key, ("planned",), "undoing")
            return
        await self.stores.remove_vectors([one.id for one in originals])
        entry = rollups.rollup(draft, id_, now)
        await self.stores.text.apply([Accepted(entry)])
        if await self.stores.record(record.key) is None:  # all of its user was erased meanwhile
            await self.stores.text.remove([entry])
            return
        stored = await self._entry(record.key)
        words = {one.id for one in await self._originals(record)}
        await self._say_without(record.key, {*(stored.source_ids if stored else ())} - words, now)
        await self.stores.tell(EntryAccepted, [entry])
        await self._change(record.key, ("planned",), "done", sources=[one.id for one in originals])

    async def _take_back(self, record: Record) -> None:
        again, now = await self._said_again(record), datetime.now(UTC)

        def brought_back(one: Entry) -> Entry | None:
            back = rollups.brought_back(one, record.name, now)
            return superseded(back, again[one.id]) if back is not None and one.id in again else back

        if not await self._replace(record, brought_back):
            return
        await self._remove(record)
        back = [one for one in (await self.stores.text.get(_keys(record))).values() if one.status == "active"]
        changes = await self._changes_of(back)
        pending = [one for one in back if one.embedding_state == "pending"]
        await self.stores.tell(EntryAccepted, [*pending, *changes])
        await self._change(record.key, ("undoing",), "undone")

    async def _said_again(self, record: Record) -> dict[str, Entry]:
        """What says the same as an original by now, by its id."""
        originals, of = await self._originals(record), {record.name, *record.body["sources"]}
        similar = await self.stores.text.find_similar(originals)
        found = {
            one.id: find_canonical(one, [its for its in known.entries if its.id not in of])
            for one, known in zip(originals, similar, strict=True)
        }
        return {id_: entry for id_, entry in found.items() if entry is not None}

    async def _changes_of(self, back: Sequence[Entry]) -> list[Entry]:
        """What was said later and may change one of these: embedded once more, it is compared with them."""
        store, found = self.stores.text, dict[str, Entry]()
        for one in (its for its in back if its.role == "user"):
            hits = await store.search(Scope.of(one), one.text[:_ASKED], limit=_FOUND, filters=Filters())
            near = await store.get([Key(one.user_id, hit.id) for hit in hits])
            found |= {id_: its for id_, its in near.items() if its.created_at > one.last_said_at}
        changing = [one for one in found.values() if one.changes or any(claim.is_new for claim in one.claims)]
        return await change_entries(store, changing, embed_again)

    async def _remove(self, record: Record) -> None:
        """Leave a tombstone of the roll-up, also where it was not stored yet: who was held up stores it no more."""
        stub = Entry(
            id=record.name,
            user_id=record.user_id,
            space=record.body["space"],
            text="",
            type="summary",
            source="rollup",
            status="archived",
            created_at=made_at(record),
            updated_at=datetime.now(UTC),
        )
        await self.stores.text.apply([Accepted(stub)])
        await self.stores.text.forget([stub], until=None)
        await self.stores.remove_vectors([stub.id])

    async def _forget_originals(self, record: Record) -> None:
        """Leave nothing of the words of the originals; where the user forgot them, nothing that follows from them."""
        until = datetime.fromisoformat(record.body["until"]) if "until" in record.body else None
        all_of_it = state_of(record) == "forgotten"
        originals = [one for one in await self._originals(record) if all_of_it or not is_protected(one)]
        if all_of_it:  # until then the lines of the roll-up still say what is to be done
            await drop_settled(_keys(record), self.stores.text)
            await privacy.drop_letters(record.user_id, privacy.traces_of(originals), self.stores)
        for gone in await self.stores.text.forget(originals, until=until):
            await self.stores.take_back_tags([gone.tombstone])
            if all_of_it:
                await privacy.forget_facts_of(gone.tombstone, self.stores, until=until)
                await self.stores.in_flight.drop(record.user_id, gone.turns)
        await self.stores.remove_vectors([one.id for one in originals])

    async def _say_without(self, key: RecordKey, gone: set[str], until: datetime) -> None:
        """Take what these said out of a roll-up; where no line stays, take all of it back.

        Raises:
            Unavailable: others keep changing it.
        """

        async def said_without() -> Literal[True] | None:
            entry, record = await self._entry(key), await self.stores.record(key)
            if record is None or entry is None or entry.status == "forgotten" or not gone:
                return True
            if entry.line_sources and gone.isdisjoint(entry.source_ids):
                return True
            left = [one for one in await self._originals(record) if one.id not in gone]
            new = rollups.without(entry, gone, left, datetime.now(UTC))
            if new is None:
                await self._turn(key, ("planned", "done", "emptied"), "undoing")
                return True
            if new.id not in await self.stores.text.redact([Change(entry, new)], until=until):
                return None
            await self.stores.remove_vectors([new.id])
            await self.stores.tell(EntryAccepted, [new])
            return True

        await until_done(said_without, "roll-up")

    async def _replace(self, record: Record, change: Callable[[Entry], Entry | None]) -> bool:
        """Change the originals, as long as the record says the same; False when it says something else.

        Raises:
            Unavailable: others keep changing them.
        """

        async def replaced() -> bool | None:
            entries = await self.stores.text.get(_keys(record))
            if state_of(await self.stores.record(record.key)) != state_of(record):
                return False
            changes = [Change(one, new) for one in entries.values() if (new := change(one)) is not None]
            return None if changes and await self.stores.text.replace(changes) else True

        return await until_done(replaced, "entries")

    async def _originals(self, record: Record) -> list[Entry]:
        found = (await self.stores.text.get(_keys(record))).values()
        return [one for one in found if is_original(one, record.name)]

    async def _turn(self, key: RecordKey, from_: Sequence[RollUpState], to: RollUpState, **more: Any) -> None:
        """Take another way with a roll-up, if it was at one of these states, to the end."""
        await self._mark(key)
        await self._change(key, from_, to, **more)
        await self.go_on(key)

    async def _change(
        self, key: RecordKey, from_: Sequence[RollUpState], to: RollUpState, **more: Any
    ) -> Record | None:
        """The record once it says so, if it said one of these before."""

        def changed(held: Record | None) -> Record | None:
            if held is None or state_of(held) not in from_:
                return None
            return Record(*key, {**held.body, "state": to, **more}, held.at)

        return await change_record(self.stores.text, key, changed)

    async def _mark(self, key: RecordKey) -> None:
        await self.stores.text.add_records([Record(key.user_id, "rolling", key.name, {}, datetime.now(UTC))])

    async def _entry(self, key: RecordKey) -> Entry | None:
        return await self.stores.entry(Key(key.user_id, key.name))


def _keys(record: Record) -> list[Key]:
    return [Key(record.user_id, id_) for id_ in record.body["sources"]]
