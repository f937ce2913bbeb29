"""OpenAI message lists become turns, the same ones every time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import Source, read_turns
from tests.cli.files import lines, problem, written

HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]


def openai(path: Path, user: str | None = "me") -> list[Turn]:
    return list(read_turns(Source(path, "openai", user)))


@pytest.mark.parametrize(
    ("content", "conversations"),
    [
        (json.dumps(HELLO).encode(), ["chat"]),
        (json.dumps(HELLO, indent=2).encode(), ["chat"]),
        (json.dumps({"messages": HELLO}).encode(), ["chat"]),
        (json.dumps({"messages": HELLO, "id": 17}).encode(), ["17"]),
        (json.dumps([{"messages": HELLO, "conversation_id": "c9"}, HELLO]).encode(), ["c9", "chat/2"]),
        (lines({"messages": HELLO}, {"messages": HELLO}), ["chat/1", "chat/2"]),
        (lines({"messages": HELLO}) + b"\n\n", ["chat"]),
        (lines(*HELLO), ["chat"]),
    ],
)
def test_every_shape_of_message_lists_is_read(tmp_path: Path, content: bytes, conversations: list[str]) -> None:
    turns = openai(written(tmp_path, content, "chat.json"))
    assert [(turn.conversation_id, turn.role, turn.text) for turn in turns] == [
        (name, *said) for name in conversations for said in (("user", "Hello"), ("assistant", "Hi!"))
    ]
    assert len({turn.turn_id for turn in turns}) == len(turns)


def test_an_empty_list_has_no_turns(tmp_path: Path) -> None:
    assert openai(written(tmp_path, [])) == []


def test_roles_parts_and_names_become_turns_and_calls_without_text_are_counted(tmp_path: Path) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "name": "Ada", "content": [{"type": "text", "text": "See"}, {"type": "image_url"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1"}]},
        {"role": "tool", "name": "weather", "content": "12 °C", "tool_call_id": "call_1"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user", "content": [{"type": "text", "text": 5}, {"type": []}, {}]},
    ]
    source = Source(written(tmp_path, messages), "openai", "me")
    assert [(turn.role, turn.text, turn.speaker) for turn in read_turns(source)] == [
        ("system", "Be brief.", None),
        ("user", "See", "Ada"),
        ("user", "one\ntwo", None),
        ("tool", "12 °C", None),
    ]
    assert source.skipped == {"without text": 3}


def test_the_same_file_again_is_the_same_turns_and_a_longer_one_continues_it(tmp_path: Path) -> None:
    more = [*HELLO, {"role": "user", "content": "Hello"}]
    first, again = (openai(written(tmp_path, HELLO, "chat.json")) for _ in range(2))
    longer = openai(written(tmp_path, more, "chat.json"))
    assert [turn.turn_id for turn in first] == [turn.turn_id for turn in again]
    assert [turn.turn_id for turn in longer[:2]] == [turn.turn_id for turn in first]
    assert len({turn.turn_id for turn in longer}) == 3


def test_times_in_the_file_are_kept_and_carried_on(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "a", "created_at": "2026-02-01T10:00:00+01:00"},
        {"role": "user", "content": "b"},
        {"role": "user", "content": "c", "timestamp": 1769936400},
        {"role": "user", "content": "d", "created_at": None, "timestamp": "2026-02-01T11:00:00"},
        {"role": "user", "content": "e", "created_at": "9999-12-31T23:59:59Z"},
        {"role": "user", "content": "f"},
    ]
    assert [turn.created_at for turn in openai(written(tmp_path, messages))] == [
        datetime(2026, 2, 1, 9, 0, 0, tzinfo=UTC),
        datetime(2026, 2, 1, 9, 0, 0, tzinfo=UTC),
        datetime(2026, 2, 1, 9, 0, 0, tzinfo=UTC),
        datetime(2026, 2, 1, 11, 0, 0, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "turns.jsonl: is empty"),
        (b"{\n", "turns.jsonl: is not JSON"),
        (lines(HELLO) + b"\nnot json", "turns.jsonl:2: is not JSON"),
        (5, "turns.jsonl: is neither a message list nor an object with messages"),
        ({"choices": []}, "turns.jsonl: messages: Field required"),
        ([HELLO, [{"content": "x"}]], "turns.jsonl: conversation 2: message 1: role: Field required"),
        ([{"role": "bot", "content": "x"}], "turns.jsonl: message 1: role: is none of user, assistant, system"),
        ([{"role": "user", "content": "x", "timestamp": "soon"}], "turns.jsonl: message 1: timestamp"),
        ([*HELLO, {"role": "user", "content": "x" * 65_537}], "turns.jsonl: message 3: text: has 65,537 bytes"),
    ],
)
def test_what_is_no_message_list_is_named(tmp_path: Path, content: object, says: str) -> None:
    assert problem(Source(written(tmp_path, content), "openai", "me")).startswith(says)


def test_messages_need_an_owner_from_the_file_or_the_option(tmp_path: Path) -> None:
    path = written(tmp_path, {"messages": HELLO}, "chat.json")
    assert problem(Source(path, "openai")) == "chat.json: does not say whose memory it is: use --user"
    owned = written(tmp_path, {"messages": HELLO, "user_id": "u7"}, "owned.json")
    assert {turn.user_id for turn in openai(owned, user=None)} == {"u7"}
