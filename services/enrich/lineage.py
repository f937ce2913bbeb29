"""What a new statement of a user changes: the older one is superseded, or both are flagged as a conflict.

Rules decide, on what the user says alone: an assistant's echo changes nothing. Every step may be done again: the newer
entry first names what it supersedes, then the older one goes out of use.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal, TypeAlias

from contracts.ports import Filters, Key, Record, Scope, Selection, TextStore
from contracts.v1.entries import Entry, EntryRef
from services.shared import telemetry
from services.shared.changes import change_entries
from services.shared.core.capacity import is_protected
from services.shared.core.corrections import corrects_unnamed, denied_by, denies, denies_anything, may_correct_unnamed
from services.shared.core.fact_changes import Effect, effects, may_change_facts, outdated_in, words_of_changed
from services.shared.core.lineage import (
    conflict_key,
    fact_keys,
    outdated_facts,
    restored_from,
    superseded_if_active,
)
from services.shared.core.notes import as_user_says
from services.shared.core.over import is_over, words_of_over
from services.shared.core.updates import Relation, leaves_some, relation, subjects_of, to_compare
from services.shared.tasks import beside_the_loop

Policy: TypeAlias = Literal["supersede", "flag", "leave"]

_CANDIDATES = 24
"""Older entries that a statement is compared with."""

_MOST_NAMED = 8
"""Entries that one supersedes, or conflicts with, at most."""

_JUST_BEFORE = timedelta(minutes=30)

_NAMING = ("supersedes", "conflicts_with")

_Found: TypeAlias = dict[Relation | Effect, list[Entry]]

_CONFLICTING: tuple[Relation | Effect, ...] = (
    "replaced", "replaced in part", "unclear", "update", "contradiction",
)  # fmt: skip
"""In these ways a statement that is not superseded conflicts with the newer one."""

_NOT_CHANGED: tuple[Relation | Effect, ...] = ("contradiction", "compatible", "unrelated")
"""In these ways one is related to the newer one, which may deny it all the same."""


async def settle_changes(
    entries: Iterable[Entry], *, store: TextStore, policy: Policy = "supersede", contradictions: bool = False
) -> list[EntryRef]:
    """Supersede what these entries change; the superseded ones, whose vectors go, and those in use again.

    By another policy changes are only flagged as conflicts, or all is left alone. With `contradictions` that is
    flagged, too, which contradicts without saying that anything changed: it takes a search for most of what users say.

    Those of an earlier delivery that was broken off are completed and told again.
    """
    gone: list[EntryRef] = []
    if policy == "leave":
        return gone
    for entry in sorted(entries, key=lambda one: (one.created_at, one.id)):
        said = entry.role == "user" and entry.source == "turn" and entry.status == "active"
        if said and entry.edited_at is not None:
            entry, again = await _release(entry, store)
            gone += again
        compared = partial(_words_compared, entry, contradictions=contradictions)
        query, corrects = await beside_the_loop(compared, len(entry.text)) if said else (None, False)
        if query is not None or corrects:
            gone += await _settle(entry, query, store, policy, contradictions=contradictions)
    return gone


def _words_compared(entry: Entry, *, contradictions: bool) -> tuple[str | None, bool]:
    """The words by which to look for what an entry may change, None where it changes nothing; and whether it may
    correct what it does not name."""
    text = as_user_says(entry)
    words = [denied_by(text) if denies_anything(text) else None, words_of_over(text)]
    if contradictions or may_change_facts(text):
        words.append(to_compare(text) or words_of_changed(text))
    return " ".join(filter(None, words)) or None, may_correct_unnamed(text)


async def _release(entry: Entry, store: TextStore) -> tuple[Entry, list[EntryRef]]:
    """Let go of what a corrected entry had changed as long as it said otherwise; the entry then, and what is in use.

    What was decided of both was about what it said before. The entry forgets them last, so it may be broken off.
    """
    others = await store.get([Key(entry.user_id, id_) for id_ in (*entry.supersedes, *entry.conflicts_with)])
    chars = len(entry.text) + sum(len(one.text) for one in others.values())
    free = await beside_the_loop(lambda: [one for one in others.values() if not _is_changed(one, entry)], chars)
    if not free:
        return entry, []
    facts = await store.get([key for one in free for key in fact_keys(one)])
    again = await change_entries(store, [*free, *facts.values()], lambda one: _released(one, entry))
    names = [conflict_key(*pair).name for one in free for pair in ((entry, one.id), (one, entry.id))]
    await store.remove_records(entry.user_id, "conflict", names)
    (entry,) = await change_entries(store, [entry], lambda one: _without(one, [other.id for other in free])) or [entry]
    return entry, [EntryRef(user_id=one.user_id, id=one.id) for one in again if one.embedding_state == "pending"]


def _is_changed(one: Entry, entry: Entry) -> bool:
    """Whether one of two entries changes the other one still, or was refused by it, which nothing takes back."""
    if one.created_at < entry.created_at:
        return any(how in _CONFLICTING for how in _related(entry, [one]))
    return one.status != "active" or any(how in _CONFLICTING for how in _related(one, [entry]))


def _released(one: Entry, entry: Entry) -> Entry | None:
    back = restored_from(one, entry)
    return _without(back or one, [entry.id]) or back


def _without(entry: Entry, ids: Collection[str]) -> Entry | None:
    named = {name: tuple(id_ for id_ in getattr(entry, name) if id_ not in ids) for name in _NAMING}
    new = entry.model_copy(update=named)
    return new if new != entry else None


def _place(entry: Entry) -> tuple[datetime, datetime, str]:
    return entry.last_said_at, entry.created_at, entry.id


async def _settle(
    entry: Entry, query: str | None, store: TextStore, policy: Policy, *, contradictions: bool
) -> list[EntryRef]:
    candidates = await _older(entry, query, store) if query is not None else []
    chars = len(entry.text) + sum(len(one.text) for one in candidates)
    found = await beside_the_loop(lambda: _related(entry, candidates), chars)
    found["unclear"] += await _fixed_unnamed(entry, store)
    if not contradictions:
        found["contradiction"] = []
    undecided = await _undecided(entry, [one for group in found.values() for one in group], store)
    for how, group in found.items():
        found[how] = [one for one in group if one.id in undecided]
    changed = _changed(found, policy)
    kept = await beside_the_loop(partial(_kept, changed, entry), chars)
    superseded = [one.id for one in changed if one.id not in kept]
    conflicts = [one for how in _CONFLICTING for one in found[how] if one.id not in superseded]
    entry = await _name(entry, superseded, [one.id for one in conflicts], store)
    await _flag(entry, conflicts, store)
    return await _put_away(entry, store)


def _kept(changed: Sequence[Entry], entry: Entry) -> set[str]:
    """The ids of those that stay in use: protected, or stating more than what the entry changes."""
    return {one.id for one in changed if is_protected(one) or leaves_some(as_user_says(one), as_user_says(entry))}


async def _fixed_unnamed(entry: Entry, store: TextStore) -> list[Entry]:
    """What its speaker said just before in the same conversation, where the entry gives that another value unnamed.

    It says too little to stand for the other: both are shown, as a conflict.
    """
    if not may_correct_unnamed(as_user_says(entry)):
        return []
    voice = Selection(entry.user_id, entry.space, entry.persona_id or "", conversation_id=entry.conversation_id)
    page = await store.page(voice, limit=_CANDIDATES, cursor=None)
    said = (one for one in page.entries if _is_said_by(one, entry) and one.conversation_id == entry.conversation_id)
    older = (one for one in said if one.last_said_at <= entry.created_at)  # exports know the minute at best
    last = max(older, key=_place, default=None)
    soon = last is not None and entry.created_at - last.last_said_at < _JUST_BEFORE
    return [last] if last and soon and corrects_unnamed(as_user_says(last), as_user_says(entry)) else []


def _changed(found: _Found, policy: Policy) -> list[Entry]:
    """What is certain to be changed; of what only the wording tells nothing if that could mean either of two things."""
    if policy == "flag":
        return []
    worded = found["update"]
    either = len({subjects_of(as_user_says(one)) for one in worded}) > 1
    return [*found["replaced"], *(() if either else worded)]


async def _older(entry: Entry, query: str, store: TextStore) -> list[Entry]:
    """The active entries of the same voice that were said before and share words with it, or were said last: a search
    may not find yet what was said a moment ago."""
    scope = Scope(entry.user_id, entry.space, entry.persona_id)
    said = as_user_says(entry)
    queries = [query, words_of_changed(said)]
    searches = [store.search(scope, words, limit=_CANDIDATES, filters=Filters()) for words in queries if words]
    ids = {hit.id for hits in await asyncio.gather(*searches) for hit in hits}
    found = await store.get([Key(entry.user_id, id_) for id_ in ids])
    if await beside_the_loop(lambda: _changes_anything(said), len(said)):
        latest = Selection(entry.user_id, entry.space, entry.persona_id or "")
        found |= {one.id: one for one in (await store.page(latest, limit=_CANDIDATES, cursor=None)).entries}
    return [one for one in found.values() if _is_older(one, entry)]


def _changes_anything(said: str) -> bool:
    """Whether a text changes, denies or ends something, whatever words it shares with that."""
    return may_change_facts(said) or denies_anything(said) or words_of_over(said) is not None


def _is_older(one: Entry, entry: Entry) -> bool:
    """Whether another entry was said before; what its user corrected since was meant from the first."""
    is_corrected = one.edited_at is not None and one.last_said_at <= one.edited_at
    said_at = one.created_at if is_corrected else one.last_said_at
    return _is_said_by(one, entry) and said_at < entry.created_at


def _is_said_by(one: Entry, entry: Entry) -> bool:
    """Whether another entry is in use, and was said by the same user in the same role and place."""
    voice = (one.user_id, one.space, one.persona_id, one.role, one.speaker)
    same_voice = voice == (entry.user_id, entry.space, entry.persona_id, entry.role, entry.speaker)
    is_said = one.status == "active" and one.source == "turn"
    return is_said and same_voice and one.id != entry.id


def _related(entry: Entry, candidates: Sequence[Entry]) -> _Found:
    found: _Found = defaultdict(list)
    said, before = as_user_says(entry), [as_user_says(one) for one in candidates]
    for one, old, effect in zip(candidates, before, effects(said, before), strict=True):
        how = effect or relation(old, said)
        is_denied = how in _NOT_CHANGED and (denies(old, said) or is_over(old, said))
        how = "unclear" if is_denied else how
        if not (how in _CONFLICTING and _is_outdated(one, old, said)):
            found[how].append(one)
    return found


def _is_outdated(one: Entry, old: str, said: str) -> bool:
    """Whether an older entry states nothing that changes but what has been outdated before, as its user decided."""
    outdated = frozenset(outdated_facts(one))
    gone = outdated_in(old, said) if outdated else None
    return bool(gone) and outdated.issuperset(gone or ())


async def _undecided(entry: Entry, others: Sequence[Entry], store: TextStore) -> set[str]:
    """The ids of those about which the user has not decided yet."""
    keys = {conflict_key(entry, one.id): one.id for one in others}
    records = await store.get_records(list(keys)) if keys else {}
    decided = {keys[key] for key, record in records.items() if record.body.get("kept")}
    return set(keys.values()) - decided


async def _name(entry: Entry, superseded: Sequence[str], conflicts: Sequence[str], store: TextStore) -> Entry:
    """The entry as it is stored with what it supersedes and conflicts with."""

    def named(one: Entry) -> Entry | None:
        if one.status != "active" or one.text != entry.text:
            return None
        update = {
            "supersedes": _joined(one.supersedes, superseded),
            "conflicts_with": _joined(one.conflicts_with, conflicts),
            "valid_from": one.valid_from or (one.created_at if superseded else None),
        }
        new = one.model_copy(update=update)
        return new if new != one else None

    (stored,) = await change_entries(store, [entry], named) or [entry]
    return stored


def _joined(known: tuple[str, ...], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))[:_MOST_NAMED]


async def _flag(entry: Entry, conflicts: Sequence[Entry], store: TextStore) -> None:
    """Note each conflict that the entry names; one that is noted already stays as it was."""
    named = [one for one in conflicts if one.id in entry.conflicts_with]
    body = {"space": entry.space, "newer": entry.id}
    now = datetime.now(UTC)
    keys = [(conflict_key(entry, one.id), one) for one in named]
    records = [Record(key.user_id, "conflict", key.name, {**body, "older": one.id}, now) for key, one in keys]
    if records:
        await store.add_records(records)
        await change_entries(store, named, lambda one: _in_conflict_with(one, entry))
        telemetry.CHANGES.labels("conflict").inc(len(records))


def _in_conflict_with(one: Entry, entry: Entry) -> Entry | None:
    """An older entry that leads to the newer one, which a question may not find by its words."""
    new = one.model_copy(update={"conflicts_with": _joined(one.conflicts_with, [entry.id])})
    return new if one.status == "active" and new != one else None


async def _put_away(entry: Entry, store: TextStore) -> list[EntryRef]:
    """Take what the entry supersedes out of use; of two changes at the same moment the first one has it."""
    if not entry.supersedes:
        return []
    older = await store.get([Key(entry.user_id, id_) for id_ in entry.supersedes])
    undecided = await _undecided(entry, list(older.values()), store)

    def put_away(one: Entry) -> Entry | None:
        return superseded_if_active(one, entry) if one.id in undecided and not is_protected(one) else None

    done = await change_entries(store, older.values(), put_away)
    gone = [*older.values(), *await facts_put_away(list(older.values()), entry, store)]
    telemetry.CHANGES.labels("superseded").inc(len(done))
    return [EntryRef(user_id=one.user_id, id=one.id) for one in gone]


async def facts_put_away(said: Sequence[Entry], by: Entry, store: TextStore) -> list[Entry]:
    """The facts that a model had drawn from entries which are superseded now: they go the same way."""
    current = (await store.get([Key(one.user_id, one.id) for one in said])).values() if said else ()
    keys = [key for one in current if one.status == "superseded" for key in fact_keys(one)]
    facts = await store.get(keys) if keys else {}
    return await change_entries(
        store, facts.values(), lambda one: None if is_protected(one) else superseded_if_active(one, by)
    )
