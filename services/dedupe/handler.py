"""Decide what is new, what repeats, what is refused. No bus, no client library; the store is a port."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from contracts.ports import Accepted, Decision, Key, Merged, Outcome, Refused, Similar, TextStore
from contracts.v1.entries import (
    Entry,
    EntryAccepted,
    EntryEvent,
    EntryProposed,
    EntryRef,
    EntryRefused,
    EntryRepeated,
    RefusalRef,
    RepeatRef,
)
from contracts.v1.facts import ProposedFact
from contracts.v1.turns import Proposal
from services.shared import telemetry
from services.shared.backoff import backoff_seconds
from services.shared.dedup.fingerprint import MOST_SIMILAR, near_keys, nearness
from services.shared.dedup.repeats import find_canonical, likeness, prints_of
from services.shared.erasures import erased_at
from services.shared.lifecycle.salience import detect_type, importance, wants_saving
from services.shared.privacy.frames import stated
from services.shared.tasks import beside_the_loop

log = logging.getLogger(__name__)

_PATIENCE = 40.0
"""Seconds for which proposals are judged again while others change what the decisions rest on. What is undecided even
then is left to curate to resume."""

_MOST_CHARS = 65_536
"""Characters of the texts that are judged and stored in one go, so that others get at the store in between."""

FORGOTTEN = "forgotten on request, and not to be remembered again so soon"
"""Why a proposal is refused that says what its user had forgotten."""

NOTHING_LEFT = "its words were forgotten before it was decided"
"""Why a proposal is refused whose turn the log keeps without words."""

_OF_TURN = (
    "user_id space conversation_id turn_id role speaker persona_id frame created_at clock_ahead utc_offset"
).split()

_LONGEST_PAUSE = 1.0
"""Seconds before another round."""


class NotLogged(Exception):
    """The text store does not know proposals, and their users were never erased."""

    def __init__(self, ids: Sequence[str]) -> None:
        others = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        super().__init__(
            f"the text store here has no proposal {ids[0]!r}{others}: do all services use one text store? Compare "
            "MEMORYBUS_TEXT_STORE, MEMORYBUS_OPENSEARCH_URL and MEMORYBUS_OPENSEARCH_PREFIX of ingest with ours"
        )


async def judge_proposals(events: Sequence[EntryProposed], *, store: TextStore) -> list[EntryEvent]:
    """Decide every proposal of the events, and tell what became of it, also when an earlier delivery decided it.

    Raises:
        NotLogged: some were never logged in this store; those that were are decided all the same.
    """
    refs = {ref.id: ref for event in events for ref in event.entries}
    outcomes: dict[str, Outcome] = {}
    deadline, rounds = time.monotonic() + _PATIENCE, 0
    while left := [ref for ref in refs.values() if ref.id not in outcomes]:
        found = await store.pending(left, may_lag=True)
        outcomes |= {record.proposal.id: record.outcome for record in found.values() if record.outcome}
        open_ = [record.proposal for record in found.values() if record.outcome is None]
        for portion in portions(open_):
            outcomes |= {outcome.proposal_id: outcome for outcome in await _decide(portion, store)}
        if all(proposal.id in outcomes for proposal in open_):
            await _insist_on_erasure([ref for ref in left if ref.id not in found], store)
            break
        if time.monotonic() > deadline:
            log.warning("left_undecided", extra={"proposals": len(left)})
            break
        rounds += 1  # what a decision rested on changed between looking and deciding
        await asyncio.sleep(backoff_seconds(rounds, longest=_LONGEST_PAUSE, first=0.02))
    return [*tell(refs.values(), outcomes), *tell_of_renewals(refs.values(), outcomes)]


async def _insist_on_erasure(missing: Sequence[EntryRef], store: TextStore) -> None:
    """What is missing was erased with all else of its user; otherwise it is in the store of somebody else, or lost.

    An erasure is marked, and account of it is kept, before anything goes.
    """
    users = {ref.user_id for ref in missing}
    if users:
        users -= {mark.user_id for mark in await store.erasures(users)}
        users -= set(await erased_at(store, users)) if users else set()
    if lost := [ref.id for ref in missing if ref.user_id in users]:
        raise NotLogged(lost)


def portions(proposals: Sequence[Proposal]) -> Iterator[list[Proposal]]:
    """The proposals in order, together as long as their texts are short."""
    portion: list[Proposal] = []
    chars = 0
    for proposal in proposals:
        if portion and chars + len(proposal.text) > _MOST_CHARS:
            yield portion
            portion, chars = [], 0
        portion.append(proposal)
        chars += len(proposal.text)
    if portion:
        yield portion


async def _decide(proposals: Sequence[Proposal], store: TextStore) -> list[Outcome]:
    """What became of the proposals."""
    chars = sum(len(proposal.text) for proposal in proposals)
    candidates = await beside_the_loop(lambda: [candidate_entry(proposal) for proposal in proposals], chars)
    similar = await store.find_similar(candidates)
    if first := await _first_to_state(candidates, similar, store):
        return await _decide([*first, *proposals], store)
    chars += sum(len(entry.text) for found in similar for entry in found.entries)
    redacted = {proposal.id for proposal in proposals if proposal.redacted}
    decisions = await beside_the_loop(partial(judge, candidates, similar, redacted=redacted), chars)
    outcomes = await store.apply(decisions)
    _count_merges(decisions, outcomes, (*candidates, *(entry for found in similar for entry in found.entries)))
    return outcomes


def _count_merges(decisions: Iterable[Decision], outcomes: Iterable[Outcome], entries: Iterable[Entry]) -> None:
    """Count by what the repeats that were merged had been found."""
    merged = {outcome.proposal_id: outcome.entry_id for outcome in outcomes if outcome.kind == "merged"}
    known = {entry.id: entry for entry in entries}
    for decision in decisions:
        if isinstance(decision, Merged) and merged.get(decision.proposal.id) == decision.canonical_id:
            by = likeness(known[decision.proposal.id], known[decision.canonical_id])
            telemetry.MERGED.labels(by).inc()


async def _first_to_state(candidates: Sequence[Entry], similar: Sequence[Similar], store: TextStore) -> list[Proposal]:
    """The undecided proposals of others that were first to make the same statements.

    They are decided together with ours: whoever works on them may be held up, or have died.
    """
    ours = {candidate.id for candidate in candidates}
    before = {key.id: key for found in similar for key in found.proposed if key.id not in ours}
    records = (await store.pending(list(before.values()))).values() if before else ()
    return [record.proposal for record in records if record.outcome is None]


def candidate_entry(proposal: Proposal) -> Entry:
    """The entry that a proposal would become."""
    turn, text = proposal.turn, proposal.text
    if proposal.fact is not None:
        return _fact_entry(proposal, proposal.fact)
    told = stated(text, turn.role, turn.frame)
    kind = turn.type or detect_type(told, turn.role)
    saved = turn.manually_saved or (turn.role == "user" and wants_saving(told))
    return Entry(
        **_as_said(proposal),
        session_id=turn.session_id,
        type=kind,
        tags=tuple(dict.fromkeys(turn.tags)),
        importance=importance(told, type=kind, role=turn.role, manually_saved=saved),
        manually_saved=saved,
    )


def _fact_entry(proposal: Proposal, fact: ProposedFact) -> Entry:
    """The entry that a fact would become which an older version drew from a turn. It is in no session."""
    return Entry(
        **_as_said(proposal),
        type="preference" if fact.fact_type == "preference" else "fact",
        **fact.model_dump(exclude={"text", "confidence", "level"}),
        source="model",
        tags=tuple(dict.fromkeys(proposal.turn.tags)),
        metadata_confidence=fact.confidence,
        importance=fact.level / 3,
    )


def _as_said(proposal: Proposal) -> dict[str, Any]:
    """What an entry has of its turn, and of its own text, whatever it is."""
    turn = proposal.turn
    return {
        **{name: getattr(turn, name) for name in _OF_TURN},
        **asdict(prints_of(proposal.text, turn.created_at, turn.frame)),
        "id": proposal.id,
        "ordinal": proposal.ordinal,
        "text": proposal.text,
        "source_ids": tuple(dict.fromkeys(turn.source_ids)),
        "updated_at": datetime.now(UTC),
    }


class _Batch:
    """The newest entries accepted earlier in the same batch, found by the same keys as those in the store."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[object, ...], deque[Entry]] = defaultdict(partial(deque, maxlen=MOST_SIMILAR))

    def add(self, entry: Entry) -> None:
        for key in (entry.statement_hash, *near_keys(entry)):
            self._by_key[_voice(entry), key].append(entry)

    def similar(self, entry: Entry) -> list[Entry]:
        """Those that make its statement, and the nearest few of those that may be near copies."""
        shared: Counter[str] = Counter()
        same = {other.id: other for other in self._with(entry, entry.statement_hash)}
        near: dict[str, Entry] = {}
        for key in near_keys(entry):
            for other in self._with(entry, key):
                near[other.id] = other
                shared[other.id] += nearness(key)
        return list((same | {id_: near[id_] for id_, _ in shared.most_common(MOST_SIMILAR)}).values())

    def _with(self, entry: Entry, key: str) -> Iterable[Entry]:
        return reversed(self._by_key.get((_voice(entry), key), ()))


