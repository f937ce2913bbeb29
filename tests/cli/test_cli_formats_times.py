"""When an imported message was said: as the file says it, in whatever way, else near those that are dated."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import Format, Source, read_turns
from tests.cli.files import lines, written

T = datetime(2024, 5, 1, 10, 0, tzinfo=UTC)
UNIX = int(T.timestamp())
Times = list[Any]
"""When each message of a conversation was said; `...`: nothing is told of it."""


def messages(
    times: Times, *, at: str = "created_at", by: str = "role", user: str = "user", text: str = "content"
) -> Any:
    """What a user and the assistant say by turns, as most programs have it."""
    return [
        {by: "assistant" if n % 2 else user, text: f"text {n}"} | ({} if time is ... else {at: time})
        for n, time in enumerate(times)
    ]


def chatgpt(times: Times, **more: Any) -> object:
    nodes = {
        f"n{n}": {"message": said | {"author": said, "content": {"parts": [said["text"]]}}, "parent": f"n{n - 1}"}
        for n, said in enumerate(messages(times, at="create_time", text="text"))
    }
    return [{"mapping": nodes, "current_node": f"n{len(times) - 1}", "conversation_id": "c", **more}]


def claude(times: Times, **more: Any) -> object:
    return [{"uuid": "c", "chat_messages": messages(times, by="sender", user="human", text="text"), **more}]


FORMATS: dict[Format, Callable[[Times], object]] = {
    "chatgpt": chatgpt,
    "claude": claude,
    "openai": lambda times: {"id": "c", "messages": messages(times)},
    "zep": lambda times: [{"thread_id": "c", "messages": messages(times)}],
    "letta": lambda times: {"agents": [{"name": "c", "messages": messages(times)}]},
    "mem0": lambda times: {"results": messages(times, text="memory")},
    "langgraph": lambda times: [
        {"namespace": ["c"], "key": one["content"], "value": {"text": one.pop("content")}, **one}
        for one in messages(times)
    ],
    "jsonl": lambda times: lines(
        *({"user_id": "me", "conversation_id": "c", **one} for one in messages(times, text="text"))
    ),
}


def read(folder: Path, format: Format, document: object) -> list[Turn]:
    turns = list(read_turns(Source(written(folder, document), format, "me")))
    return sorted(turns, key=lambda turn: turn.text)


def said_at(turns: list[Turn]) -> list[datetime]:
    return [turn.created_at or datetime.now(UTC) for turn in turns]


@pytest.mark.parametrize("nothing", [..., None, 0, 0.0, "", "0", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
@pytest.mark.parametrize("format", FORMATS)
def test_who_has_no_time_stands_near_those_that_have(tmp_path: Path, format: Format, nothing: Any) -> None:
    if format == "jsonl" and nothing not in (..., None):
        return  # a line is what the wire takes, to the letter
    for given in (
        [nothing, nothing, T.isoformat()],
        [nothing, T.isoformat(), nothing],
        [T.isoformat(), nothing, nothing],
        [T.isoformat(), nothing, (T + timedelta(milliseconds=1)).isoformat()],
        [T.isoformat(), nothing, T.isoformat()],
        [nothing, T.isoformat(), nothing, (T + timedelta(days=300)).isoformat(), nothing],
    ):
        found = said_at(read(tmp_path, format, FORMATS[format](given)))
        assert len(found) == len(given)
        assert found == sorted(found), given
        dated = [(n, datetime.fromisoformat(at)) for n, at in enumerate(given) if at is not nothing]
        for n, moment in enumerate(found):
            assert min(abs(moment - at) for _, at in dated) < timedelta(minutes=1), (given, n)
        assert [found[n] for n, _ in dated] == [at for _, at in dated]


SAME: list[Any] = [
    *(UNIX, float(UNIX), str(UNIX)),
    *(UNIX * 1000, str(UNIX * 1000), UNIX * 1_000_000, UNIX * 1_000_000_000),
    "2024-05-01T10:00:00Z",
    "2024-05-01T10:00:00",
    "2024-05-01 10:00:00",
    "2024-05-01T12:00:00+02:00",
    "2024-05-01T03:00:00-0700",
    "2024-05-01T10:00:00.000000000Z",
    "Wed, 01 May 2024 10:00:00 GMT",
    "Wed, 01 May 2024 12:00:00 +0200",
    " 2024-05-01T10:00:00Z ",
]


@pytest.mark.parametrize("at", SAME, ids=repr)
@pytest.mark.parametrize("format", [name for name in FORMATS if name != "jsonl"])
def test_one_moment_is_read_however_it_is_written(tmp_path: Path, format: Format, at: Any) -> None:
    assert said_at(read(tmp_path, format, FORMATS[format]([at]))) == [T]


@pytest.mark.parametrize("nothing", [..., None, 0])
@pytest.mark.parametrize(
    ("format", "more"),
    [
        ("chatgpt", {"create_time": UNIX}),
        ("chatgpt", {"create_time": None, "update_time": UNIX}),
        ("chatgpt", {"create_time": 0, "update_time": str(UNIX)}),
        ("claude", {"created_at": T.isoformat()}),
        ("claude", {"updated_at": T.isoformat()}),
    ],
)
def test_where_no_message_is_dated_the_conversation_is(
    tmp_path: Path, format: Format, more: dict[str, Any], nothing: Any
) -> None:
    make: Any = FORMATS[format]
    found = said_at(read(tmp_path, format, make([nothing] * 3, **more)))
    assert found == sorted(found)
    assert all(abs(moment - T) < timedelta(minutes=1) for moment in found)


def test_a_conversation_that_says_it_began_after_its_messages_changes_no_order(tmp_path: Path) -> None:
    document = chatgpt([None, UNIX, None], create_time=UNIX + 86400)
    found = said_at(read(tmp_path, "chatgpt", document))
    assert found == sorted(found)
    assert found[1] == T


def test_one_that_began_long_before_it_was_answered_keeps_its_beginning(tmp_path: Path) -> None:
    document = chatgpt([None, UNIX], create_time=UNIX - 600)
    assert said_at(read(tmp_path, "chatgpt", document)) == [T - timedelta(seconds=600), T]


def test_where_nothing_is_dated_it_was_said_just_now_in_its_order(tmp_path: Path) -> None:
    for format in FORMATS:
        if format != "jsonl":  # the bus says when it took them
            found = said_at(read(tmp_path, format, FORMATS[format]([..., None, 0])))
            assert found == sorted(found)
            assert all(abs(moment - datetime.now(UTC)) < timedelta(minutes=1) for moment in found)


def test_lines_of_several_conversations_do_not_date_each_other(tmp_path: Path) -> None:
    def line(conversation: str, text: str, **at: Any) -> dict[str, Any]:
        return {"user_id": "me", "role": "user", "text": text, "conversation_id": conversation, **at}

    later = T + timedelta(days=9)
    rows = [line("a", "0"), line("b", "1", created_at=later.isoformat()), line("a", "2", created_at=T.isoformat())]
    found = said_at(read(tmp_path, "jsonl", lines(*rows, line("b", "3", created_at=None))))
    assert [moment.date() for moment in found] == [T.date(), later.date(), T.date(), later.date()]
    assert found[0] < found[2]
    assert found[1] < found[3]
