"""What the reader finds in chats that it never saw, held against what a reader noted; and what it is calibrated on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from batches import Example
from chats import Chat
from numpy.typing import NDArray
from pairs import Pair

from services.shared.reading.claims import Calibration
from services.shared.reading.decode import SIGNS, Stretch, claims_in, relation_in, tasks_in
from services.shared.reading.matching import Noted, told_right

Floats = NDArray[np.float32]
Run = Callable[[Sequence[Sequence[int]]], list[tuple[Floats, Floats]]]
"""Of the tokens of texts, the logits of each, (tokens, outputs), and its vector."""

CUTS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
_RIDGE = 1e-3
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Told:
    """A stretch that is told, and whether the labels of its turn have it; `claim`: which, if no other told it first."""

    stretch: Stretch
    chat: str
    is_right: bool
    claim: int | None
    is_fiction: bool
    right_slot: bool


@dataclass(frozen=True, slots=True)
class Found:
    """All that is told of some chats, and how many labels there are."""

    told: Sequence[Told]
    labels: int

    def signs(self) -> NDArray[np.float64]:
        """What confidence is made of, a row each."""
        return np.array([one.stretch.signs for one in self.told], np.float64).reshape(-1, SIGNS)

    def right(self) -> NDArray[np.float64]:
        """1 where it is right, 0 where it is not."""
        return np.array([one.is_right for one in self.told], np.float64)


def found_in(examples: Sequence[Example], read: Sequence[tuple[Floats, Floats]], kind: str) -> Found:
    """What is told of the user's turns, of this kind: claims or tasks."""
    told: list[Told] = []
    labels = 0
    for one, (logits, _) in zip(examples, read, strict=True):
        if not one.turn.by_user:
            continue
        known = one.turn.claims if kind == "claims" else one.turn.tasks
        labels += len(known)
        offsets = one.offsets[: len(logits)]
        stretches = (claims_in if kind == "claims" else tasks_in)(logits, offsets, one.turn.text)
        texts = [one.turn.text[stretch.begin : stretch.end] for stretch in stretches]
        noted = [Noted(label.value, label.slot) for label in known]
        not_so = [Noted(label.value, label.slot) for label in one.turn.not_claims]
        for stretch, match in zip(stretches, told_right(texts, noted, not_so), strict=True):
            slot = noted[match.claim].slot if match.claim is not None else ""
            told.append(Told(stretch, one.chat, match.is_right, match.claim, match.is_unreal, slot == stretch.slot))
    return Found(told, labels)


def figures_at(found: Found, sure: NDArray[np.float64], cut: float) -> dict[str, float]:
    """Of what is at least so sure: how many are told, precision, recall, the right slot, and what is not real."""
    kept = [one for one, share in zip(found.told, sure, strict=True) if share >= cut]
    first = [one for one in kept if one.claim is not None]
    return {
        "cut": cut,
        "told": len(kept),
        "precision": _share(one.is_right for one in kept),
        "recall": len(first) / max(found.labels, 1),
        "slot": _share(one.right_slot for one in first),
        "unreal": _share(one.is_fiction for one in kept),
    }


def _share(values: object) -> float:
    held = list(values)  # type: ignore[call-overload]
    return float(np.mean(held)) if held else 0.0


def calibrated(found: Found) -> Calibration:
    """A logistic fit of being right on the signs, by Newton's method with a small ridge."""
    signs, right = found.signs(), found.right()
    if not len(signs):
        return Calibration(np.zeros(1 + SIGNS, np.float32), np.zeros(SIGNS, np.float32), np.ones(SIGNS, np.float32))
    mean, spread = signs.mean(0), signs.std(0) + 1e-6
    rows = np.c_[np.ones(len(signs)), (signs - mean) / spread]
    weights, ridge = np.zeros(rows.shape[1]), _RIDGE * len(rows)
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (likely - right) + ridge * weights
        curve = (rows * (likely * (1 - likely))[:, None]).T @ rows + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    return Calibration(weights.astype(np.float32), mean.astype(np.float32), spread.astype(np.float32))


def sureness(found: Found, calibration: Calibration) -> NDArray[np.float64]:
    """How likely each is right."""
    return np.array([calibration.of(one.stretch.signs) for one in found.told], np.float64)


def retrieval_figures(chats: Sequence[Chat], run: Run, tokens: Callable[[str], Sequence[int]]) -> dict[str, float]:
    """By plain cosine among the turns of a chat: mean reciprocal rank, right first, recall in ten."""
    ranks, firsts, recalls = [], [], []
    for chat in chats:
        asked = [question for question in chat.questions if question.evidence]
        if not asked:
            continue
        turns = np.array([vector for _, vector in run([tokens(turn.text) for turn in chat.turns])])
        for question, (_, vector) in zip(asked, run([tokens(one.text) for one in asked]), strict=True):
            order = list(np.argsort(-(turns @ vector), kind="stable"))
            rank = min(order.index(place) for place in question.evidence)
            ranks.append(1 / (rank + 1))
            firsts.append(rank == 0)
            recalls.append(len(set(order[:10]) & set(question.evidence)) / len(question.evidence))
    return {"mrr": _share(ranks), "first": _share(firsts), "recall@10": _share(recalls), "questions": len(ranks)}


def comparing_figures(pairs: Sequence[Pair], read: Sequence[tuple[Floats, Floats]]) -> list[dict[str, float]]:
    """Of pairs that are said to be updates with at least so much confidence: how many, precision and recall."""
    sure = np.array([relation_in(logits).update for logits, _ in read])
    there = np.array([pair.relation == "update" for pair in pairs])
    return [
        {
            "cut": cut,
            "told": int((sure >= cut).sum()),
            "precision": _share(there[sure >= cut]),
            "recall": float((there & (sure >= cut)).sum() / max(there.sum(), 1)),
        }
        for cut in (*CUTS[1:], 0.9, 0.95)
    ]
