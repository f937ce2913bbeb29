"""Roll-ups on real engines: asked for and taken back as it is typed, by themselves where wanted, forgotten whole."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from contracts import flow
from contracts.v1.commands import ForgetRequest, ListRequest, StatusReply
from contracts.v1.control import SettingsChange, SettingsRequest
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.cli.rollup import rollup
from services.runtime import Running
from services.shared.client import MemoryClient
from tests.flow.conftest import on_sqlite, typed
from tests.flow.raw import a_marker, holding, until_gone
from tests.polling import answered, digested, eventually

pytestmark = on_sqlite


def of_bread(word: str) -> list[str]:
    return [
        f"The sourdough starter lives in the {word} jar.",
        "Sourdough bread needs a long night in the fridge.",
        "The sourdough bread was baked in the iron pot.",
        "Sourdough bread with olives sold out on Saturday.",
        "The sourdough starter is fed with rye flour.",
    ]


async def rolled_up(instance: Running, *arguments: str) -> str:
    """What the command prints."""
    result = await typed(rollup, *arguments, "--user", "ann", "--nats", instance.nats)
    assert result.exit_code == 0, result.output
    return result.stdout


async def say(client: MemoryClient, texts: list[str], days: int) -> None:
    at = datetime.now(UTC) - timedelta(days=days)
    for n, text in enumerate(texts):
        said = at + timedelta(minutes=n)
        await client.publish(Turn(user_id="ann", role="user", text=text, turn_id=f"t{n}", created_at=said))
    await embedded(client, len(texts))


async def embedded(client: MemoryClient, entries: int) -> None:
    """Wait until so many entries are in use, each with its vector."""

    def ready(status: StatusReply) -> bool:
        return (status.entries, status.vectors, status.pending) == (entries, entries, 0)

    await eventually(lambda: client.status("ann"), ready, within=60)


async def in_use(client: MemoryClient, **given: Any) -> list[Entry]:
    return list((await client.list(ListRequest(user_id="ann", **given))).items)


async def test_asked_for_as_it_is_typed_found_in_place_of_its_originals_and_taken_back(
    instance: Running, client: MemoryClient, tmp_path: Path
) -> None:
    word = a_marker()
    texts = of_bread(word)
    await say(client, [*texts, "My train to Vienna was late."], days=100)
    asked = ("--topic", "sourdough", "--older-than", "90")

    assert "preview" in await rolled_up(instance, *asked, "--preview")
    assert len(await in_use(client)) == 6
    made = json.loads(await rolled_up(instance, *asked, "--json"))
    (one,) = made["items"]
    assert {sentence["text"] for sentence in one["sentences"]} <= set(texts)
    await embedded(client, 2)
    assert sorted(entry.text for entry in await in_use(client, status="archived")) == sorted(texts)
    found = await answered(client, RetrieveRequest(user_id="ann", query="sourdough starter", min_score=0.0))
    assert [item.id for item in found.items if "ourdough" in item.text] == [one["id"]]
    assert "nothing is rolled up" in await rolled_up(instance, *asked)
    assert one["id"] in await rolled_up(instance, "--list")

    assert "5 memories in use again" in await rolled_up(instance, "--undo", one["id"])
    await embedded(client, 6)
    assert sorted(entry.text for entry in await in_use(client)) == sorted([*texts, "My train to Vienna was late."])
    found = await answered(client, RetrieveRequest(user_id="ann", query="sourdough starter", min_score=0.0))
    assert {item.text for item in found.items} >= {texts[0], texts[4]}


async def test_forgotten_after_it_was_rolled_up_by_itself_it_leaves_no_byte(
    instance: Running, client: MemoryClient, tmp_path: Path
) -> None:
    word = a_marker()
    texts = of_bread(word)
    await say(client, texts, days=200)
    wanted = SettingsChange(roll_up_after_days=180)
    await client.request(flow.SETTINGS, SettingsRequest(user_id="ann", change=wanted), patience=10)
    await embedded(client, 1)
    (one,) = await in_use(client)
    assert (one.source, len(one.source_ids)) == ("rollup", 5)
    assert word in one.text
    assert holding(tmp_path, word), "the search must be able to find"

    archived = await in_use(client, status="archived")
    original = next(entry for entry in archived if word in entry.text)
    await client.request(flow.FORGET, ForgetRequest(user_id="ann", id=original.id), patience=30)

    await until_gone(tmp_path, word)
    assert sorted(entry.text for entry in await in_use(client, status="archived")) == sorted(texts[1:])
    await digested(client, turns=5)
    assert len(await in_use(client)) == 1
