"""What the embedded engine leaves in its files: read raw, byte by byte."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import qdrant_edge

from contracts.ports import Filters, Scope, Unavailable
from services.shared.stores.edge import EdgeVectorStore, FolderMismatch
from services.shared.stores.edge import store as store_module
from services.shared.stores.edge.generations import Generations
from tests.flow.raw import contents
from tests.polling import eventually
from tests.stores.test_vector_store_edge import run_python
from tests.stores.vector_builders import DIMENSIONS, a_point, copies_of, found, ids, towards


def occurrences(folder: Path, wanted: str | bytes) -> int:
    """How often the bytes are in the files of a folder."""
    needle = wanted.encode() if isinstance(wanted, str) else wanted
    return sum(data.count(needle) for _, data in contents(folder))


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


async def open_store(path: Path, *, copies: bool = False) -> EdgeVectorStore:
    return await EdgeVectorStore.open(path, dimensions=DIMENSIONS, copies=copies)


@pytest.fixture
def marker() -> str:
    return f"marker{uuid4().hex}"


async def test_words_of_tags_and_themes_are_never_in_the_files(tmp_path: Path, marker: str) -> None:
    store = await open_store(tmp_path)
    scope = Scope("ann")
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


async def test_a_folder_of_a_former_version_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    (tmp_path / "edge_config.json").write_text('{"vectors": {"turn": {"size": 16}}}')
    with pytest.raises(FolderMismatch, match=r"former version.*memorybus reindex"):
        await open_store(tmp_path)
