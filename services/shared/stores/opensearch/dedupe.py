"""Letting every statement in once: looking for what is similar, and carrying decisions out.

An entry is listed for its statement first (`statements`). Then entries are stored and changed, an entry that counts a
repeat naming it, and at last the outcome is noted with the proposal (`log.note`), which is undecided until then. So a
call that was broken off anywhere is simply made again. Who finds in the end that a proposal was decided otherwise
meanwhile, or erased, takes back what it has made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.errors import Unavailable
from contracts.ports import Accepted, Decision, Key, Outcome, Similar
from contracts.v1.entries import Entry
from contracts.values import successor
from services.shared.cache import Cache
from services.shared.dedup.fingerprint import MOST_SIMILAR, near_keys
from services.shared.lifecycle.sayings import not_repeated
from services.shared.stores.decisions import Known, Plan, canonical_entries, owners, plan, proposal_of
from services.shared.stores.opensearch import log, statements
from services.shared.stores.opensearch.documents import (
    STORED,
    entry_document,
    near_labels,
    statement_id,
    suppression_ids,
)
from services.shared.stores.opensearch.engine import Engine, Recent
from services.shared.stores.opensearch.entries import CROWDED, Stored, is_entry, stored
from services.shared.stores.opensearch.entries import read as read_entries
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.log import DECISION, is_open, note, outcome_of
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Found, Get, Kind, Write, backoff

_PROPOSED = (*DECISION, "text", "body")
_MOST_STATEMENTS = 20_000


class OpenSearchDedupe(Engine):
    """`contracts.ports.DedupeStore`."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.makers: Cache[str, tuple[str, ...]] = Cache(_MOST_STATEMENTS)
        """The entries that were listed for a statement when this process saw that last: read beside the list."""

        self._looked_up: Recent[str, Found] = Recent()

    async def find_similar(self, candidates: Sequence[Entry]) -> list[Similar]:
        found = await _look_up(self, candidates)
        for one in candidates:
            used: set[tuple[Kind, str]] = {("turns", one.id), ("entries", one.id)}
            used.update(("entries", id_) for id_ in _listed(found, one))
            self._looked_up.put(one.id, {key: found[key] for key in used})
        return await _similar(self.client, candidates, found)

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry out decisions, in order; what holds for each, without those that have to be judged again.

        What was looked up for them just now is not read again: every write says which version it replaces.

        Raises:
            ValueError: an accepted entry has the id of another user's.
        """
        made = _Made()
        async with self.locks.hold(canonical_entries(decisions)):
            held = self._taken(decisions)
            for _ in range(CAS_ATTEMPTS):
                read = await _read(self.client, decisions, held)
                held = {}
                if await _take_back(self, made, read):
                    continue
                planned = await _carry_out(self, decisions, read, made)
                if planned is not None:
                    return planned.of(decisions)
                await backoff()
        raise Unavailable(CROWDED)

    def _taken(self, decisions: Iterable[Decision]) -> Found:
        """What was looked up, if nothing is decided yet: no write would tell that a decision was taken back."""
        ids = [proposal_of(decision).id for decision in decisions]
        held = {key: document for id_ in ids for key, document in (self._looked_up.take(id_) or {}).items()}
        decided = {id_ for id_ in ids if held.get(("entries", id_)) or _is_decided(held.get(("turns", id_)))}
        return {key: document for key, document in held.items() if key[1] not in decided}


def _is_decided(document: Document | None) -> bool:
    return document is not None and not is_open(document)


async def _look_up(engine: OpenSearchDedupe, candidates: Sequence[Entry]) -> Found:
    """All that decisions on candidates rest on: in one request when it is known which entries make the statements."""
    stated = {statement_id(one): one.user_id for one in candidates if one.statement_hash}
    suppressions = {id_: one.user_id for one in candidates for id_ in suppression_ids(one)}
    wanted = [Get("statements", user_id, id_) for id_, user_id in (stated | suppressions).items()]
    for one in candidates:
        wanted += [Get("turns", one.user_id, one.id, _PROPOSED), Get("entries", one.user_id, one.id, STORED)]
    likely = {id_: user_id for statement, user_id in stated.items() for id_ in engine.makers.get(statement) or ()}
    found = await engine.client.find([*wanted, *statements.wanted(likely)])
    lists = {statement: its.source["entries"] for statement in stated if (its := found["statements", statement])}
    for statement, listed in lists.items():
        engine.makers.put(statement, tuple(listed))
    listed_users = {id_: stated[statement] for statement, listed in lists.items() for id_ in listed}
    return await engine.client.find(statements.wanted(listed_users), found)


def _listed(found: Found, candidate: Entry) -> Sequence[str]:
    """The entries that are listed for the statement of a candidate."""
    document = found["statements", statement_id(candidate)] if candidate.statement_hash else None
    return document.source["entries"] if document else ()


async def _similar(client: Client, candidates: Sequence[Entry], found: Found) -> list[Similar]:
    """For each candidate what makes the same statement, may be a near-copy of it, or suppresses it."""
    users = {id_: one.user_id for one in candidates for id_ in _listed(found, one)}
    known = statements.listed(found, users)
    suppressed = statements.standing(
        [its for (kind, _), its in found.items() if kind == "statements" and its], candidates
    )
    if users.keys() - known.active.keys():  # what went out of use was perhaps forgotten since
        suppressed |= await statements.suppressed(client, candidates)
    near = await _near_copies(client, candidates)
    similar = []
    for one, copies in zip(candidates, near, strict=True):
        makers = known.makers(_listed(found, one), statement_id(one))
        same = {id_: known.active[id_] for id_ in makers if id_ in known.active}
        proposed = tuple(Key(one.user_id, id_) for id_ in makers if id_ not in same and id_ != one.id)
        similar.append(Similar(tuple((copies | same).values()), one.id in suppressed, proposed))
    return similar


async def _near_copies(client: Client, candidates: Sequence[Entry]) -> list[dict[str, Entry]]:
    """For each candidate that is long the few active entries that share most of its keys, by id."""
    found: list[dict[str, Entry]] = [{} for _ in candidates]
    long = [index for index, one in enumerate(candidates) if near_keys(one)]
    if long:
        await client.fresh("entries")
    answers = await client.msearch("entries", [_sharing(candidates[index]) for index in long])
    for index, answer in zip(long, answers, strict=True):
        bodies = (hit["_source"]["body"] for hit in answer["hits"]["hits"])
        found[index] = {entry.id: entry for entry in map(Entry.model_validate_json, bodies)}
    return found


def _sharing(entry: Entry) -> Json:
    conditions: list[Json] = [{"term": {"user_id": entry.user_id}}, {"term": {"status": "active"}}]
    shared = [
        {"constant_score": {"filter": {"term": {"near": label}}, "boost": nearness}}
        for label, nearness in near_labels(entry).items()
    ]
    query = {"bool": {"filter": conditions, "should": shared, "minimum_should_match": 1}}
    order = ["_score", {"seq": "desc"}]
    return {"query": query, "sort": order, "size": MOST_SIMILAR, "track_total_hits": False, "_source": ["body"]}


@dataclass(slots=True)
class _Made:
    """What a call has made of proposals whose outcomes it has not noted."""

    stored: dict[str, Entry] = field(default_factory=dict)
    """Entries that are listed as making their statements, and then stored, by id."""

    counted: dict[str, str] = field(default_factory=dict)
    """Entries by the proposals that they count."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What is stored about the proposals and entries of some decisions, by id."""

    known: Known
    users: Mapping[str, str]
    proposals: Mapping[str, Document]
    entries: Mapping[str, Stored]


