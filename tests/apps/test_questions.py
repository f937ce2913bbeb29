"""Embedding of questions: each once, whoever asks, and nobody waits for what is not needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from contracts.ports import EmbeddingIdentity, TextStore, Unavailable, Vector
from services.retrieve import questions
from services.retrieve.questions import QuestionVectors
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.apps.test_retrieve import a_retriever, ask
from tests.stores.builders import an_entry, store_entries


class Holding(FakeEmbedder):
    """Answers nothing that is held until it is let go."""

    def __init__(self, held: str) -> None:
        super().__init__()
        self.held, self.let_go = held, asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vector:
        vectors = await super().embed(texts)
        if self.held in texts:
            await self.let_go.wait()
        return vectors


async def test_a_question_asked_at_once_or_again_is_embedded_once_by_each_model() -> None:
    model, vectors = FakeEmbedder(), QuestionVectors()
    first, second = await asyncio.gather(vectors.of(model, "tea?"), vectors.of(model, "tea?"))
    assert first is second
    assert await vectors.of(model, "tea?") is first
    await vectors.of(model, "coffee?")
    model.identity = EmbeddingIdentity("fake", "another", 4)
    await vectors.of(model, "tea?")
    assert model.asked == ["tea?", "coffee?", "tea?"]


async def test_who_gives_up_leaves_the_others_waiting() -> None:
    model, vectors = Holding("tea?"), QuestionVectors()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.shield(vectors.of(model, "tea?"))
    other = vectors.of(model, "tea?")
    model.let_go.set()
    await other
    assert model.asked == ["tea?"]


async def test_what_failed_is_tried_again() -> None:
    model, vectors = FakeEmbedder(), QuestionVectors()
    model.fails = Unavailable("the model is away")
    with pytest.raises(Unavailable):
        await vectors.of(model, "tea?")
    model.fails = None
    await vectors.of(model, "tea?")


@pytest.mark.parametrize(
    ("name", "limit", "asked"),
    [("_KEPT", 0.0, ["tea?", "tea?", "coffee?", "tea?"]), ("_MOST", 1, ["tea?", "coffee?", "tea?"])],
)
async def test_a_vector_is_kept_no_longer_than_erasing_may_take_and_so_many_at_most(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: float, asked: list[str]
) -> None:
    monkeypatch.setattr(questions, name, limit)
    model, vectors = FakeEmbedder(), QuestionVectors()
    for question in ("tea?", "tea?", "coffee?", "tea?"):
        await vectors.of(model, question)
    assert model.asked == asked


async def test_a_corrected_question_does_not_wait_for_what_it_was_read_as_before(store: TextStore) -> None:
    await store_entries(store, [an_entry("ann", "my bicycle")])
    model = Holding("My bicyvle")
    reply = await ask(a_retriever(store, FakeVectors(), model), "My bicyvle")
    assert model.asked == ["My bicyvle", "My bicycle"]
    assert not reply.degraded


async def test_the_answer_tells_how_long_its_own_question_took_to_embed(store: TextStore) -> None:
    retriever = a_retriever(store, FakeVectors(), FakeEmbedder())
    assert (await ask(retriever, "tea")).query_embedding_ms > 0
    assert (await ask(retriever, "tea")).query_embedding_ms == 0
