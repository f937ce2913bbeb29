"""`memorybus ask`: a table that says what was found and why, whatever strangers have written into memory."""

from __future__ import annotations

import string
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from contracts.envelope import ErrorInfo
from contracts.errors import Unavailable
from contracts.v1.commands import ListReply, ListRequest
from contracts.v1.retrieval import EntityCard, RetrieveReply, RetrieveRequest, Signals
from services.cli import ask
from services.cli.ask import moment_of, other_spaces, request_of, show_reply, why
from services.cli.common import one_line
from services.shared.errors import RequestFailed
from tests.cli.fake_memory import NOON, Typed, a_reply, an_entry, an_item

ID = "0badcafe-0000-5000-8000-000000000001"


def shown(reply: RetrieveReply, *, width: int = 120, elsewhere: tuple[str, ...] = (), **request: Any) -> str:
    console = Console(record=True, width=width, file=StringIO())
    show_reply(reply, RetrieveRequest(**({"user_id": "me", "query": "x"} | request)), console, elsewhere=elsewhere)
    return console.export_text()


def test_a_memory_is_shown_with_its_scores_and_why_it_was_found() -> None:
    text = shown(a_reply(an_item("I prefer uv over pip", type="preference", speaker="Ada", created_at=NOON, id=ID)))
    when = NOON.astimezone().strftime("%Y-%m-%d")
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert rows[:3] == [
        "id memory total rel rec imp",
        "0badcafe I prefer uv over pip 2.11 0.71 0.90 0.50",
        f"Ada · {when} · preference · words + meaning",
    ]


def test_everything_fits_a_narrow_terminal() -> None:
    item = an_item("word " * 40, type="instruction", speaker="assistant", pinned=True, repeat_count=11)
    text = shown(a_reply(item), width=80)
    assert all(part in " ".join(text.split()) for part in ("2.11 0.71 0.90 0.50", "pinned, said 12 times, last on"))
    assert max(map(len, text.splitlines())) <= 80


def test_the_footer_counts_and_times() -> None:
    text = shown(a_reply(an_item("x"), total_count=1234, truncated=True))
    assert "1 of 1,234 found · 412 tokens, cut to fit · query embedding 4.1 ms · retrieval 9.8 ms" in text


@pytest.mark.parametrize(
    ("lexical", "semantic", "pinned", "repeats", "expected"),
    [
        (True, True, False, 0, "words + meaning"),
        (True, False, False, 0, "words"),
        (False, True, False, 2, "meaning, said 3 times, last on 2026-11-20"),
        (False, False, True, 0, "context, pinned"),
    ],
)
def test_why_names_legs_pins_and_repeats(
    lexical: bool, semantic: bool, pinned: bool, repeats: int, expected: str
) -> None:
    last = datetime(2026, 11, 20, 12, tzinfo=UTC)
    signals = Signals(lexical=lexical, semantic=semantic)
    item = an_item("x", signals=signals, pinned=pinned, repeat_count=repeats, last_said_at=last)
    assert why(item) == expected


@pytest.mark.parametrize(("leg", "name"), [("semantic", "meaning"), ("lexical", "words")])
def test_a_leg_that_could_not_answer_is_named(leg: str, name: str) -> None:
    assert f"degraded: {name} could not be searched" in shown(a_reply(an_item("x"), degraded=(leg,)))
    assert "degraded" not in shown(a_reply(an_item("x")))


def test_nothing_found_says_where_and_what_to_try() -> None:
    assert "Nothing in the space 'work' of user 'me' matches." in shown(a_reply(), space="work")
    assert "Try other words" in shown(a_reply())


@pytest.mark.parametrize(
    "filters",
    [{"tags": ("python",)}, {"types": ("fact",)}, {"conversation_id": "c"}, {"min_score": 0.0}, {"now": NOON}],
)
def test_what_narrows_the_question_is_to_be_left_out(filters: dict[str, Any]) -> None:
    assert "Leave out the filters" in shown(a_reply(total_count=0), **filters)


@pytest.mark.parametrize(
    ("found", "budget", "told"),
    [
        (12, 20, "12 memories match, but not one fits into 20 tokens: try --budget 1000."),
        (1, 2000, "1 memory matches, but not one fits into 2,000 tokens: try a larger --budget."),
    ],
)
def test_a_budget_that_is_too_small_is_said(found: int, budget: int, told: str) -> None:
    text = shown(a_reply(total_count=found, truncated=True), token_budget=budget)
    assert told in text
    assert "Nothing in" not in text
    assert "other words" not in text


def test_pinned_memories_without_room_are_counted() -> None:
    assert "3 pinned memories had no room" in shown(a_reply(an_item("x"), pinned_left_out=3))
    assert "1 pinned memory had no room" in shown(a_reply(total_count=0, pinned_left_out=1))
    assert "pinned" not in shown(a_reply(an_item("x")))


def test_nothing_in_a_space_names_those_that_have_something() -> None:
    text = shown(a_reply(total_count=0), space="wrok", elsewhere=("work", "[/b]\x1b"))
    assert "There is nothing in the space 'wrok' of user 'me'." in text
    assert "There are memories in 'work', '[/b]\\x1b': name the space with --space." in text


class Lists:
    """Lists entries of these spaces, or cannot."""

    def __init__(self, *spaces: str, error: Exception | None = None) -> None:
        self.spaces, self.error = spaces, error

    async def list(self, request: ListRequest) -> ListReply:
        if self.error:
            raise self.error
        items = tuple(an_entry(str(n), space=s) for n, s in enumerate(self.spaces) if request.space in (None, s))
        return ListReply(items=items[: request.limit], next_cursor=None, total_count=len(items))


