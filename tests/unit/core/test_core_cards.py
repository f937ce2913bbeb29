"""Which memories tell who it is that a question names."""

from __future__ import annotations

import pytest

from services.shared.core.cards import telling
from tests.stores.builders import an_entry


def told(name: str, *texts: str, role: str = "user") -> list[str]:
    entries = [an_entry("ann", text, role=role) for text in texts]
    return [entry.text for entry in telling(frozenset([name]), entries)]


@pytest.mark.parametrize(
    "text",
    [
        "My sister Clara lives in Oslo",
        "CLARA's my boss.",
        "I am married to Clara",
        "Clara's flat is lovely. Ask our neighbour (Clara).",
        "Clara, by the way, is my aunt",
    ],
)
def test_who_is_introduced_is_told_of(text: str) -> None:
    assert told("clara", "Clara paints", text) == ["Clara paints", text]


@pytest.mark.parametrize(
    "text",
    [
        "Clara paints",
        "My sister lives in Santa Claraville",
        "My sister is in Oslo. Clara paints",
        "My declarations are with the office",
        "Clara said that this is a lamp. My lamp.",
        "",
    ],
)
def test_who_is_not_introduced_is_not(text: str) -> None:
    assert told("clara", text) == []


def test_only_what_the_user_said_tells_it() -> None:
    assert told("clara", "My sister Clara lives in Oslo", role="assistant") == []
    assert telling(frozenset(), [an_entry("ann", "My sister Clara lives in Oslo")]) == []
