"""A later export of another system: what was there before is the same turn, wherever it stands by now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import Format, Source, read_turns
from tests.cli.files import written
from tests.cli.test_cli_formats_elsewhere import turns


def notes(*paragraphs: str) -> object:
    return [{"conversations_memory": "\n\n".join(paragraphs)}]


def projects(*paragraphs: str) -> object:
    return [{"project_memories": {"p1": "\n\n".join(paragraphs), "p2": None}}]


def chat(*texts: str) -> object:
    return [{"uuid": "c", "chat_messages": [{"sender": "human", "text": text} for text in texts]}]


def facts(*texts: str) -> object:
    return {"facts": list(texts)}


def edges(*texts: str) -> object:
    return {"edges": [{"fact": text, "created_at": "2025-01-01T00:00:00Z"} for text in texts]}


def thread(*texts: str) -> object:
    return {"thread_id": "t", "messages": [{"role": "user", "content": text} for text in texts]}


def agent(*texts: str) -> object:
    return {"name": "rita", "messages": [{"role": "user", "text": text} for text in texts]}


def agent_file(*texts: str) -> object:
    numbered = [{"role": "user", "content": text, "id": f"message-{place}"} for place, text in enumerate(texts)]
    return {"agents": [{"name": "rita", "messages": numbered}], "blocks": []}


def blocks(*texts: str) -> object:
    return {"agents": [], "blocks": [{"label": "human", "value": "\n\n".join(texts)}]}


def passages(*texts: str) -> object:
    return [{"text": text} for text in texts]


def state(*texts: str) -> object:
    return {"thread_id": "t", "messages": [{"type": "human", "content": text} for text in texts]}


def memories(*texts: str) -> object:
    return {"results": [{"memory": text} for text in texts]}


WITHOUT_IDS: list[tuple[Format, Callable[..., object]]] = [
    ("claude", notes),
    ("claude", projects),
    ("claude", chat),
    ("zep", facts),
    ("zep", edges),
    ("zep", thread),
    ("letta", agent),
    ("letta", agent_file),
    ("letta", blocks),
    ("letta", passages),
    ("langgraph", state),
    ("mem0", memories),
]
every_kind = pytest.mark.parametrize(("format", "made"), WITHOUT_IDS, ids=[made.__name__ for _, made in WITHOUT_IDS])


def ids(found: list[Turn]) -> dict[str, str | None]:
    return {turn.text: turn.turn_id for turn in found}


@every_kind
def test_what_has_no_id_of_its_own_is_the_same_wherever_it_stands(
    tmp_path: Path, format: Format, made: Callable[..., object]
) -> None:
    first = ids(turns(tmp_path, format, made("I keep bees.", "I bind books.")))
    later = ids(turns(tmp_path, format, made("I bought a harp.", "I bind books.", "I keep bees.")))
    assert {text: later[text] for text in first} == first
    assert len(set(later.values())) == 3
    trimmed = ids(turns(tmp_path, format, made("I bind books.")))
    assert trimmed["I bind books."] == first["I bind books."]


@every_kind
def test_what_has_no_id_of_its_own_says_where_it_is_from_without_a_place(
    tmp_path: Path, format: Format, made: Callable[..., object]
) -> None:
    first, second = turns(tmp_path, format, made("I keep bees.", "I bind books."))
    assert first.source_ids == second.source_ids
    assert first.source_ids[0].startswith(f"{format}:")


@pytest.mark.parametrize(
    ("format", "made"), [("claude", chat), ("zep", thread), ("letta", agent), ("langgraph", state)]
)
def test_what_was_said_twice_is_two_messages(tmp_path: Path, format: Format, made: Callable[..., object]) -> None:
    found = turns(tmp_path, format, made("Yes.", "I keep bees.", "Yes."))
    assert len({turn.turn_id for turn in found}) == 3
    again = turns(tmp_path, format, made("Yes.", "I keep bees.", "Yes.", "Yes."))
    assert [turn.turn_id for turn in again[:3]] == [turn.turn_id for turn in found]


@pytest.mark.parametrize(("format", "made"), [("claude", notes), ("zep", facts), ("letta", blocks), ("mem0", memories)])
def test_what_is_noted_twice_is_one_fact(tmp_path: Path, format: Format, made: Callable[..., object]) -> None:
    source = Source(written(tmp_path, made("I keep bees.", "I keep bees.")), format, "me")
    assert len(list(read_turns(source))) == 1
    assert source.skipped == {"said before": 1}


def test_messages_without_ids_are_told_apart_by_their_times(tmp_path: Path) -> None:
    def said_at(*hours: int) -> list[Turn]:
        messages = [{"role": "user", "text": "Yes.", "created_at": f"2025-01-01T0{hour}:00:00Z"} for hour in hours]
        return turns(tmp_path, "letta", {"name": "rita", "messages": messages})

    first, second = said_at(1, 2)
    assert first.turn_id != second.turn_id
    assert said_at(2, 3)[0].turn_id == second.turn_id


def test_who_says_the_same_is_told_apart_in_any_order(tmp_path: Path) -> None:
    def said_by(*names: str) -> dict[str | None, str | None]:
        messages = [{"role_type": "user", "role": name, "content": "Yes."} for name in names]
        return {turn.speaker: turn.turn_id for turn in turns(tmp_path, "zep", {"thread_id": "t", "messages": messages})}

    assert said_by("Kim", "Jo") == said_by("Jo", "Kim")
    assert len(set(said_by("Kim", "Jo").values())) == 2


def test_two_users_are_known_apart(tmp_path: Path) -> None:
    (one,) = turns(tmp_path, "zep", facts("I keep bees."), user="ann")
    (other,) = turns(tmp_path, "zep", facts("I keep bees."), user="bert")
    assert one.turn_id != other.turn_id


def test_a_note_of_claude_under_another_heading_is_the_same(tmp_path: Path) -> None:
    (first,) = turns(tmp_path, "claude", notes("**Now**", "Ann keeps bees."))
    (later,) = turns(tmp_path, "claude", notes("**Before**", "Ann keeps bees."))
    assert (first.text, later.text) == ("Now\nAnn keeps bees.", "Before\nAnn keeps bees.")
    assert first.turn_id == later.turn_id


def test_a_claude_conversation_without_an_id_is_named_after_its_first_message(tmp_path: Path) -> None:
    def named(*conversations: dict[str, Any]) -> list[str | None]:
        return [turn.conversation_id for turn in turns(tmp_path, "claude", list(conversations))]

    bees, books = ({"chat_messages": [{"sender": "human", "text": text}]} for text in ("bees", "books"))
    (name,) = named(books)
    assert named(bees, books)[1] == name
    assert name is not None
    assert str(tmp_path) not in name