@pytest.mark.parametrize(
    ("client", "named"),
    [
        (Lists("work", "work", "home"), ("work", "home")),
        (Lists("work", "default"), ()),
        (Lists(), ()),
        (Lists(*"abcdefgh"), tuple("abcde")),
        (Lists("work", error=RequestFailed(ErrorInfo(code="refused", message="no"))), ()),
        (Lists("work", error=Unavailable("away")), ()),
    ],
)
async def test_other_spaces_are_named_where_the_one_asked_is_empty(client: Lists, named: tuple[str, ...]) -> None:
    assert await other_spaces(client, RetrieveRequest(user_id="me", query="x")) == named


@pytest.mark.parametrize(
    ("written", "zone", "moment"),
    [
        (None, "Europe/Vienna", None),
        ("2026-02-01T10:00:00Z", "Europe/Vienna", "2026-02-01T10:00:00+00:00"),
        ("2026-02-01T10:00+05:30", None, "2026-02-01T04:30:00+00:00"),
        ("2026-02-01T10:00", "Europe/Vienna", "2026-02-01T09:00:00+00:00"),
        ("2026-07-01", "Europe/Vienna", "2026-06-30T22:00:00+00:00"),
    ],
)
def test_a_moment_is_read_in_its_zone(written: str | None, zone: str | None, moment: str | None) -> None:
    read = moment_of(written, zone)
    assert (read and read.astimezone(UTC).isoformat()) == moment


def test_a_moment_without_a_zone_is_one_of_here() -> None:
    assert moment_of("2026-02-01T10:00", None) == datetime(2026, 2, 1, 10).astimezone()


@pytest.mark.parametrize(
    ("written", "zone", "says"),
    [
        ("yesterday", None, "--now: a moment is written as in ISO 8601"),
        ("0001-01-01", None, "--now: a moment"),
        ("2026-02-01", "../etc", "--time-zone: is no time zone"),
    ],
)
def test_a_wrong_moment_is_one_line(
    written: str, zone: str | None, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        request_of(**REQUEST, now=moment_of(written, zone), time_zone=zone)
    assert " ".join(capsys.readouterr().err.split()).startswith(f"error: {says}")


def test_every_option_reaches_the_request(typed: Typed) -> None:
    asked: list[RetrieveRequest] = []

    class Keeping:
        async def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
            asked.append(request)
            return a_reply(an_item("x"))

    options = "--user me --now 2026-02-01T10:00 --time-zone Asia/Tokyo --min-score 0.4 --conversation c7".split()
    result = typed(ask, Keeping(), "which host?", *options)
    assert result.exit_code == 0, result.output
    (request,) = asked
    assert request.now == datetime(2026, 2, 1, 1, tzinfo=UTC)
    assert (request.time_zone, request.min_score, request.conversation_id) == ("Asia/Tokyo", 0.4, "c7")


def test_every_feature_is_shown_on_request() -> None:
    item = an_item("x", explanation={"rrf": 0.0163934, "lexical_rank": 1, "note": "n" * 200})
    text = " ".join(shown(a_reply(item, an_item("y")), explain=True).split())
    assert f"x lexical_rank=1 note={'n' * 72}… rrf=0.01639" in text
    assert "y not explained" in text
    assert "rrf" not in shown(a_reply(item))
    read = a_reply(item).model_copy(update={"explanation": {"corrections": {"bicyvle": "bicycle"}}})
    assert "“bicyvle” was read as “bicycle”." in shown(read, explain=True)


def test_cards_of_entities_are_shown() -> None:
    card = EntityCard(entity="Ines", facts=("sister", "lives in Porto"))
    assert "Ines: sister; lives in Porto" in shown(a_reply(an_item("x"), entity_cards=(card,)))


def test_text_in_memory_is_neither_markup_nor_control() -> None:
    hostile = "[bold]x[/red] \x1b[2J\x07\r\n\u202eevil\u2066 [link=http://x]y"
    text = shown(a_reply(an_item(hostile, speaker="[/]\x1b]0;t\x07"), degraded=("[/red]\x1b",)), user_id="[/b]\x1b")
    assert "[bold]x[/red]" in text
    assert not set(text) & set("\x1b\x07\r\u202e\u2066")
    assert "[/b]" in shown(a_reply(), user_id="[/b]\x1b")


@given(st.text())
def test_one_line_is_one_printable_line(text: str) -> None:
    line = one_line(text)
    assert all(char.isprintable() or char == "\u200d" for char in line)
    assert "".join(line.split()) == "".join(char for char in text if char.isprintable() or char == "\u200d").replace(
        " ", ""
    )


REQUEST: dict[str, Any] = {"user_id": "me", "query": "x"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"query": "  "}, "the question is blank"),
        ({"types": ["opinion"]}, "--type: Input should be 'fact', 'preference'"),
        ({"time_zone": "Atlantis"}, "--time-zone: is no time zone of the IANA database"),
        ({"min_score": 2}, "--min-score: Input should be less than or equal to 1"),
        ({"now": "soon"}, "--now: a time is written as in ISO 8601"),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(
    fields: dict[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert request_of(**REQUEST).query == "x"
    with pytest.raises(typer.Exit) as exit:
        request_of(**(REQUEST | fields))
    said = " ".join(capsys.readouterr().err.split())
    assert exit.value.exit_code == 1
    assert said.startswith(f"error: {says}")
    assert set(said) <= set(string.printable)
