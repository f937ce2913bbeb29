"""Exports of whatever system: a later one has the same turns; an odd part, file or archive is told as what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import Format, Source, read_turns
from services.shared.commands.formats import documents as unpacking
from tests.cli.files import CLAUDE, chatgpt, node, problem, read, turns, written, zipped


def notes(*paragraphs: str) -> object:
    return [{"conversations_memory": "\n\n".join(paragraphs)}]


def projects(*paragraphs: str) -> object:
    return [{"project_memories": {"p1": "\n\n".join(paragraphs), "p2": None}}]


def chat(*texts: str) -> object:
    return [{"uuid": "c", "chat_messages": [{"sender": "human", "text": text} for text in texts]}]


def facts(*texts: str) -> object:
    return {"facts": list(texts)}


def edges(*texts: str) -> object:
    return {"edges": [{"fact": text, "created_at": "2025-01-01T00:00:00Z"} for text in texts]}


def thread(*texts: str) -> object:
    return {"thread_id": "t", "messages": [{"role": "user", "content": text} for text in texts]}


def agent(*texts: str) -> object:
    return {"name": "rita", "messages": [{"role": "user", "text": text} for text in texts]}


def agent_file(*texts: str) -> object:
    numbered = [{"role": "user", "content": text, "id": f"message-{place}"} for place, text in enumerate(texts)]
    return {"agents": [{"name": "rita", "messages": numbered}], "blocks": []}


def blocks(*texts: str) -> object:
    return {"agents": [], "blocks": [{"label": "human", "value": "\n\n".join(texts)}]}


def passages(*texts: str) -> object:
    return [{"text": text} for text in texts]


def state(*texts: str) -> object:
    return {"thread_id": "t", "messages": [{"type": "human", "content": text} for text in texts]}


def memories(*texts: str) -> object:
    return {"results": [{"memory": text} for text in texts]}


Made = Callable[..., object]
FORMAT_OF: dict[Made, Format] = {
    **dict.fromkeys((notes, projects, chat), "claude"),
    **dict.fromkeys((facts, edges, thread), "zep"),
    **dict.fromkeys((agent, agent_file, blocks, passages), "letta"),
    **{state: "langgraph", memories: "mem0"},
}


def each(*made: Made) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("made", made or FORMAT_OF, ids=lambda made: made.__name__)


@each()
def test_what_has_no_id_of_its_own_is_the_same_wherever_it_stands(tmp_path: Path, made: Made) -> None:
    def ids(*texts: str) -> dict[str, str | None]:
        return {turn.text: turn.turn_id for turn in turns(tmp_path, FORMAT_OF[made], made(*texts))}

    first, later = ids("I keep bees.", "I bind books."), ids("I bought a harp.", "I bind books.", "I keep bees.")
    assert {text: later[text] for text in first} == first
    assert len(set(later.values())) == 3
    assert ids("I bind books.")["I bind books."] == first["I bind books."]


@each()
def test_what_has_no_id_of_its_own_says_where_it_is_from_without_a_place(tmp_path: Path, made: Made) -> None:
    first, second = turns(tmp_path, FORMAT_OF[made], made("I keep bees.", "I bind books."))
    assert first.source_ids == second.source_ids
    assert first.source_ids[0].startswith(f"{FORMAT_OF[made]}:")


@each(chat, thread, agent, state)
def test_what_was_said_twice_is_two_messages(tmp_path: Path, made: Made) -> None:
    found = turns(tmp_path, FORMAT_OF[made], made("Yes.", "I keep bees.", "Yes."))
    assert len({turn.turn_id for turn in found}) == 3
    again = turns(tmp_path, FORMAT_OF[made], made("Yes.", "I keep bees.", "Yes.", "Yes."))
    assert [turn.turn_id for turn in again[:3]] == [turn.turn_id for turn in found]


@each(notes, facts, blocks, memories)
def test_what_is_noted_twice_is_one_fact(tmp_path: Path, made: Made) -> None:
    found, source = read(tmp_path, FORMAT_OF[made], made("I keep bees.", "I keep bees."))
    assert (len(found), source.skipped) == (1, {"said before": 1})


def test_messages_without_ids_are_told_apart_by_their_times(tmp_path: Path) -> None:
    def said_at(*hours: int) -> list[Turn]:
        messages = [{"role": "user", "text": "Yes.", "created_at": f"2025-01-01T0{hour}:00:00Z"} for hour in hours]
        return turns(tmp_path, "letta", {"name": "rita", "messages": messages})

    first, second = said_at(1, 2)
    assert first.turn_id != second.turn_id
    assert said_at(2, 3)[0].turn_id == second.turn_id


def test_who_says_the_same_is_told_apart_in_any_order(tmp_path: Path) -> None:
    def said_by(*names: str) -> dict[str | None, str | None]:
        messages = [{"role_type": "user", "role": name, "content": "Yes."} for name in names]
        return {turn.speaker: turn.turn_id for turn in turns(tmp_path, "zep", {"thread_id": "t", "messages": messages})}

    assert said_by("Kim", "Jo") == said_by("Jo", "Kim")
    assert len(set(said_by("Kim", "Jo").values())) == 2


def test_two_users_are_known_apart(tmp_path: Path) -> None:
    (one,), (other,) = (turns(tmp_path, "zep", facts("I keep bees."), user=user) for user in ("ann", "bert"))
    assert one.turn_id != other.turn_id


def test_a_note_of_claude_under_another_heading_is_the_same(tmp_path: Path) -> None:
    (first,), (later,) = (turns(tmp_path, "claude", notes(f"**{at}**", "Ann keeps bees.")) for at in ("Now", "Before"))
    assert (first.text, later.text) == ("Now\nAnn keeps bees.", "Before\nAnn keeps bees.")
    assert first.turn_id == later.turn_id


UNNAMED: list[tuple[Format, Callable[[str], dict[str, Any]]]] = [
    ("chatgpt", lambda text: chatgpt(conversation_id=None, mapping={text: node("user", text)}, current_node=text)),
    ("claude", lambda text: {"chat_messages": [{"sender": "human", "text": text}]}),
    ("zep", lambda text: {"messages": [{"role": "user", "content": text}]}),
]


@pytest.mark.parametrize(("format", "made"), UNNAMED, ids=[format for format, _ in UNNAMED])
def test_a_conversation_without_an_id_is_named_after_its_first_message(
    tmp_path: Path, format: Format, made: Callable[[str], dict[str, Any]]
) -> None:
    def names(*texts: str) -> list[str | None]:
        return [turn.conversation_id for turn in turns(tmp_path, format, [made(text) for text in texts])]

    bees, books = names("bees", "books")
    assert bees != books
    assert names("books", "bees") == [books, bees]
    assert names("books") == [books]
    assert books
    assert str(tmp_path) not in books


EXPORTS: dict[Format, object] = {
    "chatgpt": [chatgpt()],
    "claude": [CLAUDE],
    "mem0": {"results": [{"id": "1", "memory": "Prefers trains to planes", "user_id": "ann"}]},
    "zep": {"messages": [{"role": "user", "content": "Hi", "uuid": "m"}], "facts": ["Ann sails"]},
    "letta": [{"id": "passage-1", "text": "Chad sails"}],
    "langgraph": [{"messages": [{"type": "human", "content": "Hi", "id": "1"}], "thread_id": "t1"}],
}


@pytest.mark.parametrize("format", EXPORTS)
def test_the_same_export_again_or_in_an_archive_is_the_same_turns(tmp_path: Path, format: Format) -> None:
    document = EXPORTS[format]
    ids = [turn.turn_id for turn in turns(tmp_path, format, document)]
    assert ids == [turn.turn_id for turn in turns(tmp_path, format, document, name="moved.json")]
    content = zipped(**{"data/conversations": document})
    assert ids == [turn.turn_id for turn in turns(tmp_path, format, content, name="export.zip")]
    assert len(set(ids)) == len(ids) > 0


@pytest.mark.parametrize("format", [name for name in EXPORTS if name != "mem0"])
def test_whose_memory_it_is_has_to_be_said(tmp_path: Path, format: Format) -> None:
    told = problem(Source(written(tmp_path, EXPORTS[format]), format))
    assert told.endswith("does not say whose memory it is: use --user")


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
    found, source = read(tmp_path, format, document)
    assert (len(found), source.skipped.total()) == (1, 1)


def test_which_message_cannot_be_read_is_told(tmp_path: Path) -> None:
    _, source = read(tmp_path, "zep", {"messages": [{"role": "user", "content": "Hi"}, {"content": "\ud800"}, 7]})
    told = f"{source.path}: messages: message 3: Input should be a valid dictionary"
    assert source.unread == [told]
    assert list(read_turns(source))
    assert source.unread == [told]


def test_what_is_longer_than_allowed_is_left_out_and_counted(tmp_path: Path) -> None:
    source = Source(written(tmp_path, thread("x" * 100, "Hi")), "zep", "me", longest=99)
    assert [turn.text for turn in read_turns(source)] == ["Hi"]
    assert source.skipped == {"longer than 99 bytes": 1}


@pytest.mark.parametrize(
    ("format", "document", "wanted"),
    [
        ("chatgpt", [CLAUDE], "conversation 1: has no mapping: is it --format claude?"),
        ("chatgpt", [], "there is nothing in it: see services/cli/README.md"),
        ("chatgpt", None, "none of its 1 messages can be read: is it --format chatgpt?"),
        ("claude", [chatgpt()], "item 1: has no chat_messages: is it --format chatgpt?"),
        ("mem0", {"profile": {}}, "has no memories in it; write what get_all gives into a file"),
        ("zep", {"profile": {}}, "has no messages and no facts in it; write what"),
        ("letta", {"profile": {}}, "item 1: is neither an agent (.af) nor a passage"),
        ("langgraph", {"profile": {}}, "item 1: is neither an item (namespace, key, value) nor has it mess"),
    ],
)
def test_another_file_is_refused_with_what_to_do(tmp_path: Path, format: Format, document: object, wanted: str) -> None:
    assert problem(Source(written(tmp_path, document, "x.json"), format, "me")).startswith(f"x.json: {wanted}")


def broken(content: bytes) -> bytes:
    """The archive with its compressed bytes changed."""
    at = content.index(b"conversations.json") + 30
    return content[:at] + bytes(byte ^ 0xFF for byte in content[at : at + 40]) + content[at + 40 :]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (zipped(), "nothing in the archive is of this --format"),
        (zipped(chat={}), "nothing in the archive is of this --format"),
        (zipped(chat={}, **{"in/conversations.zip": b"PK"}), "nothing in the archive is of this --format, but 'in/c"),
        (zipped(conversations=b"{"), "'conversations.json': is not JSON"),
        (zipped(conversations=b'["caf\xe9"]'), "'conversations.json': is not UTF-8: save it as UTF-8"),
        (zipped(conversations=[chatgpt()])[:-30], "the archive is damaged: File is not a zip file: downl"),
        (broken(zipped(conversations=[chatgpt()])), "the archive is damaged: "),
    ],
)
def test_an_archive_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes, wanted: str) -> None:
    assert problem(Source(written(tmp_path, content, "x.zip"), "chatgpt", "me")).startswith(f"x.zip: {wanted}")


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
