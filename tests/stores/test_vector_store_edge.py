"""What only the embedded engine has: a folder of its own, one owner, and crashes to survive."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid5

import numpy as np
import pytest
import qdrant_edge
from hypothesis import given
from hypothesis import strategies as st

from contracts.envelope import NAMESPACE
from contracts.ports import Filters, Scope, Unavailable, Vector, VectorPoint
from contracts.v1.entries import Entry
from services.shared.stores.edge import EdgeVectorStore, FolderInUse, FolderMismatch
from services.shared.stores.edge import store as store_module
from services.shared.stores.edge.folder import engine_errors
from services.shared.stores.edge.known import Known, KnownPoints, PointNames
from services.shared.stores.points import FILTERED
from tests.stores.vector_builders import vectors_of

SCOPE = Scope("u1")
DIMENSIONS = 8


def entry_id(number: int) -> str:
    return str(uuid5(NAMESPACE, str(number)))


def vector(number: int) -> Vector:
    numbers = np.random.default_rng(number).normal(size=DIMENSIONS).astype(np.float32)
    return numbers / np.linalg.norm(numbers)


def points(start: int, end: int, version: int = 1) -> list[VectorPoint]:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        VectorPoint(
            Entry(id=entry_id(i), user_id="u1", text="…", created_at=moment, updated_at=moment, version=version),
            vector(i),
        )
        for i in range(start, end)
    ]


async def nearest(store: EdgeVectorStore, number: int) -> str:
    hits = await store.search(SCOPE, vector(number), limit=1, filters=Filters())
    return hits[0].id


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EdgeVectorStore]:
    opened = await EdgeVectorStore.open(tmp_path / "vectors", dimensions=DIMENSIONS)
    yield opened
    await opened.close()


async def run_python(code: str, *arguments: str) -> tuple[int | None, str]:
    """Run code in a process of its own: its return code, and what it wrote."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        *arguments,
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    written, _ = await process.communicate()
    return process.returncode, written.decode()


WRITE_AND_DIE = """
import asyncio, os, signal, sys
from services.shared.stores.edge import EdgeVectorStore
from tests.stores.test_vector_store_edge import entry_id, points

async def main():
    store = await EdgeVectorStore.open(sys.argv[1], dimensions=8)
    for start in range(0, 3000, 100):
        await store.upsert(points(start, start + 100))
    await store.upsert(points(500, 600, version=7))
    await store.remove([entry_id(i) for i in range(200)])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_everything_written_survives_a_kill_without_a_flush(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    assert await run_python(WRITE_AND_DIE, str(folder)) == (-signal.SIGKILL, "")

    store = await EdgeVectorStore.open(folder, dimensions=DIMENSIONS)
    assert await store.count("u1") == 2800
    assert set(await vectors_of(store, SCOPE, [entry_id(i) for i in range(210)])) == {
        entry_id(i) for i in range(200, 210)
    }
    assert [await nearest(store, number) for number in (200, 2999)] == [entry_id(200), entry_id(2999)]
    older = [VectorPoint(point.entry, -point.vector) for point in points(500, 600, version=6)]
    await store.upsert(older)
    assert await nearest(store, 555) == entry_id(555)
    await store.close()


OPEN_TOO = """
import asyncio, sys
from services.shared.stores.edge import EdgeVectorStore

try:
    asyncio.run(EdgeVectorStore.open(sys.argv[1], dimensions=8))
except Exception as error:
    print(type(error).__name__, error)
