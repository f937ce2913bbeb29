"""Puts something else in place of a method or function of memorybus, for the rest of the life of a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


def in_place_of(owner: object, name: str) -> Callable[[F], F]:
    """A decorator: what follows is called where `owner.name` was.

    Raises:
        AttributeError: there is no such name, so that a renamed one does not go unnoticed.
    """
    getattr(owner, name)

    def put(replacement: F) -> F:
        setattr(owner, name, replacement)
        return replacement

    return put
