"""What a text states, as it was read once, when its entry was embedded."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message

Slot = Literal[
    "name",
    "home",
    "origin",
    "age",
    "birthday",
    "family",
    "partner",
    "friend",
    "colleague",
    "pet",
    "work",
    "employer",
    "education",
    "language",
    "diet",
    "allergy",
    "health",
    "medicine",
    "like",
    "dislike",
    "favourite",
    "habit",
    "hobby",
    "possession",
    "skill",
    "belief",
    "plan",
    "appointment",
    "deadline",
    "event",
    "project",
    "project_detail",
    "price_or_amount",
    "contact",
    "place",
    "identifier",
    "instruction",
    "decision",
    "other_fact",
]
"""Of what a claim gives a value."""

Place = tuple[int, int]
"""From the first character of a text to after the last."""

MOST_CLAIMS = 64


class Claim(Message):
    """A part of a text that states something worth knowing, or names a task. It has no words but those of its text.

    `value` is where the text has the value, `sentence` where what says so stands, `whose` where it names whom or what
    that is about; null: its author, or nobody by name. `is_new`: it changes what was said before. `confidence`: how
    often what is as sure as this is right.
    """

    kind: Literal["fact", "task"] = "fact"
    slot: Slot = "other_fact"
    value: Place
    sentence: Place
    whose: Place | None = None
    of_user: bool = True
    is_new: bool = False
    confidence: float = Field(ge=0, le=1)
