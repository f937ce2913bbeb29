"""What new entries change: they are compared with what the same voice said before, in the words of both. Ports only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from contracts.errors import TextRefused
from contracts.ports import Embedder, Filters, Key, Reader, Scope, Selection, TextStore, VectorPoint, VectorStore
from contracts.v1.claims import Change, Reading, Relation
from contracts.v1.entries import Entry
from services.shared.changes import change_entries
from services.shared.context.embedding import made_by, states_anything
from services.shared.knowledge.changes import (
    Judgement,
    compared_text,
    judge,
    may_change,
    stated,
    to_compare,
)
from services.shared.lifecycle.lineage import conflict_key, fact_keys, restored_from
from services.shared.lineage import flag, joined, put_away, undecided
from services.shared.privacy.frames import as_stated
from services.shared.privacy.own_words import own_words
from services.shared.ranking.capacity import is_protected
from services.shared.tasks import beside_the_loop

log = logging.getLogger(__name__)

Policy: TypeAlias = Literal["supersede", "flag", "leave"]

_NEAREST, _LATEST = 8, 6
_LOOKED_AT = 24
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Rules:
    """What becomes of an older statement that a newer one changes, and whether contradictions are flagged as well."""

    policy: Policy = "supersede"
    contradictions: bool = False


AS_A_RULE = Rules()


class Verdict(NamedTuple):
    """What an entry changes, which entries it supersedes or conflicts with, and which ones it lets go of."""

    changes: tuple[Change, ...] = ()
    supersedes: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


NONE = Verdict()
_UNRELATED = Relation(1, 0, 0, 0)


def with_verdict(entry: Entry, verdict: Verdict) -> Entry:
    """The entry, naming what it changes."""
    supersedes = joined(_without(entry.supersedes, verdict.free), verdict.supersedes)
    known = _without(entry.conflicts_with, (*verdict.free, *supersedes))
    conflicts = joined(known, _without(verdict.conflicts, supersedes))
    again = {*verdict.free, *(one.entry_id for one in verdict.changes)}
    changes = (*(one for one in entry.changes if one.entry_id not in again), *verdict.changes)
    named = {*supersedes, *conflicts}
    return entry.model_copy(
        update={
            "supersedes": supersedes,
            "conflicts_with": conflicts,
            "changes": tuple(one for one in changes if one.entry_id in named),
            "valid_from": entry.valid_from or (entry.created_at if supersedes else None),
        }
    )


def _without(ids: Iterable[str], others: Collection[str]) -> tuple[str, ...]:
    return tuple(id_ for id_ in ids if id_ not in others)


class Lineage:
    """Compares the entries of one delivery: `look` before they are marked, `settle` and `settle_late` afterwards."""

    def __init__(self, store: TextStore, vectors: VectorStore, embedder: Embedder, rules: Rules) -> None:
        self._store, self._vectors, self._embedder, self._rules = store, vectors, embedder, rules
        self._unread: dict[str, list[str]] = {}
        self._released: list[Entry] = []

    @classmethod
    def of(cls, store: TextStore, vectors: VectorStore, embedder: Embedder, rules: Rules) -> Lineage | None:
        """One for a model that reads; None where nothing is to be settled."""
        if rules.policy == "leave" or not isinstance(embedder, Reader):
            return None
        return cls(store, vectors, embedder, rules)

    async def look(self, points: Sequence[VectorPoint], readings: Mapping[str, Reading]) -> dict[str, Verdict]:
        """What these entries change, from what was read in them; an edited one lets go of what it changes no more."""
        read = {
            one.entry.id: made_by(one.entry, self._embedder, readings[one.entry.id].claims)
            for one in points
            if one.entry.id in readings
        }
        news = [one for one in points if one.entry.id in read and self._is_compared(read[one.entry.id], readings)]
        turns = asyncio.Semaphore(_AT_ONCE)
        older = await asyncio.gather(*(self._older(point, read, turns) for point in news))
        verdicts = await self._verdicts([(read[one.entry.id], some) for one, some in zip(news, older, strict=True)])
        for id_, verdict in verdicts.items():
            if verdict.free:
                self._released += await self._release(read[id_], verdict.free)
        return verdicts

    def _is_compared(self, entry: Entry, readings: Mapping[str, Reading]) -> bool:
        reading = readings[entry.id]._replace(claims=entry.claims)
        may = may_change(reading, contradictions=self._rules.contradictions) or bool(_named_if_edited(entry))
        return states_anything(entry) and may

    async def _older(self, point: VectorPoint, read: Mapping[str, Entry], turns: asyncio.Semaphore) -> list[Entry]:
        """What it is compared with, the nearest first: what it named before, what is near, and what was said last."""
        entry = point.entry
        async with turns:
            hits = await self._vectors.search(
                Scope.of(entry), point.vector, limit=_NEAREST + 1, filters=Filters(until=entry.created_at)
            )
            before = conversation_of(entry, until=entry.created_at)
            page = await self._store.page(before, limit=_LOOKED_AT, cursor=None) if before else None
            ids = dict.fromkeys((*_named_if_edited(entry), *(hit.id for hit in hits)))
            found = await self._store.get([Key(entry.user_id, id_) for id_ in ids])
        in_use = [restored_from(one, entry) or one for one in found.values()]
        last = islice((one for one in (page.entries if page else ()) if _is_older(one, entry)), _LATEST)
        mates = sorted(read.values(), key=lambda one: one.created_at, reverse=True)
        known = {one.id: read.get(one.id, one) for one in (*in_use, *last, *mates) if _is_older(one, entry)}
        self._unread[entry.id] = [one.id for one in known.values() if one.read_by is None and states_anything(one)]
        return list(known.values())

    async def _verdicts(self, news: Sequence[tuple[Entry, Sequence[Entry]]]) -> dict[str, Verdict]:
        judged = await self._judged(news)
        found = [await self._verdict(new, older, on) for (new, older), on in zip(news, judged, strict=True)]
        return {new.id: verdict for (new, _), verdict in zip(news, found, strict=True)}

    async def _judged(self, news: Sequence[tuple[Entry, Sequence[Entry]]]) -> list[list[Judgement]]:
        pairs = [to_compare(older, await _text_of(new), stated(new)) for new, older in news]
        relations = iter(await self._compared([pair.texts for some in pairs for pair in some]))
        contradictions = self._rules.contradictions
        return [judge(some, list(islice(relations, len(some))), contradictions=contradictions) for some in pairs]

    async def _compared(self, texts: Sequence[tuple[str, str]]) -> list[Relation]:
        if not texts or not isinstance(self._embedder, Reader):
            return []
        try:
            return await self._embedder.compare(texts)
        except TextRefused as error:
            log.warning("comparison_refused", extra={"pairs": len(texts), "cause": str(error)})
            return [_UNRELATED] * len(texts)

    async def _verdict(self, new: Entry, older: Sequence[Entry], judged: Sequence[Judgement]) -> Verdict:
        """What follows from how an entry is related to older ones; what its user decided is left alone."""
        related = {one.older.id for one in judged}
        compared = {one.id for one in older}
        is_open = await undecided(new, related, self._store)
        found = [one for one in judged if one.older.id in is_open]
        supersedes = tuple(one.older.id for one in found if one.changes and self._is_put_away(one.older))
        conflicts = tuple(one.older.id for one in found if one.older.id not in supersedes)
        doubtful = {*new.supersedes} - {*supersedes}  # changed for certain before it was corrected
        free = tuple(
            id_ for id_ in _named_if_edited(new) if id_ in compared and (id_ not in related or id_ in doubtful)
        )
        return Verdict(tuple(change for one in found for change in one.changes), supersedes, conflicts, free)

    def _is_put_away(self, older: Entry) -> bool:
        return self._rules.policy == "supersede" and not is_protected(older)

    async def settle(self, marked: Sequence[Entry]) -> None:
        """Do what the entries say that they change; done again, it completes what was broken off."""
        for entry in sorted(marked, key=lambda one: (one.created_at, one.id)):
            await self._complete(entry)

    async def _complete(self, entry: Entry) -> None:
        if not (entry.supersedes or entry.conflicts_with):
            return
        found = await self._store.get([Key(entry.user_id, id_) for id_ in entry.conflicts_with])
        await flag(entry, [one for one in found.values() if one.created_at < entry.created_at], self._store)
        gone = [one.id for one in await put_away(entry, self._store)]
        if gone:
            await self._vectors.remove(gone)

    async def settle_late(self, marked: Sequence[Entry]) -> None:
        """Compare them with what was read before them, or meanwhile, though it was said later, or not read yet."""
        unread = {id_: entry for entry in marked for id_ in self._unread.get(entry.id, ())}
        found = await self._store.get([Key(entry.user_id, id_) for id_, entry in unread.items()]) if unread else {}
        ready = {id_: one for id_, one in found.items() if one.status == "active" and one.read_by is not None}
        news = [(one, [ready[id_] for id_ in self._unread.get(one.id, ()) if id_ in ready]) for one in marked]
        for new, older in [*news, *await self._later(marked)]:
            if older:
                await self._settle_one(new, older)

    async def _settle_one(self, new: Entry, older: Sequence[Entry]) -> None:
        """Settle an entry that is marked already."""
        (verdict,) = (await self._verdicts([(new, older)])).values()
        related = {*verdict.supersedes, *verdict.conflicts}
        at_odds = {one.id for one in older if one.edited_at is not None and one.id in new.conflicts_with}
        free = tuple(await undecided(new, at_odds - related, self._store))
        if free:
            self._released += await self._release(new, free)
        text, verdict = new.text, verdict._replace(free=free)

        def named(one: Entry) -> Entry | None:
            changed = with_verdict(one, verdict)
            return changed if one.status == "active" and one.text == text and changed != one else None

        for entry in await change_entries(self._store, [new], named):
            await self._complete(entry)

    async def _later(self, marked: Sequence[Entry]) -> list[tuple[Entry, list[Entry]]]:
        """What was said later in their conversations, or is in conflict with one that was edited; each with those."""
        olders = [one for one in marked if stated(one) or one.conflicts_with]
        here = {one.id for one in marked}
        found: dict[str, Entry] = {}
        firsts = {_place(one): one for one in sorted(olders, key=lambda one: one.created_at, reverse=True)}
        for first in firsts.values():
            after = conversation_of(first, since=first.created_at)
            page = await self._store.page(after, limit=_LATEST, cursor=None) if after else None
            found |= {one.id: one for one in (page.entries if page else ())}
        at_odds = [Key(one.user_id, id_) for one in olders if one.edited_at for id_ in one.conflicts_with]
        found |= await self._store.get(at_odds) if at_odds else {}
        later = [one for one in found.values() if one.id not in here and one.read_by is not None]
        return [(new, [one for one in olders if _is_older(one, new)]) for new in later if states_anything(new)]

    def take_released(self) -> list[Entry]:
        """Those that are in use again and need a vector; each is told once."""
        released, self._released = self._released, []
        return released

    async def _release(self, entry: Entry, free: Sequence[str]) -> list[Entry]:
        """Let go of what a corrected entry had changed, or was in conflict with; those in use without a vector.

        What was decided of both was about what it said before. The entry itself forgets them last.
        """
        others = await self._store.get([Key(entry.user_id, id_) for id_ in free])
        facts = await self._store.get([key for one in others.values() for key in fact_keys(one)])
        held = [*others.values(), *facts.values()]
        await change_entries(self._store, held, lambda one: _released(one, entry))
        names = [conflict_key(*pair).name for one in others.values() for pair in ((entry, one.id), (one, entry.id))]
        await self._store.remove_records(entry.user_id, "conflict", names)
        current = (await self._store.get(held)).values() if held else ()
        return [one for one in current if one.status == "active" and one.embedding_state == "pending"]


def _released(one: Entry, entry: Entry) -> Entry | None:
    back = restored_from(one, entry)
    return _unnamed(back or one, [entry.id]) or back


def _unnamed(entry: Entry, ids: Collection[str]) -> Entry | None:
    new = with_verdict(entry, Verdict(free=tuple(ids)))
    return new if new != entry else None


async def _text_of(entry: Entry) -> str:
    """What an entry says in its user's own words, as much as is compared."""
    own = await beside_the_loop(lambda: own_words(as_stated(entry)), len(entry.text))
    return compared_text(own, entry.claims)


