"""What must hold after every step, and what must hold when nothing is left to do."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

import numpy as np

from contracts.ports import Filters, InFlight, Key, LogRecord, ProposalRecord, Scope, TextStore, VectorPoint
from contracts.v1.entries import Entry, EntryAccepted, EntryEvent, EntryRefused, EntryRepeated
from contracts.v1.turns import WORDLESS
from contracts.values import StageCounts
from services.curate import reconcile
from services.curate.stores import Stores
from services.shared.ranking.capacity import is_protected
from tests.faults.state_machine_model import MARKERS, Group, Model, TurnKey, group_of
from tests.faults.state_machine_ports import TinyEmbedder
from tests.faults.state_machine_world import World

_ALL = 10_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is stored, of all users."""

    entries: dict[str, Entry]
    records: dict[TurnKey, LogRecord]
    points: dict[str, VectorPoint]
    counts: dict[str, StageCounts]

    @property
    def decisions(self) -> list[ProposalRecord]:
        return [decision for record in self.records.values() for decision in record.proposals]

    @property
    def active(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.status == "active"]

    def without(self, user_id: str) -> Snapshot:
        """The same, but for one user."""
        return Snapshot(
            {id_: entry for id_, entry in self.entries.items() if entry.user_id != user_id},
            {key: record for key, record in self.records.items() if key[0] != user_id},
            {id_: point for id_, point in self.points.items() if point.entry.user_id != user_id},
            {user: counts for user, counts in self.counts.items() if user != user_id},
        )


async def look(world: World, users: Iterable[str]) -> Snapshot:
    """Read everything; what is read as a user's is that user's."""
    found = Snapshot({}, {}, dict(world.vectors.points), {})
    await asyncio.gather(*(_look_at(user, world.store, found) for user in users))
    return found


async def _look_at(user: str, store: TextStore, found: Snapshot) -> None:
    kept, logged, found.counts[user] = await asyncio.gather(
        store.export_entries(user, after=None, limit=_ALL),
        store.export_log(user, after=None, limit=_ALL),
        store.counts(user),
    )
    for entry in kept:
        assert entry.user_id == user, f"{user} is shown {entry}"
        found.entries[entry.id] = entry
    for record in logged:
        assert record.turn.user_id == user, f"{user} is shown {record}"
        found.records[user, record.turn.space, record.turn.turn_id] = record


def check_step(before: Snapshot, now: Snapshot, model: Model) -> None:
    """What holds at every moment."""
    _check_versions(before, now)
    _check_log(before, now, model)
    _check_outcomes(before, now, model)
    _check_one_of_each(now)
    _check_counts(now)


def _check_versions(before: Snapshot, now: Snapshot) -> None:
    for id_, old in before.entries.items():
        new = now.entries.get(id_)
        assert new is not None, f"an entry is gone: {old}"
        assert new == old or new.version > old.version, f"changed without a new version: {old} → {new}"
        assert old.status != "forgotten" or new == old, f"came back, or changed, after it was forgotten: {new}"
    for id_, point in before.points.items():
        if id_ in now.points:
            assert now.points[id_].entry.version >= point.entry.version, f"an older vector came back: {id_}"


def _check_log(before: Snapshot, now: Snapshot, model: Model) -> None:
    for key, old in before.records.items():
        assert key in now.records, f"a turn is gone: {key}"
        assert now.records[key].turn.text in (old.turn.text, WORDLESS), f"a logged turn changed: {key}"
    for key, record in now.records.items():
        said = {turn.text for turn in model.turns.get(key, ())}
        assert record.turn.text in said | {WORDLESS}, f"nobody said this: {record.turn}"


def _check_outcomes(before: Snapshot, now: Snapshot, model: Model) -> None:
    known = {one.proposal.id: one.outcome for one in before.decisions if one.outcome is not None}
    for key, record in now.records.items():
        for one in record.proposals:
            assert known.get(one.proposal.id) in (None, one.outcome), f"two outcomes: {one}"
            if one.outcome is None:
                continue
            refused = one.outcome.kind == "refused"
            assert refused or key not in model.must_be_refused, f"what was forgotten is taken in again: {one}"
            assert not refused or one.outcome.reason
            assert not refused or any(map(model.may_be_refused, model.turns.get(key, ()))), (
                f"refused without a cause: {one}"
            )


def _check_one_of_each(now: Snapshot) -> None:
    told = Counter(group_of(entry) for entry in now.active)
    assert not told or max(told.values()) == 1, f"the same statement twice: {told}"
    merged = Counter(one.outcome.entry_id for one in now.decisions if one.outcome and one.outcome.kind == "merged")
    for entry in now.entries.values():
        assert entry.repeat_count == merged[entry.id], f"{merged[entry.id]} repeats of {entry}"
        if entry.status == "archived":
            assert not is_protected(entry), f"trimmed though it was to be kept: {entry}"


def _check_counts(now: Snapshot) -> None:
    for user, counts in now.counts.items():
        turns = [record for key, record in now.records.items() if key[0] == user]
        settled = Counter(one.outcome and one.outcome.kind for turn in turns for one in turn.proposals)
        mine = Counter(entry.status == "active" for entry in now.entries.values() if entry.user_id == user)
        counted = (counts.turns, counts.entries, counts.inactive, counts.merged, counts.refused, counts.undecided)
        seen = (len(turns), mine[True], mine[False], settled["merged"], settled["refused"], settled[None])
        assert counted == seen, f"counted {counted}, seen {seen}"
        assert counts.turns == sum(counted[1:]), f"does not add up: {counts}"


