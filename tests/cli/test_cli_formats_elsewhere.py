"""What other systems export becomes turns: the same ones every time, with roles, times, conversations and titles."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import Format, Source, read_turns
from services.shared.commands.formats import documents as unpacking
from services.shared.commands.formats.source import UNREADABLE
from tests.cli.files import lines, problem, written


def turns(
    folder: Path, format: Format, content: object, user: str | None = "me", name: str = "export.json"
) -> list[Turn]:
    return list(read_turns(Source(written(folder, content, name), format, user)))


def said(given: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in given]


def zipped(**documents: object) -> bytes:
    """An archive with these documents."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in documents.items():
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
            archive.writestr(name if name.endswith(".zip") else f"{name}.json", content)
    return file.getvalue()


def node(role: str, *parts: Any, parent: str | None = None, at: float | None = None, **fields: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    message = {"id": f"m-{parts[0] if parts else ''}", "author": {"role": role}, "create_time": at, "content": content}
    return {"message": message | fields, "parent": parent, "children": []}


def chatgpt(**fields: Any) -> dict[str, Any]:
    """A conversation in which the first answer was made anew."""
    return {
        "title": "Trip to  Vienna",
        "conversation_id": "c1",
        "create_time": 1_700_000_000.5,
        "current_node": "e",
        "mapping": {
            "root": {"message": None, "parent": None, "children": ["s"]},
            "s": node("system", "", parent="root", metadata={"is_visually_hidden_from_conversation": True}),
            "a": node("user", "I prefer trains", parent="s", at=1_700_000_001.0),
            "b": node("assistant", "not shown any more", parent="a"),
            "c": node("assistant", "search(trains)", parent="a", recipient="browser"),
            "d": node("tool", "a page", parent="c"),
            "e": node("assistant", "Take the night train", {"content_type": "image_asset_pointer"}, parent="d"),
        },
    } | fields


def test_of_a_chatgpt_conversation_the_branch_that_is_shown_is_read(tmp_path: Path) -> None:
    source = Source(written(tmp_path, [chatgpt()]), "chatgpt", "me")
    first, second = read_turns(source)
    assert said([first, second]) == [("user", "I prefer trains"), ("assistant", "Take the night train")]
    assert (first.conversation_id, first.tags, first.source_ids) == (
        "c1",
        ("Trip to Vienna",),
        ("chatgpt:m-I prefer trains",),
    )
    assert first.created_at == datetime.fromtimestamp(1_700_000_001, UTC)
    assert second.created_at == datetime.fromtimestamp(1_700_000_002, UTC)  # as it tells none
    assert source.skipped == {"of tools and systems": 3, "of branches not taken": 1, "attachments": 1}


def test_a_voice_is_its_transcript_and_a_picture_is_nothing(tmp_path: Path) -> None:
    parts = [{"content_type": "audio_transcription", "text": "Hello"}, {"content_type": "image_asset_pointer"}]
    spoken = node("user", *parts)
    spoken["message"] |= {"id": "m", "content": {"content_type": "multimodal_text", "parts": parts}}
    assert said(turns(tmp_path, "chatgpt", chatgpt(mapping={"a": spoken}, current_node="a"))) == [("user", "Hello")]


def test_a_conversation_whose_messages_go_round_in_a_circle_or_that_is_none_keeps_no_other_out(tmp_path: Path) -> None:
    mapping = {"a": node("user", "x", parent="b"), "b": node("user", "y", parent="a")}
    odd = [chatgpt(mapping=mapping, current_node="a"), {"title": "no mapping"}]
    source = Source(written(tmp_path, [*odd, chatgpt()]), "chatgpt", "me")
    assert len(list(read_turns(source))) == 2
    assert source.skipped[UNREADABLE] == 2


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("mem0", [{"id": "1", "memory": "Likes tea"}, {"id": "2", "memory": "x", "created_at": "nope"}]),
        ("letta", {"messages": [{"role": "user", "text": "I like tea"}, {"role": "user", "created_at": "?"}]}),
        ("langgraph", [{"messages": [{"type": "human", "content": "I like tea"}, {"content": "x"}]}]),
        ("zep", {"messages": [{"role": "user", "content": "I like tea"}, {"content": "No role otters."}]}),
        ("zep", {"edges": [{"fact": "Likes tea"}, {"fact": "x", "valid_at": "nope"}]}),
    ],
)
def test_one_odd_message_keeps_no_other_out(tmp_path: Path, format: Format, document: object) -> None:
    source = Source(written(tmp_path, document), format, "me")
    assert len(list(read_turns(source))) == 1
    assert source.skipped.total() == 1


