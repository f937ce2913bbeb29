"""Carrying out decisions: each proposal gets one outcome, once, together with its effect.

A decision is one write: to make the document that has the proposal's id among the entries, either the entry itself or
a marker of what was decided instead. That succeeds once. All else follows from it and may be done by anybody, any
number of times: the canonical entry is changed, unless it counts the proposal already, what is refused loses its
words, and at last the outcome is noted with the proposal, which is undecided until then. So a call that was broken off
is simply made again, and so is one that finds on its way that another was faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from contracts.ports import Decision, Outcome, Unavailable
from contracts.v1.entries import Entry
from services.shared.stores.decisions import canonical_entries, owners, proposal_of
from services.shared.stores.opensearch import claims, contest, silence, suppression
from services.shared.stores.opensearch.documents import (
    BODY,
    DECIDED_AT,
    ENTRY,
    OUTCOME,
    OWNER,
    REASON,
    SCOPE,
    USER,
    decision,
    entry_document,
    is_fence,
    marker,
    now,
    owner,
)
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.entries import (
    CROWDED,
    STORED,
    Replacement,
    Stored,
    get,
    is_entry,
    read,
    replace,
    stored,
)
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.log import DECISION, STANDING, is_open, recorded
from services.shared.stores.opensearch.plan import Known, Plan, plan
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Get, Version, Write, backoff


async def apply(engine: Engine, decisions: Sequence[Decision]) -> list[Outcome]:
    """Carry out decisions, in order; returns what holds for each, also when it was settled before.

    A proposal that is merged into an entry which is not active (any more), or not in the same scope, or that was
    never logged, or beside which a similar entry was accepted or whose statement was forgotten meanwhile, stays as it
    is and is missing from what is returned.

    Raises:
        ValueError: an accepted entry has the id of another user's.
    """
    made: dict[str, str] = {}
    async with engine.locks.hold(canonical_entries(decisions)):
        for _ in range(CAS_ATTEMPTS):
            settled = await _settle(engine, decisions, made)
            if settled is not None:
                return [settled[id_] for id_ in (proposal_of(decision).id for decision in decisions) if id_ in settled]
            await backoff()
    raise Unavailable(CROWDED)


async def _settle(engine: Engine, decisions: Sequence[Decision], made: dict[str, str]) -> dict[str, Outcome] | None:
    """What holds in the end, by proposal; None when something changed meanwhile and it must be begun again.

    `made` are the proposals (user by id) on which this call has decided, and whose outcome is not noted yet; and those
    whose way it has barred.
    """
    known = await _read(engine, decisions)
    planned = plan(decisions, known)
    lost = await contest.lost(engine, list(planned.accepted.values()))
    made.update(lost.fenced)
    if without := lost.ids | await _barred(engine, planned):
        planned = plan(decisions, known, without=without)
    if not await _carry_out(engine, planned, known, made):
        return None
    await _take_back(engine, planned, made)
    if lost.awaited:
        await contest.wait_for(engine.client, lost.awaited)
    return planned.settled


async def _barred(engine: Engine, planned: Plan) -> set[str]:
    """The entries that must be judged again because their statement was forgotten.

    This is looked for after it was seen that no active entry claims the same keys. Forgetting bars the statement before
    it takes an entry out of use, so what is forgotten meanwhile is found here, if it was not found there.
    """
    judged = [decision.entry for decision in planned.accepted.values() if decision.known_similar is not None]
    return await suppression.suppressed(engine.client, judged)


async def _read(engine: Engine, decisions: Sequence[Decision]) -> Known:
    """Read proposals, decisions and canonical entries as they are now."""
    users, canonical = owners(map(proposal_of, decisions)), canonical_entries(decisions)
    wanted = [Get("turns", user_id, id_, DECISION) for id_, user_id in users.items()]
    wanted += [Get("entries", user_id, id_, STANDING) for id_, user_id in users.items()]
    wanted += [Get("entries", user_id, id_, STORED) for id_, user_id in canonical.items()]
    found = iter(await engine.client.get(wanted))
    proposals, standing = _found(users, found), _found(users, found)
    mine = {id_: doc for id_, doc in standing.items() if owner(doc.source) == users[id_]}
    fences = {id_: doc.version for id_, doc in mine.items() if is_fence(doc.source)}
    held = {id_: stored(doc) for id_, doc in _found(canonical, found).items() if is_entry(doc, canonical[id_])}
    decided = {id_: decision(id_, doc.source) for id_, doc in mine.items() if id_ not in fences}
    noted = {id_: settled for id_, doc in proposals.items() if (settled := recorded(doc, users[id_]))}
    # What was decided when a call was broken off may concern another entry than what is decided now.
    further = {s.entry_id: users[id_] for id_, s in decided.items() if s.kind == "merged" and id_ not in noted}
    unread = {id_: user_id for id_, user_id in further.items() if id_ is not None and id_ not in held}
    return Known(
        noted=noted,
        decided=decided,
        open={id_: doc.source[SCOPE] for id_, doc in proposals.items() if is_open(doc, users[id_])},
        entries=held | await read(engine.client, unread),
        taken=standing.keys() - mine.keys(),
        fences=fences,
    )


def _found(users: Mapping[str, str], documents: Iterator[Document | None]) -> dict[str, Document]:
    """The next documents by id, those that there are."""
    return {id_: document for id_ in users if (document := next(documents)) is not None}


async def _carry_out(engine: Engine, planned: Plan, known: Known, made: dict[str, str]) -> bool:
    """Write what was planned, decisions first; False as soon as another was faster."""
    new = await _store(engine, planned, known.fences, made)
    if new is None or not await _mark(engine, planned, known.fences, made):
        return False
    held = {**known.entries, **new}
    replacements = [Replacement(held[id_], draft.entry, draft.merged) for id_, draft in planned.changed.items()]
    if await replace(engine, replacements):
        return False
    await _silence(engine.client, planned)
    noted = await engine.client.bulk([_note(id_, *note) for id_, note in planned.notes.items()])
    for id_, version in zip(planned.notes, noted, strict=True):
        if version is not None:
            made.pop(id_, None)
    return True


async def _store(
    engine: Engine, planned: Plan, fences: Mapping[str, Version], made: dict[str, str]
) -> dict[str, Stored] | None:
    """Store the accepted entries; None when there is a decision on one of them already."""
    new = [(decision.entry, engine.numbers.next()) for decision in planned.accepted.values()]
    versions = await engine.client.bulk(
        [_decide(entry.user_id, entry.id, entry_document(entry, seq=seq), fences) for entry, seq in new]
    )
    held = {
        entry.id: Stored(entry, seq, (), "", version)
        for (entry, seq), version in zip(new, versions, strict=True)
        if version is not None
    }
    judged = (entry for entry, _ in new if entry.id in held and planned.accepted[entry.id].known_similar is not None)
    made.update({entry.id: entry.user_id for entry in judged})
    return held if len(held) == len(new) else None


async def _mark(engine: Engine, planned: Plan, fences: Mapping[str, Version], made: dict[str, str]) -> bool:
    """Write down the other decisions; False when there is one already."""
    versions = await engine.client.bulk(
        [_decide(user_id, id_, marker(user_id, settled), fences) for id_, (user_id, settled) in planned.markers.items()]
    )
    marked = zip(planned.markers.items(), versions, strict=True)
    made.update({id_: user_id for (id_, (user_id, _)), version in marked if version is not None})
    return None not in versions


def _decide(user_id: str, id_: str, body: Json, fences: Mapping[str, Version]) -> Write:
    """The write that decides on a proposal, once; a fence gives way only to who saw it before judging."""
    return Write("index" if id_ in fences else "create", "entries", user_id, id_, body, fences.get(id_))


async def _silence(client: Client, planned: Plan) -> None:
    """Take the words of what is refused out of the log, and of what is merged into an entry that is forgotten.

    An entry that was changed just now was active then, so whoever forgets it finds the decision. For others the
    decision may have come too late to be found.
    """
    await silence.proposals(client, {id_: user for id_, (user, to) in planned.notes.items() if to.kind == "refused"})
    late = {id_: (user, to.entry_id) for id_, (user, to) in planned.notes.items() if to.kind == "merged"}
    canonical = {to: user for user, to in late.values() if to is not None and to not in planned.changed}
    forgotten = {id_ for id_, entry in (await get(client, canonical)).items() if entry.status == "forgotten"}
    await silence.whole_turns(client, {id_: user for id_, (user, to) in late.items() if to in forgotten})


async def _take_back(engine: Engine, planned: Plan, made: Mapping[str, str]) -> None:
    """Remove what was made of proposals that were erased meanwhile, given as user by id.

    Erasing begins with the log. What is stored while its turn is still there is found by it, and all else is found
    here.
    """
    logged = await engine.client.mget("turns", made.items(), fields=(USER,))
    erased = {id_: made[id_] for id_, document in zip(made, logged, strict=True) if document is None}
    left = await engine.client.mget("entries", erased.items(), fields=(USER, OWNER, BODY))
    mine = [document for document in left if document and owner(document.source) == erased[document.id]]
    bodies = [document.source[BODY] for document in mine if BODY in document.source]
    await claims.release(engine, [Entry.model_validate_json(body) for body in bodies])
    await engine.client.bulk([Write("delete", "entries", erased[its.id], its.id, seen=its.version) for its in mine])
    for id_ in erased:
        planned.settled.pop(id_, None)


def _note(id_: str, user_id: str, settled: Outcome) -> Write:
    fields: Json = {OUTCOME: settled.kind, DECIDED_AT: now()}
    if settled.kind == "merged":
        fields[ENTRY] = settled.entry_id
    if settled.reason is not None:
        fields[REASON] = settled.reason
    return Write("update", "turns", user_id, id_, fields)