async def check_idle(now: Snapshot, world: World, model: Model, scopes: Sequence[Scope]) -> None:
    """What holds when everything was delivered and handled, without anything having been set going again."""
    assert now.records.keys() == model.turns.keys(), f"lost {model.turns.keys() ^ now.records.keys()}"
    for counts in now.counts.values():
        left = (counts.undecided, counts.unenriched, counts.unembedded)
        assert left == (0, 0, 0), f"left undecided, unenriched, unembedded: {left}"
    _check_merges(now)
    _check_groups(now, model)
    _check_forgotten(now, model)
    _check_events(world.bus.said, now)
    await _check_vectors(now)
    await _check_search(now, world, scopes)
    await _check_isolation(now, world, {scope.user_id for scope in scopes})
    await _check_reconciled(world)


def _check_merges(now: Snapshot) -> None:
    """Whatever was merged says what its entry says, and comes from the same voice."""
    for one in now.decisions:
        assert one.outcome is not None
        if one.outcome.entry_id is None:
            continue
        entry = now.entries[one.outcome.entry_id]
        turn = one.proposal.turn
        if turn.text != WORDLESS and entry.status != "forgotten":
            assert group_of(turn) == group_of(entry), f"merged what differs: {turn} into {entry}"


def _check_groups(now: Snapshot, model: Model) -> None:
    """Where nothing was taken out of use, what was said is one entry, however often and in whatever words."""
    outcomes: dict[Group, list[str]] = defaultdict(list)
    for record in now.records.values():
        if record.turn.text != WORDLESS and not model.is_disturbed(record.turn):
            outcomes[group_of(record.turn)] += [one.outcome.kind for one in record.proposals if one.outcome]
    for group, found in outcomes.items():
        if "refused" in found:  # what was forgotten in another voice
            continue
        assert sorted(found) == ["merged"] * (len(found) - 1) + ["stored"], f"{group}: {found}"
        assert sum(group_of(entry) == group for entry in now.active) == 1, f"no entry for {group}"


def _check_forgotten(now: Snapshot, model: Model) -> None:
    for id_, entry in now.entries.items():
        assert id_ not in model.forgotten or entry.status == "forgotten", f"not forgotten: {entry}"
        if entry.status == "forgotten":
            assert not any(marker in entry.model_dump_json().lower() for marker in MARKERS), f"has words: {entry}"
    for one in now.decisions:
        assert one.outcome is not None
        gone = one.outcome.entry_id is None or now.entries[one.outcome.entry_id].status == "forgotten"
        said = one.proposal.model_dump_json().lower()
        assert not gone or not any(marker in said for marker in MARKERS), f"its words are in the log: {one}"


def _check_events(events: Sequence[EntryEvent], now: Snapshot) -> None:
    """What was told of what is still there was true, and carries no words."""
    outcome = {one.proposal.id: one.outcome for one in now.decisions}
    kinds: dict[type[EntryEvent], str] = {EntryAccepted: "stored", EntryRepeated: "merged", EntryRefused: "refused"}
    for event in events:
        assert not any(marker in event.model_dump_json().lower() for marker in MARKERS), f"carries words: {event}"
        for ref in event.entries if type(event) in kinds else ():
            settled = outcome.get(ref.id)
            assert settled is None or settled.kind == kinds[type(event)], f"told otherwise: {event}, is {settled}"


async def _check_vectors(now: Snapshot) -> None:
    ready = [entry for entry in now.active if entry.embedding_state == "ready"]
    wanted, found = {entry.id for entry in ready}, set(now.points)
    assert found == wanted, f"vectors without a reason {found - wanted}, missing {wanted - found}"
    for entry in ready:
        (vector,) = await TinyEmbedder().embed([entry.text])
        np.testing.assert_array_equal(now.points[entry.id].vector, vector)


async def _check_search(now: Snapshot, world: World, scopes: Sequence[Scope]) -> None:
    for scope, marker in product(scopes, MARKERS):
        hits = await world.store.search(scope, marker, limit=_ALL, filters=Filters())
        mine = {entry.id for entry in now.active if _is_seen(entry, scope)}
        wanted = {id_ for id_ in mine if marker in now.entries[id_].text.lower()}
        assert {hit.id for hit in hits if hit.turn_score > 0} == wanted, f"{marker} in {scope}"
        assert {hit.id for hit in hits} <= mine, f"{marker} in {scope} finds what is not seen there"


def _is_seen(entry: Entry, scope: Scope) -> bool:
    return (entry.user_id, entry.space) == (scope.user_id, scope.space) and entry.persona_id in (None, scope.persona_id)


async def _check_isolation(now: Snapshot, world: World, users: set[str]) -> None:
    for user in users:
        others = [Key(user, entry.id) for entry in now.entries.values() if entry.user_id != user]
        proposed = [Key(user, one.proposal.id) for one in now.decisions if one.proposal.user_id != user]
        assert not await world.store.get(others)
        assert not await world.store.pending(proposed)


async def _check_reconciled(world: World) -> None:
    async def say(events: Sequence[EntryEvent]) -> None:
        assert not events

    stores = Stores(world.store, world.vectors, cast(InFlight, world.bus), say)
    for side in reconcile.SIDES:
        async for page in reconcile.pages(side, stores, fix=False):
            assert not page.differences, f"{page.differences}"
