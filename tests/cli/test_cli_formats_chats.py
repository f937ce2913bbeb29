"""Conversations with ChatGPT and Claude, as these export them: what was said on the branch that counts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.shared.commands.formats import Source, read_turns
from services.shared.commands.formats.source import UNREADABLE
from tests.cli.files import CLAUDE, chatgpt, node, problem, read, turns, written, zipped

ABANDONED = "of branches not taken"
ROOT = "00000000-0000-4000-8000-000000000000"


def branch(*nodes: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """A conversation of ChatGPT with these messages, one behind the other."""
    mapping = {str(n): one | {"parent": str(n - 1) if n else None} for n, one in enumerate(nodes)}
    return [chatgpt(mapping=mapping, current_node=str(len(nodes) - 1), **fields)]


def test_of_a_chatgpt_conversation_the_branch_that_is_shown_is_read(tmp_path: Path) -> None:
    source = Source(written(tmp_path, [chatgpt()]), "chatgpt", "me")
    first, second = read_turns(source)
    assert [(turn.role, turn.text) for turn in (first, second)] == [
        ("user", "I prefer trains"),
        ("assistant", "Take the night train"),
    ]
    assert (first.conversation_id, first.tags) == ("c1", ("Trip to Vienna",))
    assert first.source_ids == ("chatgpt:m-I prefer trains",)
    assert first.created_at == datetime.fromtimestamp(1_700_000_001, UTC)
    assert second.created_at == datetime.fromtimestamp(1_700_000_002, UTC)  # as it tells none
    assert source.skipped == {"of tools and systems": 3, ABANDONED: 1, "attachments": 1}


def test_a_voice_is_its_transcript_and_marks_of_citations_are_taken_out(tmp_path: Path) -> None:
    spoken = node("user")
    parts = [{"content_type": "audio_transcription", "text": "Hello"}, {"content_type": "image_asset_pointer"}]
    spoken["message"] |= {"id": "m", "content": {"content_type": "multimodal_text", "parts": parts}}
    cited = "Bees in Graz \ue200cite\ue202turn0search0\ue201 are【4:0†guide.pdf】 lovely\ue201"
    assert read(tmp_path, "chatgpt", branch(spoken, node("assistant", cited)))[0] == [
        "Hello",
        "Bees in Graz are lovely",
    ]


def test_a_conversation_whose_messages_go_round_in_a_circle_or_that_is_none_keeps_no_other_out(tmp_path: Path) -> None:
    mapping = {"a": node("user", "x", parent="b"), "b": node("user", "y", parent="a")}
    odd = [chatgpt(mapping=mapping, current_node="a"), {"title": "no mapping"}]
    found, source = read(tmp_path, "chatgpt", [*odd, chatgpt()])
    assert (len(found), source.skipped[UNREADABLE]) == (2, 2)
    circle = [message("a", "b"), message("b", "a"), message("q", ROOT)]
    assert read(tmp_path, "claude", [CLAUDE | {"chat_messages": circle}])[0] == ["q"]


ODD: list[dict[str, Any]] = [{"author": None}, {"create_time": 1e300}, {"content": {"parts": ["half \ud800 of it"]}}]


@pytest.mark.parametrize("odd", ODD, ids=["author", "time", "character"])
def test_one_odd_message_of_chatgpt_is_left_out_and_counted(tmp_path: Path, odd: dict[str, Any]) -> None:
    document = chatgpt()
    document["mapping"]["a"]["message"] |= odd
    found, source = read(tmp_path, "chatgpt", [document])
    assert (found, source.skipped["of tools and systems"], source.skipped[UNREADABLE]) == (
        ["Take the night train"],
        3,
        1,
    )
    document["mapping"] = {"a": document["mapping"]["a"]}
    alone = Source(written(tmp_path, [document]), "chatgpt", "me")
    assert problem(alone) == "turns.jsonl: none of its 1 messages can be read: is it --format chatgpt?"


def test_what_chatgpt_was_asked_to_remember_is_a_saved_note(tmp_path: Path) -> None:
    (note,) = turns(tmp_path, "chatgpt", branch(node("assistant", "User binds books.", recipient="bio")))
    assert (note.text, note.type, note.manually_saved) == ("User binds books.", "note", True)


def test_a_chatgpt_conversation_that_is_not_to_be_remembered_is_left_out(tmp_path: Path) -> None:
    found, source = read(tmp_path, "chatgpt", [chatgpt(is_do_not_remember=True)])
    assert (found, source.skipped) == ([], {"of conversations not to be remembered": 6})
    assert len(read(tmp_path, "chatgpt", [chatgpt(is_do_not_remember=None)])[0]) == 2


def test_custom_instructions_of_chatgpt_are_counted_by_their_name(tmp_path: Path) -> None:
    custom = node("user", "x")
    custom["message"]["content"] = {"content_type": "user_editable_context", "user_profile": "Preferred name: Jo"}
    found, source = read(tmp_path, "chatgpt", branch(custom, node("user", "Hi")))
    assert (found, source.skipped) == (["Hi"], {"of custom instructions": 1})


@pytest.mark.parametrize(("files", "count"), [([], 2), ([{}], 2), ([{}, {}, {}], 3)])
def test_pictures_and_files_are_attachments_which_are_counted(tmp_path: Path, files: list[object], count: int) -> None:
    picture = {"content_type": "image_asset_pointer"}
    given = node("user", "See", picture, picture, metadata={"attachments": files})
    assert read(tmp_path, "chatgpt", branch(given))[1].skipped == {"attachments": count}
    sent = {"sender": "human", "text": "See", "attachments": [{"extracted_content": "long"}], "files": [{}]}
    found, source = read(tmp_path, "claude", {"chat_messages": [sent]})
    assert (found, source.skipped) == (["See"], {"attachments": 2})


def test_a_chatgpt_export_in_numbered_files_is_read_in_order(tmp_path: Path) -> None:
    parts = {f"conversations-00{n}": [chatgpt(conversation_id=f"c{n}")] for n in (1, 0)}
    found = turns(tmp_path, "chatgpt", zipped(**parts, chat=b"junk", user={}), name="export.zip")
    assert [turn.conversation_id for turn in found] == ["c0", "c0", "c1", "c1"]


def message(uuid: str, parent: str | None, at: int = 0, **fields: Any) -> dict[str, Any]:
    """A message of Claude."""
    time = {"created_at": f"2025-01-01T00:00:{at:02}Z"} if at else {}
    return {"uuid": uuid, "sender": "human", "text": uuid, "parent_message_uuid": parent} | time | fields


def test_a_claude_conversation_is_what_was_said_in_it(tmp_path: Path) -> None:
    first, second = turns(tmp_path, "claude", [CLAUDE])
    assert [(turn.role, turn.text) for turn in (first, second)] == [("user", "I like tea"), ("assistant", "Noted.")]
    assert (first.conversation_id, first.tags, first.source_ids) == ("c2", ("Tea",), ("claude:m1",))
    assert second.created_at == datetime(2025, 3, 1, 10, 0, 2, tzinfo=UTC)


@pytest.mark.parametrize(("leaf", "kept"), [("m3", ["q", "anew"]), ("m2", ["q", "first"])])
def test_of_a_claude_conversation_the_branch_with_the_leaf_is_read(tmp_path: Path, leaf: str, kept: list[str]) -> None:
    messages = [message("q", ROOT), message("m2", "q", text="first"), message("m3", "q", text="anew")]
    conversation = CLAUDE | {"chat_messages": messages, "current_leaf_message_uuid": leaf}
    assert read(tmp_path, "claude", conversation)[0] == kept


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


def test_claudes_own_notes_become_saved_ones_with_their_headings(tmp_path: Path) -> None:
    headed = "**Empty**\n\n**Work context**\n\nNora binds books.\n\nIn Vienna.\n\n## Alone"
    memories = [{"conversations_memory": headed, "project_memories": {"p1": "Uses uv."}}]
    content = zipped(conversations=[CLAUDE], memories=memories, users=[{}], **{"__MACOSX/conversations": b"junk"})
    notes = [turn for turn in turns(tmp_path, "claude", content, name="export.zip") if turn.manually_saved]
    assert [turn.text for turn in notes] == ["Work context\nNora binds books.", "In Vienna.", "Uses uv."]
    assert {(turn.type, turn.role) for turn in notes} == {("note", "assistant")}
    assert read(tmp_path, "claude", memories)[1].skipped == {"without text": 2}


@pytest.mark.parametrize(
    "odd",
    [
        {"sender": None},
        {"created_at": "0001-01-01T00:00:00+05:00"},
        {"text": "\udc00"},
        {"sender": "assistant", "text": "Here.<antArtifact>\ud800</antArtifact>"},
    ],
)
def test_one_odd_message_of_claude_is_left_out_and_counted(tmp_path: Path, odd: dict[str, Any]) -> None:
    messages = [{"sender": "human", "text": "odd"} | odd, {"sender": "human", "text": "I like tea"}]
    source = Source(written(tmp_path, [{"name": "half \ud800", "chat_messages": messages}]), "claude", "me")
    assert [(turn.text, turn.tags) for turn in read_turns(source)] == [("I like tea", ("half",))]
    assert source.skipped == {UNREADABLE: 1}


@pytest.mark.parametrize("odd", [None, "junk", {"uuid": "c"}, {"conversations_memory": 7}, {"project_memories": [1]}])
def test_one_odd_record_of_claude_keeps_no_other_out_and_is_named(tmp_path: Path, odd: object) -> None:
    found, source = read(tmp_path, "claude", [CLAUDE, odd, None])
    assert (len(found), source.skipped) == (2, {UNREADABLE: 2})
    assert [problem.partition(": ")[2].split(":")[0] for problem in source.unread] == ["item 2"]


def test_projects_of_claude_are_not_read_and_that_is_told(tmp_path: Path) -> None:
    project = {"uuid": "p1", "name": "Novel", "prompt_template": "Write in British English", "docs": []}
    found, source = read(tmp_path, "claude", zipped(conversations=[CLAUDE], projects=[project]), "export.zip")
    assert (len(found), source.notes) == (2, {"files of projects, which are not read": 1})
    found, source = read(tmp_path, "claude", [project])
    assert (found, source.skipped) == ([], {"of projects, their instructions and documents": 1})


def test_what_claude_made_within_an_answer_is_no_part_of_it(tmp_path: Path) -> None:
    made = 'Here it is.\n<antArtifact id="a" title="x">\nDear school\n</antArtifact>\nAnything else?'
    messages = [{"sender": who, "text": made} for who in ("assistant", "human")]
    found, _ = read(tmp_path, "claude", [CLAUDE | {"chat_messages": messages}])
    assert found == ["Here it is.\n\nAnything else?", made]


def test_a_sentence_of_claude_may_go_on_in_the_next_part(tmp_path: Path) -> None:
    texts = ("They need", " big pots.", "And water.", "tool", "Daily.")
    parts = [{"type": "tool_use" if text == "tool" else "text", "text": text} for text in texts]
    found, _ = read(tmp_path, "claude", [CLAUDE | {"chat_messages": [{"sender": "assistant", "content": parts}]}])
    assert found == ["They need big pots.\nAnd water.\nDaily."]
