"""What the client does when nothing answers, late, or with an error: bounded in time, and told what to do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx
import pytest
from memorybus_client import AsyncMemory, Memory, MemorybusError, Misused, RequestFailed, Unavailable
from memorybus_client.query import query_memory

from services.runtime import Running
from tests.polling import eventually
from tests.servers.nats_cluster import nats_server

MOMENT = "2026-02-01T10:00:00Z"
TIMES = dict.fromkeys(("created_at", "last_said_at", "updated_at"), MOMENT)
ENTRY = {"ok": True, "entry": {"id": "e1", "user_id": "me", "text": "I prefer uv over pip", **TIMES}}
COUNTS = {"turns": 1, "vectors": 0, "messages": 0, "dead_letters": 0, "left": {}}
RECEIPT = {"ok": True, "receipt": {"id": "e1", "forgotten_at": MOMENT, "refused_until": MOMENT, **COUNTS}}


@asynccontextmanager
async def answering(*answers: tuple[int, object] | None, **more: Any) -> AsyncIterator[tuple[AsyncMemory, list[bytes]]]:
    """A client of a server that gives these answers one after the other, the last one for ever; None: never any."""
    seen: list[bytes] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        given = answers[min(len(seen), len(answers)) - 1]
        if given is None:
            await asyncio.sleep(60)
        status, body = given or (200, b"")
        return httpx.Response(status, content=body if isinstance(body, bytes) else json.dumps(body).encode())

    options = {"transport": httpx.MockTransport(answer)}
    async with AsyncMemory("http://memorybus", options=options, **more) as memory:
        yield memory, seen


def problem(code: str) -> tuple[int, object]:
    return 503, {"code": code, "detail": "for the test", "retryable": True}


@pytest.mark.parametrize(
    ("code", "method", "answer", "sent"),
    [
        ("overloaded", "get", ENTRY, 2),
        ("unavailable", "get", ENTRY, 2),
        ("overloaded", "forget", RECEIPT, 2),  # it was certainly not done
        ("unavailable", "forget", None, 1),
    ],
)
async def test_what_may_have_been_done_and_shows_twice_is_not_sent_twice_and_all_else_is(
    code: str, method: str, answer: object, sent: int
) -> None:
    async with answering(problem(code), (200, answer)) as (memory, seen):
        call = getattr(memory, method)("e1")
        if answer is None:
            with pytest.raises(RequestFailed):
                await call
        else:
            assert (await call).id == "e1"
    assert len(seen) == sent


async def test_a_request_that_is_sent_again_is_the_same_request() -> None:
    async with answering(problem("unavailable"), (201, ENTRY)) as (memory, seen):
        await memory.remember("I prefer uv over pip")
    first, again = (json.loads(sent) for sent in seen)
    assert first == again
    assert first["correlation_id"]


async def test_who_asked_too_often_is_not_told_that_nothing_is_known() -> None:
    counts = {"total_count": 0, "token_count": 0, "truncated": False, "query_embedding_ms": 0.0, "retrieval_ms": 0.0}
    nothing = {"ok": True, "items": [], "context": "", "degraded": ["rate_limited"]} | counts
    async with answering((200, nothing)) as (memory, _):
        assert (await query_memory(memory, "tea?")).error
    async with answering((200, nothing | {"degraded": []})) as (memory, _):
        assert not (await query_memory(memory, "tea?")).error


async def test_no_more_than_so_many_tries() -> None:
    async with answering(problem("unavailable"), retries=1) as (memory, seen):
        with pytest.raises(RequestFailed, match="for the test") as failed:
            await memory.get("e1")
    assert (failed.value.code, failed.value.retryable, len(seen)) == ("unavailable", True, 2)


@pytest.mark.parametrize(
    "answer", [(200, b"<html>hello"), (200, {"ok": True}), (502, b"<html>bad gateway"), (404, b"")]
)
async def test_what_is_no_memorybus_is_told_so(answer: tuple[int, object]) -> None:
    async with answering(answer, retries=0) as (memory, _):
        with pytest.raises(RequestFailed, match=r"is (memorybus|it) there"):
            await memory.get("e1")


@pytest.mark.parametrize(("status", "why"), [(503, "it is starting"), (404, "a path too much")])
async def test_a_server_that_has_no_memory_yet_is_asked_again(status: int, why: str) -> None:
    problem = (status, {"type": "about:blank", "title": "…", "status": status, "detail": "There is no such page."})
    async with answering(problem, problem, retries=1) as (memory, seen):
        with pytest.raises(Unavailable, match=why) as failed:
            await memory.publish("I keep bees")
    assert failed.value.retryable
    assert len(seen) == 2


async def test_a_server_that_hangs_is_left_after_the_timeout() -> None:
    async with answering(None, timeout=0.5) as (memory, _):
        began = time.monotonic()
        with pytest.raises(Unavailable, match="try again later"):
            await memory.get("e1")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "nats://127.0.0.1:9", "nats://ann:secret@127.0.0.1:9", "http://"]
)
async def test_where_nothing_listens_it_says_what_to_start(url: str) -> None:
    async with AsyncMemory(url, user="ann", timeout=2.0) as memory:
        for call in (memory.recall("what?"), memory.publish("I prefer uv over pip")):
            with pytest.raises(Unavailable, match="memorybus up") as failed:
                await call
            assert "secret" not in str(failed.value)
            assert failed.value.undone


async def test_a_bus_without_memorybus_says_so(tmp_path: object) -> None:
    async with nats_server(tmp_path) as server, AsyncMemory(server.url, user="ann", timeout=0.5) as memory:  # type: ignore[arg-type]
        for call in (memory.recall("what?"), memory.publish("I prefer uv over pip")):
            with pytest.raises(Unavailable, match="memorybus up"):
                await call


async def test_a_connection_that_broke_is_made_anew(up: Running) -> None:
    async with AsyncMemory(up.nats, user="broken") as memory:
        await memory.remember("I prefer uv over pip")
        bus = memory._caller._transport._client  # type: ignore[attr-defined]
        bus._transport.close()
        await eventually(lambda: asyncio.sleep(0, bus.is_closed), bool)
        assert (await memory.recall("uv")).items


@pytest.mark.parametrize("login", ["memorybus:wrong@", "nobody:wrong@", ""])
async def test_a_wrong_password_is_no_matter_of_trying_again(up: Running, login: str) -> None:
    url = f"nats://{login}{up.nats.rpartition('@')[2]}"
    async with AsyncMemory(url, user="ann") as memory:
        with pytest.raises(RequestFailed, match="wrong user or password") as failed:
            await memory.recall("what?")
    assert not failed.value.retryable


@pytest.mark.parametrize("key", ["mb_no_key", "sk-1", "…"])
async def test_a_key_that_opens_nothing_never_becomes_a_user(up: Running, key: str) -> None:
    async with AsyncMemory(up.http, key=key) as memory:
        with pytest.raises(RequestFailed) as failed:  # this server asks for no credential
            await memory.list()
    assert failed.value.code in ("credential_unread", "bad_request", "invalid_request")


async def test_a_key_is_sent_as_it_stands_in_its_file() -> None:
    sent: list[str] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["authorization"])
        return httpx.Response(200, json=ENTRY)

    options = {"transport": httpx.MockTransport(answer)}
    async with AsyncMemory("http://memorybus", key=" mb_1_secret\r\n", options=options) as memory:
        await memory.get("e1")
    assert sent == ["Bearer mb_1_secret"]


@pytest.mark.parametrize("key", ["", "\n", "mb_1_\nsecret", "mb_1_\x7fsecret", "mb_1_\ud83dsecret"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nats://127.0.0.1:9"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(url: str, key: str) -> None:
    with pytest.raises(ValueError, match="key") as refused:
        Memory(url, key=key)
    assert "secret" not in repr(refused.value)


async def test_what_cannot_be_sent_in_a_header_is_not_shown(up: Running) -> None:
    async with AsyncMemory(up.http, user="ann", options={"cookies": {"session": "se\ncret"}}) as memory:
        with pytest.raises(RequestFailed, match="cannot be sent in a header") as failed:
            await memory.status()
    assert "cret" not in str(failed.value)


SECRET_ADDRESSES = [
    "http://ann:secret@127.0.0.1:9",
    "http://ann:sec/secret@127.0.0.1:9",
    "http://127.0.0.1:9?key=secret",
    "https://ann:secret@127.0.0.1:9",
    "ann:secret@127.0.0.1:9",
    "ftp://ann:secret@127.0.0.1:9",
    "nats://ann:secret@127.0.0.1:9",
    "nats://secret@127.0.0.1:9",
    "nats://ann:sec,secret@127.0.0.1:9",
    "nats://ann:sec/secret@127.0.0.1:9",
    "nats://ann:nats://secret@127.0.0.1:9",
    "nats://ann:secret@127.0.0.1:9, nats://bob:secret@127.0.0.1:10",
    "nats://ann:secret@127.0.0.1:port",
    "ws://ann:secret@127.0.0.1:9\n",
]


@pytest.mark.parametrize("url", SECRET_ADDRESSES)
@pytest.mark.parametrize("user", ["ann", None])
async def test_no_login_of_an_address_is_in_an_error(
    url: str, user: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises((ValueError, MemorybusError)) as failed:
        async with AsyncMemory(url, user=user, timeout=1.0, retries=0) as memory:
            await memory.recall("what?")
    told = "".join(traceback.format_exception(failed.value)[-1:]) + repr(failed.value) + caplog.text
    assert "sec" not in told.replace("seconds", "")
    assert "127.0.0.1:9" in told or "port" in told


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nats://127.0.0.1:9"])
async def test_half_a_character_is_no_request(url: str) -> None:
    half = "I like \ud83d"
    async with AsyncMemory(url, user="ann", timeout=1.0, retries=0) as memory:
        calls = [
            *(memory.recall(half), memory.command(half), memory.get(half), memory.list(q=half), memory.remember(half)),
            *(memory.publish(half), memory.publish("tea", conversation_id=half), memory.bulk([half], "pin")),
            *(memory.recall("tea", tags=[half]), memory.forget_conversation(half)),
        ]
        for call in calls:
            with pytest.raises(RequestFailed) as refused:
                await call
            assert (refused.value.code, refused.value.retryable) == ("invalid_request", False)
        assert (await query_memory(memory, half)).error


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nats://127.0.0.1:9"])
def test_whose_memory_is_meant_is_never_guessed_and_what_cannot_be_is_refused_in_words(kind: Any, url: str) -> None:
    threads = threading.active_count()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"user": "eve", "key": "wrong"}, "user"),
        *(({"user": user}, "user") for user in ("", " ", "a\r\nX: y", "x" * 513)),
        *(({"user": "ann", "timeout": timeout}, "timeout is more than 0 seconds") for timeout in (0, None, "x")),
        ({"user": "ann", "retries": -1}, "retries"),
    ]
    if url.startswith("nats"):
        refused += [({}, "user="), ({"key": "mb_1"}, "HTTP edge")]
    for given, why in refused:
        with pytest.raises(ValueError, match=why):
            kind(url, **given)
    with pytest.raises(ValueError, match=r"http://.* nats://"):
        kind(url.partition("://")[2], user="ann")
    assert threading.active_count() == threads


@pytest.mark.parametrize("over", ["http", "nats"])
def test_what_is_closed_says_so(up: Running, over: str) -> None:
    url = up.http if over == "http" else up.nats
    memory = Memory(url, user="closed")
    memory.status()
    memory.close()
    for call in (memory.status, lambda: list(memory.export()), lambda: memory.publish("I prefer uv")):
        with pytest.raises(Misused, match="closed"):
            call()

    async def awaited() -> None:
        async with AsyncMemory(url, user="closed") as memory:
            await memory.status()
        with pytest.raises(Misused, match="closed"):
            await memory.status()
        with pytest.raises(Misused, match="closed"):
            await anext(aiter(memory.export()))

    asyncio.run(awaited())


@pytest.mark.parametrize("over", ["http", "nats"])
def test_a_second_event_loop_is_told_at_once(up: Running, over: str) -> None:
    memory = AsyncMemory(up.http if over == "http" else up.nats, user="loops")
    with closing(asyncio.new_event_loop()) as first, closing(asyncio.new_event_loop()) as second:
        first.run_until_complete(memory.status())
        with pytest.raises(Misused, match="event loop"):
            second.run_until_complete(memory.status())
        first.run_until_complete(memory.close())


async def test_a_wrong_kind_of_port_is_told_apart(up: Running) -> None:
    http, bus = up.http.partition("://")[2], up.nats.rpartition("@")[2]
    for url, said in ((f"https://{http}", "http://"), (f"http://{bus}", "nats://"), (f"nats://{http}", "http://")):
        async with AsyncMemory(url, user="ann", timeout=2) as memory:
            with pytest.raises(MemorybusError, match=f"is {said}"):
                await memory.status()


async def test_a_detail_without_a_code_is_told() -> None:
    problem = {"type": "about:blank", "status": 413, "detail": "The body may have 1,048,576 bytes."}
    async with answering((413, problem)) as (memory, _):
        with pytest.raises(RequestFailed, match="may have 1,048,576 bytes") as failed:
            await memory.get("e1")
    assert (failed.value.code, failed.value.retryable) == ("too_large", False)


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_URL", "http://127.0.0.1:9")
    with Memory() as memory, pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:9"):
        memory.recall("what?")


def test_a_closed_memory_ends_its_thread_and_may_be_closed_again() -> None:
    memory = Memory("http://127.0.0.1:9")
    memory.close()
    memory.close()
    assert not memory._thread._thread.is_alive()


def test_a_forked_process_is_told_to_make_a_memory_of_its_own() -> None:
    memory = Memory("http://127.0.0.1:9", user="ann", timeout=5)
    child = os.fork()
    if child == 0:
        try:
            with memory:
                memory.status()
        except Misused as error:
            os._exit("forked" not in str(error))
        os._exit(2)
    until = time.monotonic() + 30
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)  # which changes nothing where it has ended
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    memory.close()