def _voice(entry: Entry) -> tuple[object, ...]:
    return entry.user_id, entry.space, entry.persona_id, entry.role, entry.speaker


def judge(candidates: Sequence[Entry], similar: Sequence[Similar], *, redacted: Collection[str] = ()) -> list[Decision]:
    """One decision per candidate, in order: the first of its kind is accepted, later ones are merged into it.

    Those whose statement is suppressed, or that the log keeps without words (`redacted`, by id), are refused.
    """
    batch = _Batch()
    decisions: list[Decision] = []
    for candidate, found in zip(candidates, similar, strict=True):
        key = Key(candidate.user_id, candidate.id)
        if candidate.id in redacted or found.suppressed:
            decisions.append(Refused(key, NOTHING_LEFT if candidate.id in redacted else FORGOTTEN))
            continue
        alike = [entry for entry in (*found.entries, *batch.similar(candidate)) if entry.id != candidate.id]
        canonical = find_canonical(candidate, alike)
        if canonical is None:
            batch.add(candidate)
            decisions.append(Accepted(candidate, known_similar=frozenset(entry.id for entry in alike)))
        else:
            decisions.append(Merged(key, canonical.id, candidate))
    return decisions


def tell_of_renewals(refs: Iterable[EntryRef], outcomes: Mapping[str, Outcome]) -> list[EntryEvent]:
    """The event that sends entries which were said again on their way once more: their vectors are filtered by when and
    where they were said. That one is accepted among these does not send it: the bus drops what was told before."""
    by_id = {ref.id: ref.user_id for ref in refs}
    merged = {id_: outcomes[id_].entry_id for id_ in by_id if id_ in outcomes and outcomes[id_].kind == "merged"}
    renewed_ids = {canonical: by_id[id_] for id_, canonical in merged.items() if canonical}
    entries = [EntryRef(user_id=user_id, id=id_) for id_, user_id in renewed_ids.items()]
    cause = ",".join(sorted(merged))
    return [EntryAccepted.of(entries, at=datetime.now(UTC), cause=cause)] if entries else []


def tell(refs: Iterable[EntryRef], outcomes: Mapping[str, Outcome]) -> list[EntryEvent]:
    """The events that follow from what became of the proposals."""
    accepted: list[EntryRef] = []
    repeated: list[RepeatRef] = []
    refused: list[RefusalRef] = []
    for ref in refs:
        result = outcomes.get(ref.id)
        if result is None:
            continue
        if result.kind == "stored":
            accepted.append(ref)
        elif result.kind == "merged":
            repeated.append(RepeatRef(**dict(ref), canonical_id=result.entry_id or ""))
        else:
            refused.append(RefusalRef(**dict(ref), reason=result.reason or "refused"))
    at = datetime.now(UTC)
    return [EntryAccepted.of(accepted, at=at), EntryRepeated.of(repeated, at=at), EntryRefused.of(refused, at=at)]
