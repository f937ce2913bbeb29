"""The relevance profile: how much each feature counts among people, and in chats with an assistant.

The weights are fitted as a listwise softmax over the candidates of judged questions, half of the weight for each of
both kinds: LoCoMo (Maharana et al., ACL 2024) and chats of a user with an assistant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from services.shared.core.features import Floats, Found, features_of
from services.shared.core.scoring import blend

WEIGHTS: Mapping[str, tuple[float, float]] = {
    "bm_ctx": (2.64, 1.54),
    "bm_ctx_rank": (0.66, 0.35),
    "bm_turn": (0.27, -0.31),
    "bm_turn_rank": (0.87, 1.47),
    "bm_prev": (-0.93, -0.40),
    "bm_next": (-0.85, -1.14),
    "cov": (1.77, -0.45),
    "cos": (4.06, 6.30),
    "cos_ctx": (3.26, 4.64),
    "cos_sess": (3.75, 4.68),
    "cos_prev": (0.90, 1.70),
    "cos_next": (0.40, 0.35),
    "bmcos": (-3.15, -5.18),
    "prevq_cos": (0.57, -1.17),
    "prevq_bm": (1.57, 1.18),
    "spk": (1.10, 1.02),
    "first": (0.63, 0.17),
    "endq": (-0.82, -0.32),
    "loglen": (0.23, 0.50),
    "date": (0.48, 0.05),
    "num": (0.57, 0.19),
    "when_date": (1.32, 0.08),
    "sprox": (4.16, 5.05),
    "pos": (-0.06, 1.62),
}
"""(among people, with an assistant) by feature; a difference of 1 in the weighted sum is odds of 2.7 : 1."""

_SPREAD = 8.0
"""What the weighted sum must fall by for relevance to fall to 0.37 of that of the best."""

_MANY = 80
"""Candidates of the memories that the level of the best is fitted on."""


def profile(found: Found) -> list[float]:
    """The relevance of each candidate, 0 to 1: that of the best, and of the others as far as they fall behind it.

    As a threshold: the best has 0.3 to 0.9 when the memory holds an answer; when the question is about another memory,
    it has less than 0.2 in a quarter (people) to half (an assistant) of the cases, where 0.1 to 3 % of the
    answerable questions have.
    """
    if not found.candidates:
        return []
    features = features_of(found)
    with_assistant = any(entry.role == "assistant" for entry in found.entries)
    score = sum((pair[with_assistant] * features[name] for name, pair in WEIGHTS.items()), np.zeros(1))
    relevance: list[float] = (_best(found, features) * np.exp((score - score.max()) / _SPREAD)).tolist()
    return relevance


def _best(found: Found, features: Mapping[str, Floats]) -> float:
    """How likely it is that the memory holds an answer: a logistic fit, half as steep.

    The best of few has to be less alike than the best of many, of which some are alike by chance: by 1.5 in a memory of
    one entry, as measured with candidates left out at random.
    """
    highest = max(blend(found.candidates)), float(features["cos"].max()), float(features["cov"].max())
    fewness = max(0.0, 1 - math.log(len(found.candidates)) / math.log(_MANY))
    logit = float(np.dot((2.98, 5.18, 1.27), highest)) - 3.79 + 1.5 * fewness
    return 1 / (1 + math.exp(-logit))
