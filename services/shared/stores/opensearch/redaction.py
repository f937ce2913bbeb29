"""Taking words out of the conversation log: who said something when, and what became of it, stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts.v1.turns import WORDLESS, LoggedTurn
from services.shared.stores.opensearch.documents import BODY, KIND, PROPOSED_TEXT, TURN, TURN_ID, USER
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import Client, Document, Write
from services.shared.stores.tombstones import without_words

_FIELDS = (USER, KIND, TURN, TURN_ID, BODY, PROPOSED_TEXT)


async def redact(client: Client, users: Mapping[str, str]) -> dict[str, str]:
    """Take out the words of these proposals and of the turns that they are of; turn_id by the id of the proposal."""
    asked = await _read(client, users)
    turns = await _read(client, {_turn(document): users[id_] for id_, document in asked.items()})
    await _redact(client, (asked | turns).values())
    origin = {id_: turns.get(_turn(document)) for id_, document in asked.items()}
    return {id_: turn.source[TURN_ID] for id_, turn in origin.items() if turn is not None}


async def _read(client: Client, users: Mapping[str, str]) -> dict[str, Document]:
    found = zip(users.items(), await client.mget("turns", users.items(), fields=_FIELDS), strict=True)
    return {id_: doc for (id_, user_id), doc in found if doc is not None and doc.source[USER] == user_id}


def _turn(document: Document) -> str:
    id_: str = document.source.get(TURN, document.id)
    return id_


async def _redact(client: Client, documents: Iterable[Document]) -> None:
    """An update touches no other field, so what is noted at the same time stays."""
    writes = []
    for document in documents:
        fields = without_its_words(document.source)
        if any(document.source[name] != value for name, value in fields.items()):
            writes.append(Write("update", "turns", document.source[USER], document.id, fields))
    await client.bulk(writes)


def without_its_words(source: Json) -> Json:
    """The fields of a turn or fact that hold words, without them."""
    fields: Json = {}
    if BODY in source:
        turn = LoggedTurn.model_validate_json(source[BODY])
        fields[BODY] = without_words(turn).model_dump_json(exclude_none=True)
    if PROPOSED_TEXT in source:
        fields[PROPOSED_TEXT] = WORDLESS
    return fields