"""


async def test_a_second_process_is_told_that_the_folder_is_in_use(store: EdgeVectorStore, tmp_path: Path) -> None:
    assert issubclass(FolderInUse, Unavailable)
    code, written = await run_python(OPEN_TOO, str(tmp_path / "vectors"))
    assert code == 0
    assert written.startswith("FolderInUse")
    assert "stop it, or choose another data folder" in written
    await store.upsert(points(0, 1))
    assert await store.count() == 1


async def test_other_dimensions_are_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    await (await EdgeVectorStore.open(tmp_path, dimensions=DIMENSIONS)).close()
    with pytest.raises(FolderMismatch, match=r"8 dimensions.*makes 16.*memorybus reindex"):
        await EdgeVectorStore.open(tmp_path, dimensions=16)


async def test_a_folder_left_by_a_death_during_its_creation_is_completed(tmp_path: Path) -> None:
    turn = qdrant_edge.EdgeVectorParams(size=DIMENSIONS, distance=qdrant_edge.Distance.Cosine)
    shard_folder = tmp_path / "1"
    shard_folder.mkdir()
    qdrant_edge.EdgeShard.create(str(shard_folder), qdrant_edge.EdgeConfig(vectors={"turn": turn})).close()
    store = await EdgeVectorStore.open(tmp_path, dimensions=DIMENSIONS)
    await store.upsert(points(0, 3))
    assert await nearest(store, 2) == entry_id(2)
    await store.close()

    shard = qdrant_edge.EdgeShard.load(str(shard_folder))
    assert set(shard.info().payload_schema) == set(FILTERED)
    shard.close()


@pytest.mark.parametrize("content", ["", json.dumps({"vectors": {"turn": {}}}), "\x00\x01"])
async def test_a_damaged_folder_is_explained(tmp_path: Path, content: str) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "edge_config.json").write_text(content)
    with pytest.raises(Unavailable, match=r"moved away and made anew with `memorybus reindex`"):
        await EdgeVectorStore.open(tmp_path, dimensions=DIMENSIONS)
    (tmp_path / "vectors").write_text("not a folder")
    with pytest.raises(Unavailable, match="can be read and written"):
        await EdgeVectorStore.open(tmp_path / "vectors", dimensions=DIMENSIONS)


async def test_writes_are_flushed_now_and_then(store: EdgeVectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FLUSH_EVERY", 50)
    await store.upsert(points(0, 30))
    assert store._unflushed == 30
    await store.upsert(points(30, 60))
    assert store._unflushed == 0
    assert await store.count() == 60


async def test_points_are_fetched_from_the_engine_once_until_they_change(
    store: EdgeVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.upsert(points(0, 3))
    asked: list[list[str]] = []
    read = store._points

    def note(ids: Sequence[str], fields: Sequence[str]) -> dict[str, Known]:
        asked.append(list(ids))
        return read(ids, fields)

    monkeypatch.setattr(store, "_points", note)
    for wanted in ([0, 1], [1, 2], [0, 1, 2]):
        assert set(await vectors_of(store, SCOPE, list(map(entry_id, wanted)))) == set(map(entry_id, wanted))
    await store.upsert(points(1, 2))
    found = await vectors_of(store, SCOPE, list(map(entry_id, range(3))))
    assert asked == [[entry_id(0), entry_id(1)], [entry_id(2)], [entry_id(1)]]
    with pytest.raises(ValueError, match="read-only"):
        found[entry_id(0)][0] = 0
    assert await vectors_of(store, Scope("u2"), [entry_id(0)]) == {}
    await store.close()
    with pytest.raises(Unavailable):
        await vectors_of(store, SCOPE, [entry_id(0)])


async def test_so_many_points_are_known_and_no_more(store: EdgeVectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_known", KnownPoints(most=2))
    await store.upsert(points(0, 5))
    wanted = list(map(entry_id, range(5)))
    assert set(await vectors_of(store, SCOPE, wanted)) == set(wanted)
    assert set(store._known.get(wanted)) == set(wanted[-2:])


@given(st.lists(st.uuids()))
def test_ids_are_written_as_uuids_are(uuids: list[UUID]) -> None:
    names = PointNames()
    hits = [SimpleNamespace(id=one) for one in uuids]
    assert names.of(hits) == names.of(hits) == list(map(str, uuids))


class Panic(BaseException):
    """As a panic of the engine arrives in Python."""


@pytest.mark.parametrize("error", [RuntimeError("disk full"), Panic("disk full")])
def test_whatever_the_engine_raises_is_unavailable(error: BaseException) -> None:
    with pytest.raises(Unavailable, match="failed writing: disk full"), engine_errors("writing"):
        raise error


def test_an_interrupt_is_not_taken_for_a_failure_of_the_engine() -> None:
    with pytest.raises(KeyboardInterrupt), engine_errors("writing"):
        raise KeyboardInterrupt
