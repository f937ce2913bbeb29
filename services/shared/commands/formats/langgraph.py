"""LangGraph's items of a store, and the messages in its threads, states and checkpoints, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    ABANDONED,
    REPEATED,
    ROLES,
    Statement,
    each,
    each_readable,
    fact_type,
    readable,
    taken,
    text_of,
    turns,
)
from services.shared.commands.formats.source import WITHOUT_TEXT, FormatError, Source, checked
from services.shared.commands.formats.times import When, filled

_TEXTS = ("memory", "text", "content", "fact", "data", "value", "preference", "summary")
_CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "AIMessageChunk": "ai"}
_MOST_MEMBERS = 32
_HOLDING = ("values", "channel_values")


class _Item(BaseModel):
    """An item of a store."""

    namespace: list[str] | str = []
    key: str
    value: dict[str, Any]
    created_at: When | None = None
    updated_at: When | None = None

    @property
    def path(self) -> list[str]:
        """The namespace; some stores write it with dots."""
        return self.namespace.split(".") if isinstance(self.namespace, str) else self.namespace


class _Message(BaseModel):
    type: str
    content: str | list[Any] = ""
    id: str | None = None
    name: str | None = None


class _State(BaseModel):
    """What a thread holds at some time."""

    messages: list[Any]
    thread_id: str = "langgraph"
    user_id: str | None = None
    at: When | None = None
    name: str | None = None
    parent: str | None = None


def read_langgraph(source: Source) -> Iterator[Turn]:
    """A fact of each item, and the turns of all threads.

    A message was said at the time of the first state that has it; one that several states have is one turn. States on
    a branch that was left for another one are left out.
    """
    for name, document in documents(source):
        states, facts = [], []
        for number, data in enumerate(each(document, "items", "threads", "states", "checkpoints"), start=1):
            where = f"{name}: item {number}"
            if isinstance(data, dict) and "key" in data and "value" in data:
                if (item := readable(source, _Item, data, where)) is not None:
                    facts.append(_fact(item, where))
            elif (state := _state(data, where)) is not None:
                states.append((where, state))
            else:
                source.skipped[WITHOUT_TEXT] += 1
        yield from turns(source, facts)
        yield from _threads(source, _on_the_line(source, _in_order(states)))


def _in_order(states: list[tuple[str, _State]]) -> list[tuple[str, _State]]:
    """The states by time; one without a time was next to those that have one."""
    if any(state.at for _, state in states):
        times = filled([state.at for _, state in states])
        dated = zip(states, times, strict=True)
        states = [(where, state.model_copy(update={"at": at})) for (where, state), at in dated]
    return sorted(states, key=lambda state: state[1].at.timestamp() if state[1].at else 0.0)


def _on_the_line(source: Source, states: list[tuple[str, _State]]) -> list[tuple[str, _State]]:
    """The states without those on the branches that were left."""
    parents = {state.name: state.parent for _, state in states if state.name}
    times = {state.name: state.at.timestamp() for _, state in states if state.name and state.at}
    # Names of checkpoints grow with time.
    kept = taken(parents, sorted(parents, key=lambda name: (times.get(name, 0.0), name), reverse=True))
    there = [(where, state) for where, state in states if not state.name or state.name in kept]
    source.skipped.update([ABANDONED] * (len(states) - len(there)))
    return there


def _threads(source: Source, states: list[tuple[str, _State]]) -> Iterator[Turn]:
    seen: set[str | None] = set()
    for where, state in states:
        for turn in turns(source, _statements(source, state, where), state.at):
            if turn.turn_id in seen:
                source.skipped[REPEATED] += 1
            else:
                seen.add(turn.turn_id)
                yield turn


def _statements(source: Source, state: _State, where: str) -> Iterator[Statement]:
    for spot, message in each_readable(source, _Message, map(_flat, state.messages), f"{where}: message"):
        role, text = ROLES.get(message.type.lower()), text_of(message.content)
        yield Statement(spot, message.id, role, text, state.thread_id, user_id=state.user_id, speaker=message.name)


def _flat(data: Any) -> Any:
    """A message as its own fields: as they are, below `data`, below `kwargs` of its class, or with a role."""
    if not isinstance(data, dict):
        return data
    kwargs, path = data.get("kwargs"), data.get("id")
    if isinstance(kwargs, dict) and isinstance(path, list):
        return {"type": _CLASSES.get(str(path[-1:] and path[-1]), "other")} | kwargs
    if isinstance(data.get("data"), dict):
        return {"type": data.get("type")} | data["data"]
    if "type" not in data or data["type"] == "message":
        return data | {"type": data.get("role")}
    return data


def _state(data: Any, where: str) -> _State | None:
    """The state in a thread, in a snapshot of one, or in a checkpoint; None where it is empty as yet."""
    outer = data if isinstance(data, dict) else {}
    checkpoint = _member(outer, "checkpoint")
    holders = (outer, _member(outer, "values"), _member(outer, "channel_values"), _member(checkpoint, "channel_values"))
    messages = next((held["messages"] for held in holders if isinstance(held.get("messages"), list)), None)
    if messages is None and any(outer.get(name) == {} or checkpoint.get(name) == {} for name in _HOLDING):
        return None
    if messages is None:
        raise FormatError(f"{where}: is neither an item (namespace, key, value) nor has it messages")
    named = (outer, _member(_member(outer, "config"), "configurable"), _member(outer, "metadata"), checkpoint)
    found = {name: next((held[name] for held in named if held.get(name)), None) for name in ("thread_id", "user_id")}
    at = outer.get("created_at") or outer.get("ts") or checkpoint.get("ts")
    thread = found["thread_id"]
    line = {"name": _checkpoint(thread, outer, ""), "parent": _checkpoint(thread, outer, "parent_")}
    given = {"messages": messages, "at": at, **line, **{name: value for name, value in found.items() if value}}
    return checked(_State, given, where)


def _checkpoint(thread: Any, outer: dict[str, Any], which: str) -> str | None:
    """The name of the checkpoint that a state is of, or of the one before it, with its thread."""
    config, checkpoint = _member(outer, f"{which}config"), _member(outer, f"{which}checkpoint")
    names = (
        checkpoint.get("checkpoint_id"),
        checkpoint.get("id"),
        _member(config, "configurable").get("checkpoint_id"),
        outer.get(f"{which}checkpoint_id"),
    )
    name = next((name for name in names if isinstance(name, str) and name), None)
    return name and f"{thread}\x1f{name}"


def _member(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _fact(item: _Item, where: str) -> Statement:
    text = _text(item.value)
    at = item.updated_at or item.created_at
    path = "/".join(item.path)
    kind = fact_type(text, item.value.get("kind"), item.value.get("type"), *item.path)
    return Statement(where, f"{path}/{item.key}", "user", text, path or "langgraph", at, tags=item.path, type=kind)


def _text(value: dict[str, Any]) -> str:
    """The text in a value, however deep; of one without a text its members."""
    inner: Any = value
    while isinstance(inner, dict):
        inner, outer = next((inner[name] for name in _TEXTS if isinstance(inner.get(name), str | dict)), None), inner
        if isinstance(inner, str):
            return inner
    members = [(name, _shown(member)) for name, member in list(outer.items())[:_MOST_MEMBERS]]
    return "; ".join(f"{name}: {shown}" for name, shown in members if shown)


def _shown(member: Any) -> str:
    """A word, a number, or a list of these; nothing of what is deeper."""
    parts = member[:_MOST_MEMBERS] if isinstance(member, list) else [member]
    return ", ".join(str(part) for part in parts if isinstance(part, str | int | float))
