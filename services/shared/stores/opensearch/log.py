"""The conversation log: turns as they were said, what each proposes to remember, and what became of it.

A proposal is decided by the outcome that is noted with it, which is written last, after all that it entails, and only
onto the document that was read. So what was broken off on the way is simply decided again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from contracts.ports import (
    Conversation,
    LastTurn,
    LogRecord,
    Outcome,
    Place,
    ProposalRecord,
    Ref,
    Unavailable,
)
from contracts.v1.turns import WORDLESS, LoggedTurn, Proposal, entry_id
from services.shared.cache import Cache
from services.shared.stores.decisions import owners
from services.shared.stores.moments import microseconds, now
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.documents import (
    conversation_key,
    fact_document,
    proposed,
    turn_document,
    turn_document_id,
)
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.entries import is_entry
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Write, backoff
from services.shared.stores.tombstones import without_words

DECISION = ("user_id", "scope", "proposed", "outcome", "entry_id", "reason")
"""The fields of a proposal's document that say what became of it."""

PROPOSAL = (*DECISION, "ordinal", "turn", "text", "body")
"""The fields that a proposal is made of, with what became of it."""

_NOTED = ("outcome", "entry_id", "reason", "decided_at")


_MOST = 10_000  # conversations
_SECONDS = 300.0
"""For so long: another process may log turns of the same conversation once its part of the stream has moved there."""


