"""Opens the folder of a store: makes its shard, takes it over, or says why it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import qdrant_edge as qdrant

from contracts.errors import Unavailable, UnusableStore
from services.shared.stores.edge.generations import Generations
from services.shared.stores.edge.points import INDEXES
from services.shared.stores.points import TURN

CONFIG_FILE = "edge_config.json"
DATATYPE = qdrant.VectorStorageDatatype.Turbo16  # two bytes a number, cosines exact to about 1e-5


class FolderInUse(Unavailable):
    """Another process has the folder open."""


class FolderMismatch(UnusableStore):
    """The folder holds vectors of other dimensions than asked for, or in a form that is not kept any more."""


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn whatever the engine raises, a panic included, into `Unavailable`."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is a BaseException
        raise Unavailable(f"the vector store failed {doing}: {error}") from error


def open_current(path: Path, *, dimensions: int) -> qdrant.EdgeShard:
    """The shard in use in the folder of a store; what an interrupted rewriting left beside it is removed.

    Raises:
        FolderInUse: another process has it open.
        FolderMismatch: its vectors have other dimensions, or it is of a former version.
        Unavailable: it cannot be read or written.
    """
    check_layout(path)
    generations = Generations(path)
    shard = open_shard(generations.current, dimensions=dimensions)
    with _explained(path):
        generations.discard_others()
    return shard


def check_layout(path: Path) -> None:
    """Refuse a folder of a former version, which kept the words of tags and themes.

    Raises:
        FolderMismatch: it is one.
    """
    if (path / CONFIG_FILE).exists():
        raise FolderMismatch(
            f"the vectors in {path} are of a former version, which kept tags and themes as plain words: "
            "make them anew with `memorybus reindex`"
        )


def open_shard(path: Path, *, dimensions: int) -> qdrant.EdgeShard:
    """The shard in `path`, of cosine vectors; missing folders and indexes are made.

    Raises:
        FolderInUse: another process has it open.
        FolderMismatch: its vectors have other dimensions.
        Unavailable: it cannot be read or written.
    """
    with _explained(path):
        path.mkdir(parents=True, exist_ok=True)
        stored = _stored_dimensions(path)
    if stored not in (None, dimensions):
        raise FolderMismatch(
            f"the vectors in {path} have {stored} dimensions, the embedder makes {dimensions}: go back to "
            "the embedder they were made with, or make them anew with `memorybus reindex`"
        )
    with _explained(path):
        shard = qdrant.EdgeShard.load(str(path)) if stored else _create(path, dimensions)
        _add_missing_indexes(shard)
        return shard


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        with engine_errors("opening its folder"):
            yield
    except Unavailable as error:
        if "WouldBlock" in str(error):
            raise FolderInUse(
                f"the vectors in {path} are in use by another process: stop it, or choose another data folder"
            ) from error
        raise Unavailable(
            f"{error}. Check that {path} can be read and written; as its vectors are derived from the text store, "
            "it can also be moved away and made anew with `memorybus reindex`"
        ) from error


def _stored_dimensions(path: Path) -> int | None:
    """The dimensions of the vectors in the folder; None when there is no shard in it."""
    file = path / CONFIG_FILE
    if not file.exists():
        return None
    return int(json.loads(file.read_text("utf-8"))["vectors"][TURN]["size"])


def _create(path: Path, dimensions: int) -> qdrant.EdgeShard:
    vector = qdrant.EdgeVectorParams(size=dimensions, distance=qdrant.Distance.Cosine, datatype=DATATYPE)
    config = qdrant.EdgeConfig(
        vectors={TURN: vector},
        # No HNSW: building it blocks the whole process (the engine keeps the interpreter lock), 76 s for 100,000
        # points, and an exact scan of that many takes 6 ms.
        optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=0),
    )
    return qdrant.EdgeShard.create(str(path), config)


def _add_missing_indexes(shard: qdrant.EdgeShard) -> None:
    # They decide what is found: findings/qdrant-edge-index-changes-filters.sh
    present = shard.info().payload_schema
    for field, schema in INDEXES.items():
        if field not in present:
            shard.update(qdrant.UpdateOperation.create_field_index(field, schema))
