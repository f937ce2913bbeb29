"""What a language model answers with and without memory, held against the answers of the dataset.

Whatever the model says is only compared with the expected answer: it is neither shown nor followed.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from services.eval.settings import EvalSettings
from services.shared.commands.formats import Question
from services.shared.commands.progress import Progress, untold
from services.shared.llm.chat import ChatModel, SettingNames

MOST_IN_A_ROW = 5
"""Questions without an answer, one after the other, after which no more are asked."""

_MOST_TOKENS = 100
_ORDER = (
    "Answer the question in as few words as possible: a name, a date, a number or a short phrase. "
    'If you do not know, answer "I do not know".'
)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(slots=True)
class Answered:
    """How the answers of a model compare with those expected; of the questions that `failed`, why the last one did."""

    model: str
    questions: int = 0
    failed: int = 0
    last_failure: str = ""
    scores: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def figures(self) -> dict[str, dict[str, float]]:
        """For with and without memory, the mean of both measures over the questions answered both ways."""
        return {
            name: {"f1": fmean(f1 for f1, _ in scores), "contains": fmean(held for _, held in scores)}
            for name, scores in self.scores.items()
            if scores
        }

    def as_json(self) -> dict[str, object]:
        """The figures as they are written to a file."""
        rounded = {name: {key: round(value, 4) for key, value in of.items()} for name, of in self.figures().items()}
        return {"model": self.model, "questions": self.questions, "failed": self.failed, **rounded}


def open_model(base_url: str, settings: EvalSettings, *, longest_wait: float = 5.0) -> ChatModel:
    """Prepare to ask a model for short answers.

    Raises:
        UnusableSetting: the address or the key cannot be used.
    """
    return ChatModel(
        base_url,
        settings.llm_model,
        names=SettingNames("--llm", "MEMORYBUS_EVAL_LLM_MODEL", "MEMORYBUS_EVAL_LLM_API_KEY"),
        api_key=settings.llm_api_key,
        answer_within=settings.llm_patience_seconds,
        most_tokens=_MOST_TOKENS,
        longest_wait=longest_wait,
    )


async def ask_model(
    model: ChatModel,
    questions: Sequence[Question],
    contexts: Sequence[str],
    most: int,
    progress: Progress = untold,
) -> Answered:
    """Let a model answer at most so many questions whose answer is known, with and without their context.

    No more are asked once a setting proves wrong, the model is left alone, or `MOST_IN_A_ROW` got no answer.
    """
    answerable = [pair for pair in zip(questions, contexts, strict=True) if pair[0].answer]
    most = min(most, len(answerable))
    chosen = [answerable[number * len(answerable) // most] for number in range(most)]
    answered, in_a_row = Answered(model.name, scores={"with memory": [], "without memory": []}), 0
    for done, (question, context) in enumerate(chosen, start=1):
        try:
            said = {
                "with memory": await _answer(model, question, context),
                "without memory": await _answer(model, question),
            }
        except (ModelFailed, NoAnswer, Unavailable) as error:
            answered.failed, in_a_row, answered.last_failure = answered.failed + 1, in_a_row + 1, str(error)
            if in_a_row == MOST_IN_A_ROW or isinstance(error, Unavailable):
                break
            continue
        in_a_row, answered.questions = 0, answered.questions + 1
        for name, text in said.items():
            answered.scores[name].append((token_f1(text, question.answer), contains(text, question.answer)))
        progress("asking the model", done, len(chosen))
    return answered


async def _answer(model: ChatModel, question: Question, context: str = "") -> str:
    asked = f"Today is {question.now:%A, %Y-%m-%d}.\n" if question.now else ""
    said = f"{context}\n\n{asked}Question: {question.text}".strip()
    return await model.complete([{"role": "system", "content": _ORDER}, {"role": "user", "content": said}])


def token_f1(said: str, expected: str) -> float:
    """The harmonic mean of how many words of the answer are expected, and of the expected ones there (as in SQuAD)."""
    one, other = Counter(_words(said)), Counter(_words(expected))
    common = (one & other).total()
    return 2 * common / (one.total() + other.total()) if common else 0.0


def contains(said: str, expected: str) -> float:
    """1 when the answer has the expected words one after the other."""
    wanted = _words(expected)
    return float(bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(_words(said))} ")


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