class OpenSearchLog(Engine):
    """`contracts.ports.ConversationLog`."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._latest: Cache[Conversation, tuple[LastTurn, ...]] = Cache(_MOST, seconds=_SECONDS)
        """The latest turn of each of the conversations that were talked in last; none where nothing was said yet."""

    async def last_turns(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
        latest = {talk: held for talk, _ in moments if (held := self._latest.get(talk)) is not None}
        unknown = list({talk: None for talk, _ in moments if talk not in latest})
        for talk, last in zip(unknown, await _search(self.client, [(talk, None) for talk in unknown]), strict=True):
            latest[talk] = (last,) if last else ()
            self._latest.put(talk, latest[talk])
        found = [next(iter(latest[talk]), None) for talk, _ in moments]
        # Turns nearly always arrive in order, so the latest of all is usually the one before the moment, too.
        earlier = [index for index, last in enumerate(found) if last is not None and last.at > moments[index][1]]
        for index, last in zip(earlier, await _search(self.client, [moments[i] for i in earlier]), strict=True):
            found[index] = last
        return found

    async def append(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
        new = await _append(self, turns, proposals)
        for turn in new:
            held = self._latest.get(_conversation(turn))
            if held is not None and all(last.at <= turn.created_at for last in held):
                self._latest.put(_conversation(turn), (_last(turn),))
        for proposal in proposals:
            if proposal.ordinal == 0 and proposal.turn in new:
                self.proposed.put(proposal.id, proposal)
        return new

    async def withdraw(self, turns: Sequence[LoggedTurn]) -> None:
        for turn in turns:
            self._latest.pop(_conversation(turn))
        users = {turn_document_id(turn): turn.user_id for turn in turns}
        facts = await _facts(self.client, users)
        for _ in range(CAS_ATTEMPTS):
            found = await self.client.mget("turns", (users | facts).items(), fields=("user_id",))
            writes = [Write("delete", "turns", its.source["user_id"], its.id, seen=its.version) for its in found if its]
            if None not in await self.client.bulk(writes):
                return
            await backoff()
        raise Unavailable("other processes keep changing what is to be withdrawn: try again")

    async def pending(self, proposals: Sequence[Ref], *, may_lag: bool = False) -> dict[str, ProposalRecord]:
        users = owners(proposals)
        recent = [proposal for id_ in users if (proposal := self.proposed.take(id_))]
        found = {its.id: ProposalRecord(its, None) for its in recent if may_lag and its.user_id == users[its.id]}
        found |= await _pending(self.client, {id_: users[id_] for id_ in users if id_ not in found})
        return {id_: found[id_] for id_ in users if id_ in found}

    async def reopen(self, proposals: Sequence[Ref]) -> None:
        """Remove outcomes; a proposal whose entry is there keeps its own.

        Raises:
            Unavailable: others keep deciding the same proposals.
        """
        users = left = owners(proposals)
        for _ in range(CAS_ATTEMPTS):
            entries = zip(
                left.items(), await self.client.mget("entries", left.items(), fields=("user_id",)), strict=True
            )
            lost = {id_: user_id for (id_, user_id), document in entries if not is_entry(document, user_id)}
            noted = await self.client.mget("turns", lost.items())
            mine = [its for its in noted if its and its.source["user_id"] == lost[its.id] and "outcome" in its.source]
            made = await self.client.bulk([_without_outcome(document) for document in mine])
            left = {its.id: users[its.id] for its, version in zip(mine, made, strict=True) if version is None}
            if not left:
                return
            await backoff()
        raise Unavailable("other processes keep deciding the same proposals: try again")

    async def export_log(self, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        conditions: list[Json] = [{"term": {"user_id": user_id}}, {"term": {"kind": "turn"}}]
        order = ("said_at", "space", "turn_id")
        bodies = await queries.bodies(self.client, "turns", conditions, order, limit, after=after, routing=user_id)
        turns = [LoggedTurn.model_validate_json(body) for body in bodies]
        records = await _records(self.client, turns)
        return [LogRecord(turn, tuple(records[turn.space, turn.turn_id])) for turn in turns]


def _conversation(turn: LoggedTurn) -> Conversation:
    return Conversation(turn.user_id, turn.space, turn.conversation_id)


async def _append(engine: Engine, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
    """Append the turns that are not known yet, and the proposals that are not known yet; those turns.

    Raises:
        ValueError: a proposal's turn is neither in the log nor among `turns`.
    """
    by_id: dict[str, LoggedTurn] = {}
    for turn in turns:
        by_id.setdefault(turn_document_id(turn), turn)
    await _check_logged(engine.client, [one for one in proposals if turn_document_id(one.turn) not in by_id])
    themselves: dict[str, Proposal] = {}
    for proposal in proposals:
        if proposal.ordinal == 0:
            themselves.setdefault(proposal.id, proposal)
    new = await _append_turns(engine, by_id, themselves)
    known = {turn_document_id(turn) for turn in new}
    await _propose(engine.client, [proposal for id_, proposal in themselves.items() if id_ not in known])
    facts = {proposal.id: proposal for proposal in proposals if proposal.ordinal > 0}
    documents = {id_: fact_document(fact, seq=engine.numbers.next()) for id_, fact in facts.items()}
    await engine.client.bulk([Write("create", "turns", facts[id_].user_id, id_, documents[id_]) for id_ in facts])
    return new


async def _check_logged(client: Client, proposals: Sequence[Proposal]) -> None:
    keys = [(turn_document_id(proposal.turn), proposal.user_id) for proposal in proposals]
    for proposal, document in zip(proposals, await client.mget("turns", keys, fields=("user_id",)), strict=True):
        if document is None or document.source["user_id"] != proposal.user_id:
            raise ValueError(f"proposal {proposal.id!r} is of a turn that was never logged")


async def _append_turns(
    engine: Engine, turns: Mapping[str, LoggedTurn], proposals: Mapping[str, Proposal]
) -> list[LoggedTurn]:
    """Write the turns that are new, with what they propose; those turns."""
    writes = []
    for id_, turn in turns.items():
        body = turn_document(turn, seq=engine.numbers.next()) | (proposed(proposals[id_]) if id_ in proposals else {})
        writes.append(Write("create", "turns", turn.user_id, id_, body))
    made = await engine.client.bulk(writes)
    return [turns[write.id] for write, version in zip(writes, made, strict=True) if version is not None]


async def _propose(client: Client, proposals: Sequence[Proposal]) -> None:
    """Note that known turns propose themselves, unless that is known, too."""
    keys = [(proposal.id, proposal.user_id) for proposal in proposals]
    documents = await client.mget("turns", keys, fields=("proposed",))
    writes = [
        Write("update", "turns", proposal.user_id, proposal.id, proposed(proposal))
        for proposal, document in zip(proposals, documents, strict=True)
        if document is not None and not document.source["proposed"]
    ]
    await client.bulk(writes)


async def _search(client: Client, asked: Sequence[tuple[Conversation, datetime | None]]) -> list[LastTurn | None]:
    """The latest turns of conversations, of all or up to a moment."""
    if not asked:
        return []
    await client.refresh_now("turns")
    answers = await client.msearch("turns", [_latest_before(talk, at) for talk, at in asked])
    turns = [_turn_of(answer["hits"]["hits"]) for answer in answers]
    return [_last(turn) if turn else None for turn in turns]


def _last(turn: LoggedTurn) -> LastTurn:
    return LastTurn(turn.session_id, turn.created_at, turn.frame_after)


def _latest_before(talk: Conversation, at: datetime | None) -> Json:
    conditions: list[Json] = [
        {"term": {"user_id": talk.user_id}},
        {"term": {"conversation": conversation_key(talk.user_id, talk.space, talk.conversation_id)}},
    ]
    if at is not None:
        conditions.append({"range": {"said_at": {"lte": microseconds(at)}}})
    order = [{"said_at": "desc"}, {"seq": "desc"}]
    return {"query": {"bool": {"filter": conditions}}, "sort": order, "size": 1, "_source": ["body"]}


def _turn_of(hits: Sequence[Json]) -> LoggedTurn | None:
    return LoggedTurn.model_validate_json(hits[0]["_source"]["body"]) if hits else None


async def _facts(client: Client, users: Mapping[str, str]) -> dict[str, str]:
    """The facts drawn from turns, given as user by id."""
    await client.refresh("turns")
    query = {"bool": {"filter": [{"terms": {"turn": list(users)}}]}}
    hits = (await client.search("turns", {"query": query, "size": 10_000, "_source": ["user_id"]}))["hits"]["hits"]
    return {hit["_id"]: hit["_source"]["user_id"] for hit in hits}


async def _pending(client: Client, users: Mapping[str, str]) -> dict[str, ProposalRecord]:
    """The logged proposals asked for as user by id, in the order asked, with what became of each."""
    read = zip(users.values(), await client.mget("turns", users.items(), fields=PROPOSAL), strict=True)
    documents = [document for user_id, document in read if document and document.source["user_id"] == user_id]
    turns = await _turns(client, documents, users)
    found = (_record(document, turns.get(_turn_id(document))) for document in documents)
    return {record.proposal.id: record for record in found if record is not None}


async def _turns(client: Client, documents: Iterable[Document], users: Mapping[str, str]) -> dict[str, LoggedTurn]:
    """The turns that these proposals are of."""
    bodies = {document.id: document.source["body"] for document in documents if "body" in document.source}
    missing = {_turn_id(document): users[document.id] for document in documents if _turn_id(document) not in bodies}
    found = await client.mget("turns", missing.items(), fields=("body",))
    bodies |= {document.id: document.source["body"] for document in found if document}
    return {id_: LoggedTurn.model_validate_json(body) for id_, body in bodies.items()}


def _turn_id(document: Document) -> str:
    id_: str = document.source.get("turn", document.id)
    return id_


def _record(document: Document, turn: LoggedTurn | None) -> ProposalRecord | None:
    """The proposal that a document with the fields `PROPOSAL` holds, None when the turn proposes nothing by itself."""
    if turn is None or not document.source["proposed"]:
        return None
    text = document.source.get("text", turn.text)
    proposal = Proposal.logged(document.id, turn, document.source["ordinal"], text)
    return ProposalRecord(proposal, outcome_of(document))


def outcome_of(document: Document) -> Outcome | None:
    """The outcome that a proposal's document tells."""
    source = document.source
    if "outcome" not in source:
        return None
    entry = document.id if source["outcome"] == "stored" else source.get("entry_id")
    return Outcome(document.id, source["outcome"], entry, source.get("reason"))


