"""Items of a store as entries: how a value becomes text and tags, and how filters of a store read it. No I/O."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from contracts.v1.entries import Entry

LONGEST = 256
"""Characters of namespace and key together, as of any tag."""

DEEPEST = 60

UNINDEXED = "/unindexed"
"""Tag of an item that no words and no meaning are to find."""

_COMPARE = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def place(namespace: tuple[str, ...], key: str) -> str:
    """Namespace and key as one speaker: what one item says is never taken for what another one says."""
    return json.dumps([*namespace, key], ensure_ascii=False)


def tags(namespace: tuple[str, ...]) -> list[str]:
    """The namespace with all those around it, the outermost first."""
    return [".".join(namespace[:depth]) for depth in range(1, len(namespace) + 1)]


def written(given: dict[str, Any]) -> tuple[str, list[str]]:
    """A value as text; a tag that begins with a dot names the field whose text alone it is."""
    match list(given.items()):
        case [(str(name), str(text))] if text.strip() and len(name) < LONGEST:
            return text, [f".{name}"]
    text = json.dumps(given, ensure_ascii=False, allow_nan=False)
    if json.loads(text) != given:
        raise ValueError("JSON would change this value: use lists for tuples, and strings as keys")
    return text, []


def value(entry: Entry) -> dict[str, Any]:
    """The value in an entry; a text that a user wrote over its JSON is all that it has."""
    field = next((tag[1:] for tag in entry.tags if tag.startswith(".")), None)
    if field is not None:
        return {field: entry.text}
    try:
        read = json.loads(entry.text)
    except ValueError:
        read = None
    return read if isinstance(read, dict) else {"text": entry.text}


def matches(given: Any, wanted: Any) -> bool:
    """Whether a value fulfils a filter of LangGraph: equal, deep in it, or compared by an operator."""
    if not isinstance(wanted, dict):
        return bool(given == wanted)
    if any(name.startswith("$") for name in wanted):
        return all(_compared(given, name, than) for name, than in wanted.items())
    return isinstance(given, dict) and all(matches(given.get(name), each) for name, each in wanted.items())


def _compared(given: Any, operator: str, than: Any) -> bool:
    if operator not in _COMPARE:
        raise ValueError(f"no operator of a filter: {operator!r}; there are {', '.join(_COMPARE)}")
    if operator in ("$eq", "$ne"):
        return bool(_COMPARE[operator](given, than))
    return isinstance(given, int | float) and bool(_COMPARE[operator](float(given), float(than)))


def fits(namespace: tuple[str, ...], path: Sequence[str], *, at_end: bool) -> bool:
    """Whether a namespace begins, or ends, with a path, in which `*` is any name."""
    part = namespace[len(namespace) - len(path) :] if at_end else namespace[: len(path)]
    return len(namespace) >= len(path) and all(wanted in ("*", name) for name, wanted in zip(part, path, strict=True))
