"""Embeddings from an OpenAI-compatible server: OpenAI, Ollama, llama.cpp, text-embeddings-inference, vLLM."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import httpx
import numpy as np
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from contracts.errors import TextRefused, Unavailable
from contracts.ports import EmbeddingIdentity, Vector
from services.shared.backoff import backoff_seconds
from services.shared.bounded import MOST, UNCOMPRESSED, AnswerRefused, bounded
from services.shared.embedders.errors import EmbedderMisconfigured
from services.shared.embedders.http_answer import BadAnswer, most_bytes, unit_vectors
from services.shared.embedders.texts import readable
from services.shared.redaction import redact_address

LEAST_CHARS = 256
"""A text that the server refuses is halved and tried again, as servers refuse what is too long, but not below this."""
ATTEMPTS = 4
LONGEST_WAIT = 10.0  # seconds between two attempts
ANSWER_WITHIN = 30.0  # seconds

_TOO_MUCH = {400, 413, 422}
_WRONG_SETTING = {
    401: "check MEMORYBUS_EMBEDDER_API_KEY",
    403: "check MEMORYBUS_EMBEDDER_API_KEY",
    404: "check MEMORYBUS_EMBEDDER_URL and MEMORYBUS_EMBEDDER_MODEL",
    405: "check MEMORYBUS_EMBEDDER_URL",
}


class _Transient(Exception):
    """Worth another attempt, at the earliest after so many seconds."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


class _TooMuch(Exception):
    """The server refuses these texts together, or as long as they are."""


class HttpEmbedder:
    """The `Embedder` of contracts.ports over `POST {base_url}/embeddings`."""

    def __init__(
        self, client: httpx.AsyncClient, model: str, *, batch: int, answer_within: float, most_wait: float
    ) -> None:
        self._client = client
        self._answer_within = answer_within
        self._model = model
        self._batch = batch
        self._most_wait = most_wait
        self._dimensions: int | None = None

    @classmethod
    async def open(
        cls,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        batch: int = 32,
        answer_within: float | None = None,
        most_wait: float = LONGEST_WAIT,
    ) -> HttpEmbedder:
        """Connect, and learn the dimensions of the model from a first text.

        `answer_within`, for the whole of one answer, is in seconds, as is `most_wait`, the longest pause between two
        attempts.

        Raises:
            EmbedderMisconfigured: the address, the key or the model is wrong.
            Unavailable: the server does not answer.
        """
        client = _client(base_url, api_key)
        embedder = cls(client, model, batch=batch, answer_within=answer_within or ANSWER_WITHIN, most_wait=most_wait)
        try:
            embedder._dimensions = await embedder._probe()
        except BaseException:
            await client.aclose()
            raise
        return embedder

    @property
    def identity(self) -> EmbeddingIdentity:
        """Which model this is."""
        return EmbeddingIdentity("http", self._model, self._dimensions or 0)

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts.

        Raises:
            TextRefused: the server embeds other texts, but not one of these.
            EmbedderMisconfigured: key, address or model are not, or no longer, right.
            Unavailable: the server did not answer, after several attempts.
        """
        rows = [np.zeros((0, self._dimensions or 0), dtype=np.float32)]
        for start in range(0, len(texts), self._batch):
            rows.append(await self._embed([readable(text) for text in texts[start : start + self._batch]]))
        return np.concatenate(rows)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def _probe(self) -> int:
        try:
            answer = await self._ask(["dimensions?"])
        except (_TooMuch, BadAnswer) as error:
            raise EmbedderMisconfigured(
                f"{self._where} gives no embeddings for the model {self._model!r} ({error}): check "
                "MEMORYBUS_EMBEDDER_URL and MEMORYBUS_EMBEDDER_MODEL"
            ) from None
        return int(answer.shape[1])

    async def _embed(self, texts: list[str]) -> Vector:
        """Embed a batch; one that is refused is halved, until a single text is left to blame."""
        try:
            return await self._ask(texts)
        except (_TooMuch, BadAnswer) as error:
            if len(texts) > 1:
                middle = len(texts) // 2
                return np.concatenate([await self._embed(texts[:middle]), await self._embed(texts[middle:])])
            if isinstance(error, _TooMuch) and len(texts[0]) > LEAST_CHARS:
                return await self._embed([texts[0][: len(texts[0]) // 2]])
            raise TextRefused(f"the embedding server refused a text: {error}") from None

    async def _ask(self, texts: list[str]) -> Vector:
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(_Transient),
            stop=stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._ask_once(texts)
        except _Transient as error:
            raise Unavailable(f"{self._where} gave no embeddings in {ATTEMPTS} attempts: {error}") from None
        raise AssertionError("tenacity returns or raises")

    def _wait(self, state: RetryCallState) -> float:
        """Seconds until the next attempt: random, more each time, and no less than the server asks for."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.after if isinstance(error, _Transient) else 0.0
        return min(self._most_wait, max(asked, backoff_seconds(state.attempt_number, longest=self._most_wait)))

    async def _ask_once(self, texts: list[str]) -> Vector:
        body = {"model": self._model, "input": texts}
        try:
            async with asyncio.timeout(self._answer_within):
                response = await self._client.post("/embeddings", json=body, extensions={MOST: most_bytes(len(texts))})
        except TimeoutError:
            raise _Transient(f"no answer within {self._answer_within:g} s") from None
        except AnswerRefused as error:
            raise BadAnswer(str(error)) from None
        except httpx.RequestError as error:  # its words may repeat what the server sent
            raise _Transient(type(error).__name__) from None
        self._check(response)
        return unit_vectors(response.content, count=len(texts), dimensions=self._dimensions)

    def _check(self, response: httpx.Response) -> None:
        """Of an answer that is none only the status is told: servers repeat what they were sent."""
        status = response.status_code
        if status == 200:
            return
        if status == 429 or status >= 500:
            raise _Transient(f"HTTP {status}", _retry_after(response))
        if status in _TOO_MUCH:
            raise _TooMuch(f"HTTP {status}")
        advice = _WRONG_SETTING.get(status, "check MEMORYBUS_EMBEDDER_URL")
        raise EmbedderMisconfigured(f"{self._where} does not embed (HTTP {status}): {advice}")

    @property
    def _where(self) -> str:
        return redact_address(str(self._client.base_url))


def _client(base_url: str, api_key: str | None) -> httpx.AsyncClient:
    headers = dict(UNCOMPRESSED)
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    try:
        client = httpx.AsyncClient(
            base_url=base_url.rstrip("/"),
            headers=headers,
            timeout=None,  # an answer is waited for as a whole
            event_hooks=bounded(),
        )
    except (httpx.InvalidURL, UnicodeError, ValueError):  # their words may hold a part of a password
        raise EmbedderMisconfigured("MEMORYBUS_EMBEDDER_URL or MEMORYBUS_EMBEDDER_API_KEY cannot be used") from None
    if client.base_url.scheme not in ("http", "https"):
        raise EmbedderMisconfigured("MEMORYBUS_EMBEDDER_URL must start with http:// or https://")
    return client


def _retry_after(response: httpx.Response) -> float:
    """The seconds that the server asks to wait; 0 where it does not say, or names a date."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else 0.0
