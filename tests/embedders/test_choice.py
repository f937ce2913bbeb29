"""Choosing an embedder: none is one choice, and one that is not installed says how to install it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from contracts.ports import EmbeddingIdentity, Reader, Unavailable
from services.shared.embedders import EmbedderMisconfigured, open_embedder
from services.shared.embedders.minilm import ReadingMiniLmEmbedder
from services.shared.reading.weights import FORMER


async def test_none_is_no_embedder(tmp_path: Path) -> None:
    assert await open_embedder("none", cache_dir=tmp_path) is None


async def test_minilm_is_built_into_the_cache_folder(tmp_path: Path) -> None:
    embedder = await open_embedder("minilm", cache_dir=tmp_path / "new" / "cache", threads=1)
    assert embedder is not None
    assert embedder.identity.dimensions == 384
    await embedder.close()
    assert any((tmp_path / "new" / "cache").iterdir())


async def test_the_reader_stands_beside_a_model_that_does_not_read(model_cache: Path) -> None:
    plain = await open_embedder("minilm", cache_dir=model_cache, threads=1)
    beside = await open_embedder("minilm", cache_dir=model_cache, threads=1, reads=True)
    reading = await open_embedder("memorybus", cache_dir=model_cache, threads=1, reads=True)
    assert plain is not None
    assert isinstance(beside, Reader)
    assert isinstance(reading, Reader)
    try:
        text, pair = "I live in Ghent, and my sister is a nurse.", ("I live in Ghent.", "I have moved to Bruges.")
        vectors, read = await beside.embed_and_read([text])
        assert beside.identity == plain.identity
        assert beside.reader == reading.reader
        np.testing.assert_allclose(vectors, await plain.embed([text]), atol=1e-5)
        assert read == (await reading.embed_and_read([text]))[1]
        assert await beside.compare([pair]) == await reading.compare([pair])
    finally:
        for embedder in (plain, beside, reading):
            await embedder.close()


async def test_who_only_asks_questions_loads_no_reader(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = await open_embedder("minilm", cache_dir=model_cache, threads=1, reads=True)
    assert beside is not None

    async def never(*_: object, **__: object) -> None:
        pytest.fail("the reader was loaded")

    monkeypatch.setattr(ReadingMiniLmEmbedder, "open", never)
    assert (await beside.embed(["where do I live?"])).shape == (1, 384)
    await beside.close()


async def test_the_vectors_of_an_earlier_version_are_made_as_they_were(model_cache: Path) -> None:
    (former,) = FORMER.iterdir()
    model = f"all-MiniLM-L6-v2-{former.stem}"
    old = await open_embedder("memorybus", cache_dir=model_cache, threads=1, model=model)
    new = await open_embedder("memorybus", cache_dir=model_cache, threads=1)
    assert old is not None
    assert new is not None
    assert old.identity.model == model != new.identity.model
    (ours,), (theirs,) = await old.embed(["I live in Ghent."]), await new.embed(["I live in Ghent."])
    assert np.linalg.norm(ours) == pytest.approx(1, abs=1e-5)
    assert float(ours @ theirs) < 0.999
    await old.close()
    await new.close()


@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2-reader-00000000", "../reader", "reader-f8ae4dee/../../x", "x"])
async def test_a_model_that_this_version_has_not_says_what_to_do(tmp_path: Path, model: str) -> None:
    with pytest.raises(EmbedderMisconfigured, match="memorybus reindex"):
        await open_embedder("memorybus", cache_dir=tmp_path, model=model)


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
