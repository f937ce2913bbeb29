"""The conversation log: turns as they were said, what each proposes to remember, and what became of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from contracts.ports import LogRecord, Outcome, Place, ProposalRecord
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.shared.stores.opensearch import heads, queries
from services.shared.stores.opensearch.documents import (
    BODY,
    ENTRY,
    KIND,
    ORDINAL,
    OUTCOME,
    OWNER,
    PROPOSED,
    PROPOSED_TEXT,
    REASON,
    SAID_AT,
    SCOPE,
    SEQ,
    SPACE,
    STATUS,
    TURN,
    TURN_ID,
    USER,
    decision,
    fact_document,
    is_fence,
    owner,
    proposed,
    turn_document,
    turn_document_id,
)
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.heads import Placed
from services.shared.stores.opensearch.transport import Client, Document, Write

DECISION = (USER, SCOPE, PROPOSED, OUTCOME, ENTRY, REASON)
"""The fields of a proposal's document that say what became of it."""

STANDING = (USER, OWNER, STATUS, ENTRY, REASON)
"""The fields of an entry's document that say the same."""

PROPOSAL = (*DECISION, ORDINAL, TURN, PROPOSED_TEXT, BODY)
"""The fields that a proposal is made of, with what became of it."""


async def append(engine: Engine, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
    """Append the turns that are not known yet, and the proposals that are not known yet; those turns.

    Raises:
        ValueError: a proposal's turn is neither in the log nor among `turns`.
    """
    by_id: dict[str, LoggedTurn] = {}
    for turn in turns:
        by_id.setdefault(turn_document_id(turn), turn)
    wanted = {turn_document_id(proposal.turn): proposal for proposal in proposals}
    await _check_logged(engine.client, [proposal for id_, proposal in wanted.items() if id_ not in by_id])
    themselves: dict[str, Proposal] = {}
    for proposal in proposals:
        if proposal.ordinal == 0:
            themselves.setdefault(proposal.id, proposal)
    (new, known), latest = await asyncio.gather(
        _append_turns(engine, by_id, themselves), heads.read(engine.client, turns)
    )
    await _propose(engine.client, [proposal for id_, proposal in themselves.items() if id_ not in new])
    await _append_facts(engine, proposals)
    await heads.move(engine.client, latest, [*new.values(), *known])
    return [turn for turn, _ in new.values()]


async def _check_logged(client: Client, proposals: Sequence[Proposal]) -> None:
    keys = [(turn_document_id(proposal.turn), proposal.user_id) for proposal in proposals]
    for proposal, document in zip(proposals, await client.mget("turns", keys, fields=(USER,)), strict=True):
        if document is None or document.source[USER] != proposal.user_id:
            raise ValueError(f"proposal {proposal.id!r} is of a turn that was never logged")


async def _append_turns(
    engine: Engine, turns: Mapping[str, LoggedTurn], proposals: Mapping[str, Proposal]
) -> tuple[dict[str, Placed], list[Placed]]:
    """Write the turns that are new, with what they propose; the new ones, and the known ones as they were first."""
    placed = {id_: (turn, engine.numbers.next()) for id_, turn in turns.items()}
    writes = []
    for id_, (turn, seq) in placed.items():
        body = turn_document(turn, seq=seq) | (proposed(proposals[id_]) if id_ in proposals else {})
        writes.append(Write("create", "turns", turn.user_id, id_, body))
    made = await engine.client.bulk(writes)
    known = {write.id: write.routing for write, version in zip(writes, made, strict=True) if version is None}
    found = await engine.client.mget("turns", known.items(), fields=(BODY, SEQ))
    held = [(LoggedTurn.model_validate_json(doc.source[BODY]), int(doc.source[SEQ])) for doc in found if doc]
    return {id_: turn for id_, turn in placed.items() if id_ not in known}, held


async def _propose(client: Client, proposals: Sequence[Proposal]) -> None:
    """Note that known turns propose themselves, unless that is known, too."""
    keys = [(proposal.id, proposal.user_id) for proposal in proposals]
    documents = await client.mget("turns", keys, fields=(PROPOSED,))
    await client.bulk(
        [
            Write("update", "turns", proposal.user_id, proposal.id, proposed(proposal))
            for proposal, document in zip(proposals, documents, strict=True)
            if document is not None and not document.source[PROPOSED]
        ]
    )


async def _append_facts(engine: Engine, proposals: Sequence[Proposal]) -> None:
    facts = {proposal.id: proposal for proposal in proposals if proposal.ordinal > 0}
    await engine.client.bulk(
        [
            Write("create", "turns", fact.user_id, id_, fact_document(fact, seq=engine.numbers.next()))
            for id_, fact in facts.items()
        ]
    )


async def undecided(client: Client, users: Mapping[str, str]) -> list[Proposal]:
    """Of these proposals, given as user by id, the ones that have no outcome yet, in the order asked."""
    read = await client.mget("turns", users.items(), fields=PROPOSAL)
    mine = zip(read, users.values(), strict=True)
    documents = [document for document, user_id in mine if document and is_open(document, user_id)]
    turns = await _turns(client, documents, users)
    found = [proposal_of(document, turns.get(_turn_id(document))) for document in documents]
    return [proposal for proposal in found if proposal is not None]


def is_open(document: Document | None, user_id: str) -> bool:
    """Whether this is a proposal of the user without an outcome."""
    if document is None or document.source[USER] != user_id:
        return False
    return bool(document.source[PROPOSED]) and OUTCOME not in document.source


async def _turns(client: Client, documents: Iterable[Document], users: Mapping[str, str]) -> dict[str, LoggedTurn]:
    """The turns that these proposals are of."""
    bodies = {document.id: document.source[BODY] for document in documents if BODY in document.source}
    missing = {_turn_id(document): users[document.id] for document in documents if _turn_id(document) not in bodies}
    found = await client.mget("turns", missing.items(), fields=(BODY,))
    bodies |= {document.id: document.source[BODY] for document in found if document}
    return {id_: LoggedTurn.model_validate_json(body) for id_, body in bodies.items()}


def _turn_id(document: Document) -> str:
    id_: str = document.source.get(TURN, document.id)
    return id_


def proposal_of(document: Document, turn: LoggedTurn | None) -> Proposal | None:
    """The proposal that a document with the fields `PROPOSAL` holds, None when the turn proposes nothing by itself."""
    if turn is None or not document.source[PROPOSED]:
        return None
    text = document.source.get(PROPOSED_TEXT, turn.text)
    return Proposal(id=document.id, turn=turn, ordinal=document.source[ORDINAL], text=text)


async def outcomes(client: Client, users: Mapping[str, str]) -> dict[str, Outcome]:
    """What became of these proposals, given as user by id, or of entries that came without one.

    The undecided are missing. A proposal is undecided until all that its outcome entails is done and the outcome is
    noted with it; a decision that was made but not carried through holds when it is judged again.
    """
    documents = await client.mget("turns", users.items(), fields=DECISION)
    found: dict[str, Outcome] = {}
    unproposed: dict[str, str] = {}
    for (id_, user_id), document in zip(users.items(), documents, strict=True):
        settled = recorded(document, user_id)
        if settled is not None:
            found[id_] = settled
        elif not is_open(document, user_id):
            unproposed[id_] = user_id
    found |= await _standing(client, unproposed)
    return {id_: found[id_] for id_ in users if id_ in found}


def recorded(document: Document | None, user_id: str) -> Outcome | None:
    """The outcome that a proposal's document tells, if it is of the user."""
    if document is None or document.source[USER] != user_id or OUTCOME not in document.source:
        return None
    source = document.source
    entry = document.id if source[OUTCOME] == "stored" else source.get(ENTRY)
    return Outcome(document.id, source[OUTCOME], entry, source.get(REASON))


async def _standing(client: Client, users: Mapping[str, str]) -> dict[str, Outcome]:
    documents = await client.mget("entries", users.items(), fields=STANDING)
    return {
        document.id: decision(document.id, document.source)
        for document, user_id in zip(documents, users.values(), strict=True)
        if document is not None and owner(document.source) == user_id and not is_fence(document.source)
    }


async def export(client: Client, user_id: str, after: Place | None, limit: int) -> list[LogRecord]:
    """The logged turns of a user with what they proposed, oldest first."""
    conditions: list[Json] = [{"term": {USER: user_id}}, {"term": {KIND: "turn"}}]
    order = (SAID_AT, SPACE, TURN_ID)
    bodies = await queries.bodies(client, "turns", conditions, order, limit, after=after, routing=user_id)
    turns = [LoggedTurn.model_validate_json(body) for body in bodies]
    decisions = await _decisions(client, turns)
    return [LogRecord(turn, tuple(decisions[turn.space, turn.turn_id])) for turn in turns]


async def _decisions(client: Client, turns: Sequence[LoggedTurn]) -> Mapping[tuple[str, str], list[ProposalRecord]]:
    """What each turn proposed, in the order of ordinals. A turn's facts are numbered from 1 without gaps."""
    found: dict[tuple[str, str], list[ProposalRecord]] = defaultdict(list)
    ordinal, asked = 0, list(turns)
    while asked:
        by_id = {entry_id(turn.user_id, turn.space, turn.turn_id, ordinal): turn for turn in asked}
        keys = [(id_, turn.user_id) for id_, turn in by_id.items()]
        documents = await client.mget("turns", keys, fields=PROPOSAL)
        known = [doc for doc, (_, user_id) in zip(documents, keys, strict=True) if doc and doc.source[USER] == user_id]
        for document in known:
            turn = by_id[document.id]
            if proposal := proposal_of(document, turn):
                decision = ProposalRecord(proposal, recorded(document, turn.user_id))
                found[turn.space, turn.turn_id].append(decision)
        asked = [by_id[document.id] for document in known]
        ordinal += 1
    return found
