"""Corrections: entries are pinned, changed and sorted by their users. Stores and bus are ports.

An entry whose text is changed goes through enrich and embed once more, as a new one does; until then it is found by its
words. What it said before stays with it as its history, unless that is to be redacted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from contracts.errors import Unavailable
from contracts.ports import Change, Key, Ref, Traces
from contracts.v1.commands import EntryReply, ForgetReply, ForgetRequest
from contracts.v1.edits import (
    BulkFailure,
    BulkReply,
    BulkRequest,
    EntryVersion,
    HistoryReply,
    HistoryRequest,
    PinRequest,
    UpdateRequest,
)
from contracts.v1.entries import Entry, EntryAccepted
from services.curate import privacy
from services.curate.commands import entry_meant, no_entry, shown, whole_id
from services.curate.rollups import RollUps
from services.curate.stores import Stores
from services.shared.changes import change_entries, until_done
from services.shared.dedup.repeats import find_canonical
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected, outward
from services.shared.language.text import why_unfit
from services.shared.lifecycle.editing import Edit, edited
from services.shared.lifecycle.lineage import fact_keys, superseded_if_active
from services.shared.lifecycle.pinning import pinned, unpinned
from services.shared.lifecycle.sayings import not_said_in
from services.shared.lifecycle.set_aside import back_in_use, is_over

log = logging.getLogger(__name__)

_AT_ONCE = 8
_EDITED = {"text", "type", "tags", "themes", "manually_saved", "redact"}
_FORGOTTEN = "it was forgotten on request, and is not to be remembered again so soon"


@dataclass(frozen=True, slots=True)
class Editor:
    """Changes and forgets entries; texts have at most `longest` bytes.

    Around what leaves no words is `finishing`, which sees to the files, and to what a store that was away kept from
    being done. What an entry said before it was redacted or forgotten is refused for a while. `wants_reading` is told
    of what says something else now, for a language model to read it.
    """

    stores: Stores
    finishing: Callable[[Key, Callable[[], Awaitable[object]]], AbstractContextManager[None]]
    refuse_for: timedelta
    longest: int
    wants_reading: Callable[[Entry], Awaitable[None]] | None = None

    async def pin(self, request: PinRequest) -> EntryReply:
        """Pin an entry of the user.

        Raises:
            Rejected: there is none of this id, or it is out of use.
        """
        return _reply(await self._changed(await self._meant(request), pinned))

    async def unpin(self, request: PinRequest) -> EntryReply:
        """Unpin an entry of the user.

        Raises:
            Rejected: there is none of this id.
        """
        return _reply(await self._changed(await self._meant(request), unpinned))

    async def update(self, request: UpdateRequest) -> EntryReply:
        """Correct an entry of the user. Broken off at any point, the same request completes it.

        Saved on purpose, one that is set aside is in use again.

        Raises:
            Rejected: there is none of this id, the user changed it since the version asked for, the text cannot be, or
                another entry says the same.
        """
        if request.text is not None and (why := why_unfit(request.text, self.longest)):
            raise Rejected("invalid_request", why)
        entry = await self._meant(request)
        key = Key(entry.user_id, entry.id)
        if not request.redact:
            return await self._update(request, key)
        again = partial(self._update, request, key)
        with self.finishing(key, again):
            return await again()

    async def _update(self, request: UpdateRequest, key: Key) -> EntryReply:
        edit = Edit(**request.model_dump(include=_EDITED), by=request.by or "user")
        return _reply(await until_done(lambda: self._edit(key, edit, request.version), "entry"))

    async def forget(self, request: ForgetRequest) -> ForgetReply:
        """Forget an entry of the user; see `privacy.forget`."""
        id_ = await whole_id(request.user_id, request.id, self.stores.text)
        return await self._forget(request.model_copy(update={"id": id_}))

    async def _forget(self, request: ForgetRequest) -> ForgetReply:
        again = partial(RollUps(self.stores).forget, request, refuse_for=self.refuse_for)
        with self.finishing(Key(request.user_id, request.id), again):
            return await again()

    async def history(self, request: HistoryRequest) -> HistoryReply:
        """What an entry of the user says and said.

        Raises:
            Rejected: there is none of this id.
        """
        entry = await self._meant(request)
        return HistoryReply(id=entry.id, items=versions(entry))

    async def bulk(self, request: BulkRequest) -> BulkReply:
        """Do the same to several entries of the user, each by itself.

        Raises:
            Rejected: tags are to be added or taken away, and none are given; or all of the user is being erased.
        """
        if (request.action in ("tag", "untag")) != bool(request.tags):
            raise Rejected("invalid_request", "`tags` are for the actions tag and untag, which need them")
        if request.ids and await is_hidden(self.stores.text, request.user_id):
            raise no_entry(request.ids[0])
        turns = asyncio.Semaphore(_AT_ONCE)
        if request.whole == "conversation":
            of_it = Traces(conversation=request.conversation_id, space=request.space)
            await privacy.drop_letters(request.user_id, of_it, self.stores)
        ids = tuple(dict.fromkeys(request.ids))
        failures = await asyncio.gather(*(self._try(request, id_, turns) for id_ in ids))
        failed = tuple(failure for failure in failures if failure is not None)
        done = tuple(id_ for id_, failure in zip(ids, failures, strict=True) if failure is None)
        return BulkReply(done=done, failed=failed)

    async def _try(self, request: BulkRequest, id_: str, turns: asyncio.Semaphore) -> BulkFailure | None:
        try:
            async with turns:
                await self._do(request, Key(request.user_id, await whole_id(request.user_id, id_, self.stores.text)))
        except Rejected as error:
            return BulkFailure(id=id_, code=error.info.code, message=error.info.message)
        except Unavailable as error:
            return BulkFailure(id=id_, code="unavailable", message=outward(str(error)))
        return None

    async def _do(self, request: BulkRequest, key: Key) -> None:
        changes: dict[str, Callable[[Entry, datetime], Entry | None]] = {
            "pin": pinned,
            "unpin": unpinned,
            "tag": partial(_tagged, add=request.tags),
            "untag": partial(_tagged, take=request.tags),
        }
        if request.action != "forget":
            await self._changed(await self._entry(key), changes[request.action])
        elif request.conversation_id is None or not await self._take_out(key, request.conversation_id):
            await self._forget(ForgetRequest(user_id=key.user_id, id=key.id))

    async def _take_out(self, key: Key, conversation_id: str) -> bool:
        """Forget that an entry was said in this conversation; False where it was said nowhere else."""
        entry = await self._entry(key)
        now, is_there = datetime.now(UTC), conversation_id in entry.conversations
        changed = await change_entries(self.stores.text, [entry], lambda one: not_said_in(one, conversation_id, now))
        for one in changed:
            await self._refresh(one)
        return bool(changed) or not is_there

    async def _meant(self, request: HistoryRequest | PinRequest | UpdateRequest) -> Entry:
        return await entry_meant(request.user_id, request.id, self.stores.text)

    async def _entry(self, key: Ref) -> Entry:
        """The entry as it is now, of a user who was not being erased when asked for it."""
        entry = await self.stores.entry(key)
        if entry is None or entry.status == "forgotten":
            raise no_entry(key.id)
        return entry

    async def _changed(self, entry: Entry, change: Callable[[Entry, datetime], Entry | None]) -> Entry:
        """The entry after a change that leaves its text alone."""
        now = datetime.now(UTC)
        if change is not unpinned:
            _check_in_use(entry)
        changed = await change_entries(self.stores.text, [entry], lambda one: change(one, now))
        if not changed:
            return await self._entry(entry)
        await self._refresh(changed[0])
        return changed[0]

    async def _edit(self, key: Key, edit: Edit, version: int | None) -> Entry | None:
        """The entry as it is edited; None when others changed it meanwhile."""
        held = await self._entry(key)
        is_kept = edit.manually_saved and not is_over(held, datetime.now(UTC))
        entry = back_in_use(held) if is_kept else held
        _check_in_use(entry)
        new = edited(entry, edit, datetime.now(UTC)) or entry
        if new is held and not edit.redact:
            return held
        if new is not held and version is not None and not entry.edited_version <= version <= entry.version:
            raise Rejected("conflict", f"it was changed since version {version}: read it again")
        known_similar = await self._known_similar(held, new)
        if edit.redact:  # beside its vector may be a copy of what it said
            new = new.model_copy(update={"embedding_state": "pending"})
        return await self._store(Change(held, new, known_similar), edit)

    async def _known_similar(self, entry: Entry, new: Entry) -> frozenset[str] | None:
        """The entries that a text was compared with; None where it is in use and makes the same statement as before.

        Raises:
            Rejected: another entry says the same, or it was forgotten and may not come back now.
        """
        if new.statement_hash == entry.statement_hash and entry.status == "active":
            return None
        (similar,) = await self.stores.text.find_similar([new])
        others = [other for other in similar.entries if other.id != entry.id]
        if canonical := await asyncio.to_thread(find_canonical, new, others):
            raise Rejected("conflict", f"entry {canonical.id} says the same: forget this one, and that stays")
        if similar.suppressed:
            raise Rejected("refused", _FORGOTTEN)
        return frozenset(other.id for other in others)

    async def _store(self, change: Change, edit: Edit) -> Entry | None:
        """The entry as it is stored with all that follows; None when it was changed by others meanwhile."""
        new, turn_ids = change.new, None
        if edit.redact:
            await privacy.drop_letters(new.user_id, privacy.traces_of([change.old]), self.stores)
            told = await self.stores.text.redact([change], until=datetime.now(UTC) + self.refuse_for)
            turn_ids = told.get(new.id)
            if turn_ids is None:
                return None
        elif await self.stores.text.replace([change]):
            return None
        if edit.redact:
            until = datetime.now(UTC) + self.refuse_for
            await privacy.forget_facts_of(new, self.stores, until=until)
            await RollUps(self.stores).have_forgotten([new], until=until)
        elif new.text != change.old.text:
            await self._put_facts_away(new)
        if new.text != change.old.text and self.wants_reading is not None:
            await self.wants_reading(new)
        if (new.text, new.tags) != (change.old.text, change.old.tags):
            await self.stores.take_back_tags([new])
        if edit.redact or new.text != change.old.text or change.old.status != new.status:
            await self._embed_anew(new, must=edit.redact)
        else:
            await self._refresh(new)
        if turn_ids:
            await self.stores.in_flight.drop(new.user_id, {(new.space, turn_id) for turn_id in turn_ids})
        return new

    async def _put_facts_away(self, entry: Entry) -> None:
        """Take out of use what a model drew from an entry that says something else now."""
        facts = await self.stores.text.get(fact_keys(entry))
        gone = await change_entries(self.stores.text, facts.values(), lambda one: superseded_if_active(one, entry))
        with suppress(Unavailable):  # reconciling removes them later
            await self.stores.remove_vectors([one.id for one in gone])

    async def _embed_anew(self, entry: Entry, *, must: bool) -> None:
        """Remove the vector of what it said before, and send it on its way; with `must` that has to be gone now."""
        with suppress(*(() if must else (Unavailable,))):  # otherwise the next vector replaces it
            await self.stores.remove_vectors([entry.id])
        await self.stores.tell(EntryAccepted, [entry], cause=f"version {entry.version}")

    async def _refresh(self, entry: Entry) -> None:
        """Have its vector filtered by what it is now; while that cannot be, reconciling does it later."""
        try:
            await self.stores.refresh_vectors([entry])
        except Unavailable as error:
            log.warning("vector_not_refreshed", extra={"cause": str(error)})


def _check_in_use(entry: Entry) -> None:
    if entry.status != "active":
        raise Rejected("conflict", f"the entry is {entry.status}: only active ones can be changed")


def _tagged(entry: Entry, now: datetime, *, add: tuple[str, ...] = (), take: tuple[str, ...] = ()) -> Entry | None:
    tags = tuple(tag for tag in entry.tags if tag not in take)
    return edited(entry, Edit(tags=(*tags, *add)), now)


def _reply(entry: Entry) -> EntryReply:
    return EntryReply(entry=shown(entry))


def versions(entry: Entry) -> tuple[EntryVersion, ...]:
    """What an entry says and said, the latest first."""
    since = entry.edited_at or entry.created_at
    now = EntryVersion(version=entry.version, at=since, text=entry.text, by=entry.edited_by)
    return (now, *(EntryVersion(**one.model_dump(include={"version", "at", "text", "by"})) for one in entry.revisions))
