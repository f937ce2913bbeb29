"""JSON Lines become turns, or one line that says where they are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import STDIN, Format, FormatError, Source, count_turns, jsonl, read_turns
from tests.cli.files import A_TURN, lines, problem, written


def test_a_line_is_a_turn_exactly_as_on_the_wire(tmp_path: Path) -> None:
    full = A_TURN | {
        "turn_id": "t1",
        "space": "work",
        "conversation_id": "c1",
        "created_at": "2026-02-01T10:00:00Z",
        "manually_saved": True,
        "tags": ["python"],
        "source_ids": ["s1"],
        "persona_id": None,
        "speaker": "Mira",
        "later_field": 1,
    }
    source = Source(written(tmp_path, lines(full, A_TURN)))
    assert list(read_turns(source)) == [
        Turn.model_validate_json(json.dumps(full)),
        Turn.model_validate_json(json.dumps(A_TURN)),
    ]


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + lines(A_TURN) + b"\r\n\r\n   \n" + lines(A_TURN) + b"\r\n"
    assert [turn.text for turn in read_turns(Source(written(tmp_path, content)))] == [A_TURN["text"]] * 2


def test_user_and_space_are_filled_in_only_where_the_file_leaves_them_open(tmp_path: Path) -> None:
    nobody = {"role": "user", "text": "x", "user_id": None}
    path = written(tmp_path, lines(nobody, A_TURN | {"space": "work"}))
    turns = list(read_turns(Source(path, user="me", space="home")))
    assert [(turn.user_id, turn.space) for turn in turns] == [("me", "home"), ("u1", "work")]


def test_turns_are_read_only_as_they_are_needed(tmp_path: Path) -> None:
    turns = read_turns(Source(written(tmp_path, lines(A_TURN) + b"\nnot json")))
    assert next(turns).text == A_TURN["text"]
    with pytest.raises(FormatError):
        next(turns)


def test_standard_input_is_a_file_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(tmp_path, lines(A_TURN, {})).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        turns = read_turns(Source(STDIN))
        assert next(turns).user_id == "u1"
        with pytest.raises(FormatError, match=r"^standard input:2: has no user_id"):
            next(turns)
    assert not Source(STDIN).rereadable


def test_without_a_standard_input_a_file_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(FormatError, match="there is no standard input: name a file"):
        next(read_turns(Source(STDIN)))


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"not json", "turns.jsonl:2: is not JSON: expected"),
        (b'{"user_id": "u1"', "turns.jsonl:2: is not JSON: EOF"),
        (b'"text"', "turns.jsonl:2: is no JSON object"),
        (b'[{"role": "user"}]', "turns.jsonl:2: a list, not a turn: is it --format openai or --format locomo?"),
        (b'[{"title": "t", "mapping": {}}]', "turns.jsonl:2: a list, not a turn: is it --format chatgpt?"),
        (b'[\n {"uuid": "u",\n "chat_messages" : []}]', "turns.jsonl:2: a list, not a turn: is it --format claude?"),
        (b'[{"mapping": "' + b"x" * 2_000_000 + b'"}]', "turns.jsonl:2: a list, not a turn: is it --format chatgpt?"),
        (lines({"role": "user", "text": "x"}), "turns.jsonl:2: has no user_id: say whose memory it is with --user"),
        (lines(A_TURN | {"role": "robot"}), "turns.jsonl:2: role: Input should be 'user'"),
        (lines(A_TURN | {"text": " \n "}), "turns.jsonl:2: text: is blank"),
        (lines(A_TURN | {"text": "é" * 33_000}), "turns.jsonl:2: text: has 66,000 bytes, 65,536 are allowed"),
        (lines(A_TURN | {"tags": ["a"] * 65}), "turns.jsonl:2: tags: Tuple should have at most 64 items"),
        (lines(A_TURN | {"created_at": "2026-02-01T10:00:00"}), "turns.jsonl:2: created_at: Value error, a time needs"),
        (lines(A_TURN | {"created_at": "9999-12-31T23:59:59-12:00"}), "turns.jsonl:2: created_at"),
        (b'{"user_id": "u1", "role": "user", "text": "\\ud800"}', "turns.jsonl:2: is not JSON"),
        (b'{"user_id": "u1", "role": "user", "text": "\xff"}', "turns.jsonl:2: is not JSON"),
        (b'{"a": ' * 5_000, "turns.jsonl:2: is not JSON: recursion limit exceeded"),
    ],
)
def test_a_bad_line_is_named_with_what_is_wrong(tmp_path: Path, bad: bytes, says: str) -> None:
    source = Source(written(tmp_path, lines(A_TURN) + b"\n" + bad + b"\n" + lines(A_TURN)))
    assert problem(source).startswith(says)
    assert "\n" not in problem(source)


def test_a_line_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    source = Source(written(tmp_path, b'"' + b"x" * jsonl.MAX_LINE_BYTES))
    assert problem(source) == "turns.jsonl:1: the line has more than 1,048,576 bytes"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_recognized(tmp_path: Path, encoding: str) -> None:
    content = ("\ufeff" + json.dumps(A_TURN)).encode(encoding)
    assert problem(Source(written(tmp_path, content))) == "turns.jsonl: is UTF-16: save it as UTF-8"


@pytest.mark.parametrize("format", ["jsonl", "locomo", "openai"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, format: Format) -> None:
    assert problem(Source(tmp_path / "nowhere", format)) == "nowhere: No such file or directory"
    assert problem(Source(tmp_path, format)).endswith("Is a directory")


def test_counting_checks_every_line(tmp_path: Path) -> None:
    good = Source(written(tmp_path, lines(*[A_TURN] * 5)))
    assert (good.rereadable, count_turns(good)) == (True, 5)
    with pytest.raises(FormatError, match=r"bad\.jsonl:6"):
        count_turns(Source(written(tmp_path, lines(*[A_TURN] * 5, {"user_id": "u1"}), "bad.jsonl")))
