"""Memory for LangGraph (langgraph 1.2): a store whose items are memories of one user.

from memorybus_client import Memory
from memorybus_client.langgraph import MemorybusStore

store = MemorybusStore(Memory(user="ann"))
graph = builder.compile(store=store)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from contracts.v1.entries import Entry
from memorybus_client import items
from memorybus_client.errors import expect, looked_up
from memorybus_client.sync import Memory

_MOST_FOUND = 200
_EVERYTHING = 1_000_000  # tokens: no hit is left out because of its length


class MemorybusStore(BaseStore):
    """Keeps each item as one entry of a space: given back as it was put, and found by its words and its meaning.

    The text of the entry is the value: its only string where it has nothing else, otherwise its JSON. The tags are the
    namespaces around it. A new value of a key corrects the entry, whose history keeps the old one.

    Unlike in other stores namespace and key have at most 256 characters as JSON, a value at most 64 KiB, and items do
    not expire. Values that JSON would change (tuples, keys that are no strings) raise `ValueError`. `index=False` keeps
    words from finding an item; fields that `index` names have no effect. A search with words and a filter filters the
    best 200; one without words, and `list_namespaces`, read every item there is.
    """

    def __init__(self, memory: Memory, *, space: str = "langgraph") -> None:
        expect(memory, Memory)
        self._memory, self._space = memory, space

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Read as things were, then write; of several values for a key the last one."""
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        results = [self._read(op) for op in ops]
        for op in {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, beside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            entry = self._current(items.place(op.namespace, op.key))
            return _item(entry, Item) if entry else None
        if isinstance(op, SearchOp):
            found = self._search(op) if op.query else self._all(op.namespace_prefix)
            inside = [one for one in found if one.namespace[: len(op.namespace_prefix)] == op.namespace_prefix]
            return [one for one in inside if items.matches(one.value, op.filter or {})][op.offset :][: op.limit]
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        limit = _MOST_FOUND if op.filter else min(op.offset + op.limit, _MOST_FOUND)
        asked: dict[str, Any] = {"space": self._space, "tags": items.tags(op.namespace_prefix)[-1:], "min_score": 0}
        for most in (limit, _MOST_FOUND):  # all there are where some of the best may not be found by words
            found = self._memory.recall(str(op.query)[:8192], limit=max(1, most), token_budget=_EVERYTHING, **asked)
            hits = [hit for hit in looked_up(found).items if items.UNINDEXED not in hit.tags]
            if len(hits) == len(found.items):
                break
        for hit in hits:
            entry = self._current(hit.speaker or "")
            if entry is not None and entry.id == hit.id:
                yield _item(entry, partial(SearchItem, score=hit.scores.total))

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {one.namespace for one in self._all(())}
        for condition in op.match_conditions or ():
            at_end = condition.match_type == "suffix"
            known = {one for one in known if items.fits(one, condition.path, at_end=at_end)}
        return sorted({one[: op.max_depth] for one in known})[op.offset :][: op.limit]

    def _write(self, op: PutOp) -> None:
        place = items.place(op.namespace, op.key)
        if op.value is None:
            for entry in list(self._entries(place)):
                self._memory.forget(entry.id, may_return=True)
            return
        if op.ttl is not None:
            raise NotImplementedError("memorybus keeps items until they are deleted: leave ttl out")
        if len(place) > items.LONGEST or len(op.namespace) > items.DEEPEST:
            most = f"{items.LONGEST} characters and {items.DEEPEST} levels"
            raise ValueError(f"namespace and key have at most {most}: {place[:80]!r}")
        text, tags = items.written(dict(op.value))
        tags = [*items.tags(op.namespace), place, *tags, *([items.UNINDEXED] if op.index is False else [])]
        current = self._current(place)
        if current is None:
            self._memory.remember(text, tags=tags, space=self._space, speaker=place)
        elif items.value(current) != op.value or (items.UNINDEXED in current.tags) != (op.index is False):
            self._memory.update(current.id, text=text, tags=tags)

    def _current(self, place: str) -> Entry | None:
        return next(self._entries(place), None) if len(place) <= items.LONGEST else None

    def _entries(self, place: str) -> Iterator[Entry]:
        """What says the value of a key: one entry; the latest first where several programs put it at once."""
        return (entry for entry in self._listed([place]) if entry.speaker == place)

    def _all(self, namespace: tuple[str, ...]) -> Iterator[SearchItem]:
        """The item of every key in a namespace and those below, the latest first."""
        seen = set[str]()
        for entry in self._listed(items.tags(namespace)[-1:]):
            if entry.speaker in entry.tags and entry.speaker not in seen:
                seen.add(entry.speaker)
                yield _item(entry, SearchItem)

    def _listed(self, tags: list[str]) -> Iterator[Entry]:
        page = self._memory.list(space=self._space, tags=tags)
        yield from page.items
        while page.next_cursor:
            page = self._memory.list(space=self._space, tags=tags, cursor=page.next_cursor)
            yield from page.items


def _item(entry: Entry, kind: Any) -> Any:
    *namespace, key = json.loads(entry.speaker or "")
    changed = entry.edited_at or entry.created_at
    return kind(
        namespace=tuple(namespace), key=key, value=items.value(entry), created_at=entry.created_at, updated_at=changed
    )
