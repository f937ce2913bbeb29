"""From stretches of a text to claims, each with how often what is as sure as it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contracts.v1.claims import MOST_CLAIMS, Claim
from services.shared.reading.decode import SENTENCE_END, Floats, Stretch, claims_in, tasks_in

_LEAST_SURE = 0.25
"""What is less likely is no claim: three of four would be wrong."""

_LONGEST_SENTENCE = 240
_EDGES = re.compile(r"^[\s,;:.!?()\"'–-]+|[\s,;:.!?(\"'–-]+$")


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic fit of how often a stretch is right, on the signs of stretches of chats that no head had seen.

    `weights` are of the constant 1 and of each sign, less its `mean` and divided by its `spread`.
    """

    weights: Floats
    mean: Floats
    spread: Floats

    def of(self, signs: Sequence[float]) -> float:
        """How likely a stretch with these signs is right."""
        logit = self.weights[0] + self.weights[1:] @ ((np.array(signs) - self.mean) / self.spread)
        return float((1 + np.tanh(logit / 2)) / 2)


@dataclass(frozen=True, slots=True)
class Calibrations:
    """Those of facts and of tasks."""

    facts: Calibration
    tasks: Calibration


def read_claims(
    logits: Floats, offsets: Sequence[tuple[int, int]], text: str, calibrations: Calibrations
) -> tuple[Claim, ...]:
    """What a text states, from the logits of its tokens: shape (tokens, outputs), with the place of each token."""
    facts = _sure(claims_in(logits, offsets, text), text, calibrations.facts)
    tasks = _sure(tasks_in(logits, offsets, text), text, calibrations.tasks)
    sentences = [(begin, end) for begin, end in _sentences(text) if text[begin:end].strip()]
    found = [_fact(one, sure, text, sentences) for one, sure in facts]
    found += [
        Claim(kind="task", value=(one.begin, one.end), sentence=_around(one, text, sentences), confidence=sure)
        for one, sure in tasks
    ]
    surest = sorted(found, key=lambda claim: -claim.confidence)[:MOST_CLAIMS]
    return tuple(sorted(surest, key=lambda claim: claim.value))


def _sure(found: Sequence[Stretch], text: str, calibration: Calibration) -> Iterator[tuple[Stretch, float]]:
    for one in found:
        sure = calibration.of(one.signs)
        if sure >= _LEAST_SURE and _EDGES.sub("", text[one.begin : one.end]):
            yield one, round(sure, 3)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for found in SENTENCE_END.finditer(text):
        yield begin, found.end()
        begin = found.end()
    yield begin, len(text)


def _around(one: Stretch, text: str, sentences: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The sentences that a stretch is in, without blanks at their ends; of a long one what is around the stretch."""
    begin = max((begin for begin, _ in sentences if begin <= one.begin), default=0)
    end = min((end for _, end in sentences if end >= one.end), default=len(text))
    if end - begin > _LONGEST_SENTENCE:
        begin, end = max(begin, one.begin - _LONGEST_SENTENCE // 2), min(end, one.end + _LONGEST_SENTENCE // 2)
    said = text[begin:end]
    return begin + len(said) - len(said.lstrip()), end - len(said) + len(said.rstrip())


def _fact(one: Stretch, sure: float, text: str, sentences: Sequence[tuple[int, int]]) -> Claim:
    return Claim(
        slot=one.slot,
        value=(one.begin, one.end),
        sentence=_around(one, text, sentences),
        whose=one.whose if one.of_user < 1 / 2 else None,
        of_user=one.of_user >= 1 / 2,
        is_new=one.is_new >= 1 / 2,
        confidence=sure,
    )
