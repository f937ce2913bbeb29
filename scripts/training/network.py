"""all-MiniLM-L6-v2 with a low-rank adapter and the reader's heads, in jax.

The network is BERT (Devlin et al. 2019, arXiv 1810.04805) of 6 layers; the adapter adds a product of two thin matrices
to each of its 36 linear maps (Hu et al. 2021, arXiv 2106.09685). The heads read a tanh layer over the states of each
token behind layers 2, 4 and 6, and of its two neighbours. `services/shared/embedders/minilm_graph.py` is the same
network in ONNX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, HEADS, WIDTH, HIDDEN = 6, 12, 384, 128
READ = (2, 4, 6)
LINEAR = tuple(
    f"encoder.layer.{layer}.{part}"
    for layer in range(LAYERS)
    for part in (
        *("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
        *("intermediate.dense", "output.dense"),
    )
)
SIDES = ("out", "left", "right")

Arrays = Mapping[str, jax.Array]


def untrained(weights: Arrays, rank: int, outputs: int, seed: int) -> dict[str, jax.Array]:
    """An adapter that changes nothing yet, and heads that know nothing."""
    random = np.random.default_rng(seed)

    def drawn(rows: int, columns: int, size: float) -> jax.Array:
        return jnp.array(random.normal(size=(rows, columns)) * size, jnp.float32)

    made = {}
    for name in LINEAR:
        to, of = weights[f"{name}.weight"].shape
        made[f"{name}.a"] = drawn(of, rank, of**-0.5)
        made[f"{name}.b"] = jnp.zeros((rank, to), jnp.float32)
    read = WIDTH * len(READ)
    made["read.w"], made["read.b"] = drawn(read, HIDDEN, read**-0.5), jnp.zeros(HIDDEN, jnp.float32)
    made |= {f"{side}.w": drawn(HIDDEN, outputs, 0.02) for side in SIDES}
    return made | {"out.b": jnp.zeros(outputs, jnp.float32)}


def states_of(
    weights: Arrays, trained: Arrays, ids: jax.Array, mask: jax.Array, key: jax.Array | None = None
) -> list[jax.Array]:
    """The states behind the embedding and each layer, (batch, tokens, 384) each; with a key some are dropped.

    With nothing trained they are those of the plain model.
    """
    keys: Sequence[jax.Array | None] = [None] * 2 * LAYERS if key is None else list(jax.random.split(key, 2 * LAYERS))
    words = weights["embeddings.word_embeddings.weight"][ids]
    places = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    state = _normalised(
        weights, words + places + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
    )
    bias = (1.0 - mask)[:, None, None, :] * -1e9
    states = [state]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        attended = _attended(weights, trained, state, bias, name)
        state = _normalised(weights, state + dropped(attended, keys[2 * layer]), f"{name}attention.output.LayerNorm")
        wide = jax.nn.gelu(_linear(weights, trained, state, f"{name}intermediate.dense"), approximate=False)
        narrow = _linear(weights, trained, wide, f"{name}output.dense")
        state = _normalised(weights, state + dropped(narrow, keys[2 * layer + 1]), f"{name}output.LayerNorm")
        states.append(state)
    return states


def vectors_of(state: jax.Array, mask: jax.Array) -> jax.Array:
    """Unit vectors, (batch, 384): the mean over the tokens."""
    total = (state * mask[..., None]).sum(1)
    return total / jnp.linalg.norm(total, axis=-1, keepdims=True)


def readings_of(trained: Arrays, states: Sequence[jax.Array], key: jax.Array | None = None) -> jax.Array:
    """The logits of the heads, (batch, tokens, outputs)."""
    hidden = jnp.concatenate([states[layer] for layer in READ], -1) @ trained["read.w"] + trained["read.b"]
    hidden = dropped(jnp.tanh(hidden), key, 0.2)
    left = jnp.pad(hidden, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    right = jnp.pad(hidden, ((0, 0), (0, 1), (0, 0)))[:, 1:]
    parts = zip(SIDES, (hidden, left, right), strict=True)
    return sum(part @ trained[f"{side}.w"] for side, part in parts) + trained["out.b"]


def dropped(values: jax.Array, key: jax.Array | None, rate: float = 0.1) -> jax.Array:
    """The values, of which so many are zero and the others the larger; all of them without a key."""
    return values if key is None else values * jax.random.bernoulli(key, 1 - rate, values.shape) / (1 - rate)


def _attended(weights: Arrays, trained: Arrays, state: jax.Array, bias: jax.Array, name: str) -> jax.Array:
    batch, tokens, _ = state.shape

    def heads(part: str) -> jax.Array:
        split = _linear(weights, trained, state, f"{name}attention.self.{part}")
        return split.reshape(batch, tokens, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    query, keys, values = map(heads, ("query", "key", "value"))
    shares = jax.nn.softmax(query @ keys.transpose(0, 1, 3, 2) / (WIDTH // HEADS) ** 0.5 + bias, -1)
    joined = (shares @ values).transpose(0, 2, 1, 3).reshape(batch, tokens, WIDTH)
    return _linear(weights, trained, joined, f"{name}attention.output.dense")


def _linear(weights: Arrays, trained: Arrays, state: jax.Array, name: str) -> jax.Array:
    plain = state @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return plain + (state @ trained[f"{name}.a"]) @ trained[f"{name}.b"] if trained else plain


def _normalised(weights: Arrays, state: jax.Array, name: str) -> jax.Array:
    centred = state - state.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-12)
    return centred * scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]