async def _read(client: Client, decisions: Sequence[Decision], held: Found) -> _Read:
    users = owners(map(proposal_of, decisions))
    all_users = users | canonical_entries(decisions)
    wanted = [Get("turns", user_id, id_, _PROPOSED) for id_, user_id in users.items()]
    wanted += [Get("entries", user_id, id_, STORED) for id_, user_id in all_users.items()]
    found = await client.find(wanted, held)
    turns = {id_: its for id_ in users if (its := found["turns", id_])}
    proposals = {id_: its for id_, its in turns.items() if its.source["user_id"] == users[id_]}
    documents = {id_: its for id_ in all_users if (its := found["entries", id_])}
    entries = {id_: stored(its) for id_, its in documents.items() if is_entry(its, all_users[id_])}
    if taken := [
        one.entry.id for one in decisions if isinstance(one, Accepted) and one.entry.id in documents.keys() - entries
    ]:
        raise ValueError(f"entry {taken[0]!r} is another user's")
    known = Known(
        outcomes={id_: outcome for id_, its in proposals.items() if (outcome := outcome_of(its))},
        open={id_: its.source["scope"] for id_, its in proposals.items() if is_open(its)},
        entries={id_: its.entry for id_, its in entries.items()},
        counted={id_: its.merged for id_, its in entries.items()},
    )
    return _Read(known, users, proposals, entries)


