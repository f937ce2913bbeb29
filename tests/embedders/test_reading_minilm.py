"""The encoder with what was trained on chats: its vectors, and what it reads, are those of a plain implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from contracts.ports import Reader, Unavailable
from services.shared.embedders import EmbedderMisconfigured, minilm, open_embedder
from services.shared.embedders.minilm import BATCH, MiniLmEmbedder, ReadingMiniLmEmbedder
from services.shared.embedders.minilm_graph import Precision, build_graph, merged
from services.shared.embedders.minilm_model import open_tokenizer, package_folder
from services.shared.reading.claims import reading_of
from services.shared.reading.decode import COLUMNS
from services.shared.reading.weights import Trained, load_trained
from tests.embedders import bert

TEXTS = [
    "My name is Ana and I live in Lisbon with my sister Ines, who is a nurse.",
    "ok",
    "Since March I work at Siemens. I am allergic to peanuts, and I have to call the dentist before Friday.",
    "Der Zug fährt um acht. 電車は八時に出ます。 🚆",
]


@pytest.fixture(scope="module")
def trained() -> Trained:
    return load_trained()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return open_tokenizer(package_folder())


@pytest.fixture(scope="module")
def sessions(trained: Trained) -> dict[Precision, onnxruntime.InferenceSession]:
    """What computes, by precision of the graph."""
    weights = merged(load_file(package_folder() / "model.safetensors"), trained.adapter)
    precisions: tuple[Precision, ...] = ("fp32", "int8")
    return {each: _session(build_graph(weights, each, trained.heads).SerializeToString()) for each in precisions}


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # several spin while they wait for each other
    return onnxruntime.InferenceSession(graph, options)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingMiniLmEmbedder]:
    opened = asyncio.run(ReadingMiniLmEmbedder.open(tmp_path_factory.mktemp("models")))
    yield opened
    asyncio.run(opened.close())


Computed = tuple[np.ndarray, np.ndarray]


def compute(session: onnxruntime.InferenceSession, tokens: Sequence[int], padded_to: int = 0) -> Computed:
    """The vector and the readings of a text, alone, behind which may be padding."""
    ids = np.zeros((1, max(padded_to, len(tokens))), np.int64)
    mask = ids.copy()
    ids[0, : len(tokens)], mask[0, : len(tokens)] = tokens, 1
    vectors, readings = session.run(["embedding", "readings"], {"input_ids": ids, "attention_mask": mask})
    return vectors[0], readings[0, : len(tokens)]


@pytest.fixture(scope="module")
def plain(trained: Trained, tokenizer: Tokenizer) -> list[Computed]:
    """What plain numpy computes of TEXTS, without shortcuts and in double precision."""
    doubled = {name: array.astype(np.float64) for name, array in _weights().items()}
    adapter = {name: array.astype(np.float64) for name, array in trained.adapter.items()}
    heads = {name: array.astype(np.float64) for name, array in trained.heads.items()}
    return [bert.embed_and_read(doubled, adapter, heads, tokenizer.encode(text).ids) for text in TEXTS]


def _weights() -> dict[str, np.ndarray]:
    return load_file(package_folder() / "model.safetensors")


def test_the_graph_computes_what_a_plain_implementation_computes(
    plain: list[Computed], sessions: dict[Precision, onnxruntime.InferenceSession], tokenizer: Tokenizer
) -> None:
    for text, (vector, readings) in zip(TEXTS, plain, strict=True):
        computed = compute(sessions["fp32"], tokenizer.encode(text).ids)
        assert computed[0] == pytest.approx(vector, abs=1e-5)
        assert computed[1] == pytest.approx(readings, abs=1e-3)


def test_the_quantized_network_stays_close(
    plain: list[Computed], sessions: dict[Precision, onnxruntime.InferenceSession], tokenizer: Tokenizer
) -> None:
    for text, (vector, readings) in zip(TEXTS, plain, strict=True):
        computed = compute(sessions["int8"], tokenizer.encode(text).ids)
        assert computed[0] @ vector >= 0.97
        assert np.corrcoef(computed[1].ravel(), readings.ravel())[0, 1] >= 0.98


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_padding_changes_no_reading(
    sessions: dict[Precision, onnxruntime.InferenceSession], tokenizer: Tokenizer, precision: Precision
) -> None:
    for text in TEXTS:
        tokens = tokenizer.encode(text).ids
        alone, padded = (compute(sessions[precision], tokens, size) for size in (0, len(tokens) + 40))
        assert padded[0] == pytest.approx(alone[0], abs=1e-4)
        assert padded[1] == pytest.approx(alone[1], abs=1e-2)


async def test_its_vectors_are_those_of_embed(embedder: ReadingMiniLmEmbedder) -> None:
    many = TEXTS * 3
    vectors, claims = await embedder.embed_and_read(many)
    assert vectors == pytest.approx(await embedder.embed(many), abs=1e-5)
    assert vectors.shape == (len(many), 384)
    assert len(claims) == len(many)


async def test_what_a_text_states_does_not_depend_on_its_neighbours(embedder: ReadingMiniLmEmbedder) -> None:
    _, together = await embedder.embed_and_read([*TEXTS, "word " * 300])
    for text, reading in zip(TEXTS, together, strict=False):
        (alone,) = (await embedder.embed_and_read([text]))[1]
        assert [claim.value for claim in alone.claims] == [claim.value for claim in reading.claims]
        assert [one.confidence for one in alone.claims] == pytest.approx(
            [one.confidence for one in reading.claims], abs=0.02
        )
        assert (alone.ends, alone.wish) == pytest.approx((reading.ends, reading.wish), abs=0.02)


async def test_claims_are_what_its_readings_decode_to(
    embedder: ReadingMiniLmEmbedder,
    trained: Trained,
    sessions: dict[Precision, onnxruntime.InferenceSession],
    tokenizer: Tokenizer,
) -> None:
    for text in TEXTS:
        encoded = tokenizer.encode(text)
        _, readings = compute(sessions["int8"], encoded.ids)
        assert readings.shape == (len(encoded.ids), len(COLUMNS))
        expected = reading_of(readings, encoded.offsets, text, trained.calibrations)
        assert (await embedder.embed_and_read([text]))[1] == [expected]


async def test_a_text_passes_tokenizer_and_network_once(
    embedder: ReadingMiniLmEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, session = _Counted(embedder._tokenizer), _Counted(embedder._session)
    monkeypatch.setattr(embedder, "_tokenizer", tokenizer)
    monkeypatch.setattr(embedder, "_session", session)
    await embedder.embed_and_read(TEXTS[:BATCH])
    assert tokenizer.calls == ["encode_batch"]
    assert session.calls == ["run"]


class _Counted:
    """Passes calls on, and notes their names."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self._wrapped, name)


