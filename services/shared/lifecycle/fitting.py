"""What of a reply fits into a message of the bus, by the bytes of its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

M = TypeVar("M", bound=BaseModel)

_STAYS = ("id", "user_id")


def size_of(model: BaseModel) -> int:
    """Bytes of its JSON."""
    return len(model.model_dump_json().encode())


def how_many_fit(sizes: Sequence[int], room: int) -> int:
    """How many parts of these sizes, from the first on, fit into so many bytes, with a comma after each."""
    for count, size in enumerate(sizes):
        room -= size + 1
        if room < 0:
            return count
    return len(sizes)


def cut(model: M, room: int) -> M:
    """The model in at most so many bytes, if that can be: of its largest lists nothing, of its largest texts a part."""
    while (excess := size_of(model) - room) > 0:
        sizes = {name: len(to_json(value)) for name, value in model if isinstance(value, str | tuple | dict)}
        largest = max((name for name in sizes if name not in _STAYS), key=lambda name: sizes[name], default=None)
        if largest is None or not (value := getattr(model, largest)):
            return model
        left = value[: max(0, len(value) - excess)] if isinstance(value, str) else type(value)()
        model = model.model_copy(update={largest: left})
    return model