CLAUDE = {
    "uuid": "c2",
    "name": "Tea",
    "created_at": "2025-03-01T10:00:00.123456Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "I like tea", "content": [], "created_at": "2025-03-01T10:00:01Z"},
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "Noted. This block is not supported on your current device yet.",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Noted."},
                {"type": "tool_use", "input": {}},
            ],
        },
    ],
}


def test_a_claude_conversation_is_what_was_said_in_it(tmp_path: Path) -> None:
    first, second = turns(tmp_path, "claude", [CLAUDE])
    assert said([first, second]) == [("user", "I like tea"), ("assistant", "Noted.")]
    assert (first.conversation_id, first.tags, first.source_ids) == ("c2", ("Tea",), ("claude:m1",))
    assert second.created_at == datetime(2025, 3, 1, 10, 0, 2, tzinfo=UTC)


def test_of_a_claude_conversation_with_branches_one_is_read(tmp_path: Path) -> None:
    messages = [
        {"uuid": "m1", "sender": "human", "text": "q", "parent_message_uuid": "00000000-0000-4000-8000-000000000000"},
        {"uuid": "m2", "sender": "assistant", "text": "first", "parent_message_uuid": "m1"},
        {"uuid": "m3", "sender": "assistant", "text": "anew", "parent_message_uuid": "m1"},
    ]
    conversation = CLAUDE | {"chat_messages": messages, "current_leaf_message_uuid": "m3"}
    assert said(turns(tmp_path, "claude", conversation)) == [("user", "q"), ("assistant", "anew")]
    conversation["current_leaf_message_uuid"] = "m2"
    assert said(turns(tmp_path, "claude", conversation)) == [("user", "q"), ("assistant", "first")]


def test_claudes_own_notes_become_saved_ones(tmp_path: Path) -> None:
    memories = [{"conversations_memory": "Works in Vienna.\n\nLikes tea.", "project_memories": {"p1": "Uses uv."}}]
    content = zipped(conversations=[CLAUDE], memories=memories, users=[{}], **{"__MACOSX/conversations": b"junk"})
    notes = [turn for turn in turns(tmp_path, "claude", content, name="export.zip") if turn.manually_saved]
    assert [(turn.text, turn.type, turn.role) for turn in notes] == [
        ("Works in Vienna.", "note", "assistant"),
        ("Likes tea.", "note", "assistant"),
        ("Uses uv.", "note", "assistant"),
    ]


MEM0 = {
    "id": "892db2ae",
    "memory": "Prefers trains to planes",
    "hash": "x",
    "metadata": {"category": "travel"},
    "categories": ["travel"],
    "score": None,
    "created_at": "2025-07-26T08:44:41.039788-07:00",
    "updated_at": "2025-08-01T08:00:00Z",
    "user_id": "ann",
    "run_id": "r1",
}


@pytest.mark.parametrize(
    "document",
    [
        {"results": [MEM0]},
        [MEM0],
        MEM0,
        {"memories": [MEM0]},
        [{"count": 1, "results": [MEM0]}],
        {"count": 1, "next": None, "previous": None, "results": [MEM0]},
    ],
)
def test_a_memory_of_mem0_is_a_fact(tmp_path: Path, document: object) -> None:
    (turn,) = turns(tmp_path, "mem0", document)
    assert (turn.user_id, turn.conversation_id, turn.role, turn.text) == (
        "ann",
        "r1",
        "user",
        "Prefers trains to planes",
    )
    assert (turn.tags, turn.source_ids, turn.manually_saved) == (("travel",), ("mem0:892db2ae",), False)
    assert turn.created_at == datetime(2025, 8, 1, 8, tzinfo=UTC)
    assert turn.type is not None


def test_the_type_of_a_memory_is_what_it_says_or_what_the_text_tells(tmp_path: Path) -> None:
    memories = [
        {"id": 1, "memory": "Trains are fine", "metadata": {"type": "Decision"}},
        {"id": 2, "memory": "I prefer tea"},
        {"id": 3, "memory": "Vienna, third district"},
    ]
    assert [turn.type for turn in turns(tmp_path, "mem0", lines(*memories))] == ["decision", "preference", "fact"]


