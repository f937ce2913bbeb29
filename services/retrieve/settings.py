"""The knobs of retrieve: MEMORYBUS_RETRIEVE_<NAME>."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from services.shared.context.block import CARD_SHARE, PINNED_SHARE
from services.shared.settings import ServiceSettings


class RetrieveSettings(ServiceSettings):
    """Weights of the ranking, and how many candidates each leg brings."""

    prefix = "MEMORYBUS_RETRIEVE_"

    alpha: float = Field(default=1.0, ge=0, description="weight of relevance")
    beta: float = Field(default=0.05, ge=0, description="weight of recency")
    gamma: float = Field(default=0.05, ge=0, description="weight of importance")
    importance: Literal["stored", "living"] = Field(
        default="stored",
        description="stored: as the text and its repeats make it; living: also grown by answers, faded by silence",
    )
    tau_days: float = Field(default=7.0, gt=0, description="recency is exp(-age/tau)")
    rrf_k: int = Field(default=60, ge=1, description="constant of reciprocal rank fusion")
    lexical_weight: float = Field(default=1.5, ge=0, description="weight of the lexical leg in the fusion")
    semantic_weight: float = Field(default=1.0, ge=0, description="weight of the semantic leg in the fusion")
    relevance: Literal["profile", "blend", "cosine", "rrf", "entities"] = Field(
        default="profile",
        description="profile: weighted features; blend: words and meaning; cosine: meaning, words where there is no "
        "vector; rrf: the order of both searches; entities: likeness, recency and how often what is named occurs",
    )
    weights: str | None = Field(
        default=None, description="file with weights of the profile's features, as `memorybus eval fit` writes it"
    )
    min_score: float = Field(default=0.18, ge=0, le=1, description="least relevance, when the request names none")
    mmr_lambda: float = Field(default=0.97, ge=0, le=1, description="1: best first; 0: as different as possible")
    newest_first: bool = Field(default=True, description="show what changed an older memory before that memory")
    candidates: int = Field(default=90, ge=1, le=1000, description="entries of both searches that are compared")
    shortlist: int = Field(
        default=55, ge=1, le=1000, description="of these, entries that are read and ranked by all features"
    )
    lexical_depth: int = Field(default=80, ge=1, le=1000, description="entries that the search by words brings")
    semantic_depth: int = Field(default=150, ge=1, le=5000, description="entries whose cosine is known to the ranking")
    leg_timeout_seconds: float = Field(default=1.0, gt=0, description="a leg that takes longer is left out")
    with_context: int = Field(default=48, ge=0, le=1000, description="candidates whose neighbours' meaning counts")
    pinned_share: float = Field(
        default=PINNED_SHARE,
        ge=0,
        le=1,
        description="share of the token budget for pinned memories alone; they also get what the others leave",
    )
    card_share: float = Field(
        default=CARD_SHARE,
        ge=0,
        le=1,
        description="share of the token budget for cards of those whom the question names; 0: none",
    )
    max_query_chars: int = Field(default=8192, ge=1, description="longer queries are cut")
    max_concurrency: int = Field(default=8, ge=1, description="questions answered at the same time; the others wait")
