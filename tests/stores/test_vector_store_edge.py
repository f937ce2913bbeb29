"""What only the embedded engine has: a folder of its own, one owner, crashes to survive, and files to sweep."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4, uuid5

import numpy as np
import pytest
import qdrant_edge
from hypothesis import given
from hypothesis import strategies as st

from contracts.envelope import NAMESPACE
from contracts.ports import Filters, Scope, Unavailable, Vector, VectorPoint
from services.shared.stores.edge import EdgeVectorStore, FolderInUse, FolderMismatch
from services.shared.stores.edge import store as store_module
from services.shared.stores.edge.folder import engine_errors
from services.shared.stores.edge.generations import Generations
from services.shared.stores.edge.known import Known, KnownPoints, PointNames
from services.shared.stores.points import FILTERED
from tests.flow.raw import contents
from tests.polling import eventually
from tests.stores.vector_builders import DIMENSIONS, a_point, copies_of, found, ids, towards, vectors_of

SCOPE = Scope("u1")


def entry_id(number: int) -> str:
    return str(uuid5(NAMESPACE, str(number)))


def vector(number: int) -> Vector:
    numbers = np.random.default_rng(number).normal(size=DIMENSIONS).astype(np.float32)
    return numbers / np.linalg.norm(numbers)


def points(start: int, end: int, version: int = 1) -> list[VectorPoint]:
    return [a_point(SCOPE, vector(i), id=entry_id(i), version=version) for i in range(start, end)]


async def nearest(store: EdgeVectorStore, number: int) -> str:
    hits = await store.search(SCOPE, vector(number), limit=1, filters=Filters())
    return hits[0].id


async def open_store(path: Path, *, copies: bool = False) -> EdgeVectorStore:
    return await EdgeVectorStore.open(path, dimensions=DIMENSIONS, copies=copies)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EdgeVectorStore]:
    opened = await open_store(tmp_path / "vectors")
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
    store = await EdgeVectorStore.open(sys.argv[1], dimensions=16)
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

    store = await open_store(folder)
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
    asyncio.run(EdgeVectorStore.open(sys.argv[1], dimensions=16))
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


async def test_other_dimensions_and_a_former_version_are_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    await (await open_store(tmp_path)).close()
    with pytest.raises(FolderMismatch, match=r"16 dimensions.*makes 8.*memorybus reindex"):
        await EdgeVectorStore.open(tmp_path, dimensions=8)
    (tmp_path / "edge_config.json").write_text('{"vectors": {"turn": {"size": 16}}}')
    with pytest.raises(FolderMismatch, match=r"former version.*memorybus reindex"):
        await open_store(tmp_path)


async def test_a_folder_left_by_a_death_during_its_creation_is_completed(tmp_path: Path) -> None:
    turn = qdrant_edge.EdgeVectorParams(size=DIMENSIONS, distance=qdrant_edge.Distance.Cosine)
    shard_folder = tmp_path / "1"
    shard_folder.mkdir()
    qdrant_edge.EdgeShard.create(str(shard_folder), qdrant_edge.EdgeConfig(vectors={"turn": turn})).close()
    store = await open_store(tmp_path)
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
        await open_store(tmp_path)
    (tmp_path / "vectors").write_text("not a folder")
    with pytest.raises(Unavailable, match="can be read and written"):
        await open_store(tmp_path / "vectors")


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
    known = await vectors_of(store, SCOPE, list(map(entry_id, range(3))))
    assert asked == [[entry_id(0), entry_id(1)], [entry_id(2)], [entry_id(1)]]
    with pytest.raises(ValueError, match="read-only"):
        known[entry_id(0)][0] = 0
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


def occurrences(folder: Path, wanted: str | bytes) -> int:
    """How often the bytes are in the files of a folder."""
    needle = wanted.encode() if isinstance(wanted, str) else wanted
    return sum(data.count(needle) for _, data in contents(folder))


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.fixture
def marker() -> str:
    return f"marker{uuid4().hex}"


async def test_words_of_tags_and_themes_are_never_in_the_files(tmp_path: Path, marker: str) -> None:
    store, scope = await open_store(tmp_path), Scope("ann")
    point = a_point(scope, towards(1), tags=(f"{marker}-tag",), themes=(f"{marker}-theme",), text=marker)
    await store.upsert([point])
    for wanted in (Filters(tags=(f"{marker}-tag",)), Filters(theme=f"{marker}-theme")):
        assert await found(store, scope, wanted) == ids([point])
    await store.close()
    assert occurrences(tmp_path, "ann")  # so the search can find something
    assert occurrences(tmp_path, marker) == 0


async def test_the_same_tag_of_two_users_does_not_look_the_same(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    points = [a_point(Scope(user), towards(1), tags=("red",)) for user in ("ann", "bob")]
    await store.upsert(points)
    records = store._shard.retrieve(list(ids(points)), True, False)
    assert len({(record.payload or {})["tag_keys"][0] for record in records}) == 2
    await store.close()


async def test_after_forgetting_and_sweeping_no_byte_of_a_copy_is_left(tmp_path: Path, marker: str) -> None:
    store = await open_store(tmp_path, copies=True)
    kept, gone = (a_point(Scope("ann"), towards(1), text=f"{word} {marker}") for word in ("kept", "gone"))
    await store.upsert([kept, gone])
    await store.upsert([gone])
    await store.remove(ids([gone]))
    assert occurrences(tmp_path, f"gone {marker}")
    assert await store.compact()
    assert occurrences(tmp_path, f"gone {marker}") == 0
    assert occurrences(tmp_path, UUID(gone.entry.id).bytes) + occurrences(tmp_path, gone.entry.id) == 0
    assert occurrences(tmp_path, f"kept {marker}")
    assert await copies_of(store, Scope("ann"), ids([kept, gone])) == {kept.entry.id: kept.entry}
    await store.close()
    assert occurrences(tmp_path, f"gone {marker}") == 0


async def test_after_erasing_and_sweeping_no_byte_of_a_user_is_left_be_it_by_the_next_process(
    tmp_path: Path, marker: str
) -> None:
    first = await open_store(tmp_path)
    await first.upsert([a_point(Scope(marker), towards(1)) for _ in range(5)] + [a_point(Scope("bob"), towards(1))])
    await first.erase(marker)
    await first.close()
    second = await open_store(tmp_path)
    assert occurrences(tmp_path, marker)
    assert await second.compact()
    assert occurrences(tmp_path, marker) == 0
    assert await second.count() == 1
    await second.close()


async def test_nothing_is_written_anew_when_nothing_was_removed(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.upsert([a_point(Scope("ann"), towards(1))])
    shard = store._shard
    assert await store.compact()
    assert store._shard is shard
    await store.close()


SWEEP_AND_DIE = """
import asyncio, os, signal, sys
from pathlib import Path
from services.shared.stores.edge import EdgeVectorStore, store as module
from services.shared.stores.edge.generations import Generations
from contracts.ports import Scope
from tests.stores.vector_builders import DIMENSIONS, a_point, ids, towards

