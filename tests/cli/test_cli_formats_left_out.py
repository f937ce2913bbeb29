"""What an export says is not taken, gone, not true yet or not all: it is left out or told, and counted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.shared.commands.formats import Format, Source, read_turns
from services.shared.commands.formats.source import UNREADABLE
from tests.cli.files import lines, written
from tests.cli.test_cli_formats_elsewhere import CLAUDE, chatgpt, node, said, turns, zipped

ABANDONED, MORE = "of branches not taken", "pages of larger results, whose other pages are not in the file"
ENDING = "with an end to come, which memory does not keep"
ROOT = "00000000-0000-4000-8000-000000000000"


def read(folder: Path, format: Format, document: object, name: str = "export.json") -> tuple[list[str], Source]:
    source = Source(written(folder, document, name), format, "me")
    return [turn.text for turn in read_turns(source)], source


def message(uuid: str, parent: str | None, at: int = 0, **fields: Any) -> dict[str, Any]:
    time = {"created_at": f"2025-01-01T00:00:{at:02}Z"} if at else {}
    return {"uuid": uuid, "sender": "human", "text": uuid, "parent_message_uuid": parent} | time | fields


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([message("q", ROOT), message("old", "q"), message("new", "q")], ["q", "new"]),
        ([message("q", ROOT), message("new", "q", 9), message("old", "q", 3)], ["q", "new"]),
        ([message("q", ROOT, 1), message("e", ROOT, 5), message("a", "q", 2), message("b", "e", 6)], ["e", "b"]),
        # The newest message decides, not the newest of those that stand where it forks.
        ([message("q", ROOT, 1), message("x", "q", 2), message("y", "q", 3), message("z", "x", 4)], ["q", "x", "z"]),
        # One that cannot be read keeps its place; what comes before one that is missing stays.
        ([message("q", ROOT), message("?", "q", sender=None), message("new", "?")], ["q", "new"]),
        ([message("q", ROOT), message("new", "missing")], ["q", "new"]),
        ([message("q", None), message("new", None)], ["q", "new"]),
    ],
)
def test_of_a_claude_conversation_without_a_leaf_the_newest_branch_is_read(
    tmp_path: Path, messages: list[dict[str, Any]], kept: list[str]
) -> None:
    found, source = read(tmp_path, "claude", [CLAUDE | {"chat_messages": messages}])
    assert found == kept
    assert source.skipped[ABANDONED] + source.skipped[UNREADABLE] == len(messages) - len(kept)


def test_messages_of_claude_that_go_round_in_a_circle_keep_no_other_out(tmp_path: Path) -> None:
    circle = [message("a", "b"), message("b", "a"), message("q", ROOT)]
    assert read(tmp_path, "claude", [CLAUDE | {"chat_messages": circle}])[0] == ["q"]


def test_a_chatgpt_conversation_that_is_not_to_be_remembered_is_left_out(tmp_path: Path) -> None:
    found, source = read(tmp_path, "chatgpt", [chatgpt(is_do_not_remember=True)])
    assert (found, source.skipped) == ([], {"of conversations not to be remembered": 6})
    assert len(read(tmp_path, "chatgpt", [chatgpt(is_do_not_remember=None)])[0]) == 2


def test_custom_instructions_of_chatgpt_are_counted_by_their_name(tmp_path: Path) -> None:
    custom = node("user", "x")
    custom["message"]["content"] = {"content_type": "user_editable_context", "user_profile": "Preferred name: Jo"}
    mapping = {"c": custom, "a": node("user", "Hi", parent="c")}
    found, source = read(tmp_path, "chatgpt", [chatgpt(mapping=mapping, current_node="a")])
    assert (found, source.skipped) == (["Hi"], {"of custom instructions": 1})


@pytest.mark.parametrize(("files", "count"), [([], 2), ([{}], 2), ([{}, {}, {}], 3)])
def test_pictures_of_chatgpt_are_attachments(tmp_path: Path, files: list[object], count: int) -> None:
    picture = {"content_type": "image_asset_pointer"}
    given = node("user", "See", picture, picture, metadata={"attachments": files})
    _, source = read(tmp_path, "chatgpt", [chatgpt(mapping={"a": given}, current_node="a")])
    assert source.skipped == {"attachments": count}


@pytest.mark.parametrize("odd", [None, "junk", {"uuid": "c"}, {"conversations_memory": 7}, {"project_memories": [1]}])
def test_one_odd_record_of_claude_keeps_no_other_out_and_is_named(tmp_path: Path, odd: object) -> None:
    found, source = read(tmp_path, "claude", [CLAUDE, odd, None])
    assert (len(found), source.skipped) == (2, {UNREADABLE: 2})
    assert [problem.partition(": ")[2].split(":")[0] for problem in source.unread] == ["item 2"]


def test_which_message_cannot_be_read_is_told(tmp_path: Path) -> None:
    _, source = read(tmp_path, "zep", {"messages": [{"role": "user", "content": "Hi"}, {"content": "\ud800"}, 7]})
    told = f"{source.path}: messages: message 3: Input should be a valid dictionary"
    assert source.unread == [told]
    assert list(read_turns(source))
    assert source.unread == [told]


PROJECT = {"uuid": "p1", "name": "Novel", "prompt_template": "Write in British English", "docs": []}


def test_projects_of_claude_are_not_read_and_that_is_told(tmp_path: Path) -> None:
    found, source = read(tmp_path, "claude", zipped(conversations=[CLAUDE], projects=[PROJECT]), "export.zip")
    assert (len(found), source.notes) == (2, {"files of projects, which are not read": 1})
    found, source = read(tmp_path, "claude", [PROJECT])
    assert (found, source.skipped) == ([], {"of projects, their instructions and documents": 1})


def test_what_claude_made_within_an_answer_is_no_part_of_it(tmp_path: Path) -> None:
    made = 'Here it is.\n<antArtifact id="a" title="x">\nDear school\n</antArtifact>\nAnything else?'
    messages = [{"sender": who, "text": made} for who in ("assistant", "human")]
    found, _ = read(tmp_path, "claude", [CLAUDE | {"chat_messages": messages}])
    assert found == ["Here it is.\n\nAnything else?", made]


def test_half_a_character_in_what_claude_made_is_not_read(tmp_path: Path) -> None:
    messages = [
        {"sender": "assistant", "text": "Here.<antArtifact>\ud800</antArtifact>"},
        {"sender": "human", "text": "x"},
    ]
    found, source = read(tmp_path, "claude", [CLAUDE | {"chat_messages": messages}])
    assert (found, source.skipped) == (["x"], {UNREADABLE: 1})


def test_a_sentence_of_claude_may_go_on_in_the_next_part(tmp_path: Path) -> None:
    texts = ("They need", " big pots.", "And water.", "tool", "Daily.")
    parts = [{"type": "tool_use" if text == "tool" else "text", "text": text} for text in texts]
    found, _ = read(tmp_path, "claude", [CLAUDE | {"chat_messages": [{"sender": "assistant", "content": parts}]}])
    assert found == ["They need big pots.\nAnd water.\nDaily."]


MEMORIES = [{"id": "1", "memory": "Likes tea"}, {"id": "2", "memory": "Likes jazz"}]


@pytest.mark.parametrize(
    ("document", "more"),
    [
        ({"count": 4, "next": "https://x/?page=2", "results": MEMORIES}, True),
        ({"next": "https://x/?page=2", "results": MEMORIES}, True),
        ({"count": 4, "next": None, "previous": "https://x/", "results": MEMORIES}, True),
        ([{"count": 4, "next": "https://x/?page=2", "results": MEMORIES}] * 2, False),
        ({"count": 2, "next": None, "results": MEMORIES}, False),
        ({"results": MEMORIES}, False),
        (MEMORIES, False),
    ],
)
def test_a_page_of_mem0_is_told_from_all_of_it(tmp_path: Path, document: object, more: bool) -> None:
    _, source = read(tmp_path, "mem0", document)
    assert source.notes == ({MORE: 1} if more else {})


@pytest.mark.parametrize(("total", "more"), [(2, True), (1, False), (None, False)])
def test_a_page_of_a_thread_of_zep_is_told_from_all_of_it(tmp_path: Path, total: int | None, more: bool) -> None:
    page = {"thread_id": "t", "messages": [{"role": "user", "content": "Hi"}], "total_count": total, "facts": ["x"]}
    assert read(tmp_path, "zep", page)[1].notes == ({MORE: 1} if more else {})
    assert read(tmp_path, "zep", [page, page])[1].notes == {}


def test_what_mem0_added_is_told_from_what_it_removed_or_left(tmp_path: Path) -> None:
    events = ("ADD", "UPDATE", "DELETE", "NONE")
    found, source = read(tmp_path, "mem0", {"results": [{"memory": event, "event": event} for event in events]})
    assert (found, source.skipped) == (["ADD", "UPDATE"], {"deleted there": 1, "without a change": 1})


@pytest.mark.parametrize("ends", ["2990-01-31", datetime.now(UTC).date().isoformat()])
def test_that_a_memory_of_mem0_ends_one_day_is_told(tmp_path: Path, ends: str) -> None:
    found, source = read(tmp_path, "mem0", lines({"memory": "Parks here", "expiration_date": ends}, MEMORIES[0]))
    assert (found, source.notes) == (["Parks here", "Likes tea"], {ENDING: 1})


def test_a_fact_of_zep_that_holds_later_is_left_out_and_that_one_ends_is_told(tmp_path: Path) -> None:
    facts = [
        {"fact": "Jane starts at Initech.", "valid_at": "2990-01-01T00:00:00Z", "created_at": "2025-01-01T00:00:00Z"},
        {"fact": "Jane rents a flat.", "invalid_at": "2990-01-01T00:00:00Z"},
        {"fact": "Jane sails.", "valid_at": "2020-01-01T00:00:00Z"},
    ]
    found, source = read(tmp_path, "zep", {"edges": facts})
    assert found == ["Jane rents a flat.", "Jane sails."]
    assert (source.skipped, source.notes) == ({"not valid yet": 1}, {ENDING: 1})


def test_a_session_of_zep_that_is_deleted_is_left_out(tmp_path: Path) -> None:
    sessions = [
        {"session_id": at, "deleted_at": at, "messages": [{"role_type": "user", "content": f"My pin {at}"}]}
        for at in (None, "2025-01-01T00:00:00Z")
    ]
    found, source = read(tmp_path, "zep", {"sessions": sessions})
    assert (found, source.skipped) == (["My pin None"], {"deleted there": 1})
    assert read(tmp_path, "zep", {"sessions": sessions[1:]})[0] == []


def test_somebody_of_zep_without_a_role_is_known_by_name_alone(tmp_path: Path) -> None:
    messages = [{"role_type": "norole", "role": name, "content": f"I am {name}"} for name in ("Jane", None)]
    found, source = read(tmp_path, "zep", {"messages": messages})
    assert (found, source.skipped) == (["I am Jane"], {"of tools and systems": 1})


def test_facts_without_a_time_are_as_old_as_what_they_were_told_with(tmp_path: Path) -> None:
    at = "2024-04-01T10:00:00Z"
    thread = {"messages": [{"role": "user", "content": "Hi", "created_at": at}], "facts": ["Kim lives in Leeds."]}
    assert [turn.created_at for turn in turns(tmp_path, "zep", thread)] == [datetime(2024, 4, 1, 10, tzinfo=UTC)] * 2
    agents: dict[str, Any] = {"agents": [{"messages": [{"role": "user", "content": "Hi", "created_at": at}]}]}
    block = {"label": "human", "value": "Kim lives in Leeds."}
    files: list[tuple[dict[str, Any], int]] = [
        ({"blocks": [block]}, 1),
        ({"blocks": [block], "created_at": "2024-04-02T10:00:00Z"}, 2),
    ]
    for file, day in files:
        assert turns(tmp_path, "letta", agents | file)[-1].created_at == datetime(2024, 4, day, 10, tzinfo=UTC)
    dated = {"messages": [], "core_memory": [block | {"created_at": "2024-04-03T10:00:00"}]}
    assert turns(tmp_path, "letta", dated)[0].created_at == datetime(2024, 4, 3, 10, tzinfo=UTC)


def test_a_passage_of_letta_that_is_deleted_is_counted_as_that(tmp_path: Path) -> None:
    found, source = read(tmp_path, "letta", [{"text": "old", "is_deleted": True}, {"text": "Chad sails"}])
    assert (found, source.skipped) == (["Chad sails"], {"deleted there": 1})


def checkpoint(shape: str, number: int, parent: int | None, *texts: str) -> dict[str, Any]:
    """The state of a thread at some time, as LangGraph's platform or its library has it."""
    messages = [{"type": "human", "content": text, "id": text} for text in texts]
    made: dict[str, Any] = {"values": {"messages": messages}, "created_at": f"2025-01-01T00:00:0{number}Z"}
    own: dict[str, Any] = {"thread_id": "t", "checkpoint_id": str(number)}
    before = own | {"checkpoint_id": str(parent)} if parent else None
    if shape == "platform":
        return made | {"checkpoint": own, "parent_checkpoint": before}
    return made | {"config": {"configurable": own}, "parent_config": before and {"configurable": before}}


@pytest.mark.parametrize("shape", ["platform", "library"])
@pytest.mark.parametrize("first", [4, 3, 1], ids=["newest first", "oldest first", "without the beginning"])
def test_of_a_thread_of_langgraph_the_branch_is_read_that_was_taken(tmp_path: Path, shape: str, first: int) -> None:
    history = [
        checkpoint(shape, 4, 1, "q", "taken"),
        checkpoint(shape, 3, 2, "q", "left", "left, too"),
        checkpoint(shape, 2, 1, "q", "left"),
        checkpoint(shape, 1, None, "q"),
    ]
    ordered = {4: history, 3: history[::-1], 1: history[:3]}[first]
    source = Source(written(tmp_path, ordered), "langgraph", "me")
    assert said(list(read_turns(source))) == [("user", "q"), ("user", "taken")]
    assert source.skipped[ABANDONED] == 2


def test_threads_of_langgraph_do_not_leave_each_other_out(tmp_path: Path) -> None:
    states = [checkpoint("platform", number, None, f"m{number}") for number in (1, 2)]
    states[1]["checkpoint"] = {"thread_id": "other", "checkpoint_id": "1"}
    assert read(tmp_path, "langgraph", states)[0] == ["m1", "m2"]
