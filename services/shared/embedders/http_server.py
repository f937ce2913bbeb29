"""Asks an embeddings endpoint, several times where that may help, and finds out whether it is away or takes not all."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence

import httpx

from contracts.errors import Unavailable
from contracts.ports import Vector
from services.shared.backoff import backoff_seconds
from services.shared.bounded import MOST, UNCOMPRESSED, AnswerRefused, bounded
from services.shared.embedders.errors import EmbedderMisconfigured
from services.shared.embedders.http_answer import BadAnswer, most_bytes, unit_vectors
from services.shared.embedders.http_failure import Failed, Failure, of_status
from services.shared.redaction import redact_address

ATTEMPTS = 4
_MOST_CONTROLLED = 2048  # characters


class EmbeddingServer:
    """`POST {base_url}/embeddings` for one model, once `learn_dimensions` has been asked.

    A control is another text for which the server is asked meanwhile. Where that has its vector, the server is there
    and the texts are to blame. Every control is new: a cache in front of a server answers for one that is away.
    """

    def __init__(
        self, client: httpx.AsyncClient, model: str, *, answer_within: float, most_wait: float, late_after: float
    ) -> None:
        self.model = model
        self.dimensions: int | None = None
        self._client = client
        self._answer_within = answer_within
        self._most_wait = most_wait
        self._late_after = late_after

    async def learn_dimensions(self) -> None:
        """Embed a first text.

        Raises:
            EmbedderMisconfigured: the address, the key or the model is wrong.
            Unavailable: the server does not answer.
        """
        try:
            self.dimensions = int((await self.ask(["dimensions?"], patient=True)).shape[1])
        except Failed as error:
            raise self._no_embedder(str(error)) from None

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def ask(self, texts: Sequence[str], *, patient: bool) -> Vector:
        """The unit vectors of texts; whoever is `patient` waits as long as the server asks for between attempts.

        Raises:
            Failed: the texts are to blame, each or together.
            EmbedderMisconfigured: key, address or model are not, or no longer, right.
            Unavailable: the server gave none of anything, in several attempts.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self.ask_once(texts)
            except Failed as error:
                failure = error.failure
                if failure.kind in ("refusal", "hangs"):
                    raise
                is_last = failure.kind != "passing" or attempt == ATTEMPTS
                if failure.kind != "silence" and (is_last or attempt > 1) and await self.is_there():
                    raise
                if is_last:
                    raise self.away(failure) from None
            await asyncio.sleep(self._pause(attempt, failure.after if patient else 0.0))
        raise AssertionError("the last attempt returns or raises")

    async def ask_once(self, texts: Sequence[str]) -> Vector:
        """The unit vectors of texts; those that hang while a control has its vector are given up.

        Raises:
            Failed: there are none.
        """
        request = asyncio.create_task(self._post(texts))
        try:
            await asyncio.wait({request}, timeout=self._late_after)
            if not request.done() and await self._takes_too_long(request, texts):
                raise Failed(Failure("no answer, while another text had one", "hangs"))
            return await request
        finally:
            request.cancel()

    async def is_there(self, chars: int = 0) -> bool:
        """Whether the server embeds a control, of at least so many characters."""
        if self.dimensions is None:
            return False
        words = f"{secrets.token_hex(3)} is another text. "
        try:
            await self._post([words * (1 + chars // len(words))])
        except Failed:
            return False
        return True

    def away(self, failure: Failure) -> Unavailable:
        """What is wrong where the server embeds nothing."""
        if failure.kind == "setting":
            return EmbedderMisconfigured(f"{self._where} does not embed ({failure.reason}): {failure.advice}")
        if failure.kind == "garbled" and self.dimensions is None:
            return self._no_embedder(failure.reason)
        return Unavailable(f"{self._where} gave no embeddings in {ATTEMPTS} attempts: {failure.reason}")

    async def _takes_too_long(self, request: asyncio.Task[Vector], texts: Sequence[str]) -> bool:
        """Whether a request takes far longer than a control beside it would for as much text."""
        chars = min(max(map(len, texts)), _MOST_CONTROLLED)
        started = time.monotonic()
        control = asyncio.create_task(self.is_there(chars))
        try:
            await asyncio.wait({request, control}, return_when=asyncio.FIRST_COMPLETED)
            if request.done() or not control.result():
                return False
        finally:
            control.cancel()
        as_long = (time.monotonic() - started) * sum(map(len, texts)) / max(chars, 1)
        enough = min(max(self._late_after, 2 * as_long), self._answer_within / 2)
        await asyncio.wait({request}, timeout=enough)
        return not request.done()

    async def _post(self, texts: Sequence[str]) -> Vector:
        body = {"model": self.model, "input": list(texts)}
        try:
            async with asyncio.timeout(self._answer_within):
                response = await self._client.post("/embeddings", json=body, extensions={MOST: most_bytes(len(texts))})
            if response.status_code != 200:
                raise Failed(of_status(response.status_code, response.headers.get("Retry-After", "")))
            return unit_vectors(response.content, count=len(texts), dimensions=self.dimensions)
        except TimeoutError:
            raise Failed(Failure(f"no answer within {self._answer_within:g} s", "silence")) from None
        except (AnswerRefused, BadAnswer) as error:
            raise Failed(Failure(str(error), "garbled")) from None
        except httpx.RequestError as error:  # its words may repeat what the server sent
            raise Failed(Failure(type(error).__name__, "passing")) from None

    def _pause(self, attempt: int, asked: float) -> float:
        """Seconds until the next attempt: random, more each time, and no less than the server asks for."""
        return min(self._most_wait, max(asked, backoff_seconds(attempt, longest=self._most_wait)))

    def _no_embedder(self, reason: str) -> EmbedderMisconfigured:
        return EmbedderMisconfigured(
            f"{self._where} gives no embeddings for the model {self.model!r} ({reason}): check "
            "MEMORYBUS_EMBEDDER_URL and MEMORYBUS_EMBEDDER_MODEL"
        )

    @property
    def _where(self) -> str:
        return redact_address(str(self._client.base_url))


def open_client(base_url: str, api_key: str | None) -> httpx.AsyncClient:
    """A client of the server.

    Raises:
        EmbedderMisconfigured: address or key cannot be one.
    """
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
