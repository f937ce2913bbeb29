"""What is odd in an export of another system is left out and counted; the rest is read as it is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from services.shared.commands.formats import Source, read_turns
from tests.cli.files import lines, problem, written
from tests.cli.test_cli_formats_elsewhere import chatgpt, node, said, turns, zipped


def test_a_heading_of_claudes_notes_goes_with_its_paragraph(tmp_path: Path) -> None:
    text = "**Empty**\n\n**Work context**\n\nNora binds books.\n\nIn Vienna.\n\n## Alone"
    source = Source(written(tmp_path, [{"conversations_memory": text}]), "claude", "me")
    assert [turn.text for turn in read_turns(source)] == ["Work context\nNora binds books.", "In Vienna."]
    assert source.skipped == {"without text": 2}


def test_marks_of_citations_are_taken_out(tmp_path: Path) -> None:
    text = "Bees in Graz \ue200cite\ue202turn0search0\ue201 are【4:0†guide.pdf】 lovely\ue201"
    document = chatgpt(mapping={"a": node("assistant", text)}, current_node="a")
    assert said(turns(tmp_path, "chatgpt", document)) == [("assistant", "Bees in Graz are lovely")]


ODD: list[dict[str, Any]] = [{"author": None}, {"create_time": 1e300}, {"content": {"parts": ["half \ud800 of it"]}}]


@pytest.mark.parametrize("odd", ODD, ids=["author", "time", "character"])
def test_one_odd_message_is_left_out_and_counted(tmp_path: Path, odd: dict[str, Any]) -> None:
    document = chatgpt()
    document["mapping"]["a"]["message"] |= odd
    source = Source(written(tmp_path, [document]), "chatgpt", "me")
    assert said(list(read_turns(source))) == [("assistant", "Take the night train")]
    assert (source.skipped["of tools and systems"], source.skipped["that cannot be read"]) == (3, 1)
    document["mapping"] = {"a": document["mapping"]["a"]}
    alone = Source(written(tmp_path, [document]), "chatgpt", "me")
    assert problem(alone) == "turns.jsonl: none of its 1 messages can be read: is it --format chatgpt?"


@pytest.mark.parametrize("odd", [{"sender": None}, {"created_at": "0001-01-01T00:00:00+05:00"}, {"text": "\udc00"}])
def test_one_odd_message_of_claude_is_left_out_and_counted(tmp_path: Path, odd: dict[str, Any]) -> None:
    messages = [{"sender": "human", "text": "odd"} | odd, {"sender": "human", "text": "I like tea"}]
    source = Source(written(tmp_path, [{"name": "half \ud800", "chat_messages": messages}]), "claude", "me")
    assert [(turn.text, turn.tags) for turn in read_turns(source)] == [("I like tea", ("half",))]
    assert source.skipped == {"that cannot be read": 1}


def test_a_zep_thread_without_an_id_is_named_after_its_first_message(tmp_path: Path) -> None:
    threads = [{"messages": [{"role": "user", "content": text}] * 2} for text in ("Hi", "Good day")]
    names = [turn.conversation_id for turn in turns(tmp_path, "zep", threads)]
    assert names[0] == names[1] != names[2] == names[3]
    assert turns(tmp_path, "zep", threads[1])[0].conversation_id == names[2]


def test_a_chatgpt_conversation_without_a_name_is_named_after_its_first_message(tmp_path: Path) -> None:
    unnamed = [chatgpt(conversation_id=None, mapping={n: node("user", n)}, current_node=n) for n in ("a", "b")]
    names = [turn.conversation_id for turn in turns(tmp_path, "chatgpt", unnamed)]
    assert names == ["a", "b"]
    assert [turn.conversation_id for turn in turns(tmp_path, "chatgpt", unnamed[::-1])] == names[::-1]


def test_a_fact_of_zep_that_ends_one_day_holds(tmp_path: Path) -> None:
    years = ("2020", "2990")
    facts = [{"uuid": year, "fact": f"Until {year}", "invalid_at": f"{year}-01-01T00:00:00Z"} for year in years]
    assert [turn.text for turn in turns(tmp_path, "zep", {"facts": facts})] == ["Until 2990"]


def test_an_agent_of_mem0_is_a_persona(tmp_path: Path) -> None:
    memories = [{"id": "1", "memory": "I prefer tea", "agent_id": agent} for agent in ("cook", "coach", None)]
    found = turns(tmp_path, "mem0", lines(*memories))
    assert [turn.persona_id for turn in found] == ["cook", "coach", None]
    assert len({turn.turn_id for turn in found}) == 3


def test_a_memory_of_mem0_that_has_expired_is_left_out(tmp_path: Path) -> None:
    memories = [{"id": day, "memory": f"Until {day}", "expiration_date": day} for day in ("2020-01-31", "2990-01-31")]
    source = Source(written(tmp_path, lines(*memories)), "mem0", "me")
    assert [turn.text for turn in read_turns(source)] == ["Until 2990-01-31"]
    assert source.skipped == {"no longer valid": 1}


def test_a_state_of_langgraph_that_is_empty_as_yet_keeps_no_other_out(tmp_path: Path) -> None:
    states = [{"values": {}, "config": {}}, {"values": {"messages": [{"type": "human", "content": "I like tea"}]}}]
    source = Source(written(tmp_path, lines(*states)), "langgraph", "me")
    assert [turn.text for turn in read_turns(source)] == ["I like tea"]
    assert source.skipped == {"without text": 1}


def test_what_chatgpt_was_asked_to_remember_is_a_saved_note(tmp_path: Path) -> None:
    asked = node("assistant", "User binds books.", recipient="bio")
    (note,) = turns(tmp_path, "chatgpt", chatgpt(mapping={"a": asked}, current_node="a"))
    assert (note.text, note.type, note.manually_saved) == ("User binds books.", "note", True)


def test_attachments_are_counted_as_left_out(tmp_path: Path) -> None:
    message = {"sender": "human", "text": "See", "attachments": [{"extracted_content": "long"}], "files": [{}]}
    claude = Source(written(tmp_path, {"chat_messages": [message]}), "claude", "me")
    assert (said(list(read_turns(claude))), claude.skipped) == ([("user", "See")], {"attachments": 2})
    mapping = {"a": node("user", "See", metadata={"attachments": [{"name": "a.pdf"}]})}
    source = Source(written(tmp_path, chatgpt(mapping=mapping, current_node="a")), "chatgpt", "me")
    assert (said(list(read_turns(source))), source.skipped) == ([("user", "See")], {"attachments": 1})


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (zipped(), "x: nothing in the archive is of this --format"),
        (b"[]", "x: there is nothing in it: see services/cli/README.md"),
        (b"null", "x: none of its 1 messages can be read: is it --format chatgpt?"),
    ],
)
def test_a_file_with_nothing_in_it_is_an_error(tmp_path: Path, content: bytes, wanted: str) -> None:
    assert problem(Source(written(tmp_path, content, "x"), "chatgpt", "me")) == wanted