def is_open(document: Document) -> bool:
    """Whether this is a proposal without an outcome."""
    return bool(document.source["proposed"]) and "outcome" not in document.source


async def note(client: Client, outcomes: Mapping[str, Outcome], read: Mapping[str, Document]) -> set[str]:
    """Note what became of proposals, onto their documents as they were read; the ids of those that were changed since.

    What is refused loses its words.
    """
    writes = []
    for id_, outcome in outcomes.items():
        source = read[id_].source
        fields: Json = {"outcome": outcome.kind, "decided_at": now()}
        if outcome.kind == "merged":
            fields["entry_id"] = outcome.entry_id
        if outcome.reason is not None:
            fields["reason"] = outcome.reason
        if outcome.kind == "refused":
            fields |= without_its_words(source)
        writes.append(Write("update", "turns", source["user_id"], id_, fields, read[id_].version))
    made = await client.bulk(writes)
    return {write.id for write, version in zip(writes, made, strict=True) if version is None}


def _without_outcome(document: Document) -> Write:
    body = {name: value for name, value in document.source.items() if name not in _NOTED}
    return Write("index", "turns", document.source["user_id"], document.id, body, document.version)


async def _records(client: Client, turns: Sequence[LoggedTurn]) -> Mapping[tuple[str, str], list[ProposalRecord]]:
    """What each turn, by space and id, proposed, in the order of ordinals. Facts are numbered from 1 without gaps."""
    found: dict[tuple[str, str], list[ProposalRecord]] = defaultdict(list)
    ordinal, asked = 0, list(turns)
    while asked:
        by_id = {entry_id(turn.user_id, turn.space, turn.turn_id, ordinal): turn for turn in asked}
        records = await _pending(client, {id_: turn.user_id for id_, turn in by_id.items()})
        for id_, record in records.items():
            found[by_id[id_].space, by_id[id_].turn_id].append(record)
        asked = [turn for id_, turn in by_id.items() if id_ in records or ordinal == 0]
        ordinal += 1
    return found


