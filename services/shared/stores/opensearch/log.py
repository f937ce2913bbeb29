"""The conversation log: turns as they were said, what each proposes to remember, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from contracts.ports import Outcome
from contracts.v1.turns import LoggedTurn, Proposal
from services.shared.stores.opensearch import heads
from services.shared.stores.opensearch.client import Client, Document, Write
from services.shared.stores.opensearch.documents import (
    BODY,
    ENTRY,
    ORDINAL,
    OUTCOME,
    OWNER,
    PROPOSED,
    PROPOSED_TEXT,
    REASON,
    SCOPE,
    SEQ,
    STATUS,
    TURN,
    USER,
    decision,
    fact_document,
    is_fence,
    owner,
    proposed,
    turn_document,
    turn_document_id,
)
from services.shared.stores.opensearch.heads import Placed
from services.shared.stores.opensearch.writing import Writer

DECISION = (USER, SCOPE, PROPOSED, OUTCOME, ENTRY, REASON)
"""The fields of a proposal's document that say what became of it."""

STANDING = (USER, OWNER, STATUS, ENTRY, REASON)
"""The fields of an entry's document that say the same."""

PROPOSAL = (*DECISION, ORDINAL, TURN, PROPOSED_TEXT, BODY)
"""The fields that a proposal is made of, with what became of it."""


async def append(writer: Writer, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
    """Append the turns that are not known yet, and the proposals that are not known yet; those turns.

    Raises:
        ValueError: a proposal's turn is neither in the log nor among `turns`.
    """
    by_id: dict[str, LoggedTurn] = {}
    for turn in turns:
        by_id.setdefault(turn_document_id(turn), turn)
    wanted = {turn_document_id(proposal.turn): proposal for proposal in proposals}
    await _check_logged(writer.client, [proposal for id_, proposal in wanted.items() if id_ not in by_id])
    themselves: dict[str, Proposal] = {}
    for proposal in proposals:
        if proposal.ordinal == 0:
            themselves.setdefault(proposal.id, proposal)
    (new, known), latest = await asyncio.gather(
        _append_turns(writer, by_id, themselves), heads.read(writer.client, turns)
    )
    await _propose(writer.client, [proposal for id_, proposal in themselves.items() if id_ not in new])
    await _append_facts(writer, proposals)
    await heads.move(writer.client, latest, [*new.values(), *known])
    return [turn for turn, _ in new.values()]


async def _check_logged(client: Client, proposals: Sequence[Proposal]) -> None:
    keys = [(turn_document_id(proposal.turn), proposal.user_id) for proposal in proposals]
    for proposal, document in zip(proposals, await client.mget("turns", keys, fields=(USER,)), strict=True):
        if document is None or document.source[USER] != proposal.user_id:
            raise ValueError(f"proposal {proposal.id!r} is of a turn that was never logged")


async def _append_turns(
    writer: Writer, turns: Mapping[str, LoggedTurn], proposals: Mapping[str, Proposal]
) -> tuple[dict[str, Placed], list[Placed]]:
    """Write the turns that are new, with what they propose; the new ones, and the known ones as they were first."""
    placed = {id_: (turn, writer.ticks.next()) for id_, turn in turns.items()}
    writes = []
    for id_, (turn, seq) in placed.items():
        body = turn_document(turn, seq=seq) | (proposed(proposals[id_]) if id_ in proposals else {})
        writes.append(Write("create", "turns", turn.user_id, id_, body))
    made = await writer.client.bulk(writes)
    known = {write.id: write.routing for write, version in zip(writes, made, strict=True) if version is None}
    found = await writer.client.mget("turns", known.items(), fields=(BODY, SEQ))
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


async def _append_facts(writer: Writer, proposals: Sequence[Proposal]) -> None:
    facts = {proposal.id: proposal for proposal in proposals if proposal.ordinal > 0}
    await writer.client.bulk(
        [
            Write("create", "turns", fact.user_id, id_, fact_document(fact, seq=writer.ticks.next()))
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