async def test_it_reads_what_is_so_and_what_is_to_be_done(embedder: ReadingMiniLmEmbedder) -> None:
    text = "my sister Klara works for Equinor in Bergen, and I need to call the insurance by friday"
    _, (reading,) = await embedder.embed_and_read([text])
    told = {
        kind: " ".join(text[slice(*one.value)] for one in reading.claims if one.kind == kind)
        for kind in ("fact", "task")
    }
    assert "Equinor" in told["fact"]
    assert "call the insurance" in told["task"]


HOSTILE = ["", "   ", "\x00", "\ud800 lonely", "🙂" * 3000, "אני גר בחיפה", "a" * 100_000, "x y " * 50_000]


async def test_any_text_is_read_and_claims_lie_within_it(embedder: ReadingMiniLmEmbedder) -> None:
    vectors, readings = await embedder.embed_and_read(HOSTILE)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    for text, read in zip(HOSTILE, readings, strict=True):
        assert all(0 <= claim.sentence[0] <= claim.value[0] < claim.value[1] <= len(text) for claim in read.claims)
        assert 0 <= min(read.ends, read.wish) <= max(read.ends, read.wish) <= 1


async def test_two_texts_are_compared_whoever_stands_beside_them(embedder: ReadingMiniLmEmbedder) -> None:
    pairs = [*zip(HOSTILE, reversed(HOSTILE), strict=True), ("I live in Ghent.", "I have moved to Bruges.")]
    together = await embedder.compare(pairs)
    for pair, relation in zip(pairs, together, strict=True):
        (alone,) = await embedder.compare([pair])
        assert sum(relation) == pytest.approx(1, abs=1e-4)
        assert relation == pytest.approx(alone, abs=0.03)
    assert together[-1].update > max(together[-1].unrelated, together[-1].contradiction)
    assert await embedder.compare([]) == []


async def test_no_texts_have_nothing(embedder: ReadingMiniLmEmbedder) -> None:
    vectors, claims = await embedder.embed_and_read([])
    assert (vectors.shape, claims) == ((0, 384), [])


async def test_it_names_itself_by_its_training(embedder: ReadingMiniLmEmbedder, trained: Trained) -> None:
    assert embedder.reader == trained.version
    assert embedder.identity.provider == "memorybus"
    assert embedder.reader in embedder.identity.model
    assert isinstance(embedder, Reader)
    assert not isinstance(MiniLmEmbedder(embedder._session, embedder._tokenizer, 1), Reader)


async def test_a_closed_one_is_unavailable(tmp_path: Path, embedder: ReadingMiniLmEmbedder) -> None:
    other = ReadingMiniLmEmbedder(embedder._session, embedder._tokenizer, 1, load_trained())
    await other.close()
    with pytest.raises(Unavailable, match="closed"):
        await other.embed_and_read(["late"])


async def test_a_damaged_file_is_a_setting_to_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "reader.safetensors"
    damaged.write_bytes(b"no weights")
    monkeypatch.setattr(minilm, "load_trained", lambda: load_trained(damaged))
    with pytest.raises(EmbedderMisconfigured, match=r"install memorybus anew, or choose another .* MEMORYBUS_EMBEDDER"):
        await open_embedder("memorybus", cache_dir=tmp_path)
