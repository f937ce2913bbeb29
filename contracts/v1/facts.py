"""Facts that a language model drew from turns, as logs of older versions keep them, and as profiles name them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message

Subject = Literal["profile", "people", "project", "none"]
FactType = Literal["fact", "preference", "relationship", "friction", "habit", "commitment"]
FactSource = Literal["turn", "model", "rollup"]
"""What an entry is: something that was said, a fact that a model drew from it in an older version, or a roll-up of
several entries."""

MOST_ORDINAL = 24
"""The highest number of a fact that was drawn from a turn, or from a correction of it."""


class ProposedFact(Message):
    """A fact that an older version drew from a turn. `span` is the part of the turn that says so, word by word."""

    text: str = Field(min_length=1, max_length=400)
    span: str = Field(min_length=1, max_length=1000)
    subject: Subject
    entity_refs: tuple[str, ...] = Field(min_length=1, max_length=4)
    entity_label: str = Field(max_length=80)
    fact_type: FactType
    memory_key: str = Field(max_length=300)
    holds_many: bool = False
    confidence: float = Field(ge=0, le=1)
    level: int = Field(ge=0, le=3)
