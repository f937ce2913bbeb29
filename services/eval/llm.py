"""What a language model answers with and without memory, held against the answers of the dataset.

Whatever the model says is only compared with the expected answer: it is neither shown nor followed.
"""

from __future__ import annotations

import asyncio
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated

import httpx
from pydantic import BaseModel, Field, StringConstraints, ValidationError
from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt

from contracts.errors import Unavailable
from services.eval.settings import EvalSettings
from services.shared.backoff import wait_backoff
from services.shared.bounded import UNCOMPRESSED, AnswerRefused, bounded
from services.shared.commands.formats import Question
from services.shared.commands.progress import Progress, untold
from services.shared.redaction import redact_address

ATTEMPTS = 3
MOST_IN_A_ROW = 5
"""Questions without an answer, one after the other, after which no more are asked."""

_LONGEST_WAIT = 5.0
_MOST_BYTES = 256 * 1024
_MOST_TOKENS = 100
_ORDER = (
    "Answer the question in as few words as possible: a name, a date, a number or a short phrase. "
    'If you do not know, answer "I do not know".'
)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


class NoAnswer(Exception):
    """The model gave none; the text says why, without a word of what it sent."""


class _Transient(NoAnswer):
    """Worth another attempt."""


class _Message(BaseModel):
    content: Annotated[str, StringConstraints(max_length=20_000)]


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


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


class LanguageModel:
    """A model behind `POST {base_url}/chat/completions`, as OpenAI, Ollama, llama.cpp and vLLM offer it."""

    def __init__(self, base_url: str, settings: EvalSettings, *, longest_wait: float = _LONGEST_WAIT) -> None:
        """Prepare to ask.

        Raises:
            Unavailable: the address or the key cannot be used.
        """
        key = settings.llm_api_key
        self._headers = UNCOMPRESSED | ({"Authorization": f"Bearer {key.get_secret_value()}"} if key else {})
        self.name, self.most = settings.llm_model, settings.llm_questions
        self._patience, self._longest_wait = settings.llm_patience_seconds, longest_wait
        try:
            self._client = httpx.AsyncClient(
                base_url=base_url.rstrip("/"), headers=self._headers, timeout=None, event_hooks=bounded(_MOST_BYTES)
            )
        except (httpx.InvalidURL, UnicodeError, ValueError):  # their words may hold a part of a password
            raise Unavailable("--llm or MEMORYBUS_EVAL_LLM_API_KEY cannot be used") from None
        if self._client.base_url.scheme not in ("http", "https") or not self._client.base_url.host:
            raise Unavailable("--llm must be an address that begins with http:// or https://")
        self.where = redact_address(str(self._client.base_url))

    async def answer(self, question: Question, context: str = "") -> str:
        """Answer a question, knowing this block.

        Raises:
            NoAnswer: it did not, after several attempts.
            Unavailable: key, address or model are wrong.
        """
        asked = f"Today is {question.now:%A, %Y-%m-%d}.\n" if question.now else ""
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(_Transient),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_backoff(longest=self._longest_wait),
        )
        try:
            return await attempts(self._ask, f"{context}\n\n{asked}Question: {question.text}".strip())
        except RetryError as error:
            raise NoAnswer(str(error.last_attempt.exception())) from None

    async def _ask(self, said: str) -> str:
        messages = [{"role": "system", "content": _ORDER}, {"role": "user", "content": said}]
        body = {"model": self.name, "messages": messages, "temperature": 0, "max_tokens": _MOST_TOKENS, "stream": False}
        try:
            async with asyncio.timeout(self._patience):
                response = await self._client.post("/chat/completions", json=body)
        except TimeoutError:
            raise _Transient(f"no answer within {self._patience:g} s") from None
        except AnswerRefused as error:
            raise NoAnswer(str(error)) from None
        except httpx.RequestError as error:  # its words may repeat what the server sent
            raise _Transient(type(error).__name__) from None
        return self._content(response)

    def _content(self, response: httpx.Response) -> str:
        status = response.status_code
        if status == 429 or status >= 500:
            raise _Transient(f"HTTP {status}")
        if status in (401, 403, 404, 405):
            raise Unavailable(
                f"{self.where} does not answer (HTTP {status}): check --llm, MEMORYBUS_EVAL_LLM_MODEL and "
                "MEMORYBUS_EVAL_LLM_API_KEY"
            )
        if status != 200:
            raise NoAnswer(f"HTTP {status}")
        try:
            return _Completion.model_validate_json(response.content).choices[0].message.content
        except ValidationError:
            raise NoAnswer("no chat completion in the answer") from None

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()


async def ask_model(
    model: LanguageModel, questions: Sequence[Question], contexts: Sequence[str], progress: Progress = untold
) -> Answered:
    """Let a model answer questions whose answer is known, with and without their context.

    No more are asked once a setting proves wrong, or `MOST_IN_A_ROW` got no answer.
    """
    answerable = [pair for pair in zip(questions, contexts, strict=True) if pair[0].answer]
    most = min(model.most, len(answerable))
    chosen = [answerable[number * len(answerable) // most] for number in range(most)]
    answered, in_a_row = Answered(model.name, scores={"with memory": [], "without memory": []}), 0
    for done, (question, context) in enumerate(chosen, start=1):
        try:
            said = {
                "with memory": await model.answer(question, context),
                "without memory": await model.answer(question),
            }
        except (NoAnswer, Unavailable) as error:
            answered.failed, in_a_row, answered.last_failure = answered.failed + 1, in_a_row + 1, str(error)
            if in_a_row == MOST_IN_A_ROW or isinstance(error, Unavailable):
                break
            continue
        in_a_row, answered.questions = 0, answered.questions + 1
        for name, text in said.items():
            answered.scores[name].append((token_f1(text, question.answer), contains(text, question.answer)))
        progress("asking the model", done, len(chosen))
    return answered


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