def test_zep_threads_and_facts(tmp_path: Path) -> None:
    threads = {
        "threads": [
            {
                "thread_id": "t1",
                "user_id": "ann",
                "messages": [
                    {
                        "uuid": "m1",
                        "role": "user",
                        "name": "Ann",
                        "content": "Hi",
                        "created_at": "2025-01-01T00:00:00Z",
                    },
                    {"uuid": "m2", "role_type": "assistant", "role": "Bot", "content": "Hello"},
                    {"uuid": "m3", "role": "tool", "content": "{}"},
                ],
                "facts": ["Ann greets people"],
            }
        ],
        "edges": [
            {"uuid": "e1", "fact": "Ann lives in Graz", "valid_at": "2024-05-01T00:00:00Z", "name": "LIVES_IN"},
            {"uuid": "e2", "fact": "Ann lives in Linz", "invalid_at": "2024-05-01T00:00:00Z"},
        ],
    }
    source = Source(written(tmp_path, threads), "zep", "me")
    found = {turn.text: turn for turn in read_turns(source)}
    assert list(found) == ["Ann lives in Graz", "Hi", "Hello", "Ann greets people"]
    assert [(turn.user_id, turn.conversation_id, turn.type) for turn in found.values()] == [
        ("me", "zep", "fact"),
        ("ann", "t1", None),
        ("ann", "t1", None),
        ("ann", "t1", "fact"),
    ]
    assert (found["Hi"].speaker, found["Hello"].speaker, found["Ann lives in Graz"].tags) == (
        "Ann",
        "Bot",
        ("lives in",),
    )
    assert found["Ann lives in Graz"].created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert source.skipped == {"of tools and systems": 1, "no longer valid": 1}


@pytest.mark.parametrize(
    "document", [[{"content": "Hi", "role": "user"}], {"items": [{"content": "Hi", "role": "user"}]}]
)
def test_a_page_of_zep_is_read_too(tmp_path: Path, document: object) -> None:
    assert said(turns(tmp_path, "zep", document)) == [("user", "Hi")]


def call(message: str) -> dict[str, Any]:
    return {"function": {"name": "send_message", "arguments": json.dumps({"message": message})}}


def test_a_letta_agent_is_its_messages_and_its_blocks(tmp_path: Path) -> None:
    event = json.dumps({"type": "user_message", "message": "I am Chad", "time": "2025-10-31 22:56 PM"})
    login = json.dumps({"type": "login", "last_login": "Never"})
    messages = [
        {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
        {"id": "message-1", "role": "user", "content": [{"type": "text", "text": event}]},
        {"id": "message-2", "role": "assistant", "content": "thinks", "tool_calls": [call("Hi Chad")]},
        {"id": "message-3", "role": "tool", "content": [{"type": "text", "text": "ok"}]},
        {"id": "message-4", "role": "user", "content": login},
        {
            "id": "message-5",
            "role": "assistant",
            "content": [{"type": "text", "text": "And you?"}],
            "created_at": "2025-10-31T22:56:56.459100+00:00",
        },
    ]
    document = {
        "agents": [{"id": "agent-0", "name": "sam", "messages": messages}],
        "blocks": [
            {"label": "human", "value": "First name: Chad\nLast name: ?\n\nLikes sailing", "id": "block-0"},
            {"label": "persona", "value": "I am Sam."},
        ],
    }
    source = Source(written(tmp_path, document, "sam.af"), "letta", "chad")
    found = list(read_turns(source))
    assert said(found) == [
        ("user", "I am Chad"),
        ("assistant", "Hi Chad"),
        ("assistant", "And you?"),
        ("user", "First name: Chad\nLast name: ?"),
        ("user", "Likes sailing"),
    ]
    assert [turn.manually_saved for turn in found] == [False, False, False, True, True]
    assert (found[0].conversation_id, found[3].tags) == ("sam", ("human",))
    assert source.skipped == {"of tools and systems": 2, "without text": 1}


def test_letta_passages_become_facts(tmp_path: Path) -> None:
    passages = [
        {"id": "passage-1", "text": "Chad sails", "created_at": "2025-01-01T00:00:00Z", "tags": ["sport"]},
        {"id": "passage-2", "text": "old", "is_deleted": True},
    ]
    (turn,) = turns(tmp_path, "letta", passages)
    assert (turn.text, turn.type, turn.tags, turn.source_ids) == (
        "Chad sails",
        "fact",
        ("sport",),
        ("letta:passage-1",),
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": "Likes tea"}, "Likes tea"),
        ({"kind": "Memory", "content": {"content": "Likes tea"}}, "Likes tea"),
        ({"name": "Ann", "age": 30, "x": []}, "name: Ann; age: 30"),
        ({"allergies": ["nuts", "soy", {}], "shoe size": 41}, "allergies: nuts, soy; shoe size: 41"),
    ],
)
def test_an_item_of_langgraph_is_a_fact(tmp_path: Path, value: object, text: str) -> None:
    item = {"namespace": ["memories", "ann"], "key": "k1", "value": value, "created_at": "2025-01-01T00:00:00+00:00"}
    (turn,) = turns(tmp_path, "langgraph", {"items": [item]})
    assert (turn.text, turn.conversation_id, turn.tags) == (text, "memories/ann", ("memories", "ann"))
    assert turn.source_ids == ("langgraph:memories/ann/k1",)
    assert turn.created_at == datetime(2025, 1, 1, tzinfo=UTC)


