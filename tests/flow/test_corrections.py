"""Corrections on real engines: what an entry says now is found by words and meaning; what it said before is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts import flow
from contracts.v1.commands import ForgetRequest, ListRequest
from contracts.v1.edits import HistoryRequest, UpdateRequest
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import Running
from services.shared.client import MemoryClient, RequestFailed
from tests.flow.conftest import on_sqlite
from tests.flow.raw import a_marker, holding, until_gone
from tests.polling import answered, digested, eventually

PATIENCE = 5.0


async def said(client: MemoryClient, text: str, user: str = "ann", **fields: object) -> Entry:
    await client.publish(Turn.model_validate({"user_id": user, "role": "user", "text": text, **fields}))
    await eventually(lambda: listed(client, user), lambda found: text in [one.text for one in found])
    await digested(client, turns=1)
    return next(one for one in await listed(client, user) if one.text == text)


async def listed(client: MemoryClient, user: str = "ann") -> tuple[Entry, ...]:
    return (await client.list(ListRequest(user_id=user))).items


async def update(client: MemoryClient, entry: Entry, **change: object) -> Entry:
    request = UpdateRequest.model_validate({"user_id": entry.user_id, "id": entry.id, **change})
    return (await client.request(flow.UPDATE, request, patience=PATIENCE)).entry


async def asked(client: MemoryClient, query: str) -> RetrieveReply:
    return await answered(client, RetrieveRequest(user_id="ann", query=query, min_score=0.0))


def by_words(found: RetrieveReply) -> bool:
    return bool(found.items) and found.items[0].signals.lexical


async def test_what_was_corrected_is_found_by_what_it_says_now(client: MemoryClient, instance: Running) -> None:
    entry, other = await said(client, "My bicycle is a red Gazelle."), await said(client, "I am allergic to nuts.")
    new = await update(client, entry, text="My boat is called Matilda.", version=entry.version, by="me")
    assert new.text == "My boat is called Matilda."
    found = await eventually(lambda: asked(client, "Matilda"), by_words)  # OpenSearch finds them within a second
    assert found.items[0].text == "My boat is called Matilda."
    await digested(client, turns=2)
    found = await asked(client, "the name of the ship")
    assert found.items[0].id == entry.id
    assert found.items[0].signals.semantic
    assert "Gazelle" not in (await asked(client, "Gazelle")).model_dump_json(exclude={"correlation_id"})
    history = await client.request(flow.HISTORY, HistoryRequest(user_id="ann", id=entry.id), patience=PATIENCE)
    assert [(item.text, item.by) for item in history.items] == [(new.text, "me"), (entry.text, None)]
    with pytest.raises(RequestFailed, match=f"conflict: entry {entry.id} says the same"):
        await update(client, other, text="my boat is called matilda")


@on_sqlite
@pytest.mark.parametrize("way", ["forget", "redact"])
async def test_no_version_of_a_text_leaves_a_byte(
    instance: Running, client: MemoryClient, tmp_path: Path, way: str
) -> None:
    words = [a_marker() for _ in range(3)]
    text = "The code word of my locker is {}."
    entry = await said(client, text.format(words[0]), tags=(words[0], f"about {words[0]}"))
    await said(client, "I am allergic to nuts.")
    for word in words[1:]:
        await update(client, entry, text=text.format(word))
        await digested(client, turns=2)
    assert all(holding(tmp_path, word) for word in words), "the search must be able to find"
    if way == "forget":
        await client.forget(ForgetRequest(user_id="ann", id=entry.id))
    else:
        await update(client, entry, text="My locker has a code word.", redact=True)
    await until_gone(tmp_path, *words)
    redacted = {"My locker has a code word."} if way == "redact" else set()
    assert {one.text for one in await listed(client)} == {"I am allergic to nuts.", *redacted}
