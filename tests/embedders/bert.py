"""all-MiniLM-L6-v2 a second time, in plain numpy and without shortcuts: what the built graph is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_erf = np.vectorize(math.erf)


def embed(w: Mapping[str, Array], token_ids: Sequence[int]) -> Array:
    """The unit vector of one text, in double precision."""
    mean = _states(w, token_ids)[-1].mean(axis=0)
    unit: Array = mean / np.linalg.norm(mean)
    return unit


def _states(w: Mapping[str, Array], token_ids: Sequence[int]) -> list[Array]:
    """The states behind the embedding and each layer."""
    state = w["embeddings.word_embeddings.weight"][list(token_ids)]
    state = state + w["embeddings.position_embeddings.weight"][: len(token_ids)]
    state = _norm(w, "embeddings.LayerNorm", state + w["embeddings.token_type_embeddings.weight"][0])
    states = [state]
    for layer in range(6):
        name = f"encoder.layer.{layer}"
        attended = _dense(w, f"{name}.attention.output.dense", _attention(w, f"{name}.attention.self", state))
        state = _norm(w, f"{name}.attention.output.LayerNorm", state + attended)
        inner = _dense(w, f"{name}.intermediate.dense", state)
        inner = inner * 0.5 * (1 + _erf(inner / math.sqrt(2)))
        state = _norm(w, f"{name}.output.LayerNorm", state + _dense(w, f"{name}.output.dense", inner))
        states.append(state)
    return states


def _attention(w: Mapping[str, Array], name: str, state: Array) -> Array:
    tokens = len(state)
    query, key, value = (
        _dense(w, f"{name}.{part}", state).reshape(tokens, 12, 32).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(32)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    joined: Array = (shares @ value).transpose(1, 0, 2).reshape(tokens, 384)
    return joined


def _dense(w: Mapping[str, Array], name: str, state: Array) -> Array:
    product = state @ w[f"{name}.weight"].T + w[f"{name}.bias"]
    return product + state @ w[f"{name}.a"] @ w[f"{name}.b"] if f"{name}.a" in w else product


def _norm(w: Mapping[str, Array], name: str, state: Array) -> Array:
    centred = state - state.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(centred.var(axis=-1, keepdims=True) + 1e-12)
    normed: Array = centred / deviation * w[f"{name}.weight"] + w[f"{name}.bias"]
    return normed


def embed_and_read(
    w: Mapping[str, Array], adapter: Mapping[str, Array], heads: Mapping[str, Array], token_ids: Sequence[int]
) -> tuple[Array, Array]:
    """The unit vector of one text with an adapter beside each linear map, and what heads read of each token."""
    states = _states({**w, **adapter}, token_ids)
    mean = states[-1].mean(axis=0)
    hidden = np.tanh(np.concatenate([states[layer] for layer in (2, 4, 6)], axis=1) @ heads["read.w"] + heads["read.b"])
    none = np.zeros((1, hidden.shape[1]))
    before, behind = np.concatenate([none, hidden[:-1]]), np.concatenate([hidden[1:], none])
    read: Array = hidden @ heads["out.w"] + before @ heads["left.w"] + behind @ heads["right.w"] + heads["out.b"]
    return mean / np.linalg.norm(mean), read