HUMAN, AI = {"type": "human", "content": "Hi", "id": "1"}, {"type": "ai", "content": "Hello", "id": "2"}
CONFIG = {"configurable": {"thread_id": "t1"}}


@pytest.mark.parametrize(
    "state",
    [
        {"messages": [HUMAN, AI], "thread_id": "t1"},
        {"values": {"messages": [HUMAN, AI]}, "config": CONFIG, "next": []},
        {"checkpoint": {"channel_values": {"messages": [HUMAN, AI]}, "ts": "2025-01-01T00:00:00Z"}, "config": CONFIG},
        {"messages": [{"type": "human", "data": HUMAN}, {"type": "ai", "data": AI}], "thread_id": "t1"},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "thread_id": "t1"},
        {
            "thread_id": "t1",
            "messages": [
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "messages", kind],
                    "kwargs": {"content": content},
                }
                for kind, content in (("HumanMessage", "Hi"), ("AIMessage", [{"type": "text", "text": "Hello"}]))
            ],
        },
    ],
)
def test_messages_of_langgraph_are_read_in_every_shape(tmp_path: Path, state: object) -> None:
    found = turns(tmp_path, "langgraph", [state])
    assert said(found) == [("user", "Hi"), ("assistant", "Hello")]
    assert {turn.conversation_id for turn in found} == {"t1"}


def test_a_message_that_several_states_have_is_one_turn_of_the_first(tmp_path: Path) -> None:
    history = [
        {"values": {"messages": [HUMAN, AI]}, "config": CONFIG, "created_at": "2025-01-02T00:00:00Z"},
        {"values": {"messages": [HUMAN]}, "config": CONFIG, "created_at": "2025-01-01T00:00:00Z"},
    ]
    first, second = turns(tmp_path, "langgraph", history)
    assert (first.text, first.created_at) == ("Hi", datetime(2025, 1, 1, tzinfo=UTC))
    assert (second.text, second.created_at) == ("Hello", datetime(2025, 1, 2, 0, 0, 1, tzinfo=UTC))


EXPORTS: list[tuple[Format, object]] = [
    ("chatgpt", [chatgpt()]),
    ("claude", [CLAUDE]),
    ("mem0", {"results": [MEM0]}),
    ("zep", {"messages": [{"role": "user", "content": "Hi", "uuid": "m"}], "facts": ["Ann sails"]}),
    ("letta", [{"id": "passage-1", "text": "Chad sails"}]),
    ("langgraph", [{"messages": [HUMAN, AI], "thread_id": "t1"}]),
]


@pytest.mark.parametrize(("format", "document"), EXPORTS, ids=[format for format, _ in EXPORTS])
def test_the_same_export_again_or_in_an_archive_is_the_same_turns(
    tmp_path: Path, format: Format, document: object
) -> None:
    ids = [turn.turn_id for turn in turns(tmp_path, format, document)]
    assert ids == [turn.turn_id for turn in turns(tmp_path, format, document, name="moved.json")]
    content = zipped(**{"data/conversations": document})
    assert ids == [turn.turn_id for turn in turns(tmp_path, format, content, name="export.zip")]
    assert len(set(ids)) == len(ids) > 0


