"""The training itself: drawn from a seed, written down now and then, and gone on with where it was."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from zipfile import BadZipFile

import jax
import jax.numpy as jnp
import numpy as np
import optax
from batches import Asked, Comparing, Example, Reading, length_for, reading_batch, texts_of
from losses import AT, comparing_loss, reading_loss, retrieval_loss
from measure import Floats
from network import Arrays, readings_of, states_of, untrained, vectors_of
from numpy.random import Generator

from services.shared.reading.decode import COLUMNS

_WINDOW = 4
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """How it is trained; `retrieval` is what finding turns counts for beside reading them, every so many steps, and
    `comparing` what telling changes counts for."""

    steps: int = 1400
    batch: int = 20
    rank: int = 16
    rate: float = 2e-3
    retrieval: float = 1.0
    every: int = 2
    comparing: float = 1.0
    compared_every: int = 2
    seed: int = 0
    keep: int = 50
    longest: int = 160

    def mark(self, learned: object) -> str:
        """Tells a plan for what is learned, each label of it, from all others."""
        return hashlib.sha256(f"{json.dumps(asdict(self))} {learned!r}".encode()).hexdigest()[:12]


class Drawer:
    """Draws batches of turns of like length: of the user, and now and then of the assistant, who states nothing."""

    def __init__(self, examples: Sequence[Example], size: int, longest: int) -> None:
        self._users = sorted((one for one in examples if one.turn.by_user), key=lambda one: len(one.ids))
        self._others = [one for one in examples if not one.turn.by_user]
        self._size = size
        self._longest = longest

    def batch(self, random: Generator) -> Reading:
        """The next one."""
        window = self._others
        if not self._others or random.random() < 0.85:
            wide = _WINDOW * self._size
            start = random.integers(0, max(1, len(self._users) - wide))
            window = self._users[start : start + wide]
        chosen = [window[n] for n in random.choice(len(window), self._size, replace=len(window) < self._size)]
        return reading_batch(chosen, length_for(min(max(len(one.ids) for one in chosen), self._longest)))


def train(
    weights: Arrays,
    examples: Sequence[Example],
    asked: Asked | None,
    comparing: Comparing | None,
    plan: Plan,
    checkpoint: Path | None,
    tell: Callable[[int, float, float, float], object],
    begun_with: Mapping[str, np.ndarray] | None = None,
) -> Arrays:
    """The adapter and heads after all steps, which go on from those that they are `begun_with`; `tell` is told of each
    step with the losses."""
    trained = untrained(weights, plan.rank, len(COLUMNS), plan.seed)
    trained["out.b"] = trained["out.b"].at[AT["claim:outside"]].set(1.0).at[AT["task:outside"]].set(2.0)
    if begun_with:
        trained = {name: jnp.asarray(begun_with[name], jnp.float32) for name in trained}
    schedule = optax.warmup_cosine_decay_schedule(0, plan.rate, min(40, plan.steps // 4), plan.steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
    state = optimizer.init(trained)
    update = _updates_of(optimizer)
    kinds = [_slopes_of(weights, loss) for loss in (reading_loss, retrieval_loss, comparing_loss)]
    begun, (trained, state) = _restored(checkpoint, (trained, state))
    drawer = Drawer(examples, plan.batch, plan.longest)
    for number in range(begun, plan.steps):
        random, key = np.random.default_rng([plan.seed, number]), jax.random.PRNGKey(plan.seed * 100_003 + number)
        turns = asked.batch(random) if asked and plan.retrieval and number % plan.every == 0 else None
        pairs = comparing.batch(random) if comparing and number % plan.compared_every == 1 else None
        batches = (drawer.batch(random), turns, pairs)
        found = [
            (place, *kinds[place](trained, batch, jax.random.fold_in(key, place)))
            for place, batch in enumerate(batches)
            if batch is not None
        ]
        shares = [(1.0, plan.retrieval, plan.comparing)[place] for place, *_ in found]
        trained, state = update(trained, state, [slopes for *_, slopes in found], shares)
        losses = {place: float(loss) for place, loss, _ in found}
        tell(number + 1, *(losses.get(place, 0.0) for place in range(len(kinds))))
        if checkpoint and (number + 1) % plan.keep == 0:
            _keep(checkpoint, number + 1, (trained, state))
    return trained


def _slopes_of(weights: Arrays, loss: Callable[..., jax.Array]) -> Callable[..., tuple[jax.Array, Arrays]]:
    """A loss with its slopes, compiled for the few shapes of its own batches: of all three together they are many."""

    @jax.jit
    def slopes(trained: Arrays, batch: object, key: jax.Array) -> tuple[jax.Array, Arrays]:
        return jax.value_and_grad(lambda some: loss(weights, some, batch, key))(trained)

    return slopes


def _updates_of(optimizer: optax.GradientTransformation) -> Callable[..., tuple]:
    @jax.jit
    def update(trained: Arrays, state: optax.OptState, slopes: Sequence[Arrays], shares: Sequence[float]) -> tuple:
        total = jax.tree.map(lambda *parts: sum(s * part for s, part in zip(shares, parts, strict=True)), *slopes)
        updates, state = optimizer.update(total, state, trained)
        return optax.apply_updates(trained, updates), state

    return update


def runner(weights: Arrays, trained: Arrays) -> Callable[[Sequence[Sequence[int]]], list[tuple[Floats, Floats]]]:
    """Reads texts: of the tokens of each, the logits of the heads, and its vector."""

    @jax.jit
    def forward(ids: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
        states = states_of(weights, trained, ids, mask)
        return readings_of(trained, states), vectors_of(states[-1], mask)

    def run(texts: Sequence[Sequence[int]]) -> list[tuple[Floats, Floats]]:
        found: dict[int, tuple[Floats, Floats]] = {}
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for places in _parts(order):
            length = length_for(len(texts[places[-1]]))
            padded = [texts[place] for place in places] + [[]] * (_AT_ONCE - len(places))
            logits, vectors = map(np.asarray, forward(*texts_of(padded, length)))
            for row, place in enumerate(places):
                found[place] = (logits[row, : min(len(texts[place]), length)], vectors[row])
        return [found[place] for place in range(len(texts))]

    return run


def _parts(order: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(order), _AT_ONCE):
        yield order[start : start + _AT_ONCE]


def _keep(file: Path, step: int, held: object) -> None:
    arrays = {str(place): np.asarray(one) for place, one in enumerate(jax.tree.leaves(held))}
    unfinished = file.with_suffix(".part.npz")
    np.savez(unfinished, step=np.array(step), **arrays)
    unfinished.replace(file)


def _restored(file: Path | None, held: object) -> tuple[int, tuple]:
    """Where an earlier training with the same plan was; the start where there was none."""
    if file is None or not file.exists():
        return 0, held  # type: ignore[return-value]
    leaves, tree = jax.tree.flatten(held)
    try:
        with np.load(file) as kept:
            return int(kept["step"]), jax.tree.unflatten(tree, [jnp.asarray(kept[str(n)]) for n in range(len(leaves))])
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        sys.exit(f"{file} is damaged ({error}): remove it, and training begins anew")
