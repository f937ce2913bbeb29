"""What is minimised: how far the heads are from the labels, and questions from the turns that answer them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from batches import Compared, Reading, Retrieval
from network import Arrays, readings_of, states_of, vectors_of

from services.shared.reading.decode import COLUMNS, RELATIONS, SLOTS, TAGS

AT = {name: place for place, name in enumerate(COLUMNS)}
_TEMPERATURE = 0.05
_OF_CLAIMS, _OF_TASKS, _OF_NAMES = 1.5, 3.0, 2.0
"""What a token within counts for beside one outside, of which there are many more."""

_AS_BEFORE = 10.0


def reading_loss(weights: Arrays, trained: Arrays, batch: Reading, key: jax.Array) -> jax.Array:
    """Cross entropy of tags, slots, and what is told of stretches and texts; and how far texts are from where they
    were to each other by the plain model, which knows more of them than a few chats teach."""
    of_states, of_heads = jax.random.split(key)
    states = states_of(weights, trained, *batch.texts, key=of_states)
    plain = states_of(weights, {}, *batch.texts)[-1]
    logits = readings_of(trained, states, of_heads)
    mask = batch.texts.mask
    mean = (logits * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    everywhere = jnp.ones(len(mask))
    return (
        _tagged(logits, "claim", batch.claims, _OF_CLAIMS)
        + 0.8 * _tagged(logits, "task", batch.tasks, _OF_TASKS)
        + 0.4 * _yes_or_no(logits[..., AT["names_whose"]], batch.names_whose, _counts(batch.names_whose, _OF_NAMES))
        + 0.3 * _yes_or_no(mean[:, AT["ends"]], batch.ends, batch.ends >= 0)
        + 0.5 * _yes_or_no(mean[:, AT["wish"]], batch.is_wish, everywhere)
        + _told(logits, batch)
        + _AS_BEFORE * _moved(vectors_of(states[-1], batch.texts.mask), vectors_of(plain, batch.texts.mask))
    )


def comparing_loss(weights: Arrays, trained: Arrays, batch: Compared, key: jax.Array) -> jax.Array:
    """Cross entropy of what the second of two texts is to the first."""
    of_states, of_heads = jax.random.split(key)
    logits = readings_of(trained, states_of(weights, trained, *batch.texts, key=of_states), of_heads)
    mask = batch.texts.mask
    start = AT[f"pair:{RELATIONS[0]}"]
    mean = (logits[..., start : start + len(RELATIONS)] * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    known = jnp.maximum(batch.relation, 0)[:, None]
    return _mean(-jnp.take_along_axis(jax.nn.log_softmax(mean), known, 1)[:, 0], batch.relation >= 0)


def retrieval_loss(weights: Arrays, trained: Arrays, batch: Retrieval, key: jax.Array) -> jax.Array:
    """Softmax over all turns of the batch (InfoNCE; van den Oord et al. 2018, arXiv 1807.03748)."""
    of_turns, of_questions = jax.random.split(key)
    turns = vectors_of(states_of(weights, trained, *batch.turns, key=of_turns)[-1], batch.turns.mask)
    asked = vectors_of(states_of(weights, trained, *batch.questions, key=of_questions)[-1], batch.questions.mask)
    scores = asked @ turns.T / _TEMPERATURE + (batch.is_turn - 1)[None] * 1e4
    right = jax.nn.logsumexp(jnp.where(batch.answers > 0, scores, -1e4), 1)
    is_asked = batch.answers.sum(1) > 0
    return _mean(jax.nn.logsumexp(scores, 1) - right, is_asked)


def _tagged(logits: jax.Array, kind: str, tags: jax.Array, within: float) -> jax.Array:
    start = AT[f"{kind}:outside"]
    likely = jax.nn.log_softmax(logits[..., start : start + len(TAGS)])
    of_tag = jnp.take_along_axis(likely, jnp.maximum(tags, 0)[..., None], -1)[..., 0]
    return _mean(-of_tag, _counts(tags, within))


def _counts(tags: jax.Array, within: float) -> jax.Array:
    """What each token counts for, padding for nothing."""
    return jnp.where(tags == 0, 1.0, within) * (tags >= 0)


def _told(logits: jax.Array, batch: Reading) -> jax.Array:
    """Slot, owner, news and mood, of the means over the tokens of each stretch."""
    text, begin, end, slot, *others = batch.stretches
    place = jnp.arange(logits.shape[1])[None]
    inside = (place >= begin[:, None]) & (place < end[:, None])
    mean = (logits[text] * inside[..., None]).sum(1) / jnp.maximum(inside.sum(1, keepdims=True), 1)
    first = AT[f"slot:{SLOTS[0]}"]
    likely = jax.nn.log_softmax(mean[:, first : first + len(SLOTS)])
    of_slot = jnp.take_along_axis(likely, jnp.maximum(slot, 0)[:, None], 1)[:, 0]
    told = zip(("of_user", "is_new", "is_meant"), others, strict=True)
    return 0.5 * _mean(-of_slot, slot >= 0) + sum(
        0.3 * _yes_or_no(mean[:, AT[name]], known, known >= 0) for name, known in told
    )


def _moved(vectors: jax.Array, plain: jax.Array) -> jax.Array:
    return jnp.square(vectors @ vectors.T - plain @ plain.T).mean()


def _yes_or_no(logits: jax.Array, known: jax.Array, counts: jax.Array) -> jax.Array:
    return _mean(jnp.maximum(logits, 0) - logits * known + jnp.log1p(jnp.exp(-jnp.abs(logits))), counts)


def _mean(values: jax.Array, counts: jax.Array) -> jax.Array:
    return (values * counts).sum() / jnp.maximum(counts.sum(), 1)
