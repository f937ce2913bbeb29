"""A user is erased on real engines: found in the files before, in no byte of them afterwards; others keep theirs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from contracts import flow
from contracts.v1.commands import ListRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.cli.erase import erase
from services.runtime import Running, running
from services.shared.client import MemoryClient
from tests.flow.conftest import light, typed
from tests.flow.raw import a_marker, holding, until_gone
from tests.polling import answered, digested, eventually

LONGEST = 2000


@pytest.fixture
async def instance(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    given = {"embedder": "memorybus", "max_text_bytes": LONGEST, "turns_partitions": getattr(request, "param", 1)}
    async with running(light(tmp_path / "data", **given)) as started:
        yield started


async def erased(instance: Running, user: str) -> dict[str, Any]:
    """Erase a user as it is typed; the receipt."""
    result = await typed(erase, "--user", user, "--nats", instance.nats, "--yes", "--json")
    assert result.exit_code == 0, result.output
    receipt: dict[str, Any] = json.loads(result.stdout)
    return receipt


def said_by(user: str, word: str) -> list[Turn]:
    """Something with the word wherever a turn has room for one, its repeat, and one that is too long to be kept."""
    statement = f"The code word of my locker is {word}."
    given = {"tags": (f"about {word}",), "source_ids": (word,), "speaker": word, "persona_id": word}
    return [
        Turn(user_id=user, role="user", text=statement, turn_id="t1"),
        Turn(user_id=user, role="user", text=statement.upper(), turn_id="t2"),
        Turn(user_id=user, role="user", text="Nothing much.", turn_id=word, conversation_id=word, space=word, **given),
        Turn(user_id=user, role="user", text=word * (LONGEST // len(word) + 1), turn_id="too long"),
    ]


@pytest.mark.parametrize("instance", [1, 3], indirect=True, ids=["whole", "split"])
async def test_of_an_erased_user_no_byte_is_left_in_any_file(
    instance: Running, client: MemoryClient, tmp_path: Path
) -> None:
    user, word = a_marker(), a_marker()
    await client.publish_all(said_by("bob", "walnut"))
    await digested(client, turns=3)
    await client.publish_all(said_by(user, word))
    await digested(client, turns=6)
    await eventually(client.backlog, lambda b: b.dead_letters == 2)

    before = await asyncio.to_thread(lambda: [*holding(tmp_path, user), *holding(tmp_path, word)])
    for place in ("memory.sqlite3", "MEMORY_DEAD", "vectors"):
        assert any(place in name for name in before), f"{place} is not among {sorted(before)}"
    receipt = await erased(instance, user)
    await until_gone(tmp_path, user, word)
    assert (receipt["complete"], receipt["drained"], receipt["swept"]) == (True, True, True)
    assert (receipt["removed"]["dead letters"], receipt["removed"]["vectors"]) == (1, 2)
    assert not any(receipt["left"].values())


async def test_an_erased_user_is_unknown_and_everybody_else_is_not(instance: Running, client: MemoryClient) -> None:
    ann, bob = a_marker(), a_marker()
    for user in (ann, bob):
        await client.publish_all(said_by(user, "walnut"))
    await digested(client, turns=6)
    await eventually(client.backlog, lambda b: b.dead_letters == 2)
    kept = await client.list(ListRequest(user_id=bob))
    await erased(instance, ann)

    status = await client.status(ann)
    assert (status.turns, status.entries, status.inactive, status.vectors, status.merged) == (0, 0, 0, 0, 0)
    assert (await client.retrieve(RetrieveRequest(user_id=ann, query="locker", min_score=0.0))).items == ()
    assert await client.list(ListRequest(user_id=bob)) == kept
    assert (await client.backlog()).dead_letters == 1
    found = await answered(client, RetrieveRequest(user_id=bob, query="which word opens the locker"))
    assert found.items[0].signals.semantic


@pytest.mark.parametrize("turn_id", ["before", "after"], ids=["the same turn", "another turn"])
async def test_an_erased_user_may_come_back_with_the_same_words(
    instance: Running, client: MemoryClient, turn_id: str
) -> None:
    user, text = a_marker(), "I live in Porto."
    await client.publish(Turn(user_id=user, role="user", text=text, turn_id="before"))
    await digested(client, turns=1)
    await erased(instance, user)
    await client.publish(Turn(user_id=user, role="user", text=text, turn_id=turn_id))
    await digested(client, turns=1)
    assert [entry.text for entry in (await client.list(ListRequest(user_id=user))).items] == [text]


@pytest.mark.parametrize(
    ("answer", "field"), [(flow.ERASE, "requestd_at"), (flow.FORGET, "ids")], ids=["erase", "forget"]
)
async def test_what_cannot_be_undone_is_not_done_when_a_field_is_misspelt(
    instance: Running, client: MemoryClient, answer: flow.Answer[Any, Any], field: str
) -> None:
    await client.publish(Turn(user_id="ann", role="user", text="I live in Porto.", turn_id="t1"))
    await digested(client, turns=1)
    kept = (await client.list(ListRequest(user_id="ann"))).items
    asked = {"user_id": "ann", field: "2026-02-01T10:00:00Z"} | ({"id": kept[0].id} if answer is flow.FORGET else {})
    raw = await client.nats.request(answer.subject_of("ann"), json.dumps(asked).encode(), timeout=30)

    error = json.loads(raw.data)["error"]
    assert error["code"] == "invalid_request"
    assert field in error["message"]
    assert (await client.list(ListRequest(user_id="ann"))).items == kept
