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

from contracts.v1.retrieval import EntityCard, RetrieveReply, RetrieveRequest, Signals
from services.cli.ask import request_of, show_reply, why
from services.cli.common import one_line
from tests.cli.fake_memory import NOON, a_reply, an_item

ID = "0badcafe-0000-5000-8000-000000000001"


def shown(reply: RetrieveReply, *, width: int = 120, **request: Any) -> str:
    console = Console(record=True, width=width, file=StringIO())
    show_reply(reply, RetrieveRequest(**({"user_id": "me", "query": "x"} | request)), console)
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
    assert "Leave out the filters" in shown(a_reply(), tags=("python",))


def test_every_feature_is_shown_on_request() -> None:
    item = an_item("x", explanation={"rrf": 0.0163934, "lexical_rank": 1, "note": "n" * 200})
    text = " ".join(shown(a_reply(item, an_item("y")), explain=True).split())
    assert f"x lexical_rank=1 note={'n' * 72}… rrf=0.01639" in text
    assert "y not explained" in text
    assert "rrf" not in shown(a_reply(item))


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
        ({"user_id": ""}, "--user: String should have at least 1 character"),
        ({"types": ["opinion"]}, "--type: Input should be 'fact', 'preference'"),
        ({"space": ""}, "--space: String should have at least 1 character"),
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
