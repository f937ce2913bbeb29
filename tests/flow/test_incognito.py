"""Incognito on real engines: what is said leaves no byte and no line, nothing is answered, and every replica obeys."""

from __future__ import annotations

import asyncio
import io
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from nats.aio.msg import Msg

from contracts import subjects
from contracts.v1.commands import CreateRequest, ListRequest
from contracts.v1.control import IncognitoStartRequest
from contracts.v1.turns import Turn
from services.runtime import Running, running
from services.shared.client import MemoryClient, RequestFailed, memory_client
from services.shared.settings import Settings
from tests.flow.conftest import a_text_store, logged_text, on_sqlite
from tests.flow.raw import a_marker, holding
from tests.polling import digested, eventually

CHAT, TURNS, FEW = "chat-1", 500, 20
WITHIN = 3.0
STREAM = subjects.TURNS_STREAM.name
START = IncognitoStartRequest(user_id="ann", conversation_id=CHAT)


pytestmark = on_sqlite


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    with logged_text(logging.DEBUG) as written:
        yield written


def said(word: str, count: int = TURNS, first: int = 0, chat: str = CHAT) -> list[Turn]:
    return [
        Turn(
            user_id="ann", role="user", text=f"My {word} number {n} is in the attic.", turn_id=f"{chat}-{n}",
            conversation_id=chat,
        )
        for n in range(first, first + count)
    ]  # fmt: skip


async def publish_what_is_no_turn(client: MemoryClient, word: str) -> None:
    """Messages that would become dead letters: of no role, too long, of another user, and no JSON at all."""
    bodies = (
        f'{{"user_id": "ann", "conversation_id": "{CHAT}", "text": "{word}"}}',
        f'{{"user_id": "ann", "conversation_id": "{CHAT}", "role": "user", "text": "{word * 3000}"}}',
        f'{{"user_id": "bob", "conversation_id": "{CHAT}", "role": "user", "text": "{word}"}}',
        f'{{"user_id": "ann", "conversation_id": "{CHAT}", "role": "user", "text": "{word}',
    )
    for body in bodies:
        await client.bus.publish(subjects.turns("ann"), body.encode(), message_id=None, stream=STREAM)


async def messages(client: MemoryClient) -> int:
    return (await client.bus.state(STREAM)).messages


async def drained(client: MemoryClient) -> None:
    await eventually(lambda: messages(client), lambda count: count == 0)


async def until_nothing_holds(folder: Path, word: str) -> float:
    """Seconds until no file holds the word any more."""
    began = time.monotonic()
    while found := await asyncio.to_thread(holding, folder, word):
        assert time.monotonic() - began < WITHIN, found
    return time.monotonic() - began


@pytest.mark.parametrize("way", ["incognito", "by mistake", "kept"])
async def test_500_turns_of_an_incognito_conversation_leave_no_byte_and_no_line(
    instance: Running, client: MemoryClient, settings: Settings, log: io.StringIO, way: str
) -> None:
    word = a_marker()
    if way != "kept":
        await client.start_incognito(START)
    await client.publish_all(said(word, FEW if way == "kept" else TURNS), incognito=way == "incognito")
    if way == "kept":
        await digested(client, turns=FEW)
        assert holding(settings.data, word), "the test could not have failed"
        return
    if way == "by mistake":
        await publish_what_is_no_turn(client, word)
    print(f"\n{TURNS} turns {way}: no byte after {await until_nothing_holds(settings.data, word):.2f} s")
    await drained(client)
    status, backlog = await client.status(), await client.backlog()
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        metrics = (await http.get(f"{instance.http}/metrics")).text
    assert (status.turns, status.entries, status.refused, backlog.dead_letters) == (0, 0, 0, 0)
    assert word not in metrics
    assert word not in log.getvalue().lower()
    assert holding(settings.data, word) == {}


async def test_on_opensearch_no_document_holds_a_turn_of_an_incognito_conversation(settings: Settings) -> None:
    word, kept = a_marker(), a_marker()
    with a_text_store("opensearch") as chosen:
        settings = settings.model_copy(update={**chosen, "embedder": "none"})
        async with running(settings) as up, memory_client(up.nats) as client:
            await client.start_incognito(START)
            await client.publish_all(said(word, 40))
            await publish_what_is_no_turn(client, word)
            await client.publish_all(said(kept, 1, chat="open"))
            await until_nothing_holds(settings.data, word)
            await drained(client)
            await digested(client, turns=1)
            stored = await documents(**chosen)
    assert kept in stored, "the test could not have failed"
    assert word not in stored


async def documents(opensearch_url: str, opensearch_prefix: str, **_: str) -> str:
    """Everything that is in the indices."""
    async with httpx.AsyncClient(
        base_url=f"{opensearch_url}/{opensearch_prefix}-*", trust_env=False, verify=False
    ) as http:
        await http.post("/_refresh")
        return (await http.get("/_search", params={"size": 10_000})).text


async def test_the_incognito_subject_is_heard_by_who_listens_and_kept_by_no_stream(client: MemoryClient) -> None:
    heard: list[bytes] = []

    async def listen(msg: Msg) -> None:
        heard.append(msg.data)

    await client.nats.subscribe(f"{subjects.INCOGNITO}.*", cb=listen)
    (turn,) = said(a_marker(), 1)
    await client.publish(turn, incognito=True)
    await eventually(lambda: asyncio.sleep(0, heard), lambda some: len(some) == 1)
    states = [await client.bus.state(stream.name) for stream in subjects.STREAMS]
    assert Turn.model_validate_json(heard[0]) == turn
    assert {state.last_seq for state in states} == {0}


async def test_what_is_saved_on_purpose_is_kept_unless_notes_are_incognito(client: MemoryClient) -> None:
    saved = await client.create(CreateRequest(user_id="ann", text="I am allergic to nuts."))
    await client.start_incognito(IncognitoStartRequest(user_id="ann", conversation_id="notes"))
    with pytest.raises(RequestFailed, match="incognito-end") as refused:
        await client.create(CreateRequest(user_id="ann", text="I am allergic to figs."))
    assert refused.value.info.code == "refused"
    assert [entry.id for entry in (await client.list(ListRequest(user_id="ann"))).items] == [saved.entry.id]


async def test_incognito_survives_a_restart(settings: Settings) -> None:
    word = a_marker()
    async with running(settings) as up, memory_client(up.nats) as client:
        await client.start_incognito(START)
    async with running(settings) as up, memory_client(up.nats) as client:
        await client.publish_all(said(word, 20))
        await until_nothing_holds(settings.data, word)
        await drained(client)
        assert (await client.status()).turns == 0
