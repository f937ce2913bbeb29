"""Weights of the profile fitted on judged questions: a listwise softmax over the candidates of each.

That is the most likely weights if each evidence among the candidates were drawn with odds of e to the weighted sum
(ListNet with the top one, Cao et al., ICML 2007), and if the weights were normally distributed around those that they
start from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contracts.v1.retrieval import RetrieveRequest
from services.cli.common import settings_from
from services.eval.datasets import Dataset
from services.eval.metrics import DEEPEST, Judged
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.app import Host
from services.shared.commands.formats import Question
from services.shared.commands.progress import Progress
from services.shared.ranking.features import Found, features_of
from services.shared.ranking.model import WEIGHTS
from services.shared.ranking.scoring import Floats

_STEPS = 50
_ENOUGH = 1e-6
_SHORTEST_STEP = 1e-4

Pairs = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Sample:
    """The candidates for a question: their features, shape (candidates, features), and the sources of each."""

    question: Question
    with_assistant: bool
    features: Floats
    sources: Sequence[Collection[str]]
    sessions: Mapping[str, str]

    @property
    def shares(self) -> Floats:
        """What share of the candidates that hold evidence each is."""
        holds = [float(not self.question.evidence.isdisjoint(sources)) for sources in self.sources]
        return np.array(holds) / max(sum(holds), 1.0)

    def judged(self, weights: Floats) -> Judged:
        """The candidates in the order of these weights."""
        order = np.argsort(-(self.features @ weights), kind="stable")[:DEEPEST]
        found = [self.sources[i] for i in order]
        return Judged(found, self.question.evidence, self.question.stale, self.sessions)


async def gather_samples(dataset: Dataset, folder: Path, progress: Progress) -> list[Sample]:
    """The candidates for each question that has evidence, from the memory in this folder, which nobody else uses."""
    host = Host(settings_from(data=folder), nats_url="")
    sessions = dataset.sessions()
    asked = [question for question in dataset.questions if question.evidence]
    seen: list[Found] = []
    samples: list[Sample] = []
    try:
        retriever = await _retriever(host, seen.append)
        for done, question in enumerate(asked, start=1):
            await retriever.retrieve(RetrieveRequest(user_id=question.user_id, query=question.text, now=question.now))
            samples += [_sample(question, found, sessions[question.user_id]) for found in seen]
            seen.clear()
            progress("gathering", done, len(asked))
    finally:
        await host.close()
    return samples


async def _retriever(host: Host, note: Callable[[Found], None]) -> Retriever:
    def measure(found: Found) -> list[float]:
        note(found)
        return [0.0] * len(found.candidates)

    return Retriever(
        store=await host.text_store(),
        vectors=await host.vector_store(),
        embedder=await host.embedder(),
        counter=host.token_counter(),
        settings=RetrieveSettings(relevance="profile"),
        measure=measure,
    )


def _sample(question: Question, found: Found, sessions: Mapping[str, str]) -> Sample:
    features = features_of(found)
    return Sample(
        question,
        any(entry.role == "assistant" for entry in found.entries),
        np.stack([features[name] for name in WEIGHTS], axis=1),
        [entry.source_ids for entry in found.entries],
        sessions,
    )


def fit(samples: Iterable[Sample], start: Pairs, strength: float) -> dict[str, tuple[float, float]]:
    """The weights for people from the questions without an assistant, those for an assistant from the others.

    Where there are none of a kind its weights stay. The higher the `strength`, the more questions it takes to move
    them; 1 says that a weight is mostly within 1 of where it starts.
    """
    kinds: tuple[list[Sample], list[Sample]] = ([], [])
    for sample in samples:
        if sample.shares.any():
            kinds[sample.with_assistant].append(sample)
    begun = np.array([start[name] for name in WEIGHTS]).T
    fitted = [_most_likely(of, own, strength) if of else own for of, own in zip(kinds, begun, strict=True)]
    return {name: (float(a), float(b)) for name, a, b in zip(WEIGHTS, *fitted, strict=True)}


def _most_likely(samples: Sequence[Sample], start: Floats, strength: float) -> Floats:
    """Newton's method with halved steps; the problem is convex."""
    most = max(len(sample.features) for sample in samples)
    x = np.stack([_padded(sample.features, most) for sample in samples])
    y = np.stack([_padded(sample.shares[:, None], most)[:, 0] for sample in samples])
    absent = np.stack([np.arange(most) >= len(sample.features) for sample in samples])
    weights, (loss, p) = start, _loss(x, y, absent, start, start, strength)
    for _ in range(_STEPS):
        step = np.linalg.solve(*_curvature_and_slope(x, y, p, weights - start, strength))
        length = 1.0
        while (tried := _loss(x, y, absent, weights - length * step, start, strength))[0] > loss:
            length /= 2
            if length < _SHORTEST_STEP:
                return weights
        gained = loss - tried[0]
        weights, (loss, p) = weights - length * step, tried
        if gained < _ENOUGH:
            break
    return weights


def _padded(rows: Floats, most: int) -> Floats:
    return np.pad(rows, ((0, most - len(rows)), (0, 0)))


def _loss(
    x: Floats, y: Floats, absent: NDArray[np.bool_], weights: Floats, start: Floats, strength: float
) -> tuple[float, Floats]:
    """The negative logarithm of the likelihood and of what was believed before, and the odds of each candidate."""
    scores = np.where(absent, -np.inf, x @ weights)
    scores -= scores.max(axis=1, keepdims=True)
    odds = np.exp(scores)
    sums = odds.sum(axis=1, keepdims=True)
    logs = np.where(y > 0, scores - np.log(sums), 0.0)
    moved = weights - start
    return float(-(y * logs).sum() + strength / 2 * moved @ moved), odds / sums


def _curvature_and_slope(x: Floats, y: Floats, p: Floats, moved: Floats, strength: float) -> tuple[Floats, Floats]:
    count = x.shape[2]
    slope = np.einsum("qnf,qn->f", x, p - y) + strength * moved
    expected = np.einsum("qnf,qn->qf", x, p)
    squares = (x * p[:, :, None]).reshape(-1, count).T @ x.reshape(-1, count)
    return squares - expected.T @ expected + strength * np.eye(count), slope


def without_own(samples: Sequence[Sample], start: Pairs, strength: float, progress: Progress) -> list[Judged]:
    """How each question is answered with weights that were fitted on the other users alone."""
    users = sorted({sample.question.user_id for sample in samples})
    found: list[Judged] = []
    for done, user in enumerate(users, start=1):
        others = fit((sample for sample in samples if sample.question.user_id != user), start, strength)
        found += judged_with((sample for sample in samples if sample.question.user_id == user), others)
        progress("leaving one out", done, len(users))
    return found


def judged_with(samples: Iterable[Sample], pairs: Pairs) -> list[Judged]:
    """How the questions are answered with these weights."""
    both = np.array([pairs[name] for name in WEIGHTS]).T
    return [sample.judged(both[int(sample.with_assistant)]) for sample in samples]
