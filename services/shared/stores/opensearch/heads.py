"""The latest turn of each conversation, known at once, and the session marks that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from contracts.ports import Conversation, LastTurn, Unavailable
from contracts.v1.turns import LoggedTurn
from services.shared.stores.moments import microseconds, moment
from services.shared.stores.opensearch.documents import (
    BODY,
    CONVERSATION,
    SAID_AT,
    SEQ,
    USER,
    conversation_key,
    head_id,
)
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Version, Write, backoff

_SESSION = "session_id"


Placed = tuple[LoggedTurn, int]
"""A turn and its number in the order of storing."""


@dataclass(frozen=True, slots=True)
class Head:
    """The latest turn that was logged of a conversation, as far as it was noted."""

    user_id: str
    session_id: str
    said_at: int
    seq: int
    seen: Version | None = None


async def read(client: Client, turns: Sequence[LoggedTurn]) -> dict[str, Head]:
    """The heads of the conversations of these turns, by the id of their documents; unknown ones are missing."""
    return await _read(client, {_id_of(turn): turn.user_id for turn in turns})


def _id_of(turn: LoggedTurn) -> str:
    return head_id(conversation_key(turn.user_id, turn.space, turn.conversation_id))


async def _read(client: Client, users: Mapping[str, str]) -> dict[str, Head]:
    found = await client.mget("claims", users.items())
    return {document.id: _head(document) for document in found if document is not None}


def _head(document: Document) -> Head:
    source = document.source
    return Head(source[USER], source[_SESSION], source[SAID_AT], source[SEQ], document.version)


async def move(client: Client, latest: Mapping[str, Head], turns: Sequence[Placed]) -> None:
    """Let heads stand at the latest of these turns; none moves back.

    Raises:
        Unavailable: others keep moving them, or they cannot be written now.
    """
    said = _latest(turns)
    for _ in range(CAS_ATTEMPTS):
        writes = [
            _write(id_, head, latest.get(id_))
            for id_, head in said.items()
            if id_ not in latest or _is_later(head, latest[id_])
        ]
        made = await client.bulk(writes)
        refused = {write.id: write.routing for write, version in zip(writes, made, strict=True) if version is None}
        if not refused:
            return
        await backoff()
        said = {id_: said[id_] for id_ in refused}
        latest = await _read(client, refused)
    raise Unavailable("other processes keep logging turns of the same conversations: try again")


async def leave(client: Client, turns: Sequence[LoggedTurn]) -> None:
    """Remove the heads that stand at one of these turns, unless they were moved meanwhile.

    The conversation goes on with a new session then.
    """
    said = {(_id_of(turn), turn.session_id, microseconds(turn.created_at)) for turn in turns}
    latest = await read(client, turns)
    writes = [
        Write("delete", "claims", head.user_id, id_, seen=head.seen)
        for id_, head in latest.items()
        if (id_, head.session_id, head.said_at) in said
    ]
    await client.bulk(writes)


def _latest(turns: Sequence[Placed]) -> dict[str, Head]:
    """The last turn of each conversation as its head, by id."""
    found: dict[str, Head] = {}
    for turn, seq in turns:
        id_, head = _id_of(turn), Head(turn.user_id, turn.session_id, microseconds(turn.created_at), seq)
        if id_ not in found or _is_later(head, found[id_]):
            found[id_] = head
    return found


def _is_later(head: Head, than: Head) -> bool:
    """Of turns said at one moment the one stored later is the later one."""
    return (head.said_at, head.seq) > (than.said_at, than.seq)


def _write(id_: str, head: Head, before: Head | None) -> Write:
    body = {USER: head.user_id, _SESSION: head.session_id, SAID_AT: head.said_at, SEQ: head.seq}
    if before is None:
        return Write("create", "claims", head.user_id, id_, body)
    return Write("index", "claims", head.user_id, id_, body, before.seen)


async def last_turns(client: Client, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
    """For each conversation and moment, the latest logged turn at or before it."""
    keys = [conversation_key(talk.user_id, talk.space, talk.conversation_id) for talk, _ in moments]
    heads = await _read(client, {head_id(key): talk.user_id for key, (talk, _) in zip(keys, moments, strict=True)})
    marks: list[LastTurn | None] = []
    earlier: list[int] = []
    for index, (key, (_, at)) in enumerate(zip(keys, moments, strict=True)):
        head = heads.get(head_id(key))
        # Turns nearly always arrive in order, so the latest of all is usually the one before the moment, too.
        if head is not None and head.said_at > microseconds(at):
            earlier.append(index)
        marks.append(LastTurn(head.session_id, moment(head.said_at)) if head is not None else None)
    for index, mark in zip(earlier, await _search(client, [(keys[i], *moments[i]) for i in earlier]), strict=True):
        marks[index] = mark
    return marks


async def _search(client: Client, wanted: Sequence[tuple[str, Conversation, datetime]]) -> list[LastTurn | None]:
    """The marks before the moments at which the conversations went on."""
    if not wanted:
        return []
    await client.refresh("turns")
    answers = await client.msearch("turns", [_latest_before(key, talk, at) for key, talk, at in wanted])
    return [_mark(answer["hits"]["hits"]) for answer in answers]


def _latest_before(key: str, talk: Conversation, at: datetime) -> Json:
    conditions: list[Json] = [
        {"term": {USER: talk.user_id}},
        {"term": {CONVERSATION: key}},
        {"range": {SAID_AT: {"lte": microseconds(at)}}},
    ]
    order = [{SAID_AT: "desc"}, {SEQ: "desc"}]
    return {"query": {"bool": {"filter": conditions}}, "sort": order, "size": 1, "_source": [BODY]}


def _mark(hits: Sequence[Json]) -> LastTurn | None:
    if not hits:
        return None
    turn = LoggedTurn.model_validate_json(hits[0]["_source"][BODY])
    return LastTurn(turn.session_id, turn.created_at)