_WORDED = ("user_id", "kind", "turn", "turn_id", "body", "text")


async def redact(client: Client, users: Mapping[str, str]) -> dict[str, str]:
    """Take out the words of these proposals and of the turns that they are of; turn_id by the id of the proposal."""
    asked = await _worded(client, users)
    turns = await _worded(client, {_turn_id(document): users[id_] for id_, document in asked.items()})
    await _without_words(client, (asked | turns).values())
    origin = {id_: turns.get(_turn_id(document)) for id_, document in asked.items()}
    return {id_: turn.source["turn_id"] for id_, turn in origin.items() if turn is not None}


async def _worded(client: Client, users: Mapping[str, str]) -> dict[str, Document]:
    found = zip(users.items(), await client.mget("turns", users.items(), fields=_WORDED), strict=True)
    return {id_: doc for (id_, user_id), doc in found if doc is not None and doc.source["user_id"] == user_id}


async def _without_words(client: Client, documents: Iterable[Document]) -> None:
    """An update touches no other field, so what is noted at the same time stays."""
    writes = []
    for document in documents:
        fields = without_its_words(document.source)
        if any(document.source[name] != value for name, value in fields.items()):
            writes.append(Write("update", "turns", document.source["user_id"], document.id, fields))
    await client.bulk(writes)


def without_its_words(source: Json) -> Json:
    """The fields of a turn or fact that hold words, without them."""
    fields: Json = {}
    if "body" in source:
        turn = LoggedTurn.model_validate_json(source["body"])
        fields["body"] = without_words(turn).model_dump_json(exclude_none=True)
    if "text" in source:
        fields["text"] = WORDLESS
    return fields
