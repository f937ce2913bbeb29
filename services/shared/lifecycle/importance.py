"""Importance that lives: what is said again and asked for counts more, what nobody mentions less. Pure, and computed.

Nothing is rewritten for it: an entry keeps what it is worth by itself, with the boost of its repeats, how often it was
an answer, and when; what that amounts to at a moment is told here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from contracts.v1.entries import Entry
from services.shared.lifecycle.salience import repeat_boost

MOST_FOR_ASKING = 0.15
"""What answers add at most, however often it was one."""

HALF_LIFE_DAYS, KEPT = 180.0, 0.5
"""After so many days without a word about it, half of what may fade has faded; so much never does."""

_ANSWERS = 4
_TOLD_OFTEN, _TOLD_ALWAYS = 3, 10
HIGHEST = 3
"""The highest level."""


@dataclass(frozen=True, slots=True)
class Living:
    """What an entry is worth at a moment: by itself, what repeats and answers add, and which part of it is left."""

    own: float
    repeats: float
    answers: float
    kept: float

    @property
    def value(self) -> float:
        """From 0 to 1."""
        return max(0.0, min(1.0, (self.own + self.repeats + self.answers) * self.kept))

    @property
    def level(self) -> int:
        """The same on the scale from 0 to 3."""
        return round(HIGHEST * self.value)

    def parts(self) -> dict[str, float]:
        """What it is made of, by name."""
        parts = {"own": self.own, "repeats": self.repeats, "answers": self.answers, "kept": self.kept}
        return {name: round(value, 4) for name, value in (parts | {"value": self.value, "level": self.level}).items()}


def living(entry: Entry, now: datetime) -> Living:
    """What an entry is worth at a moment. What is pinned or saved does not fade."""
    repeats = min(entry.importance, repeat_boost(entry.repeat_count))
    own = entry.importance - repeats
    answers = MOST_FOR_ASKING * entry.asked / (entry.asked + _ANSWERS)
    kept = 1.0 if entry.pinned or entry.manually_saved else _kept((now - last_used(entry)).total_seconds() / 86400.0)
    return Living(own, repeats, answers, kept)


def last_used(entry: Entry) -> datetime:
    """When it was last said, or an answer."""
    return max(entry.last_said_at, entry.asked_at or entry.last_said_at)


def _kept(days: float) -> float:
    return KEPT + (1.0 - KEPT) * math.exp2(-max(0.0, days) / HALF_LIFE_DAYS)


def level_when_told(level: int, times: int) -> int:
    """The level of a fact that was told so many times: one higher from the third time on, two from the tenth."""
    return min(HIGHEST, level + (times >= _TOLD_OFTEN) + (times >= _TOLD_ALWAYS))
