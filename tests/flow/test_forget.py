"""One entry is forgotten on real engines: it leaves no word and does not come back, late or anew; the others stay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg

from contracts import flow, subjects
from contracts.v1.commands import ListRequest, StatusReply
from contracts.v1.edits import UpdateRequest
from contracts.v1.entries import EntryRefused
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.cli.forget import forget
from services.runtime import Running
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter
from services.shared.client import MemoryClient
from tests.flow.conftest import on_sqlite, typed
from tests.flow.raw import a_marker, holding, until_gone
from tests.polling import answered, digested, eventually

pytestmark = on_sqlite


async def have_forgotten(instance: Running, id_: str) -> dict[str, Any]:
    """Forget an entry of Ann as it is typed; the receipt."""
    result = await typed(forget, id_, "--user", "ann", "--nats", instance.nats, "--json")
    assert result.exit_code == 0, result.output
    receipt: dict[str, Any] = json.loads(result.stdout)
    return receipt


def the_statement(word: str, turn_id: str, **given: Any) -> Turn:
    place = {"conversation_id": f"talk of {word}", **given}
    return Turn(user_id="ann", role="user", text=f"The code word of my locker is {word}.", turn_id=turn_id, **place)


async def publish_as_new(client: MemoryClient, turn: Turn) -> None:
    """Publish so that the bus itself lets it through, whatever it has seen."""
    body = turn.model_dump_json(exclude_none=True).encode()
    await client.bus.publish(subjects.turns("ann"), body, message_id=a_marker(), stream=subjects.TURNS_STREAM.name)


async def with_a_forgotten_statement(
    instance: Running, client: MemoryClient, folder: Path, word: str
) -> dict[str, Any]:
    """Ann says it, repeats it with a tag, says something else about the locker, and has the first forgotten."""
    await client.publish(the_statement(word, "t1", source_ids=(word,), tags=("plain",)))
    await digested(client, turns=1)
    await client.publish(the_statement(word, "t2", tags=(f"about {word}",)))
    await client.publish(Turn(user_id="ann", role="user", text="My locker is on the second floor.", turn_id="t3"))
    await digested(client, turns=3)
    entry = next(one for one in (await client.list(ListRequest(user_id="ann"))).items if word in one.text)
    assert entry.repeat_count == 1
    assert any("memory.sqlite3" in name for name in holding(folder, word)), "the search must be able to find"
    return await have_forgotten(instance, entry.id)


async def test_a_forgotten_entry_leaves_no_byte_of_its_words_and_the_others_stay(
    instance: Running, client: MemoryClient, tmp_path: Path
) -> None:
    word = a_marker()
    receipt = await with_a_forgotten_statement(instance, client, tmp_path, word)
    assert (receipt["turns"], receipt["vectors"], set(receipt["left"].values())) == (2, 1, {0})
    await until_gone(tmp_path, word)

    found = await answered(client, RetrieveRequest(user_id="ann", query=f"{word} locker", min_score=0.0))
    assert [item.text for item in found.items] == ["My locker is on the second floor."]
    assert found.items[0].signals.semantic
    status = await client.status("ann")
    assert (status.turns, status.entries, status.inactive, status.merged, status.vectors) == (3, 1, 1, 1, 1)


async def test_the_same_statement_is_refused_with_the_reason_and_leaves_no_word(
    instance: Running, client: MemoryClient, tmp_path: Path
) -> None:
    word = a_marker()
    await with_a_forgotten_statement(instance, client, tmp_path, word)
    async with refusals(client) as refused:
        await client.publish(the_statement(word.upper(), "t4", conversation_id="another"))
        await digested(client, turns=4)
        (reason,) = await eventually(lambda: asyncio.sleep(0, refused), bool)
    assert "forgotten" in reason
    status = await client.status("ann")
    assert (status.turns, status.entries, status.refused) == (4, 1, 1)
    await until_gone(tmp_path, word)


async def test_a_late_redelivery_changes_nothing_and_leaves_no_word(
    instance: Running, client: MemoryClient, tmp_path: Path
) -> None:
    word = a_marker()
    await with_a_forgotten_statement(instance, client, tmp_path, word)
    before = await client.status("ann")
    for turn_id in ("t1", "t2"):
        await publish_as_new(client, the_statement(word, turn_id))
    await publish_as_new(client, Turn(user_id="ann", role="user", text="I live in Porto.", turn_id="last"))
    await digested(client, turns=4)
    assert await client.status("ann") == one_more(before)
    await until_gone(tmp_path, word)


@pytest.mark.parametrize("does", ["forget", "redact"])
async def test_a_dead_letter_that_says_the_same_goes_too(
    instance: Running, client: MemoryClient, tmp_path: Path, does: str
) -> None:
    word = a_marker()
    said = {"user_id": "ann", "role": "user", "text": f"The code word of my locker is {word}."}
    for bad in ({}, {"space": "work"}, {"text": "Something else."}):
        body = json.dumps(said | {"created_at": "yesterday"} | bad).encode()
        stream = subjects.TURNS_STREAM.name
        await client.bus.publish(subjects.turns("ann"), body, message_id=a_marker(), stream=stream)
    await client.publish(Turn.model_validate(said))
    await digested(client, turns=1)
    await eventually(lambda: in_the_bin(client), lambda count: count == 3)
    (entry,) = (await client.list(ListRequest(user_id="ann"))).items
    if does == "forget":
        receipt = await have_forgotten(instance, entry.id)
        assert (receipt["dead_letters"], receipt["left"]["dead letters"]) == (1, 0)
    else:
        request = UpdateRequest(user_id="ann", id=entry.id, text="My locker has a word.", redact=True)
        await client.ask(flow.UPDATE, request, patience=10.0)
    letters = DeadLetterQueue(client.bus)
    bodies = [json.loads(one.body) async for one in letters.newest_first(LetterFilter())]
    assert sorted(body.get("space", body["text"]) for body in bodies) == ["Something else.", "work"]


async def in_the_bin(client: MemoryClient) -> int:
    return (await client.bus.state(subjects.DEAD_STREAM.name)).messages


def one_more(status: StatusReply) -> StatusReply:
    """The counts with one more turn that became an entry."""
    counts = {name: getattr(status, name) + 1 for name in ("turns", "entries", "vectors")}
    return status.model_copy(update=counts)


@asynccontextmanager
async def refusals(client: MemoryClient) -> AsyncIterator[list[str]]:
    """The reasons of what is refused while the block runs."""
    reasons: list[str] = []

    async def note(msg: Msg) -> None:
        reasons.extend(one.reason for one in EntryRefused.model_validate_json(msg.data).entries)

    heard = await client.nats.subscribe(subjects.ENTRY_REFUSED, cb=note)
    yield reasons
    await heard.unsubscribe()
