"""The mark of an erasure as text, whatever the engine."""

from __future__ import annotations

from pydantic import TypeAdapter

from contracts.ports import Erasure

_ERASURE = TypeAdapter(Erasure)


def dumped(erasure: Erasure) -> str:
    """The mark as one JSON text."""
    return _ERASURE.dump_json(erasure).decode()


def loaded(text: str) -> Erasure:
    """The mark in a JSON text."""
    return _ERASURE.validate_json(text)
