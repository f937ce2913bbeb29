"""Reads the answer of an embeddings endpoint, and believes nothing of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from contracts.ports import Vector

BYTES_PER_TEXT = 512 * 1024  # 16,000 numbers of 32 characters
BYTES_AROUND = 64 * 1024


class BadAnswer(Exception):
    """The server answered with something that is no embedding of these texts."""


class _Embedding(BaseModel):
    index: int
    embedding: list[float] = Field(min_length=1)


class _Answer(BaseModel):
    data: list[_Embedding]


def most_bytes(texts: int) -> int:
    """How long an answer for so many texts may be."""
    return BYTES_AROUND + texts * BYTES_PER_TEXT


def unit_vectors(content: bytes, *, count: int, dimensions: int | None) -> Vector:
    """The embeddings in an answer, by their index, at unit length, shape (count, dimensions).

    Raises:
        BadAnswer: not JSON, not one embedding a text, of other or unequal dimensions, or without a direction.
    """
    rows = sorted(_parsed(content).data, key=lambda row: row.index)
    if [row.index for row in rows] != list(range(count)):
        raise BadAnswer(f"{len(rows)} embeddings for {count} texts, or their indexes are wrong")
    lengths = {len(row.embedding) for row in rows}
    if len(lengths) != 1 or (dimensions is not None and lengths != {dimensions}):
        raise BadAnswer(f"embeddings of {sorted(lengths)} dimensions, expected {dimensions or 'equal ones'}")
    vectors = np.array([row.embedding for row in rows], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise BadAnswer("an embedding is zero or has numbers that are not finite")
    unit: Vector = (vectors / norms).astype(np.float32)
    return unit


def _parsed(content: bytes) -> _Answer:
    try:
        return _Answer.model_validate_json(content)
    except ValidationError as error:
        details: list[Any] = [dict(each) for each in error.errors(include_input=False, include_url=False)]
        raise BadAnswer(f"no embeddings in the answer: {details[0]['msg']}") from None
