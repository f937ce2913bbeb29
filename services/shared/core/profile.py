"""The relevance profile: how much each feature counts among people, and in chats with an assistant.

The weights are fitted as a listwise softmax over the candidates of judged questions, half of the weight for each of
both kinds: LoCoMo (Maharana et al., ACL 2024) and chats of a user with an assistant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from services.shared.core.features import Found, features_of, names_strangers
from services.shared.core.scoring import Floats, blended

WEIGHTS: Mapping[str, tuple[float, float]] = {
    "bm_ctx": (2.58, 1.48),
    "bm_ctx_rank": (0.67, 0.38),
    "bm_turn": (0.29, -0.20),
    "bm_turn_rank": (0.86, 1.38),
    "bm_prev": (-0.92, -0.35),
    "bm_next": (-0.84, -1.10),
    "cov": (1.72, -0.52),
    "cos": (3.86, 6.18),
    "cos_ctx": (3.30, 4.69),
    "cos_sess": (3.82, 4.76),
    "cos_prev": (0.85, 1.56),
    "cos_next": (0.36, 0.25),
    "bmcos": (-3.10, -5.16),
    "prevq_cos": (0.58, -1.18),
    "prevq_bm": (1.58, 1.13),
    "spk": (1.08, 1.02),
    "first": (0.59, 0.20),
    "endq": (-0.81, -0.31),
    "loglen": (0.18, 0.51),
    "date": (0.44, 0.03),
    "num": (0.53, 0.16),
    "when_date": (1.37, 0.05),
    "sprox": (4.04, 4.99),
    "pos": (-0.33, 1.68),
}
"""(among people, with an assistant) by feature; a difference of 1 in the weighted sum is odds of 2.7 : 1."""

_MANY = 80
"""Candidates of the memories that the level of the best is fitted on."""


def profile(found: Found, weights: Mapping[str, tuple[float, float]] = WEIGHTS) -> list[float]:
    """The relevance of each candidate, 0 to 1: that of the best, and of the others as far as they fall behind it.

    As a threshold, 0.2 is below the best of 97 % (chats with an assistant) to 99.9 % (people) of the questions that the
    memory answers, and of 53 to 75 % of those that are about another memory. Of the others it keeps, where the best is
    sure, about two in a memory of five entries, and twenty in one of hundreds.
    """
    if not found.candidates:
        return []
    features = features_of(found)
    with_assistant = any(entry.role == "assistant" for entry in found.entries)
    weighed = [pair[with_assistant] for pair in weights.values()]
    score = np.einsum("f,fn->n", weighed, [features[name] for name in weights])
    relevance: list[float] = (_best(found, features) * np.exp((score - score.max()) / _spread(found))).tolist()
    return relevance


def _best(found: Found, features: Mapping[str, Floats]) -> float:
    """How likely it is that the memory holds an answer: a logistic fit, moved towards answering.

    The best of few has to be less alike than the best of many, of which some are alike by chance: as measured with
    candidates left out at random. While no cosine is known, the words stand for it.
    """
    of = found.columns
    top, knows_meaning = blended(of).max(), not np.isnan(of.cosine).all()
    highest = top, features["cos"].max() if knows_meaning else top, features["cov"].max()
    fewness = max(0.0, 1 - math.log(len(found.candidates)) / math.log(_MANY))
    strangers = names_strangers(found)
    logit = float(np.dot((5.96, 10.36, 2.54), highest)) - 6.2 + 3 * fewness - 5 * strangers
    return 1 / (1 + math.exp(-logit))


def _spread(found: Found) -> float:
    """What the weighted sum must fall by for relevance to fall to 0.37 of that of the best.

    The more candidates there are, the less likely is any of them, and the farther one that answers as well may be
    behind the best.
    """
    return (math.log(len(found.candidates)) + 0.8) / 1.1
