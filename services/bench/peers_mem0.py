"""mem0 as a process that is told what to do, a line of JSON at a time: run by an environment of its own, beside ours.

Nothing of memorybus is imported here; `python -P` leaves out its folder, too, whose `http.py` would hide Python's. Its
embedder stands in the place of one that mem0 knows by name.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

_KNOWN_AS, _DIMENSIONS, _MAX_TOKENS = "huggingface", 384, 256


class Int8Embedder:
    """The embedder of memorybus as mem0 asks for it: one thread, the vectors of an ONNX file."""

    def __init__(self, config: Any) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.config = config
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(config.model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(config.model_kwargs["tokenizer"])
        self._tokenizer.enable_truncation(_MAX_TOKENS)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The unit vector of a text."""
        encoded = self._tokenizer.encode(text)
        fed = {"input_ids": encoded.ids, "attention_mask": encoded.attention_mask}
        given = {name: np.array([ids], dtype=np.int64) for name, ids in fed.items()}
        vector: list[float] = self._session.run(["embedding"], given)[0][0].tolist()
        return vector

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """The unit vectors of texts."""
        return [self.embed(text) for text in texts]


def opened(folder: Path, model: str, tokenizer: str) -> Any:
    """mem0 over a folder, with this model and no language model."""
    from mem0 import Memory
    from mem0.utils.factory import EmbedderFactory

    EmbedderFactory.provider_to_class[_KNOWN_AS] = f"{Int8Embedder.__module__}.{Int8Embedder.__qualname__}"
    vectors = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": _DIMENSIONS}
    embedder = {"model": model, "embedding_dims": _DIMENSIONS, "model_kwargs": {"tokenizer": tokenizer}}
    return Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": vectors},
            "embedder": {"provider": _KNOWN_AS, "config": embedder},
            "llm": {"provider": "openai", "config": {"api_key": "none: it is never asked"}},
            "history_db_path": str(folder / "history.db"),
        }
    )


def done(memory: Any, asked: Any) -> list[str]:
    """Add what was said; the sources of what is found for a query, best first."""
    for said in asked.get("said", ()):
        memory.add(said["text"], user_id=asked["user"], metadata={"source": said["source"]}, infer=False)
    if "query" not in asked:
        return []
    found = memory.search(asked["query"], filters={"user_id": asked["user"]}, top_k=asked["limit"])
    return [one["metadata"]["source"] for one in found["results"]]


def main(folder: str, model: str, tokenizer: str) -> None:
    """Do what each line asks for, and answer with the seconds it took and what was found."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what mem0 prints is no answer
    memory = opened(Path(folder), model, tokenizer)
    for line in sys.stdin:
        asked, started = json.loads(line), time.perf_counter()
        found = done(memory, asked)
        print(json.dumps({"seconds": time.perf_counter() - started, "found": found}), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
