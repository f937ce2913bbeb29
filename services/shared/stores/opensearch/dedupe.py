"""Letting every statement in once: looking for what is similar, and carrying decisions out.

A statement is claimed first (`statements`). Then entries are stored and changed, an entry that counts a repeat naming
it, and at last the outcome is noted with the proposal (`log.note`), which is undecided until then. So a call that was
broken off anywhere is simply made again. Who finds in the end that a proposal was decided otherwise meanwhile, or
erased, takes back what it has made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.ports import Accepted, Decision, Key, Outcome, Similar, Unavailable
from contracts.v1.entries import Entry
from contracts.values import successor
from services.shared.core.fingerprint import MOST_SIMILAR
from services.shared.core.sayings import not_repeated
from services.shared.stores.decisions import Known, Plan, canonical_entries, owners, plan, proposal_of
from services.shared.stores.opensearch import log, statements
from services.shared.stores.opensearch.documents import entry_document, near_labels, statement_id, suppression_ids
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.entries import CROWDED, STORED, Stored, is_entry, stored
from services.shared.stores.opensearch.entries import read as read_entries
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.log import DECISION, is_open, note, outcome_of
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Get, Write, backoff


class OpenSearchDedupe(Engine):
    """`contracts.ports.DedupeStore`."""

    async def find_similar(self, candidates: Sequence[Entry]) -> list[Similar]:
        return await _find_similar(self.client, candidates)

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry out decisions, in order; what holds for each, without those that have to be judged again.

        Raises:
            ValueError: an accepted entry has the id of another user's.
        """
        made = _Made()
        async with self.locks.hold(canonical_entries(decisions)):
            for _ in range(CAS_ATTEMPTS):
                read = await _read(self.client, decisions)
                if await _take_back(self, made, read):
                    continue
                planned = await _carry_out(self, decisions, read, made)
                if planned is not None:
                    return planned.of(decisions)
                await backoff()
        raise Unavailable(CROWDED)


async def _find_similar(client: Client, candidates: Sequence[Entry]) -> list[Similar]:
    """For each candidate what makes the same statement, may be a near-copy of it, or suppresses it."""
    claims = {statement_id(one): one.user_id for one in candidates if one.statement_hash}
    suppressions = {id_: one.user_id for one in candidates for id_ in suppression_ids(one)}
    found = await client.mget("claims", (claims | suppressions).items())
    lists = {its.id: its.source["entries"] for its in found if its and "entries" in its.source}
    suppressed = statements.standing([its for its in found if its], candidates)
    users = {id_: claims[statement] for statement, listed in lists.items() for id_ in listed}
    known = await statements.read(client, users) if users else statements.Listed({}, ())
    if users.keys() - known.active.keys():  # what went out of use was perhaps forgotten since
        suppressed |= await statements.suppressed(client, candidates)
    near = await _near_copies(client, candidates)
    similar = []
    for one, copies in zip(candidates, near, strict=True):
        statement = statement_id(one)
        makers = known.makers(lists.get(statement, []), statement)
        same = {id_: known.active[id_] for id_ in makers if id_ in known.active}
        claimed_by = tuple(Key(one.user_id, id_) for id_ in makers if id_ not in same and id_ != one.id)
        similar.append(Similar(tuple((copies | same).values()), one.id in suppressed, claimed_by))
    return similar


async def _near_copies(client: Client, candidates: Sequence[Entry]) -> list[dict[str, Entry]]:
    """For each candidate that is long the few active entries that share most of its keys, by id."""
    found: list[dict[str, Entry]] = [{} for _ in candidates]
    long = [index for index, one in enumerate(candidates) if one.near_keys]
    if long:
        await client.fresh("entries")
    answers = await client.msearch("entries", [_sharing(candidates[index]) for index in long])
    for index, answer in zip(long, answers, strict=True):
        bodies = (hit["_source"]["body"] for hit in answer["hits"]["hits"])
        found[index] = {entry.id: entry for entry in map(Entry.model_validate_json, bodies)}
    return found


def _sharing(entry: Entry) -> Json:
    conditions: list[Json] = [{"term": {"user_id": entry.user_id}}, {"term": {"status": "active"}}]
    shared = [{"constant_score": {"filter": {"term": {"near": label}}}} for label in near_labels(entry)]
    query = {"bool": {"filter": conditions, "should": shared, "minimum_should_match": 1}}
    return {"query": query, "size": MOST_SIMILAR, "track_total_hits": False, "_source": ["body"]}


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


async def _read(client: Client, decisions: Sequence[Decision]) -> _Read:
    users = owners(map(proposal_of, decisions))
    all_users = users | canonical_entries(decisions)
    wanted = [Get("turns", user_id, id_, (*DECISION, "text", "body")) for id_, user_id in users.items()]
    wanted += [Get("entries", user_id, id_, STORED) for id_, user_id in all_users.items()]
    found = iter(await client.get(wanted))
    proposals = {id_: its for id_, its in _next(users, found).items() if its.source["user_id"] == users[id_]}
    documents = _next(all_users, found)
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


def _next(users: Mapping[str, str], documents: Iterator[Document | None]) -> dict[str, Document]:
    """The next documents by id, those that there are."""
    return {id_: document for id_ in users if (document := next(documents)) is not None}


async def _carry_out(engine: Engine, decisions: Sequence[Decision], read: _Read, made: _Made) -> Plan | None:
    """Write what the decisions come to; None as soon as another was faster."""
    planned = plan(decisions, read.known)
    if planned.accepted:
        accepted = list(planned.accepted.values())
        judged = [one.entry for one in accepted if one.known_similar is not None]
        made.stored |= {entry.id: entry for entry in judged}
        if overtaken := await statements.claim(engine, accepted) | await statements.suppressed(engine.client, judged):
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
    written = {write.id for write, version in zip(writes, versions, strict=True) if version is not None}
    made.counted |= {proposal: id_ for id_, its in planned.counted.items() if id_ in written for proposal in its}
    return len(written) == len(writes)


def _write(engine: Engine, planned: Plan, entry: Entry, old: Stored | None) -> Write:
    counted = planned.counted.get(entry.id, [])
    if old is None:
        body = entry_document(entry, seq=engine.numbers.next(), merged=counted)
        return Write("create", "entries", entry.user_id, entry.id, body)
    body = entry_document(entry, seq=old.seq, merged=[*old.merged, *counted])
    return Write("index", "entries", entry.user_id, entry.id, body, old.seen)


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
            body = entry_document(entry, seq=held.seq, merged=[other for other in held.merged if other != proposal])
            writes.append(Write("index", "entries", entry.user_id, id_, body, held.seen))
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
