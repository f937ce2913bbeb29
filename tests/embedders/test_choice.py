"""Choosing an embedder: none is one choice, and one that is not installed says how to install it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from contracts.ports import EmbeddingIdentity, Unavailable
from services.shared.embedders import EmbedderMisconfigured, open_embedder


async def test_none_is_no_embedder(tmp_path: Path) -> None:
    assert await open_embedder("none", cache_dir=tmp_path) is None


async def test_minilm_is_built_into_the_cache_folder(tmp_path: Path) -> None:
    embedder = await open_embedder("minilm", cache_dir=tmp_path / "new" / "cache", threads=1)
    assert embedder is not None
    assert embedder.identity.dimensions == 384
    await embedder.close()
    assert any((tmp_path / "new" / "cache").iterdir())


async def test_fastembed_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)  # as when it is not installed, wherever this runs
    with pytest.raises(EmbedderMisconfigured, match=r"pip install 'memorybus\[fastembed\]'"):
        await open_embedder("fastembed", cache_dir=tmp_path)


class FakeModel:
    """Has the interface of fastembed.TextEmbedding."""

    def __init__(self, model_name: str, cache_dir: str, threads: int) -> None:
        if model_name == "unknown":
            raise ValueError("Model unknown is not supported")

    def embed(self, texts: list[str]) -> Iterator[np.ndarray]:
        for text in texts:
            if text == "broken":
                raise RuntimeError("out of memory")
            yield np.array([3.0, 4.0, 0.0], dtype=np.float32)


@pytest.fixture
def fastembed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("fastembed")
    module.TextEmbedding = FakeModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)


@pytest.mark.usefixtures("fastembed")
async def test_vectors_of_fastembed_are_brought_to_unit_length(tmp_path: Path) -> None:
    embedder = await open_embedder("fastembed", cache_dir=tmp_path, model="some/model")
    assert embedder is not None
    assert embedder.identity == EmbeddingIdentity("fastembed", "some/model", 3)
    assert await embedder.embed(["a", "b"]) == pytest.approx(np.array([[0.6, 0.8, 0.0]] * 2))
    assert (await embedder.embed([])).shape == (0, 3)
    with pytest.raises(Unavailable, match="out of memory"):
        await embedder.embed(["broken"])
    await embedder.close()


@pytest.mark.usefixtures("fastembed")
async def test_a_model_that_fastembed_does_not_know_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderMisconfigured, match=r"'unknown'.*MEMORYBUS_EMBEDDER_MODEL"):
        await open_embedder("fastembed", cache_dir=tmp_path, model="unknown")
