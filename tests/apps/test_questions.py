"""Questions: each embedded once, whoever asks, and read as it was meant where it has typing errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from contracts.ports import EmbeddingIdentity, TextStore, Unavailable, Vector
from services.retrieve import questions
from services.retrieve.questions import QuestionVectors
from tests.apps import asking
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.apps.test_retrieve import Late, a_retriever, ask
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
    retriever = asking.a_retriever(store, FakeVectors(), model, leg_timeout_seconds=20.0, min_score=0.0)
    reply = await ask(retriever, "My bicyvle")
    assert model.asked == ["My bicyvle", "My bicycle"]
    assert not reply.degraded


async def test_the_answer_tells_how_long_its_own_question_took_to_embed(store: TextStore) -> None:
    retriever = a_retriever(store, FakeVectors(), FakeEmbedder())
    assert (await ask(retriever, "tea")).query_embedding_ms > 0
    assert (await ask(retriever, "tea")).query_embedding_ms == 0


class Failing(Late):
    """A text store that cannot answer one thing."""

    async def _late(self, *args: Any, **kwargs: Any) -> Any:
        raise Unavailable(self.late)


async def test_a_typing_error_finds_what_was_meant_and_explaining_tells_it(store: TextStore) -> None:
    entries = ("my bicycle is red", "a bicicle of Anna", "the kitchen is white", "my bicycle squeaks")
    await store_entries(store, [an_entry("ann", text) for text in entries])
    retriever = a_retriever(store, None, None)
    reply = await ask(retriever, "Where is my Bicyvle and the adventure?", explain=True)
    assert {item.text for item in reply.items} == {"my bicycle is red", "my bicycle squeaks"}
    assert reply.explanation == {"corrections": {"bicyvle": "bicycle"}, "times": [], "time_zone": "UTC"}
    assert [item.text for item in (await ask(retriever, "bicicle")).items] == ["a bicicle of Anna"]
    assert (await ask(retriever, "Bicyvle")).explanation is None


class Listening(FakeEmbedder):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vector:
        self.heard += texts
        return await super().embed(texts)


async def asked_with_errors(store: Any) -> str:
    """What the model is given to read last for a question with two words that the memory lacks, one of them no word."""
    model = Listening()
    await ask(a_retriever(store, FakeVectors(), model), "My bicyvle and a march")
    return model.heard[-1]


async def test_what_is_no_word_is_read_as_it_was_meant_and_a_word_as_it_is(store: TextStore) -> None:
    await store_entries(store, [an_entry("ann", "my bicycle"), an_entry("ann", "a match")])
    reply = await ask(a_retriever(store, FakeVectors(), Listening()), "My bicyvle and a march", explain=True)
    assert (reply.explanation or {})["corrections"] == {"bicyvle": "bicycle"}
    assert await asked_with_errors(store) == "My bicycle and a march"


@pytest.mark.parametrize("failing", [Late, Failing])
async def test_without_the_words_of_the_memory_the_model_reads_what_was_asked(
    store: TextStore, failing: Callable[..., Any]
) -> None:
    await store_entries(store, [an_entry("ann", "my bicycle")])
    assert await asked_with_errors(failing(store, "frequencies")) == "My bicyvle and a march"


async def test_nobody_elses_words_correct_a_question(store: TextStore) -> None:
    await store_entries(store, [an_entry("bob", "my bicycle"), an_entry("ann", "my bicycle", space="work")])
    await store_entries(store, [an_entry("ann", "my bicycle", persona_id="guide"), an_entry("ann", "a car")])
    reply = await ask(a_retriever(store, None, None), "bicyvle car", explain=True)
    assert reply.explanation == {"corrections": {}, "times": [], "time_zone": "UTC"}


@pytest.mark.parametrize(
    ("asked", "stored", "is_meant"),
    [
        ("licence", "license", True),
        ("color", "colour", True),
        ("organise", "organize", True),
        ("much", "ouch", False),
        ("rent", "sent", False),
        ("living", "give", False),
    ],
)
async def test_a_word_is_found_in_its_other_spelling_and_taken_for_no_other(
    store: TextStore, asked: str, stored: str, is_meant: bool
) -> None:
    await store_entries(store, [an_entry("ann", f"about the {stored}"), an_entry("ann", "about the rest")])
    reply = await ask(a_retriever(store, None, None), f"Which {asked}?", explain=True)
    assert (reply.explanation or {})["corrections"] == ({asked: stored} if is_meant else {})
    assert not is_meant or [item.text for item in reply.items] == [f"about the {stored}"]
