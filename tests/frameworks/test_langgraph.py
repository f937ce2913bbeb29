"""LangGraph: a graph with our store, and the store beside the one of LangGraph itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from memorybus_client import Memory
from memorybus_client.langgraph import MemorybusStore

from tests.frameworks.conftest import PREFERENCE, QUESTION

NAMESPACES = [("users",), ("users", "ann"), ("users", "ann", "likes"), ("users", "bea"), ("Users", "ann"), ("notes",)]
VALUES: list[Any] = [
    {"text": PREFERENCE},
    {"memory": PREFERENCE},
    {"text": "  I prefer uv over pip for Python packages!\n"},
    {"kind": "Memory", "content": {"content": "likes jazz"}, "level": 3},
    {"level": 5, "tags": ["a", None, 1.5], "deep": {"a": {"b": True}}},
    {"text": ""},
    {"text": '{"text": "quoted"}'},
    {},
]


@pytest.fixture
def blocking(url: str, ann: str) -> Iterator[Memory]:
    with Memory(url, user=ann) as opened:
        yield opened


@pytest.fixture
def store(blocking: Memory) -> MemorybusStore:
    return MemorybusStore(blocking)


class State(TypedDict):
    said: str
    answer: str


def respond(state: State) -> dict[str, str]:
    """A scripted assistant: keeps what is stated, answers what is asked with what the store knows."""
    store = get_store()
    if not state["said"].endswith("?"):
        store.put(("users", "likes"), "packages", {"text": state["said"]})
        return {"answer": "Noted."}
    return {"answer": "; ".join(one.value["text"] for one in store.search(("users",), query=state["said"]))}


def answer(store: BaseStore, said: str) -> str:
    graph = StateGraph(State).add_node(respond).add_edge(START, "respond").add_edge("respond", END)
    return str(graph.compile(store=store).invoke({"said": said, "answer": ""})["answer"])


def test_a_preference_of_one_conversation_is_used_in_the_next_and_by_nobody_else(
    url: str, ann: str, store: MemorybusStore
) -> None:
    assert answer(store, PREFERENCE) == "Noted."
    with Memory(url, user=ann) as again, Memory(url, user=f"not-{ann}") as bobs:
        assert answer(MemorybusStore(again), QUESTION) == PREFERENCE
        assert answer(MemorybusStore(bobs), QUESTION) == ""
        assert MemorybusStore(bobs).get(("users", "likes"), "packages") is None


def seen(store: BaseStore) -> dict[str, Any]:
    """All that a program can see of a store without words, in an order of its own."""
    prefixes: list[tuple[str, ...]] = [(), ("users",), ("users", "ann"), ("no such",)]
    filters: list[dict[str, Any] | None] = [None, {"level": 3}, {"level": {"$ne": 3}}, {"deep": {"a": {"b": True}}}]
    found: dict[str, Any] = {}
    for prefix in prefixes:
        for wanted in filters:
            items = store.search(prefix, filter=wanted, limit=100)
            found[f"{prefix} {wanted}"] = sorted(((*one.namespace, one.key), repr(one.value)) for one in items)
    found["all"] = store.list_namespaces()
    found["below"] = store.list_namespaces(prefix=("users",), max_depth=2)
    found["ending"] = store.list_namespaces(suffix=("ann",))
    found["starred"] = store.list_namespaces(prefix=("*", "ann"))
    found["page"] = store.list_namespaces(limit=2, offset=1)
    return found


def test_it_behaves_as_the_store_of_langgraph(store: MemorybusStore) -> None:
    theirs, rolled = InMemoryStore(), random.Random(7)
    for step in range(30):
        namespace, key = rolled.choice(NAMESPACES), rolled.choice(["k", "K", "k 2"])
        value = {**rolled.choice(VALUES), "step": step} if step % 3 else rolled.choice(VALUES)
        for each in (store, theirs):
            each.put(namespace, key, value)
        ours = store.get(namespace, key)
        assert ours is not None
        assert (ours.value, ours.key, ours.namespace) == (value, key, namespace)
    assert seen(store) == seen(theirs)
    for namespace in NAMESPACES[:3]:
        for each in (store, theirs):
            each.delete(namespace, "k")
    assert seen(store) == seen(theirs)


def test_what_was_deleted_can_be_put_again(store: MemorybusStore) -> None:
    for value in VALUES:
        for _ in range(3):
            store.put(("a",), "k", value)
            item = store.get(("a",), "k")
            assert item is not None
            assert item.value == value
            store.delete(("a",), "k")
            assert store.get(("a",), "k") is None
    store.put(("a",), "k", VALUES[0])
    store.put(("a",), "k", VALUES[3])
    store.put(("a",), "k", VALUES[0])
    store.put(("a",), "other", VALUES[0])
    store.delete(("a",), "k")
    store.put(("a",), "k", VALUES[0])
    assert {one.key: one.value for one in store.search(("a",))} == {"k": VALUES[0], "other": VALUES[0]}


def test_what_is_not_indexed_is_found_by_its_key_and_by_no_words(store: MemorybusStore) -> None:
    for number in range(6):
        store.put(("a",), f"hidden {number}", {"text": f"{PREFERENCE} {number}"}, index=False)
    store.put(("a",), "shown", {"text": PREFERENCE, "level": 1})
    assert [one.key for one in store.search(("a",), query=QUESTION, limit=2)] == ["shown"]
    assert len(store.search(("a",))) == 7
    item = store.get(("a",), "hidden 1")
    assert item is not None
    assert item.value == {"text": f"{PREFERENCE} 1"}
    store.put(("a",), "hidden 1", item.value)
    assert {one.key for one in store.search(("a",), query=QUESTION)} == {"shown", "hidden 1"}
    store.put(("a",), "hidden 1", item.value, index=False)
    assert {one.key for one in store.search(("a",), query=QUESTION)} == {"shown"}


def test_the_same_value_under_two_keys_is_two_items(store: MemorybusStore) -> None:
    store.put(("a",), "1", VALUES[0])
    store.put(("a",), "2", VALUES[2])
    store.put(("b",), "1", VALUES[0])
    got = [store.get(namespace, key) for namespace, key in ((("a",), "1"), (("a",), "2"), (("b",), "1"))]
    assert [item and item.value for item in got] == [VALUES[0], VALUES[2], VALUES[0]]


async def test_it_is_awaited_and_batched(store: MemorybusStore) -> None:
    await store.aput(("a",), "k", {"n": 1})
    results = await store.abatch([GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 2}), PutOp(("a",), "k", {"n": 3})])
    assert results[0].value == {"n": 1}
    item = await store.aget(("a",), "k")
    assert item is not None
    assert item.value == {"n": 3}
    assert item.updated_at > item.created_at
    (found,) = await store.asearch(("a",), filter={"n": {"$gt": 2.5}})
    assert found.key == "k"
    await store.adelete(("a",), "k")
    assert await store.aget(("a",), "k") is None
    assert await store.alist_namespaces() == []


def test_what_was_put_is_found_by_its_words_where_it_is(store: MemorybusStore) -> None:
    store.put(("a", "b"), "1", {"text": PREFERENCE, "level": 1})
    store.put(("c",), "1", {"text": PREFERENCE, "level": 2})
    assert {one.namespace for one in store.search((), query=QUESTION)} == {("a", "b"), ("c",)}
    (found,) = store.search(("a",), query=QUESTION)
    assert found.score is not None
    assert [one.namespace for one in store.search((), query=QUESTION, filter={"level": 2})] == [("c",)]
    assert store.search(("b",), query=QUESTION) == []


def test_a_correction_keeps_the_history(store: MemorybusStore, blocking: Memory) -> None:
    store.put(("a",), "k", {"text": "I prefer pip"})
    store.put(("a",), "k", {"text": PREFERENCE})
    (entry,) = blocking.list(space="langgraph").items
    assert [one.text for one in blocking.history(entry.id).items] == [PREFERENCE, "I prefer pip"]


def test_what_cannot_be_kept_is_refused_with_a_sentence(store: MemorybusStore) -> None:
    for value in ({"a": (1, 2)}, {"a": {1: 2}}, {"a": float("nan")}):
        with pytest.raises(ValueError, match="JSON"):
            store.put(("a",), "k", value)
    with pytest.raises(ValueError, match="at most 256 characters"):
        store.put(("a",), "k" * 300, {"a": 1})
    assert store.get(("a",), "k" * 300) is None
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"a": 1}, ttl=5)
    with pytest.raises(InvalidNamespaceError):
        store.batch([SearchOp(("a.b",))])
    store.put(("a",), "k", {"a": 1})
    with pytest.raises(ValueError, match="no operator"):
        store.search(("a",), filter={"a": {"$like": 1}})
