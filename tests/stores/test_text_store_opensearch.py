"""The adapter for OpenSearch: refusals are seen and put into words, and passing trouble passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import Filters, Scope, Unavailable
from services.shared.bus.server import free_port
from services.shared.stores.opensearch import Address, Layout, OpenSearchTextStore, transport
from services.shared.stores.opensearch.transport import Client
from tests.stores.builders import an_entry, log_proposals, outcomes_of, store_entries, undecided_of
from tests.stores.changing import modify
from tests.stores.opensearch_openers import a_prefix, a_store, open_at

DONE = {"status": 201, "_seq_no": 7, "_primary_term": 1}
CONFLICT = {"status": 409, "error": {"type": "version_conflict_engine_exception"}}
FULL = {"status": 429, "error": {"type": "rejected_execution_exception", "reason": "queue is full"}}
BROKEN = {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "no such field"}}
GONE = {"status": 404, "error": {"type": "index_not_found_exception", "reason": "no such index [e]"}}
DISK = {
    "status": 429,
    "error": {
        "type": "cluster_block_exception",
        "reason": "index [e] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark];",
    },
}


class Cluster:
    """Answers bulk requests: for each item, the results it gives one after the other."""

    def __init__(self, **results: list[dict[str, Any]]) -> None:
        self.results = results
        self.asked: list[list[str]] = []

    async def __call__(self, body: bytes) -> dict[str, Any]:
        names = body.decode().split()
        self.asked.append(names)
        return {"items": [{"index": self.results[name].pop(0)} for name in names]}


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_LONGEST_PAUSE", 0.001)


@pytest.mark.usefixtures("short_pauses")
async def test_items_without_room_are_tried_again_and_only_those() -> None:
    cluster = Cluster(a=[DONE], b=[FULL, FULL, DONE], c=[CONFLICT], d=[FULL, CONFLICT])
    made = await transport.carry_out([b"a\n", b"b\n", b"c\n", b"d\n"], cluster)
    assert made == [(7, 1), (7, 1), None, None]
    assert cluster.asked == [["a", "b", "c", "d"], ["b", "d"], ["b"]]


async def test_what_was_removed_meanwhile_counts_as_changed() -> None:
    removed = {"status": 404, "error": {"type": "document_missing_exception", "reason": "[b]: document missing"}}
    assert await transport.carry_out([b"a\n", b"b\n"], Cluster(a=[DONE], b=[removed])) == [(7, 1), None]


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize(
    ("results", "error", "words"),
    [
        ([FULL] * transport._BULK_ATTEMPTS, Unavailable, "overloaded"),
        ([BROKEN], ValueError, r"\(400 mapper_parsing_exception\)$"),
        ([DISK], Unavailable, "free some space"),
        ([GONE], Unavailable, "index is missing"),
    ],
)
async def test_what_is_refused_is_said(results: list[dict[str, Any]], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        await transport.carry_out([b"a\n", b"b\n"], Cluster(a=[DONE], b=results))


@pytest.mark.parametrize(("count", "size", "requests"), [(1200, 10, 3), (12, 1_000_000, 3), (2, 6_000_000, 2)])
async def test_bulk_requests_are_cut_to_size(count: int, size: int, requests: int) -> None:
    cluster = Cluster(**{"x" * (size - 1): [DONE] * count})
    assert len(await transport.carry_out([b"x" * (size - 1) + b"\n"] * count, cluster)) == count
    assert len(cluster.asked) == requests


@pytest.fixture
async def store(opensearch_url: str) -> AsyncIterator[OpenSearchTextStore]:
    async with a_store(opensearch_url) as opened:
        yield opened


@asynccontextmanager
async def a_block(client: Client, name: str) -> AsyncIterator[None]:
    await client.request("PUT", f"/{client.prefix}-*/_settings", body={f"index.blocks.{name}": True})
    try:
        yield
    finally:
        await client.request("PUT", f"/{client.prefix}-*/_settings", body={f"index.blocks.{name}": None})


async def test_indices_that_a_full_disk_closed_are_unavailable_until_there_is_room(
    store: OpenSearchTextStore, user: str
) -> None:
    async with a_block(store.client, "read_only_allow_delete"):
        with pytest.raises(Unavailable, match="free some space"):
            await store_entries(store, [an_entry(user, "green tea")])
        assert await store.search(Scope(user), "tea", limit=3, filters=Filters()) == []
    await store_entries(store, [an_entry(user, "green tea")])
    assert len(await store.search(Scope(user), "tea", limit=3, filters=Filters())) == 1


async def test_a_write_waits_out_a_block_that_is_lifted_soon_and_a_removal_is_unavailable(
    store: OpenSearchTextStore, user: str
) -> None:
    await store_entries(store, [an_entry(user)])
    async with a_block(store.client, "write"):
        writing = asyncio.create_task(log_proposals(store, user, 1))
        with pytest.raises(Unavailable, match="a migration is under way"):
            await store.erase(user)
        assert not writing.done()
    (proposal,) = await writing
    assert await undecided_of(store, [proposal]) == [proposal]
    await store.erase(user)
    assert set((await store.count_remaining(user)).values()) == {0}


async def test_stores_that_open_at_once_make_the_indices_once(opensearch_url: str, user: str) -> None:
    with a_prefix(opensearch_url) as prefix:
        stores = await asyncio.gather(*(open_at(opensearch_url, prefix) for _ in range(4)))
        entries = [an_entry(user, f"tea {i}") for i in range(4)]
        await asyncio.gather(*(store_entries(*pair) for pair in zip(stores, [[e] for e in entries], strict=True)))
        for store in stores:
            assert list(await store.get(entries)) == [entry.id for entry in entries]
            await store.close()


async def test_indices_that_are_missing_are_not_made_by_a_write(store: OpenSearchTextStore, user: str) -> None:
    indices = f"/{store.client.prefix}-*"
    await store.client.request("DELETE", indices)
    with pytest.raises(Unavailable, match="index is missing"):
        await store_entries(store, [an_entry(user)])
    assert await store.client.request("GET", indices) == {}


async def test_ids_that_no_document_can_have_are_unknown(store: OpenSearchTextStore, user: str) -> None:
    impossible = [an_entry(user, id=id_) for id_ in ("", "x" * 513)]
    assert await store.get(impossible) == {}
    assert await outcomes_of(store, impossible) == {}
    assert await modify(store, impossible, lambda e: e) == []


async def test_an_id_of_another_user_cannot_be_taken(store: OpenSearchTextStore, user: str) -> None:
    (entry,) = await store_entries(store, [an_entry(user)])
    with pytest.raises(ValueError, match="another user"):
        await store_entries(store, [entry.model_copy(update={"user_id": "somebody else"})])
    assert await store.get([entry]) == {entry.id: entry}


def answering(status: int, body: str, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return (head + body).encode()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answering(401, '{"error": "Unauthorized", "status": 401}'), "MEMORYBUS_OPENSEARCH_PASSWORD"),
        (answering(403, '{"error": {"type": "security_exception", "reason": "no permissions"}}'), "lacks a permission"),
        (answering(200, "<html>hello</html>", "text/html"), "is not OpenSearch"),
        (answering(404, "no such page", "text/plain"), "is not OpenSearch"),
        (answering(405, ""), "is not OpenSearch"),
        (answering(503, "busy", "text/plain"), "overloaded"),
        (b"", "cannot be reached"),
    ],
)
async def test_what_is_wrong_with_the_address_is_said(answer: bytes, words: str) -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = Address((f"http://127.0.0.1:{port}",), user="memorybus", password="secret word")
    try:
        with pytest.raises(Unavailable, match=words) as raised:
            await OpenSearchTextStore.open(address, prefix="p")
        assert "secret word" not in f"{raised.value!r}{address!r}"
    finally:
        server.close()
        await server.wait_closed()


async def test_another_node_answers_when_one_is_gone(opensearch_url: str, opensearch_prefix: str, user: str) -> None:
    address = Address((f"http://127.0.0.1:{free_port()}", opensearch_url))
    store = await OpenSearchTextStore.open(address, prefix=opensearch_prefix, layout=Layout(shards=2))
    for i in range(4):
        await store_entries(store, [an_entry(user, f"tea {i}")])
    assert (await store.counts(user)).entries == 4
    await store.close()


async def test_an_address_or_a_certificate_authority_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("no certificate")
    for file in ("none.pem", "missing.pem"):
        with pytest.raises(Unavailable, match="MEMORYBUS_OPENSEARCH_CA"):
            await OpenSearchTextStore.open(Address(("https://127.0.0.1:1",), ca=tmp_path / file), prefix="p")
    with pytest.raises(Unavailable, match="MEMORYBUS_OPENSEARCH_URL"):
        await OpenSearchTextStore.open(Address(("http://127.0.0.1:port",)), prefix="p")
