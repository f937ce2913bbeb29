"""Answers go to inboxes only: on a bus without users nothing else keeps a caller from having us publish elsewhere."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from contracts import subjects
from contracts.flow import FLOW, LIST, RETRIEVE, Answer
from contracts.v1.turns import Turn
from services.runtime import Running
from services.shared import telemetry
from services.shared.bus.requests import may_answer_to
from services.shared.client import MemoryClient, memory_client
from tests.polling import digested, eventually

ANSWERS = [answer for step in FLOW for answer in step.answers]
ELSEWHERE = (subjects.turns("bob"), subjects.ENTRY_PROPOSED, subjects.dead("ingest"), RETRIEVE.subject_of("bob"), "x")

_EVENTS = 4
"""What is said of a turn that becomes an entry; at the last, that it is embedded, it may be found already."""


async def stored(client: MemoryClient) -> dict[str, int]:
    """How many messages each stream has ever taken in."""
    infos = [await client.bus.js.stream_info(stream.name) for stream in subjects.STREAMS]
    return {info.config.name or "": info.state.last_seq for info in infos}


def refused(answer: Answer[Any, Any]) -> float:
    count: float = telemetry.REPLIES_REFUSED.labels(answer.name)._value.get()
    return count


async def test_no_request_is_answered_outside_of_an_inbox(instance: Running) -> None:
    async with memory_client(instance.nats) as client:
        await client.publish(Turn(user_id="ann", role="user", text="I ordered the blue tiles.", turn_id="t1"))
        await digested(client, turns=1)
        before = await eventually(partial(stored, client), lambda seen: seen[subjects.EVENTS_STREAM.name] == _EVENTS)
        told = {answer.name: refused(answer) for answer in ANSWERS}
        for answer in ANSWERS:
            for reply in ELSEWHERE:
                await client.nats.publish(answer.pattern.replace("*", "ann"), b'{"user_id": "ann"}', reply=reply)
        await client.nats.flush()

        async def count() -> dict[str, float]:
            return {answer.name: refused(answer) - told[answer.name] for answer in ANSWERS}

        await eventually(count, lambda seen: all(number == len(ELSEWHERE) for number in seen.values()))
        assert await stored(client) == before
        assert (await client.status("ann")).turns == 1  # erase was among them


@pytest.mark.parametrize("answer", [RETRIEVE, LIST], ids=lambda answer: answer.name)
async def test_an_inbox_is_answered_and_the_refusal_is_logged_without_what_was_asked(
    instance: Running, caplog: pytest.LogCaptureFixture, answer: Answer[Any, Any]
) -> None:
    async with memory_client(instance.nats) as client:
        subject = answer.pattern.replace("*", "ann")
        assert b'"ok":' in (await client.nats.request(subject, b'{"user_id": "ann", "query": "x"}', timeout=30)).data
        await client.nats.publish(subject, b'{"user_id": "ann", "query": "secret"}', reply="memory.v1.turns.secret")
        await client.nats.flush()

        async def told() -> str:
            return caplog.text

        await eventually(told, lambda text: "reply_subject_refused" in text)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("reply", ["", "_INBOX.a.b", "_INBOX.ann.a.b", "_R_.EXb6Ox.FrZUed", "_GR_.c1.s1._INBOX.a"])
def test_inboxes_as_servers_write_them_are_answered(reply: str) -> None:
    assert may_answer_to(reply)


@pytest.mark.parametrize(
    "reply",
    ["memory.v1.turns.bob", "_INBOX", "_INBOX.", "_INBOXES.a", "_inbox.a", "$JS.API.STREAM.PURGE.MEMORY_DEAD",
     "a._INBOX.b", "_GR_.c1.s1.memory.v1.turns.bob", "_INBOX.>", "_INBOX.a b", "_INBOX.a\nmemory"],
)  # fmt: skip
def test_anything_else_is_not(reply: str) -> None:
    assert not may_answer_to(reply)
