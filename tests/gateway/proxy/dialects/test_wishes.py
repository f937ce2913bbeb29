"""What headers wish of the memory is typed by people: no more is guessed at than they may mean."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from services.gateway.proxy.dialects import BadField, wishes_of

WISHED = [
    ("memory-top-k", "5", 5),
    ("memory-top-k", "200", 200),
    ("memory-incognito", "Yes", True),
    ("memory-incognito", "off", False),
    ("memory-id", "Reise nach Köln", "Reise nach Köln"),
    ("memory-task", "true", "true"),
    ("memory-space", "work", "work"),
]
REFUSED = [
    *(("memory-top-k", told) for told in ("0", "201", "5.0", "+5", "five", "٥")),
    *(("memory-incognito", told) for told in ("t", "y", "2", "maybe")),
    *((name, "a\u2028b") for name in ("memory-id", "memory-task", "memory-space")),
    *((name, "x" * 257) for name in ("memory-id", "memory-task", "memory-space")),
    ("memory-id", "a\u202eb"),
]


def sent(name: str, text: str) -> Headers:
    return Headers({name: text.encode().decode("latin-1")})


@pytest.mark.parametrize(("name", "text", "wished"), WISHED)
def test_what_is_typed_is_understood(name: str, text: str, wished: object) -> None:
    assert wishes_of(sent(name, text)).model_dump(exclude_none=True) == {name.replace("-", "_"): wished}


@pytest.mark.parametrize(("name", "text"), REFUSED)
def test_what_is_not_as_it_must_be_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(BadField, match=name):
        wishes_of(sent(name, text))
