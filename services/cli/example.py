"""The example: nine short conversations over five weeks, and questions with what a right answer contains."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

from contracts.v1.turns import Turn

USER = "demo"
ASKED_AT = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)
"""When the questions are asked: the morning after the last conversation."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the words that one of the first three memories must contain."""

    text: str
    words: tuple[str, ...]

    def answered_by(self, texts: tuple[str, ...]) -> bool:
        """Whether one of the texts contains all the words."""
        return any(all(word.casefold() in text.casefold() for word in self.words) for text in texts)


QUESTIONS = (
    Question("Which package manager do I prefer?", ("uv", "pip")),
    Question("When is my dentist appointment?", ("Thursday", "12 March")),
    Question("Which nuts must I avoid?", ("allergic", "walnuts")),
    Question("When does Tidewatch have to be ready?", ("20 March",)),
    Question("What do I drink in the morning?", ("green tea",)),
)


def example_turns() -> list[Turn]:
    """The turns, in the order they were said."""
    lines = (files("services.cli") / "example.jsonl").read_text(encoding="utf-8").splitlines()
    return [Turn.model_validate_json(line) for line in lines]
