"""The relevance profile: how much each feature counts among people, and in chats with an assistant.

The weights are fitted as a listwise softmax over the candidates of judged questions, half of the weight for each of
both kinds: LoCoMo (Maharana et al., ACL 2024) and chats of a user with an assistant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from contracts.v1.entries import Entry
from services.shared.language.traits import ByText, is_mere_request
from services.shared.lifecycle.sayings import is_said_within
from services.shared.ranking.features import (
    Found,
    features_of,
    named_alone,
    names_strangers,
    names_unmentioned_kin,
    of_the_former,
    told_by_searches,
)
from services.shared.ranking.scoring import Candidate, Columns, Flags, Floats, blended
from services.shared.temporal.asked_times import asks_for_former
from services.shared.temporal.time_spans import Span, times_asked_for

_is_request = ByText(is_mere_request)

WEIGHTS: Mapping[str, tuple[float, float]] = {
    "bm_ctx": (4.32, 2.91),
    "bm_turn_rank": (0.48, 0.53),
    "bm_prev": (-0.95, 0.39),
    "bm_next": (-0.91, -0.18),
    "bm_none": (1.08, 0.60),
    "cov": (2.76, 1.16),
    "cos": (4.85, 8.18),
    "cos_ctx": (4.52, 4.98),
    "cos_sess": (4.53, 3.86),
    "cos_prev": (-0.43, 2.09),
    "cos_next": (-0.29, -0.06),
    "bmcos": (-2.50, -1.68),
    "bmcos_ctx": (-0.42, -5.59),
    "prevq_cos": (1.76, -0.74),
    "prevq_bm": (1.36, 0.50),
    "spk": (1.16, 0.96),
    "endq": (-0.79, -0.42),
    "loglen": (0.15, 0.33),
    "num": (0.58, 0.20),
    "many_num": (0.82, 0.78),
    "when_date": (1.66, 0.37),
    "sprox": (5.83, 2.96),
    "pos": (-0.37, 1.66),
    "news": (-0.26, 0.26),
    "brief": (0.00, -0.14),
    "pos_past": (-0.08, -1.01),
}
"""(among people, with an assistant) by feature; a difference of 1 in the weighted sum is odds of 2.7 : 1."""

_BY_SEARCHES = {
    name: sum(WEIGHTS[name]) / 2
    for name in ("bm_ctx", "bm_turn_rank", "bm_none", "cov", "cos", "cos_ctx", "bmcos", "bmcos_ctx")
}

_NOT_UNDERSTOOD = {"bmcos": 0.0, "bmcos_ctx": 0.0} | dict.fromkeys(
    ("cos", "cos_ctx", "cos_sess", "cos_prev", "cos_next", "prevq_cos"), 0.35
)
"""What meaning counts for in a language that the model does not know: it tells a little, and nothing of the words."""

_OF_REQUESTS = 0.5
"""Relevance of what the user once asked for, beside that of a statement."""

_OF_THE_FORMER = 1.5
"""What taking the place of what a question asks for adds to the weighted sum."""

_OF_TOLD = 4.0
"""What that adds to the logit: it shares no word with the question, and answers it."""

_AHEAD = 0.2
"""What has the code that is asked for has before the best of the others, in the weighted sum."""

_OF_ANOTHER = 0.1
"""Relevance of the others, where somebody is asked for of whom nothing is left but who took their place."""

_OF_A_NUMBER = 3.0
"""What a short number that the question names can make up for in the weighted sum: there are rooms and lockers 12. A
code makes up for anything: of ten statements alike what is around one, and its meaning, may tell more than that it has
the code, above all while that of the one asked for is not known yet."""

_ALONE = 0.3
"""What a candidate of few counts for that is likely to answer by itself, however far it falls behind the best."""

_OF_ITS_TIME = 0.3
"""Relevance at least of what was said when a question names nothing else: "What did I say yesterday?"."""

_BESIDE_ITS_TIME = 0.21
"""What others have at most, where something was said then: the day after, one tells what was done the day before."""

_MANY = 80
"""Candidates of the memories that the level of the best is fitted on."""


def profile(found: Found, weights: Mapping[str, tuple[float, float]] = WEIGHTS) -> list[float]:
    """The relevance of each candidate, 0 to 1: that of the best, and of the others as far as they fall behind it.

    As a threshold, 0.2 is below the best of 99.9 % (people) and 99.4 % (chats with an assistant) of the questions that
    the memory answers, and of 3 and 56 % of those that are about another memory. Of the others it keeps, where the best
    is sure, about two in a memory of five entries, and twenty in one of hundreds; of few also those that are likely to
    answer by themselves: "I quit the gym" beside "I go to the gym twice a week".
    """
    if not found.candidates:
        return []
    features = features_of(found)
    score, tell = _score(found, features, weights), _tell(found)
    _lift(
        named_alone(found),
        score,
        _OF_A_NUMBER if found.codes and all(one.is_short for one in found.codes) else math.inf,
    )
    told = _of_the_former(found, score)
    if (left := tell & told).any():
        tell = left
    behind = np.minimum(score - score[tell].max(), 0.0)
    others = _OF_ANOTHER if told.any() else 1.0
    fallen = np.exp(behind / _spread(found)) * np.where(tell, 1.0, _OF_REQUESTS) * np.where(told, 1.0, others)
    signs, level = _signs(found, features), _level(found)
    best = _likely(signs[:, tell].max(axis=1).sum() + level + _OF_TOLD * told.any())
    alone = _likely(signs.sum(axis=0) + level + _OF_TOLD * told) * tell
    relevance = np.maximum(best * fallen, _ALONE * _fewness(found) * alone)
    if found.now and (spans := times_asked_for(found.question, found.now)):
        relevance = _then_first(relevance, tell * np.array([_is_of(one, spans) for one in found.entries]))
    return list(map(float, relevance))


def _then_first(relevance: Floats, of_then: Floats) -> Floats:
    """The relevance where a question names nothing but a time: what was said then is relevant, and goes first."""
    relevance = np.maximum(relevance, _OF_ITS_TIME * of_then)
    return np.where(of_then > 0, relevance, np.minimum(relevance, _BESIDE_ITS_TIME)) if of_then.any() else relevance


def _is_of(entry: Entry, spans: Sequence[Span]) -> bool:
    return any(is_said_within(entry, span.since, span.until) for span in spans)


def _score(found: Found, features: Mapping[str, Floats], weights: Mapping[str, tuple[float, float]]) -> Floats:
    """The weighted sum of the features, by the weights of the kind of memory."""
    with_assistant = any(entry.role == "assistant" for entry in found.entries)
    counts = {} if found.is_understood else _NOT_UNDERSTOOD
    weighed = [pair[with_assistant] * counts.get(name, 1.0) for name, pair in weights.items()]
    if "pos" in weights and asks_for_former(found.question):
        weighed[list(weights).index("pos")] = -abs(weights["pos"][with_assistant])
    score: Floats = np.einsum("f,fn->n", weighed, [features[name] for name in weights])
    return score


def shortlist(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """So many of the candidates, in their order: those that weigh most by what the searches alone tell of them."""
    if len(candidates) <= most:
        return list(candidates)
    told = told_by_searches(Columns.of(candidates))
    score = np.einsum("f,fn->n", list(_BY_SEARCHES.values()), [told[name] for name in _BY_SEARCHES])
    return [candidates[i] for i in sorted(np.argsort(-score, kind="stable")[:most].tolist())]


def _tell(found: Found) -> Flags:
    """Which candidates may answer: what the user once asked for is likest to what they ask, and answers nothing.

    All of them where there are no others.
    """
    tell = np.array([one.role != "user" or bool(one.speaker) or not _is_request(one.text) for one in found.entries])
    return tell if tell.any() else np.ones(len(tell), bool)


def _of_the_former(found: Found, score: Floats) -> Flags:
    """Which candidates took the place of what alone mentions a name that is asked for; these are weighed first."""
    told = np.zeros(len(score), bool)
    told[of_the_former(found)] = True
    if told.any():
        score[told] += max(0.0, score.max() - score[told].max()) + _OF_THE_FORMER
    return told


def _lift(shares: Floats, score: Floats, most: float) -> None:
    """Weigh what has most of what the question names so much more, at most, that the best of it is before all else."""
    if (highest := shares.max()) > 0:
        named = shares == highest
        score[named] += min(most, max(0.0, score.max() - score[named].max() + _AHEAD))


def _signs(found: Found, features: Mapping[str, Floats]) -> Floats:
    """What tells of each candidate, taken alone, that it answers, shape (3, n): blend, meaning and words.

    While no cosine is known, the words stand for it.
    """
    blend = blended(found.columns)
    others = (features["cos"], features["cov"]) if not np.isnan(found.columns.cosine).all() else (blend, blend)
    signs: Floats = np.array([[5.96], [10.36], [2.54]]) * np.array([blend, *others])
    return signs


def _level(found: Found) -> float:
    """What the signs have to outweigh: a logistic fit, moved towards answering.

    The best of few has to be less alike than the best of many, of which some are alike by chance: as measured with
    candidates left out at random.

    Of somebody whom nobody mentions nothing is known, where people go by names. Elsewhere it may be the user, whom a
    program asks about by a name that they never said. Of a relative whom nobody mentions little is known.
    """
    strangers = names_strangers(found)
    if strangers and any(entry.speaker for entry in found.entries):
        return -math.inf
    return 3 * _fewness(found) - 5.9 - 5 * strangers - 4 * names_unmentioned_kin(found)


def _likely(logit: Floats) -> Floats:
    likely: Floats = 1 / (1 + np.exp(-logit))
    return likely


def _fewness(found: Found) -> float:
    """1 for a single candidate, 0 for as many as the level is fitted on."""
    return max(0.0, 1 - math.log(len(found.candidates)) / math.log(_MANY))


def _spread(found: Found) -> float:
    """What the weighted sum must fall by for relevance to fall to 0.37 of that of the best.

    The more candidates there are, the less likely is any of them, and the farther one that answers as well may be
    behind the best.
    """
    return math.log(len(found.candidates)) + 0.8
