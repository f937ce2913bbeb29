"""LoCoMo conversations become turns with their session, time, speaker and source."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.shared.commands.formats import Source, count_turns, read_turns
from tests.cli.files import problem, written


def a_sample(**conversation: object) -> dict[str, Any]:
    return {
        "sample_id": "pair-1",
        "qa": [],
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_10": [{"speaker": "Ada", "dia_id": "D10:1", "text": "Last."}],
            "session_10_date_time": "12:09 am on 13 September, 2023",
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red boat"},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "  ", "blip_caption": "a pier"},
                {"speaker": "Ada", "dia_id": "D2:3", "text": ""},
                {"speaker": "Ben", "dia_id": "D2:4", "text": "Nice."},
            ],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_3_date_time": "no such session",
            **conversation,
        },
    }


def test_sessions_come_in_the_order_of_their_numbers_with_times_and_sources(tmp_path: Path) -> None:
    turns = list(read_turns(Source(written(tmp_path, [a_sample()]), "locomo")))
    assert [(t.conversation_id, t.turn_id, t.source_ids, t.speaker, t.role) for t in turns] == [
        ("pair-1/session_2", "pair-1:D2:1", ("D2:1",), "Ada", "user"),
        ("pair-1/session_2", "pair-1:D2:2", ("D2:2",), "Ben", "user"),
        ("pair-1/session_2", "pair-1:D2:4", ("D2:4",), "Ben", "user"),
        ("pair-1/session_10", "pair-1:D10:1", ("D10:1",), "Ada", "user"),
    ]
    assert turns[0].created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert turns[2].created_at == datetime(2023, 5, 8, 13, 57, 30, tzinfo=UTC)
    assert turns[3].created_at == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)


def test_a_shared_picture_is_told_by_its_caption_and_a_turn_without_anything_is_counted(tmp_path: Path) -> None:
    source = Source(written(tmp_path, a_sample()), "locomo")
    assert [t.text for t in read_turns(source)] == ["Look! [shares a red boat]", "[shares a pier]", "Nice.", "Last."]
    assert source.skipped == {"without text": 1}
    assert count_turns(source) == 4
    assert source.skipped == {"without text": 1}


@pytest.mark.parametrize(
    ("user", "space", "owner"),
    [
        (None, None, ("pair-1", "default")),
        ("me", None, ("me", "pair-1")),
        ("me", "chats", ("me", "chats")),
        (None, "chats", ("pair-1", "chats")),
    ],
)
def test_a_sample_is_a_user_or_a_space_of_the_named_user(
    tmp_path: Path, user: str | None, space: str | None, owner: tuple[str, str]
) -> None:
    turns = read_turns(Source(written(tmp_path, [a_sample()]), "locomo", user, space))
    assert {(turn.user_id, turn.space) for turn in turns} == {owner}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "turns.jsonl: is not JSON: EOF"),
        (7, "turns.jsonl: sample 1: Input should be a valid dictionary"),
        ([a_sample(), {"sample_id": "x"}], "turns.jsonl: sample 2: conversation: Field required"),
        (a_sample(session_2="x"), "turns.jsonl: 'pair-1' session_2: is no list of turns"),
        (a_sample(session_2=[7]), "turns.jsonl: 'pair-1' session_2 turn 1: Input should be"),
        (a_sample(session_2_date_time="8 May"), "turns.jsonl: 'pair-1' session_2_date_time: is not like '1:56 pm"),
        (a_sample(session_4=[]), "turns.jsonl: 'pair-1' session_4_date_time: is not like"),
        (
            a_sample(session_2=[{"speaker": "Ada", "dia_id": "D" * 200, "text": "x"}]),
            "turns.jsonl: 'pair-1' session_2 turn 1: turn_id: String should have at most 128",
        ),
    ],
)
def test_what_is_no_locomo_is_named(tmp_path: Path, content: object, says: str) -> None:
    assert problem(Source(written(tmp_path, content), "locomo")).startswith(says)


def test_the_end_of_time_is_no_traceback(tmp_path: Path) -> None:
    sample = a_sample(session_2_date_time="11:59 pm on 31 December, 9999")
    turns = list(read_turns(Source(written(tmp_path, sample), "locomo")))
    assert turns[2].created_at == datetime(9999, 12, 31, 23, 59, tzinfo=UTC)


def test_a_document_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.shared.commands.formats.source.MAX_DOCUMENT_BYTES", 10)
    assert problem(Source(written(tmp_path, [a_sample()]), "locomo")) == "turns.jsonl: has more than 10 bytes: split it"
