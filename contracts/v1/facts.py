"""Facts as a language model draws them from a turn, and as the log keeps them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message

Subject = Literal["profile", "people", "project", "none"]
FactType = Literal["fact", "preference", "relationship", "friction", "habit", "commitment"]
FactSource = Literal["turn", "model", "rollup"]
"""What an entry is: something that was said, a fact that a model drew from it, or a roll-up of several entries."""

MOST_FACTS = 3
"""Facts that are drawn from one text at most. Those of a turn are numbered from 1, those of a corrected text after
those of the ones before."""

MOST_ORDINAL = 8 * MOST_FACTS
"""The highest number of a fact: a turn whose corrections have so many is read no more."""


class ProposedFact(Message):
    """A fact drawn from a turn. `span` is the part of the turn that says so, word by word.

    An older fact of the same `memory_key` is replaced by it, unless the key `holds_many`. `drawn_from` is a hash of the
    text that was read; it is empty for what the turn itself said.
    """

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
    drawn_from: str = ""
