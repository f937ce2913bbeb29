"""One text that a server cannot embed, in whatever way it says so, keeps nobody else from having vectors."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from contracts.ports import TextRefused, TextStore, Unavailable
from contracts.v1.commands import StatusReply
from contracts.v1.entries import Entry
from services.curate.commands import status
from services.shared import telemetry
from services.shared.embedders.http import HttpEmbedder
from tests.apps.fakes import FakeVectors
from tests.apps.settling import settle
from tests.apps.test_forgetting import places
from tests.servers.answering import Post, Reply, answering
from tests.stores.builders import an_entry, store_entries

CURSED = "hexenschuss"
LONG = 40  # words of a text that is too long
Trouble = Callable[[list[str]], Reply]


def rows(texts: list[str]) -> list[dict[str, Any]]:
    return [{"index": place, "embedding": [float(len(text)), 1.0, 2.0]} for place, text in enumerate(texts)]


def with_vector(vector: object) -> Trouble:
    """The cursed text gets this for a vector."""

    def answer(texts: list[str]) -> Reply:
        found = rows(texts)
        for row, text in zip(found, texts, strict=True):
            row["embedding"] = vector if CURSED in text else row["embedding"]
        return Reply(200, {"data": found})

    return answer


def saying(status: int, content: Any = b"", **headers: str) -> Trouble:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda texts: Reply(status, content, named)


def repeating_it(texts: list[str]) -> Reply:
    return Reply(500, {"error": {"message": f"cannot embed {texts}"}})


TROUBLES: dict[str, Trouble] = {
    **{f"HTTP {status}": saying(status, {"error": "no"}) for status in (400, 401, 403, 404, 408)},
    **{f"HTTP {status}": saying(status, b"<html>") for status in (413, 415, 422, 425, 429)},
    **{f"HTTP {status}": saying(status, b"") for status in (201, 301, 500, 502, 503, 504)},
    "repeats the text": repeating_it,
    "429, come back in an hour": saying(429, {}, Retry_After="3600"),
    "503, come back tomorrow": saying(503, {}, Retry_After="86400"),
    "closes the connection": saying(0),
    "closes in the middle": lambda texts: Reply(200, b'{"data": [', {"Content-Length": "5000", "Connection": "close"}),
    "NaN": with_vector([float("nan"), 1.0, 2.0]),
    "Infinity": with_vector([1.0, float("inf"), 2.0]),
    "overflow": with_vector([1e308, 1e308, 1e308]),
    "null for a number": with_vector([None, 1.0, 2.0]),
    "null for a vector": with_vector(None),
    "zeros": with_vector([0.0, 0.0, 0.0]),
    "nothing": with_vector([]),
    "other dimensions": with_vector([1.0, 2.0]),
    "a word": with_vector("AAAA"),
    "too few": lambda texts: Reply(200, {"data": rows([one for one in texts if CURSED not in one])}),
    "too many": lambda texts: Reply(200, {"data": rows([*texts, "more"])}),
    "an error with 200": saying(200, {"error": {"message": "input too large"}}),
    "broken JSON": lambda texts: Reply(200, json.dumps({"data": rows(texts)}).encode()[:-5]),
    "no JSON": saying(200, b"<html>"),
    "no body": saying(200),
    "packed": saying(200, b"\x1f\x8b", Content_Encoding="gzip"),
    "not HTTP": saying(200, b"", Transfer_Encoding="chunked"),
}


class Server:
    """Embeds all texts but the cursed one; away altogether when told so."""

    def __init__(self, trouble: Trouble) -> None:
        self.trouble = trouble
        self.everything: Trouble | None = None
        self.asked: list[list[str]] = []
        self.url = ""

    def respond(self, post: Post) -> Reply:
        texts = post.body["input"]
        self.asked.append(texts)
        if self.everything is not None:
            return self.everything(texts)
        return self.trouble(texts) if any(CURSED in text for text in texts) else Reply(200, {"data": rows(texts)})


@contextmanager
def serving(trouble: Trouble) -> Iterator[Server]:
    server = Server(trouble)
    with answering(server.respond) as address:
        server.url = f"{address}/v1"
        yield server


@asynccontextmanager
async def embedding(trouble: Trouble, batch: int = 32) -> AsyncIterator[tuple[Server, HttpEmbedder]]:
    """A server and whoever asks it."""
    with serving(trouble) as server:
        embedder = await HttpEmbedder.open(
            server.url, "some-model", batch=batch, most_wait=0.01, answer_within=5.0, late_after=0.2
        )
        try:
            yield server, embedder
        finally:
            await embedder.close()


async def embed(
    store: TextStore, entries: list[Entry], embedder: HttpEmbedder, vectors: FakeVectors | None = None
) -> list[str]:
    """What became of these entries."""
    async with asyncio.timeout(30):
        return [entry.embedding_state for entry in await settle(store, entries, embedder, vectors=vectors)]


async def said(store: TextStore, *texts: str) -> list[Entry]:
    """Texts, each of a user of its own."""
    return await store_entries(store, [an_entry(f"user{n}", text) for n, text in enumerate(texts)])


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
async def test_the_others_have_vectors_and_the_one_is_marked(
    store: TextStore, trouble: Trouble, caplog: pytest.LogCaptureFixture
) -> None:
    entries = await said(store, "We bought a boat.", f"My {CURSED} hurts.", *(f"Note {n} of mine" for n in range(4)))
    refused, vectors = telemetry.TEXTS_REFUSED._value.get(), FakeVectors()
    async with embedding(trouble) as (_, embedder):
        assert await embed(store, entries, embedder, vectors) == ["ready", "error", *["ready"] * 4]
        assert await embed(store, await said(store, "And later."), embedder, vectors) == ["ready"]
    marked = (await store.get(entries))[entries[1].id]
    assert marked.embedding_error
    assert CURSED not in marked.embedding_error + "".join(str(vars(record)) for record in caplog.records)
    assert len(vectors.points) == 6
    assert telemetry.TEXTS_REFUSED._value.get() == refused + 1


@pytest.mark.parametrize("batch", [1, 3, 32])
async def test_a_text_on_which_the_server_hangs_is_marked_too(store: TextStore, batch: int) -> None:
    released = threading.Event()

    def hang(texts: list[str]) -> Reply:
        released.wait(20)
        return Reply(200, {"data": rows(texts)})

    entries = await said(store, *(f"Note {n}" if n != 3 else f"{CURSED} {'again ' * 90}" for n in range(6)))
    async with embedding(hang, batch) as (_, embedder):
        assert await embed(store, entries, embedder) == ["ready"] * 3 + ["error"] + ["ready"] * 2
        released.set()


@pytest.mark.parametrize("name", ["HTTP 500", "HTTP 429", "HTTP 413", "closes the connection"])
async def test_a_text_that_is_too_long_is_cut(store: TextStore, name: str) -> None:
    def short_ones(texts: list[str]) -> Reply:
        return Reply(200, {"data": rows(texts)}) if max(map(len, texts)) <= 500 else TROUBLES[name](texts)

    async with embedding(short_ones) as (server, embedder):
        server.everything = short_ones
        entries = await said(store, f"{CURSED} {'and so on ' * 300}", "short")
        assert await embed(store, entries, embedder) == ["ready", "ready"]
    kept = [one for texts in server.asked for one in texts if CURSED in one and len(one) <= 500]
    assert len(kept[0]) > 250


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
async def test_a_server_that_fails_at_everything_is_away_and_nothing_is_marked(
    store: TextStore, trouble: Trouble
) -> None:
    entries = await said(store, f"{CURSED} one", f"{CURSED} two")
    async with embedding(trouble) as (server, embedder):
        server.everything = lambda texts: trouble([CURSED] * len(texts))
        with pytest.raises(Unavailable):
            await embed(store, entries, embedder)
        assert (await store.counts()).unembedded == 2
        server.everything = lambda texts: Reply(200, {"data": rows(texts)})
        assert await embed(store, entries, embedder) == ["ready", "ready"]


async def test_a_server_that_answers_only_what_it_has_seen_before_is_away(store: TextStore) -> None:
    """A cache before the server is no sign of its life."""
    async with embedding(saying(500)) as (server, embedder):
        seen = {text for texts in server.asked for text in texts}
        server.everything = lambda texts: (
            Reply(200, {"data": rows(texts)}) if seen.issuperset(texts) else Reply(502, b"")
        )
        with pytest.raises(Unavailable):
            await embed(store, await said(store, "anything"), embedder)


async def test_several_such_texts_in_one_batch_are_found_each(store: TextStore) -> None:
    entries = await said(store, *(f"{CURSED} {n}" if n % 5 == 0 else f"note {n}" for n in range(40)))
    async with embedding(saying(500)) as (_, embedder):
        states = await embed(store, entries, embedder)
    assert [n for n, state in enumerate(states) if state == "error"] == list(range(0, 40, 5))


async def test_the_neighbours_have_vectors_before_the_one_is_tried_alone(store: TextStore) -> None:
    vectors, before = FakeVectors(), set[int]()

    def note(texts: list[str]) -> Reply:
        if max(map(len, texts)) < 1000:  # cut
            before.add(len(vectors.points))
        return Reply(500, b"")

    entries = await said(store, "note 0", f"{CURSED} {'blah ' * 300}", *(f"note {n}" for n in range(1, 5)))
    async with embedding(note) as (_, embedder):
        await embed(store, entries, embedder, vectors)
    assert before - {0} == before == {5}


async def test_a_question_that_cannot_be_embedded_is_cut_and_then_refused() -> None:
    async with embedding(saying(500)) as (_, embedder):
        with pytest.raises(TextRefused):
            await embedder.embed([f"what about my {CURSED}?"])
        for question in (f"{'what about it ' * 20} {CURSED}?", "and the boat?"):
            assert (await embedder.embed([question])).shape == (1, 3)


@pytest.mark.parametrize("share", [2, 3])
async def test_a_server_that_fails_now_and_then_condemns_no_text(store: TextStore, share: int) -> None:
    async with embedding(saying(500)) as (server, embedder):

        def unsteady(texts: list[str]) -> Reply:
            return Reply(503, b"") if len(server.asked) % share == 0 else Reply(200, {"data": rows(texts)})

        server.everything = unsteady
        states = await embed(store, await said(store, *(f"note {n}" for n in range(20))), embedder)
    assert {*states} == {"ready"}


async def test_the_counts_tell_of_it(store: TextStore) -> None:
    texts = [("ann", f"My {CURSED} hurts."), ("ann", "I have a cat."), ("ben", "A dog.")]
    entries = await store_entries(store, [an_entry(user, text) for user, text in texts])
    stores, vectors, _ = places(store)

    async def counted(user_id: str | None) -> StatusReply:
        return await status(user_id, stores=stores, enriches=False, embedder=embedder)

    async with embedding(saying(500)) as (server, embedder):
        assert (await counted("ann")).degraded == ()
        server.everything = saying(503)
        assert (await counted("ann")).degraded == ("semantic",)
        server.everything = None
        await embed(store, entries, embedder, vectors)
        server.everything = saying(503)  # nobody waits for it
        found = [await counted(user) for user in ("ann", "ben", None)]
    assert [(one.pending, one.unembeddable, one.degraded) for one in found] == [(0, 1, ()), (0, 0, ()), (0, 1, ())]
