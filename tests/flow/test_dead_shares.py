"""Nobody's dead letters push out those of others, on a real server: a share for each user, and large bodies cut."""

from __future__ import annotations

from pathlib import Path

from contracts import subjects
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared.bus.connection import connect
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, StoredLetter
from services.shared.bus.declarations import declared_stream
from services.shared.bus.provisioning import provision
from services.shared.bus.streams import Bus, JetStream
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings
from services.shared.telemetry import LETTERS_DROPPED
from tests.flow.conftest import light
from tests.letters import a_letter
from tests.polling import eventually
from tests.servers.nats_cluster import nats_server

SHARE = subjects.DEAD_STREAM.share


async def letters_of(client: MemoryClient, user: str) -> list[StoredLetter]:
    return [kept async for kept in DeadLetterQueue(client.bus).newest_first(LetterFilter(user=user))]


async def test_a_flood_of_one_user_leaves_the_letters_of_others(tmp_path: Path) -> None:
    async with running(light(tmp_path / "data", max_text_bytes=100)) as up, memory_client(up.nats) as client:
        bobs = [Turn(user_id="bob", role="user", text=f"{number}" * 101) for number in range(5)]
        await client.publish_all(bobs)
        before = LETTERS_DROPPED.labels("ingest")._value.get()
        flood = SHARE + 20
        eves = (Turn(user_id="eve", role="user", text=f"{number} " + "x" * 700_000) for number in range(flood))
        await client.publish_all(eves, in_flight=4)

        async def dropped() -> float:
            return float(LETTERS_DROPPED.labels("ingest")._value.get() - before)

        await eventually(dropped, lambda count: count == 20, within=60)
        assert len(await letters_of(client, "bob")) == 5
        kept = await letters_of(client, "eve")
        assert len(kept) == SHARE
        assert all(one.letter is not None and one.letter.cut and one.stage == "ingest" for one in kept)
        assert max(len(one.raw) for one in kept) < 200_000
        assert 0 < await client.bus.used(subjects.DEAD_STREAM) < 0.01


async def test_a_stream_of_an_older_version_is_brought_up_to_date_and_keeps_its_letters(tmp_path: Path) -> None:
    async with nats_server(tmp_path / "bus") as server:
        client = await connect(server.url, name="test")
        bus, settings = Bus(client), Settings()
        old = declared_stream(subjects.DEAD_STREAM, settings) | {"max_msgs_per_subject": -1}
        await JetStream(bus.js).make_stream(old)
        for number in range(3 * SHARE):
            letter = a_letter(b"{", subject=subjects.turns(f"user-{number % 7}"))
            body = letter.model_dump_json().encode() if number else b"no letter"
            await bus.js.publish(f"{subjects.DEAD}.{('ingest', 'embed')[number % 2]}", body)
        changes = await provision(bus.js, settings)
        assert "max_msgs_per_subject" in str(next(one for one in changes if one.name == subjects.DEAD_STREAM.name))
        kept = [one async for one in DeadLetterQueue(bus).newest_first(LetterFilter())]
        assert len(kept) == 3 * SHARE
        assert {one.stage for one in kept} == {"ingest", "embed"}
        assert len({one.subject for one in kept}) == 2 * 7 + 1
        assert {change.action for change in await provision(bus.js, settings)} == {"keep"}
        await client.close()
