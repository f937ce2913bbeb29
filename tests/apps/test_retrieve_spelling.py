"""Typing errors in a question: what is searched for by words, and what the model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from contracts.ports import TextStore, Unavailable, Vector
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.apps.test_retrieve import Late, a_retriever, ask
from tests.stores.builders import an_entry, store_entries


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


@pytest.mark.parametrize(("asked", "stored"), [("licence", "license"), ("color", "colour"), ("organise", "organize")])
async def test_a_word_is_found_in_its_other_spelling(store: TextStore, asked: str, stored: str) -> None:
    await store_entries(store, [an_entry("ann", f"about the {stored}"), an_entry("ann", "about the rest")])
    reply = await ask(a_retriever(store, None, None), f"Which {asked}?", explain=True)
    assert [item.text for item in reply.items] == [f"about the {stored}"]
    assert (reply.explanation or {})["corrections"] == {asked: stored}


@pytest.mark.parametrize(
    ("asked", "stored"), [("much", "ouch"), ("rent", "sent"), ("name", "same"), ("living", "give")]
)
async def test_no_word_is_taken_for_another(store: TextStore, asked: str, stored: str) -> None:
    await store_entries(store, [an_entry("ann", f"it was {stored}")])
    reply = await ask(a_retriever(store, None, None), f"How about {asked}?", explain=True)
    assert not (reply.explanation or {})["corrections"]
