"""Compare log, entries and vectors, a page at a time, and put differences right. Read anew what another reader read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Annotated

from annotated_types import Len
from pydantic import TypeAdapter

from contracts.ports import Key, LogRecord, Place, ProposalRecord, TextStore
from contracts.v1.commands import Difference, Kind, ReconcileReply, ReconcileRequest, Side
from contracts.v1.entries import Entry, EntryEnriched, EntryProposed
from contracts.v1.turns import Proposal, entry_id
from services.curate.stores import Stores, in_steps
from services.shared.changes import change_entries
from services.shared.context.embedding import embed_again, is_to_be_read, out_of_use
from services.shared.dedup.repeats import find_canonical
from services.shared.errors import Rejected
from services.shared.lifecycle.pinning import pinned
from services.shared.tasks import beside_the_loop

SIDES: tuple[Side, ...] = ("log", "entries", "vectors")
UNDER_WAY = timedelta(minutes=2)
"""For so long a proposal may be on its way without anything being wrong."""

_MOST_OPEN = 10_000
_COMPARED_AT_ONCE = 16
"""Long entries that are looked up and compared in one go: some 50 ms."""

_READ_AT_ONCE = 64
"""Entries that are on their way to be read anew: a turn that comes meanwhile waits for no more."""

_LOOK_EVERY = 0.5
_PATIENCE = 60.0
_CURSOR = TypeAdapter(Annotated[list[str], Len(min_length=1)])


async def reconcile(request: ReconcileRequest, stores: Stores) -> ReconcileReply:
    """One page of one side; with `fix` every difference is put right, or set going to be.

    Raises:
        Rejected: `after` is not from an earlier page.
    """
    page = {"log": _log, "entries": _entries, "vectors": _vectors}[request.side]
    try:
        return await page(request, stores)
    except ValueError as error:
        raise Rejected("invalid_request", "`after` is not from an earlier page of this side") from error


async def pages(side: Side, stores: Stores, *, fix: bool) -> AsyncIterator[ReconcileReply]:
    """All pages of one side."""
    after: str | None = ""
    while after is not None:
        reply = await reconcile(ReconcileRequest(side=side, after=after, fix=fix), stores)
        yield reply
        after = reply.after


async def _entries(request: ReconcileRequest, stores: Stores) -> ReconcileReply:
    """Every entry that is marked as embedded has a vector, filtered by the fields of the entry; none is a near copy."""
    entries = await stores.text.scan(after=request.after, limit=request.limit)
    copies = await _copies(entries, stores.text)
    ready = [entry for entry in entries if entry.embedding_state == "ready" and entry.id not in copies]
    lacking = await stores.vectors.lacking(ready) if stores.vectors is not None else ()
    wrong = [entry for entry in ready if entry.id in lacking]
    if request.fix:
        for copy, canonical in copies.values():
            await _judge_again(copy, canonical, stores)
        await _embed_again(wrong, stores)
    after = entries[-1].id if len(entries) == request.limit else None
    differ = [*_differ("without_vector", wrong), *_differ("near_copy", [copy for copy, _ in copies.values()])]
    return ReconcileReply(looked_at=len(entries), differences=tuple(differ), after=after)


async def _embed_again(wrong: Sequence[Entry], stores: Stores) -> None:
    if stores.vectors is not None and wrong:
        missing = await stores.vectors.refresh(wrong)
        again = await change_entries(stores.text, [entry for entry in wrong if entry.id in missing], embed_again)
        await stores.tell(EntryEnriched, again)


async def _copies(entries: Sequence[Entry], store: TextStore) -> dict[str, tuple[Entry, Entry]]:
    """Those of the entries that repeat an older one, each with that one, by id: both were judged at the same moment.

    What was never logged, as an import may bring it, cannot be judged again and is left out, and so is what says
    something else by now than was logged.
    """
    found: dict[str, tuple[Entry, Entry]] = {}
    long = [entry for entry in entries if entry.minhash_bands and entry.edited_at is None]
    for some in in_steps(long, _COMPARED_AT_ONCE):
        for entry, similar in zip(some, await store.find_similar(some), strict=True):
            older = [other for other in similar.entries if _age(other) < _age(entry)]
            chars = sum(len(other.text) for other in older)
            canonical = await beside_the_loop(partial(find_canonical, entry, older), chars)
            if canonical is not None:
                found[entry.id] = entry, canonical
    logged = await store.pending([entry for entry, _ in found.values()]) if found else {}
    return {id_: pair for id_, pair in found.items() if id_ in logged and not logged[id_].proposal.redacted}


def _age(entry: Entry) -> tuple[datetime, str]:
    return entry.created_at, entry.id


async def _judge_again(copy: Entry, canonical: Entry, stores: Stores) -> None:
    """Take back a near copy and have what said it judged again, which merges it into the older entry.

    Broken off, it is completed by going through the log, which finds that the entry of a turn is missing.
    """
    refs = [Key(copy.user_id, entry_id(copy.user_id, copy.space, saying.turn_id)) for saying in copy.sayings]
    records = await stores.text.pending([copy, *refs])
    told = [one.proposal for one in records.values() if one.outcome and one.outcome.entry_id == copy.id]
    if await _keep_wish(copy, canonical, stores) and not await stores.text.remove([copy]):
        await stores.remove_vectors([copy.id])
        await stores.text.reopen(told)
        await stores.tell(EntryProposed, told)


async def _keep_wish(copy: Entry, canonical: Entry, stores: Stores) -> bool:
    """Have the older entry pinned and saved as its copy is; False when it is not active any more."""

    def kept(entry: Entry) -> Entry | None:
        if entry.status != "active":
            return None
        saved = entry.model_copy(update={"manually_saved": copy.manually_saved or entry.manually_saved})
        return (pinned(saved, datetime.now(UTC)) if copy.pinned else None) or saved

    if copy.pinned <= canonical.pinned and copy.manually_saved <= canonical.manually_saved:
        return True
    return bool(await change_entries(stores.text, [canonical], kept))


async def _vectors(request: ReconcileRequest, stores: Stores) -> ReconcileReply:
    """Every vector belongs to an active entry of its user."""
    if stores.vectors is None:
        return ReconcileReply(looked_at=0, differences=(), after=None)
    keys = await stores.vectors.scan(after=request.after, limit=request.limit)
    found = await stores.text.get(keys)
    gone = set(out_of_use((key.id for key in keys), found))
    if request.fix:
        await stores.remove_vectors(list(gone))
    after = keys[-1].id if len(keys) == request.limit else None
    wrong = _differ("without_reason", [key for key in keys if key.id in gone])
    return ReconcileReply(looked_at=len(keys), differences=tuple(wrong), after=after)


async def _log(request: ReconcileRequest, stores: Stores) -> ReconcileReply:
    """Every logged turn has an outcome, and the entry that it speaks of exists."""
    records, after = await _records(request, stores.text)
    decisions = list(chain.from_iterable(map(_decisions, records)))
    undecided = await _stuck([one.proposal for one in decisions if one.outcome is None], stores.text)
    lost = await _without_entry(decisions, stores.text)
    if request.fix and (undecided or lost):
        await stores.text.append([one.turn for one in undecided], undecided)
        await stores.text.reopen(lost)
        await stores.tell(EntryProposed, [*undecided, *lost])
    wrong = [*_differ("undecided", undecided), *_differ("without_entry", lost)]
    return ReconcileReply(looked_at=len(records), differences=tuple(wrong), after=after)


def _decisions(record: LogRecord) -> Sequence[ProposalRecord]:
    """The proposals of a turn; one that has none counts as one that is undecided."""
    if record.proposals:
        return record.proposals
    turn = record.turn
    id_ = entry_id(turn.user_id, turn.space, turn.turn_id)
    return [ProposalRecord(Proposal(id=id_, turn=turn, text=turn.text), None)]


async def _stuck(proposals: Sequence[Proposal], store: TextStore) -> list[Proposal]:
    """Those that are not simply on their way, or decided meanwhile."""
    if not proposals:
        return []
    on_its_way = await store.pending(proposals)
    old = await store.unfinished("undecided", before=datetime.now(UTC) - UNDER_WAY, limit=_MOST_OPEN)
    late = {key.id for key in old}
    return [one for one in proposals if one.id in late or one.id not in on_its_way]


async def _without_entry(decisions: Iterable[ProposalRecord], store: TextStore) -> list[Proposal]:
    """The proposals that became an entry, or part of one, which is not there."""
    wanted = {
        one.proposal.id: Key(one.proposal.user_id, one.outcome.entry_id)
        for one in decisions
        if one.outcome is not None and one.outcome.entry_id is not None
    }
    found = await store.get(list(wanted.values()))
    return [one.proposal for one in decisions if one.proposal.id in wanted and wanted[one.proposal.id].id not in found]


async def _records(request: ReconcileRequest, store: TextStore) -> tuple[list[LogRecord], str | None]:
    """The next turns of the log, user by user, and where to go on."""
    user, place = _place(request.after)
    records: list[LogRecord] = []
    while len(records) < request.limit:
        if place is None:
            following = await store.users(after=user, limit=1)
            if not following:
                return records, None
            user = following[0]
        room = request.limit - len(records)
        some = await store.export_log(user, after=place, limit=room)
        records += some
        last = some[-1].turn if len(some) == room else None
        place = Place(last.created_at, last.space, last.turn_id) if last else None
    return records, json.dumps([user] if place is None else [user, place.at.isoformat(), place.space, place.id])


def _place(after: str) -> tuple[str, Place | None]:
    if not after:
        return "", None
    user, *place = _CURSOR.validate_json(after)
    if not place:
        return user, None
    at, space, id_ = place
    return user, Place(datetime.fromisoformat(at), space, id_)


def _differ(kind: Kind, found: Iterable[Entry | Proposal | Key]) -> list[Difference]:
    return [Difference(kind=kind, user_id=one.user_id, id=one.id) for one in found]


async def read_anew(reader: str, stores: Stores) -> int:
    """Look through all entries once, and have those embedded once more that this reader has not read; how many."""
    after, count = "", 0
    while page := await stores.text.scan(after=after, limit=_READ_AT_ONCE):
        after = page[-1].id
        again = await change_entries(stores.text, [one for one in page if is_to_be_read(one, reader)], embed_again)
        if again:
            await stores.tell(EntryEnriched, again, cause=reader)
            await _until_done(again, stores.text)
            count += len(again)
    return count


async def _until_done(entries: Sequence[Entry], store: TextStore) -> None:
    """Wait until those in use are embedded; not for ever: a worker that is away finds them on the bus later."""
    for _ in range(int(_PATIENCE / _LOOK_EVERY)):
        found = (await store.get(entries)).values()
        if not any(one.status == "active" and one.embedding_state == "pending" for one in found):
            return
        await asyncio.sleep(_LOOK_EVERY)
