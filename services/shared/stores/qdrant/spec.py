"""What the collection of one embedding model is called, and how the server must keep it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from qdrant_client import models

from contracts.ports import EmbeddingIdentity
from services.shared.stores.points import CONVERSATIONS, TAGS, THEMES, TURN

Quantization = Literal["none", "scalar"]

MAX_LIMIT = 100_000
MAX_UPSERT = 1024
MAX_CONDITION = 16_384
MAX_TIMEOUT = 60
OVERSAMPLING = 3.0

INDEXES: Mapping[str, Any] = {
    "user_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "scope": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "type": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    TAGS: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    THEMES: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    CONVERSATIONS: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "created_at": models.FloatIndexParams(type=models.FloatIndexType.FLOAT),
    "last_said_at": models.FloatIndexParams(type=models.FloatIndexType.FLOAT),
    "version": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True),
}
"""Every field of a filter, those of conditional upserts included: in strict mode the server refuses any other."""

STRICT_MODE = models.StrictModeConfig(
    enabled=True,
    unindexed_filtering_retrieve=False,
    unindexed_filtering_update=False,
    search_allow_exact=True,
    search_max_oversampling=OVERSAMPLING,
    max_query_limit=MAX_LIMIT,
    max_timeout=MAX_TIMEOUT,
    upsert_max_batchsize=MAX_UPSERT,
    filter_max_conditions=64,
    condition_max_size=MAX_CONDITION,
)


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """One collection: vectors of one model.

    `alias` names the collection in use for people and their tools; one that is only being made is not `aliased`. The
    store itself reads and writes the collection of its own model, so that no process ever puts vectors of its model
    among those of another, whatever the alias says. Shards and replicas count for a new collection only; quantization
    is changed in an old one as well.

    Raises:
        ValueError: the identity is of other dimensions.
    """

    alias: str
    dimensions: int
    identity: EmbeddingIdentity | None = None
    quantization: Quantization = "none"
    shards: int = 1
    replicas: int = 1
    aliased: bool = True

    def __post_init__(self) -> None:
        if self.identity is not None and self.identity.dimensions != self.dimensions:
            raise ValueError(f"{self.identity} does not make vectors of {self.dimensions} dimensions")

    @property
    def name(self) -> str:
        """The collection's own name: safe characters, at most 128 of them, different for every model and generation."""
        provider, model = (self.identity.provider, self.identity.model) if self.identity else ("", "vectors")
        exactly = json.dumps([self.alias, provider, model, self.dimensions])
        digest = blake2b(exactly.encode(), digest_size=5).hexdigest()
        readable = re.sub("[^a-z0-9]+", "-", model.lower()).strip("-")[:32].strip("-") or "model"
        safe_alias = re.sub("[^A-Za-z0-9_-]+", "-", self.alias)[:64]
        generation = f".g{self.identity.generation}" if self.identity and self.identity.generation else ""
        return f"{safe_alias}.{readable}.{self.dimensions}.{digest}{generation}"

    @property
    def vector(self) -> models.VectorParams:
        """The vectors; the originals of quantized ones stay on disk, only to rescore."""
        on_disk = self.quantization == "scalar"
        return models.VectorParams(size=self.dimensions, distance=models.Distance.COSINE, on_disk=on_disk)

    @property
    def quantized(self) -> models.ScalarQuantization | None:
        """One byte a number, kept in memory."""
        if self.quantization == "none":
            return None
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)

    @property
    def search_params(self) -> models.SearchParams:
        """Exact, or over quantized vectors whose best are scored anew with the originals."""
        if self.quantization == "none":
            return models.SearchParams(exact=True)
        rescored = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return models.SearchParams(quantization=rescored)

    def creation(self) -> dict[str, Any]:
        """The arguments that make the collection.

        No graph is built (`m=0`): every search is over the entries of one scope, which the tenant index finds, and an
        exact scan of those takes milliseconds. Half of the replicas must have a write before it counts, so that writing
        goes on when one server fails.
        """
        identity = self.identity
        return {
            "vectors_config": {TURN: self.vector},
            "quantization_config": self.quantized,
            "hnsw_config": models.HnswConfigDiff(m=0),
            "strict_mode_config": STRICT_MODE,
            "shard_number": self.shards,
            "replication_factor": self.replicas,
            "write_consistency_factor": (self.replicas + 1) // 2,
            "metadata": {"provider": identity.provider, "model": identity.model} if identity else None,
        }