def _named_if_edited(entry: Entry) -> tuple[str, ...]:
    return () if entry.edited_at is None else (*entry.supersedes, *entry.conflicts_with)


def _place(entry: Entry) -> tuple[str, str, str | None, str | None]:
    return entry.user_id, entry.space, entry.persona_id, entry.conversation_id


def conversation_of(entry: Entry, *, until: datetime | None = None, since: datetime | None = None) -> Selection | None:
    """What was said in its conversation; None where it is of none."""
    if entry.conversation_id is None:
        return None
    return Selection(
        entry.user_id,
        entry.space,
        entry.persona_id or "",
        conversation_id=entry.conversation_id,
        since=since,
        until=until,
    )


def _is_older(one: Entry, entry: Entry) -> bool:
    """Whether another entry in use was said before by the same voice; what its user corrected since was meant from the
    first."""
    is_corrected = one.edited_at is not None and one.last_said_at <= one.edited_at
    said_at = one.created_at if is_corrected else one.last_said_at
    return _is_said_by(one, entry) and said_at < entry.created_at


def _is_said_by(one: Entry, entry: Entry) -> bool:
    voice = (one.user_id, one.space, one.persona_id, one.role, one.speaker)
    same_voice = voice == (entry.user_id, entry.space, entry.persona_id, entry.role, entry.speaker)
    return one.status == "active" and one.source == "turn" and same_voice and one.id != entry.id
