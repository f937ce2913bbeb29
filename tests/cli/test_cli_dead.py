"""`memorybus dead`: what it shows for people and programs, what it refuses, and what it leaves alone."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from nats.js.api import RawStreamMsg
from rich.console import Console
from typer.testing import CliRunner, Result

from contracts import subjects
from contracts.ports import Unavailable
from services.cli import asking, dead
from services.cli.common import out
from services.cli.dead.view import show_list
from services.shared.bus.dead_letters import DeadLetterQueue, NoSuchLetter, StoredLetter, opened
from tests.letters import a_letter

NOW = datetime.now(UTC)
URL = "nats://127.0.0.1:1"


class FakeDeadLetterQueue(DeadLetterQueue):
    """Dead letters without a bus; `away` says from which number on the bus does not answer."""

    def __init__(self) -> None:
        self.kept: dict[int, StoredLetter] = {}
        self.retried: list[int] = []
        self.noted: list[tuple[str, list[str], tuple[str, ...]]] = []
        self.away: int | None = None

    def put(self, body: bytes = b"{}", *, raw: bytes | None = None, age: timedelta = timedelta(), **fields: Any) -> int:
        number = len(self.kept) + 1
        letter = a_letter(body, **{"attempts": 3, "died_at": NOW - age, **fields})
        data = letter.model_dump_json().encode() if raw is None else raw
        subject = subjects.dead(letter.stage)
        self.kept[number] = opened(RawStreamMsg(subject=subject, seq=number, data=data, time=NOW - age))
        return number

    async def numbers(self) -> list[int]:
        return sorted(self.kept, reverse=True)

    async def get(self, number: int) -> StoredLetter:
        if number == self.away:
            raise Unavailable("the bus is away")
        if number not in self.kept:
            raise NoSuchLetter(number)
        return self.kept[number]

    async def drop(self, number: int) -> None:
        await self.get(number)
        del self.kept[number]

    async def _publish(self, subject: str, body: bytes, *, stream: str, headers: dict[str, str]) -> None:
        self.retried.append(int(headers[subjects.MSG_ID_HEADER].split(":")[1]))


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> FakeDeadLetterQueue:
    fake = FakeDeadLetterQueue()

    @asynccontextmanager
    async def memory_client(url: str) -> AsyncIterator[SimpleNamespace]:
        assert url == URL
        yield SimpleNamespace(bus=None)

    async def keep_account(_: object, verb: str, numbers: list[str], users: tuple[str, ...] = ()) -> None:
        fake.noted.append((verb, numbers, users))

    monkeypatch.setattr(asking, "memory_client", memory_client)
    monkeypatch.setattr(dead, "DeadLetterQueue", lambda bus: fake)
    monkeypatch.setattr(dead, "keep_account", keep_account)
    return fake


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(out, "_width", 200)


def typed(command: str, *arguments: str, answer: str | None = None) -> Result:
    app = typer.Typer(rich_markup_mode="rich")
    app.add_typer(dead.app, name="dead")
    where = () if arguments and arguments[-1].startswith(("--nats", "--data")) else ("--nats", URL)
    return CliRunner().invoke(app, ["dead", command, *arguments, *where], input=answer)


def listed(*arguments: str) -> list[int]:
    result = typed("list", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line)["number"] for line in result.output.splitlines()]


@pytest.mark.usefixtures("wide")
def test_people_see_a_table_newest_first(letters: FakeDeadLetterQueue) -> None:
    letters.put(reason="the text has 9 bytes, 5 are allowed")
    event = b'{"entries": [{"user_id": "u1"}, {"user_id": "u2"}, {"user_id": "u3"}, {"user_id": "u4"}]}'
    letters.put(event, subject=subjects.ENTRY_ACCEPTED, stage="enrich", reason="no such [bold]column[/bold]")
    letters.put(raw=b"hm")
    rows = [line.split("  ") for line in typed("list").output.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    when = f"{NOW:%Y-%m-%d %H:%M:%S}"
    assert cells[0] == ["number", "when (UTC)", "stage", "user", "reason", "attempts"]
    assert cells[1][:3] == ["3", when, "ingest"]
    assert cells[1][3].startswith("unreadable: ")
    assert cells[2] == ["2", when, "enrich", "u1, u2, u3 and 1 more", "no such [bold]column[/bold]", "3"]
    assert cells[3] == ["1", when, "ingest", "ann", "the text has 9 bytes, 5 are allowed", "3"]


@pytest.mark.usefixtures("wide")
def test_nothing_is_said_to_be_nothing_and_more_is_said_to_be_more(letters: FakeDeadLetterQueue) -> None:
    assert "No dead letters." in typed("list").output
    assert "No dead letters match." in typed("list", "--user", "ann").output
    for _ in range(3):
        letters.put()
    assert "There are more" in typed("list", "--limit", "2").output
    assert "There are more" not in typed("list", "--limit", "3").output
    assert listed("--limit", "2") == [3, 2]


def test_filters_narrow_the_list(letters: FakeDeadLetterQueue) -> None:
    letters.put(age=timedelta(days=3))
    letters.put(age=timedelta(hours=3), reason="Out of bytes")
    letters.put(subject="memory.v1.turns.bob", stage="ingest")
    letters.put(b'{"user_id": "cy"}', subject=subjects.ENTRY_ENRICHED, stage="embed")
    assert listed() == [4, 3, 2, 1]
    assert listed("--stage", "embed") == listed("--user", "cy") == [4]
    assert listed("-u", "bob") == [3]
    assert listed("--since", "1h") == [4, 3]
    assert listed("--since", "2d") == [4, 3, 2]
    assert listed("--since", f"{NOW - timedelta(hours=4):%Y-%m-%dT%H:%M:%S}") == [4, 3, 2]
    assert listed("--reason", "BYTES") == [2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "--stage", "digest"], "there is no stage 'digest': ingest, dedupe, enrich, embed"),
        (["list", "--since", "yesterday"], "'yesterday' is no time: write 30m, 2h, 7d"),
        (["list", "--since", "999999999w"], "is no time"),
        (["list", "--limit", "0"], "greater than or equal to 1"),
        (["show", "0"], "greater than or equal to 1"),
        (["drop", "99999999999999999999"], "less than or equal to 9223372036854775807"),
    ],
)
@pytest.mark.usefixtures("letters", "wide")
def test_options_that_make_no_sense_are_refused_with_what_would(arguments: list[str], said: str) -> None:
    result = typed(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())


@pytest.mark.usefixtures("wide")
def test_one_letter_is_shown_whole_and_never_raw(letters: FakeDeadLetterQueue) -> None:
    body = "first\nsecond \x1b]0;owned\x07 \u202e [red]ü[/red]".encode()
    letters.put(body, headers={"traceparent": f"00-{'a1' * 16}-{'b2' * 8}-01", "x": "\x1b[2J"}, reason="\x1b[31mbad")
    text = typed("show", "1").output
    assert "first\nsecond \\x1b]0;owned\\x07 \\u202e [red]ü[/red]" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    for fact in ("\\x1b[31mbad", "MEMORY_TURNS, message 7", "memory.v1.turns.ann", "a1" * 16, "\\x1b[2J"):
        assert fact in text


@pytest.mark.usefixtures("wide")
def test_a_body_that_is_no_text_is_shown_in_base64(letters: FakeDeadLetterQueue) -> None:
    letters.put(b"\xff\x00\x1b")
    letters.put(raw=b"\xfe\x1bhm")
    assert base64.b64encode(b"\xff\x00\x1b").decode() in typed("show", "1").output
    unreadable = typed("show", "2").output
    assert "unreadable: " in unreadable
    assert base64.b64encode(b"\xfe\x1bhm").decode() in unreadable


def test_programs_get_everything_in_one_line_of_json(letters: FakeDeadLetterQueue) -> None:
    letters.put(b'{"user_id": "cy", "text": "\\u001b"}', headers={"x": "y"})
    letters.put(raw=b"hm")
    shown, unreadable = (json.loads(typed("show", number, "--json").output) for number in ("1", "2"))
    assert base64.b64decode(shown["body"]) == shown["text"].encode()
    told = {"users": ["ann", "cy"], "headers": {"x": "y"}, "stream": "MEMORY_TURNS", "sequence": 7, "trace_id": None}
    assert shown.items() >= told.items()
    assert (unreadable["readable"], unreadable["text"], unreadable["attempts"]) == (False, "hm", None)


def test_letters_are_retried_by_number_or_by_filter_oldest_first(letters: FakeDeadLetterQueue) -> None:
    for stage in ("ingest", "embed", "ingest", "ingest"):
        letters.put(stage=stage)
    assert "retried 1 dead letter\n" in typed("retry", "4").output
    assert "retried 2 dead letters" in typed("retry", "--all", "--stage", "ingest").output
    assert (letters.retried, list(letters.kept)) == ([4, 1, 3], [2])


def test_what_cannot_be_retried_is_kept_and_named_and_the_others_go(letters: FakeDeadLetterQueue) -> None:
    letters.put()
    letters.put(raw=b"hm")
    letters.put()
    result = typed("retry", "1", "2", "9", "3")
    assert result.exit_code == 1
    assert "retried 2 dead letters" in result.output
    assert "letter 2 is kept: it cannot be read" in result.output
    assert "there is no dead letter 9" in result.output
    assert list(letters.kept) == [2]


def test_a_bus_that_goes_away_ends_it_where_it_was(letters: FakeDeadLetterQueue) -> None:
    for _ in range(3):
        letters.put()
    letters.away = 2
    result = typed("retry", "--all")
    assert (result.exit_code, letters.retried, list(letters.kept)) == (1, [1], [2, 3])
    assert "stopped at letter 2: the bus is away" in result.output


@pytest.mark.parametrize("command", ["retry", "drop"])
def test_which_letters_are_meant_must_be_clear(letters: FakeDeadLetterQueue, command: str) -> None:
    letters.put()
    for arguments, said in (
        ("", "which ones?"),
        ("--stage ingest", "which ones?"),
        ("1 --all", "not both"),
        ("1 --user ann", "not both"),
    ):
        result = typed(command, *arguments.split())
        assert (result.exit_code, list(letters.kept), letters.retried) == (1, [1], [])
        assert said in result.output


@pytest.mark.parametrize(("answer", "left"), [("y\n", [2]), ("n\n", [1, 2, 3]), ("", [1, 2, 3])])
def test_dropping_asks_first_and_drops_only_what_was_asked_about(
    letters: FakeDeadLetterQueue, answer: str, left: list[int]
) -> None:
    letters.put()
    letters.put(subject="memory.v1.turns.bob")
    letters.put()
    result = typed("drop", "--all", "--user", "ann", answer=answer)
    assert "Remove 2 dead letters for good?" in result.output
    assert list(letters.kept) == left
    assert (result.exit_code == 0) == (left == [2])


def test_dropping_with_yes_does_not_ask(letters: FakeDeadLetterQueue) -> None:
    letters.put(raw=b"hm")
    result = typed("drop", "1", "--yes")
    assert (result.exit_code, result.output, letters.kept) == (0, "dropped 1 dead letter\n", {})


@pytest.mark.parametrize("command", ["list", "show 1", "retry 1", "retry --all", "drop 1 -y"])
def test_help_has_examples_and_no_bus_is_one_helpful_line(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYBUS_NATS_URL", raising=False)
    name = command.split()[0]
    assert f"memorybus dead {name}" in typed(name, "--help").output.partition("Examples:")[2]
    for where, said in (
        ("--nats=nats://here:there", "write one like nats://127.0.0.1:4222"),
        ("--data=/nowhere", "start it with `memorybus up`"),
    ):
        result = typed(*command.split(), where)
        assert (result.exit_code, len(result.output.splitlines())) == (1, 1)
        assert result.output.startswith("error: ")
        assert said in result.output


@pytest.mark.parametrize("width", [60, 99, 100, 160])
def test_a_list_can_be_read_in_a_narrow_terminal(letters: FakeDeadLetterQueue, width: int) -> None:
    reason = "the subject names another user than the message: turns of somebody else are refused"
    letters.put(b'{"user_id": "ann-of-the-night-shift"}', reason=reason, stage="ingest")
    console = Console(file=StringIO(), width=width)
    show_list(list(letters.kept.values()), console, more=False, narrowed=False)
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    words = [f"{NOW:%Y-%m-%d}", "ingest", "ann-of-the-night-shift", *reason.split()]
    assert [word for word in words if word not in shown.split()] == []
    assert max(len(line) for line in shown.splitlines()) <= width
    assert len(shown.splitlines()) <= 6


def test_who_reads_retries_or_drops_letters_is_kept_account_of(letters: FakeDeadLetterQueue) -> None:
    for _ in range(3):
        letters.put(b'{"user_id": "ann"}', subject=subjects.turns("ann"))
    typed("show", "1")
    typed("retry", "2")
    typed("drop", "3", "--yes")
    typed("list")
    assert letters.noted == [("dead.show", ["1"], ("ann",)), ("dead.retry", ["2"], ()), ("dead.drop", ["3"], ())]