async def _carry_out(engine: OpenSearchDedupe, decisions: Sequence[Decision], read: _Read, made: _Made) -> Plan | None:
    """Write what the decisions come to; None as soon as another was faster."""
    planned = plan(decisions, read.known)
    if planned.accepted:
        accepted = list(planned.accepted.values())
        judged = [one.entry for one in accepted if one.known_similar is not None]
        made.stored |= {entry.id: entry for entry in judged}
        for entry in judged:
            statement = statement_id(entry)
            engine.makers.put(statement, (*(engine.makers.get(statement) or ()), entry.id))
        if overtaken := await statements.enlist(engine, accepted):
            planned = plan(decisions, read.known, without=overtaken)
    if not await _store(engine, planned, read, made):
        return None
    if await note(engine.client, planned.noted, read.proposals):
        return None
    await _redact_late(engine.client, planned, read.users)
    return planned


async def _store(engine: Engine, planned: Plan, read: _Read, made: _Made) -> bool:
    """Store new entries and changed ones; False when one of them was changed meanwhile."""
    writes = [_write(engine, planned, entry, read.entries.get(id_)) for id_, entry in planned.written.items()]
    versions = await engine.client.bulk(writes)
    made_now = [(write, version) for write, version in zip(writes, versions, strict=True) if version is not None]
    for write, version in made_now:
        engine.note_stored(planned.written[write.id], write.body["seq"], version)
    written = {write.id for write, _ in made_now}
    made.counted |= {proposal: id_ for id_, its in planned.counted.items() if id_ in written for proposal in its}
    return len(written) == len(writes)


def _write(engine: Engine, planned: Plan, entry: Entry, old: Stored | None) -> Write:
    counted = planned.counted.get(entry.id, [])
    if old is None:
        body = entry_document(entry, seq=engine.numbers.next(), merged=counted)
        return Write("create", "entries", entry.user_id, entry.id, body)
    return old.replaced_by(entry, [*old.merged, *counted])


async def _take_back(engine: Engine, made: _Made, read: _Read) -> bool:
    """Undo what this call has made of proposals that were erased meanwhile, or decided otherwise; whether there was."""
    writes = []
    lost = {id_: its for id_, its in made.stored.items() if not _stands(read, id_, Outcome(id_, "stored", id_))}
    for id_, its in lost.items():
        if id_ in read.entries:
            writes.append(Write("delete", "entries", its.user_id, id_, seen=read.entries[id_].seen))
    for proposal, id_ in made.counted.items():
        held = read.entries.get(id_)
        if held and proposal in held.merged and not _stands(read, proposal, Outcome(proposal, "merged", id_)):
            entry = successor(held.entry, not_repeated(held.entry))
            writes.append(held.replaced_by(entry, [other for other in held.merged if other != proposal]))
    await engine.client.bulk(writes)
    await statements.release(engine.client, list(lost.values()))
    return bool(writes)


def _stands(read: _Read, proposal: str, outcome: Outcome) -> bool:
    """Whether a proposal is open still, or has this outcome."""
    return proposal in read.known.open or read.known.outcomes.get(proposal) == outcome


async def _redact_late(client: Client, planned: Plan, users: Mapping[str, str]) -> None:
    """Take out of the log the words of what was merged into an entry that is forgotten by now, and does not count it.

    An export can hold such. What an entry counts is redacted by whoever forgets it.
    """
    counted = {proposal for proposals in planned.counted.values() for proposal in proposals}
    late = {id_: its.entry_id for id_, its in planned.noted.items() if its.entry_id and its.kind == "merged"}
    uncounted = {id_: canonical for id_, canonical in late.items() if id_ not in counted}
    if uncounted:
        entries = await read_entries(client, {canonical: users[id_] for id_, canonical in uncounted.items()})
        forgotten = {id_ for id_, its in entries.items() if its.entry.status == "forgotten"}
        if gone := {id_: users[id_] for id_, canonical in uncounted.items() if canonical in forgotten}:
            await log.redact(client, gone)