where = sys.argv[2]

def dies(*_):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    store = await EdgeVectorStore.open(sys.argv[1], dimensions=DIMENSIONS)
    points = [a_point(Scope("ann"), towards(1, i)) for i in range(300)]
    await store.upsert(points)
    await store.remove(ids(points)[:100])
    setattr(EdgeVectorStore if where.startswith("_") else Generations, where, dies)
    await store.compact()

asyncio.run(main())
"""


@pytest.mark.parametrize("where", ["begin", "_copy_some", "_switch", "choose", "finish", "discard_others"])
async def test_a_death_during_the_sweep_loses_nothing(tmp_path: Path, where: str) -> None:
    assert await run_python(SWEEP_AND_DIE, str(tmp_path), where) == (-signal.SIGKILL, "")
    store = await open_store(tmp_path)
    assert await store.count("ann") == 200
    assert len([name for name in names_in(tmp_path) if name.isdecimal()]) == 1
    assert Generations(tmp_path).holds_removed
    assert await store.compact()
    await store.upsert([a_point(Scope("ann"), towards(1))])
    await store.close()
    again = await open_store(tmp_path)
    assert await again.count("ann") == 201
    assert names_in(tmp_path) == [Generations(tmp_path).current.name]
    await again.close()


async def test_a_sweep_that_fails_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    store = await open_store(tmp_path)
    await store.upsert([a_point(Scope("ann"), towards(1, i)) for i in range(10)] + [a_point(Scope(marker), towards(1))])
    await store.erase(marker)
    with monkeypatch.context() as patched:
        patched.setattr(qdrant_edge, "Point", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(Unavailable, match="disk full"):
            await store.compact()
    assert await store.count() == 10
    assert await store.compact()
    assert occurrences(tmp_path, marker) == 0
    assert await store.count() == 10
    await store.close()


async def test_closing_does_not_wait_for_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "REWRITTEN_AT_ONCE", 1)
    store = await open_store(tmp_path)
    points = [a_point(Scope("ann"), towards(1, i)) for i in range(2000)]
    await store.upsert(points)
    await store.remove(ids(points)[:1])
    sweeping = asyncio.create_task(store.compact())
    await eventually(lambda: asyncio.to_thread(names_in, tmp_path), lambda names: "2" in names)
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await sweeping
    again = await open_store(tmp_path)
    assert await again.count() == 1999
    await again.close()