@pytest.mark.parametrize(
    ("format", "document"), EXPORTS[:1] + EXPORTS[3:], ids=[f for f, _ in EXPORTS if f[0] != "m"][:4]
)
def test_whose_memory_it_is_has_to_be_said(tmp_path: Path, format: Format, document: object) -> None:
    assert problem(Source(written(tmp_path, document), format)).endswith("does not say whose memory it is: use --user")


def test_a_chatgpt_export_in_numbered_files_is_read_in_order(tmp_path: Path) -> None:
    parts = {f"conversations-00{n}": [chatgpt(conversation_id=f"c{n}")] for n in (1, 0)}
    found = turns(tmp_path, "chatgpt", zipped(**parts, chat=b"junk", user={}), name="export.zip")
    assert [turn.conversation_id for turn in found] == ["c0", "c0", "c1", "c1"]


def test_what_is_longer_than_allowed_is_left_out_and_counted(tmp_path: Path) -> None:
    document = [{"content": "x" * 100, "role": "user"}, {"content": "Hi", "role": "user"}]
    source = Source(written(tmp_path, document), "zep", "me", longest=99)
    assert said(list(read_turns(source))) == [("user", "Hi")]
    assert source.skipped == {"longer than 99 bytes": 1}


@pytest.mark.parametrize(
    ("format", "document", "wanted"),
    [
        ("chatgpt", [CLAUDE], "export.json: conversation 1: has no mapping: is it --format claude?"),
        ("claude", [chatgpt()], "export.json: item 1: has no chat_messages: is it --format chatgpt?"),
        ("mem0", {"profile": {}}, "export.json: has no memories in it; write what get_all gives into a file"),
        ("zep", {"profile": {}}, "export.json: has no messages and no facts in it; write what"),
        ("letta", {"profile": {}}, "export.json: item 1: is neither an agent (.af) nor a passage"),
        (
            "langgraph",
            {"profile": {}},
            "export.json: item 1: is neither an item (namespace, key, value) nor has it mess",
        ),
    ],
)
def test_another_file_is_refused_with_what_to_do(tmp_path: Path, format: Format, document: object, wanted: str) -> None:
    assert problem(Source(written(tmp_path, document, "export.json"), format, "me")).startswith(wanted)


def broken(content: bytes) -> bytes:
    """The archive with its compressed bytes changed."""
    at = content.index(b"conversations.json") + 30
    return content[:at] + bytes(byte ^ 0xFF for byte in content[at : at + 40]) + content[at + 40 :]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (zipped(chat={}), "export.zip: nothing in the archive is of this --format"),
        (zipped(conversations=b"{"), "export.zip: 'conversations.json': is not JSON"),
        (zipped(conversations=[chatgpt()])[:-30], "export.zip: the archive is damaged: File is not a zip file: downl"),
        (broken(zipped(conversations=[chatgpt()])), "export.zip: the archive is damaged: "),
        (
            zipped(chat={}, **{"in/conversations.zip": b"PK"}),
            "export.zip: nothing in the archive is of this --format, but 'in/conversations.zip' may be: unpack",
        ),
        (zipped(conversations=b'["caf\xe9"]'), "export.zip: 'conversations.json': is not UTF-8: save it as UTF-8"),
    ],
)
def test_an_archive_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes, wanted: str) -> None:
    assert problem(Source(written(tmp_path, content, "export.zip"), "chatgpt", "me")).startswith(wanted)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_DOCUMENT_BYTES", 10_000)
    monkeypatch.setattr(unpacking, "MAX_UNPACKED_BYTES", 15_000)
    bomb = Source(written(tmp_path, zipped(conversations=b" " * 1_000_000), "bomb.zip"), "chatgpt", "me")
    assert problem(bomb).startswith("bomb.zip: 'conversations.json': unpacks to more than 10,000 bytes")
    many = zipped(**{f"conversations-{n}": b"[]" + b" " * 6_000 for n in range(9)})
    assert "unpacks to more than" in problem(Source(written(tmp_path, many, "many.zip"), "chatgpt", "me"))


def test_paths_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    content = zipped(**{"../../evil/conversations": [chatgpt()]})
    before = {path for path in tmp_path.parent.rglob("*") if path.is_file()}
    assert len(turns(tmp_path, "chatgpt", content, name="export.zip")) == 2
    after = {path for path in tmp_path.parent.rglob("*") if path.is_file()}
    assert after - before == {tmp_path / "export.zip"}
