"""From stretches of a text to claims, each with how often what is as sure as it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from contracts.v1.claims import MOST_CLAIMS, Claim, Place, Reading
from services.shared.reading.decode import SENTENCE_END, Floats, Stretch, claims_in, of_whole, tasks_in

_LEAST_SURE = 0.25
"""What is less likely is no claim: three of four would be wrong."""

_LONGEST_SENTENCE = 240
_SAYS = re.compile(r"[^\s,;:.!?()\"'–-]")


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


def reading_of(logits: Floats, offsets: Sequence[tuple[int, int]], text: str, calibrations: Calibrations) -> Reading:
    """What is read in a text, from the logits of its tokens: shape (tokens, outputs), with the place of each token."""
    claims = _claims(logits, offsets, text, calibrations)
    return Reading(claims, of_whole(logits, "ends"), of_whole(logits, "wish"))


def _claims(
    logits: Floats, offsets: Sequence[tuple[int, int]], text: str, calibrations: Calibrations
) -> tuple[Claim, ...]:
    facts = _sure(claims_in(logits, offsets, text), text, calibrations.facts)
    tasks = _sure(tasks_in(logits, offsets, text), text, calibrations.tasks)
    sentences = _sentences(text)
    found = [_fact(one, sure, text, sentences) for one, sure in facts]
    found += [
        Claim(kind="task", value=_place(one), sentence=_around(_place(one), text, sentences), confidence=sure)
        for one, sure in tasks
    ]
    surest = sorted(found, key=lambda claim: -claim.confidence)[:MOST_CLAIMS]
    return tuple(sorted(surest, key=lambda claim: claim.value))


def _sure(found: Sequence[Stretch], text: str, calibration: Calibration) -> Iterator[tuple[Stretch, float]]:
    for one in found:
        sure = calibration.of(one.signs)
        if sure >= _LEAST_SURE and _SAYS.search(text, one.begin, one.end):
            yield one, round(sure, 3)


def sentence_around(text: str, place: Place) -> Place:
    """The sentences that a place is in, without blanks at their ends; of a long one what is around the place."""
    return _around(place, text, _sentences(text))


def _sentences(text: str) -> list[Place]:
    edges = [0, *(found.end() for found in SENTENCE_END.finditer(text)), len(text)]
    return [(begin, end) for begin, end in pairwise(edges) if text[begin:end].strip()]


def _place(one: Stretch) -> Place:
    return one.begin, one.end


def _around(place: Place, text: str, sentences: Sequence[Place]) -> Place:
    begin = max((begin for begin, _ in sentences if begin <= place[0]), default=0)
    end = min((end for _, end in sentences if end >= place[1]), default=len(text))
    if end - begin > _LONGEST_SENTENCE:
        around = max(begin, place[0] - _LONGEST_SENTENCE // 2), min(end, place[1] + _LONGEST_SENTENCE // 2)
        begin, end = _of_whole_words(text, around, (begin, end), place)
    said = text[begin:end]
    return begin + len(said) - len(said.lstrip()), end - len(said) + len(said.rstrip())


def _of_whole_words(text: str, around: Place, sentence: Place, place: Place) -> Place:
    """A stretch of a sentence around a place, without the words that it cuts at its edges."""
    begin, end = around
    if begin > sentence[0] and (blank := text.find(" ", begin, place[0])) >= 0:
        begin = blank
    if end < sentence[1] and (blank := text.rfind(" ", place[1], end)) >= 0:
        end = blank
    return begin, end


def _fact(one: Stretch, sure: float, text: str, sentences: Sequence[Place]) -> Claim:
    return Claim(
        slot=one.slot,
        value=_place(one),
        sentence=_around(_place(one), text, sentences),
        whose=one.whose if one.of_user < 1 / 2 else None,
        of_user=one.of_user >= 1 / 2,
        is_new=one.is_new >= 1 / 2,
        confidence=sure,
    )
