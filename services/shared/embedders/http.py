"""Embeddings from an OpenAI-compatible server: OpenAI, Ollama, llama.cpp, text-embeddings-inference, vLLM."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np

from contracts.errors import TextRefused
from contracts.ports import EmbeddingIdentity, Vector
from services.shared.embedders.http_failure import Failed, Failure
from services.shared.embedders.http_server import ATTEMPTS, EmbeddingServer, open_client
from services.shared.embedders.texts import readable

__all__ = ["ATTEMPTS", "HttpEmbedder"]

log = logging.getLogger(__name__)

LEAST_CHARS = 64
"""A text that the server does not take is cut and tried again, as most are too long, but not below this."""
LONGEST_WAIT = 5.0  # seconds between two attempts
ANSWER_WITHIN = 30.0  # seconds
LATE_AFTER = 2.0  # seconds
_AT_ONCE = 8

Outcome: TypeAlias = "Vector | Failure"


class HttpEmbedder:
    """The `Embedder` of contracts.ports over `POST {base_url}/embeddings`.

    A batch that fails while the server is there is halved. A text that fails alone is cut, as far as it goes.
    """

    def __init__(self, server: EmbeddingServer, batch: int) -> None:
        self._server = server
        self._batch = batch
        self._turns = asyncio.Semaphore(_AT_ONCE)

    @classmethod
    async def open(
        cls,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        batch: int = 32,
        answer_within: float = ANSWER_WITHIN,
        most_wait: float = LONGEST_WAIT,
        late_after: float = LATE_AFTER,
    ) -> HttpEmbedder:
        """Connect, and learn the dimensions of the model from a first text.

        `answer_within`, for the whole of one answer, is in seconds, as are `most_wait`, the longest pause between two
        attempts, and `late_after`, when it is looked whether a server that has not answered is there.

        Raises:
            EmbedderMisconfigured: the address, the key or the model is wrong.
            Unavailable: the server does not answer.
        """
        client = open_client(base_url, api_key)
        server = EmbeddingServer(client, model, answer_within=answer_within, most_wait=most_wait, late_after=late_after)
        try:
            await server.learn_dimensions()
        except BaseException:
            await server.close()
            raise
        return cls(server, batch)

    @property
    def identity(self) -> EmbeddingIdentity:
        """Which model this is."""
        return EmbeddingIdentity("http", self._server.model, self._server.dimensions or 0)

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts.

        Among others a text is cut only where the server refuses it at once: who waits for them asks for it alone.

        Raises:
            TextRefused: the server embeds other texts, but not one of these.
            EmbedderMisconfigured: key, address or model are not, or no longer, right.
            Unavailable: the server did not answer, after several attempts.
        """
        wanted = [readable(text) for text in texts]
        outcomes: list[Outcome] = [await self._alone(wanted[0])] if len(wanted) == 1 else []
        for start in range(len(outcomes), len(wanted), self._batch):
            outcomes += await self._outcomes(wanted[start : start + self._batch])
        vectors = {place: one for place, one in enumerate(outcomes) if not isinstance(one, Failure)}
        for one in outcomes:
            if isinstance(one, Failure):
                raise TextRefused(f"the embedding server refused a text: {one.reason}", vectors)
        return np.stack([*vectors.values()]) if vectors else np.zeros((0, self.identity.dimensions), np.float32)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._server.close()

    async def _outcomes(self, texts: list[str]) -> list[Outcome]:
        """The vector of each text, or why it has none; those that fail together are asked for in parts."""
        try:
            return list(await self._server.ask(texts, patient=True))
        except Failed as error:
            return await self._apart(texts, error.failure)

    async def _apart(self, texts: list[str], failure: Failure) -> list[Outcome]:
        if len(texts) == 1:
            return [await self._cut(texts[0], failure) if failure.kind == "refusal" else failure]
        size = 1 if failure.kind == "hangs" else len(texts) // 2
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        found = await asyncio.gather(*map(self._part, parts), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return [outcome for part in found if isinstance(part, list) for outcome in part]

    async def _part(self, texts: list[str]) -> list[Outcome]:
        try:
            async with self._turns:
                return list(await self._server.ask(texts, patient=False))
        except Failed as error:
            failure = error.failure
        return await self._apart(texts, failure)

    async def _alone(self, text: str) -> Outcome:
        try:
            vectors = await self._server.ask([text], patient=True)
        except Failed as error:
            return await self._cut(text, error.failure)
        return cast(Vector, vectors[0])

    async def _cut(self, text: str, failure: Failure) -> Outcome:
        """The vector of as much of a text as the server takes, or why it takes none of it."""
        beginning = text.strip()
        while len(beginning) > LEAST_CHARS:
            part = len(beginning) // (8 if failure.kind == "hangs" else 2)
            beginning = beginning[: max(LEAST_CHARS, part)]
            try:
                vectors = await self._server.ask([beginning], patient=False)
            except Failed as error:
                failure = error.failure
            else:
                told = {"cause": failure.reason, "chars": len(text), "kept": len(beginning)}
                log.warning("text_cut", extra=told)
                return cast(Vector, vectors[0])
        return await self._confirmed(beginning, failure)

    async def _confirmed(self, text: str, failure: Failure) -> Outcome:
        """Why a text has no vector, if it has none between two others that have theirs.

        Raises:
            Unavailable: others have none either.
        """
        if not await self._server.is_there(len(text)):
            raise self._server.away(failure)
        if failure.kind == "hangs":  # it was waited for beside another
            return failure
        try:
            vectors = await self._server.ask_once([text])
        except Failed as error:
            if not await self._server.is_there(len(text)):
                raise self._server.away(error.failure) from None
            return error.failure
        return cast(Vector, vectors[0])
