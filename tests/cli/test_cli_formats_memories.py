"""What Mem0, Zep, Letta and LangGraph remember and heard, as these export it: facts, and what was said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.shared.commands.formats import Source, read_turns
from tests.cli.files import lines, read, turns, written

MORE = "pages of larger results, whose other pages are not in the file"
ENDING = "with an end to come, which memory does not keep"

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
TWO = [{"id": "1", "memory": "Likes tea"}, {"id": "2", "memory": "Likes jazz"}]
NEXT = "https://x/?page=2"


@pytest.mark.parametrize(
    "document",
    [
        MEM0,
        [MEM0],
        {"results": [MEM0]},
        {"memories": [MEM0]},
        {"count": 1, "next": None, "previous": None, "results": [MEM0]},
        [{"count": 1, "results": [MEM0]}],
    ],
)
def test_a_memory_of_mem0_is_a_fact(tmp_path: Path, document: object) -> None:
    (turn,) = turns(tmp_path, "mem0", document)
    assert (turn.user_id, turn.conversation_id, turn.role) == ("ann", "r1", "user")
    assert (turn.text, turn.manually_saved) == ("Prefers trains to planes", False)
    assert (turn.tags, turn.source_ids) == (("travel",), ("mem0:892db2ae",))
    assert turn.created_at == datetime(2025, 8, 1, 8, tzinfo=UTC)
    assert turn.type is not None


def test_the_type_of_a_memory_is_what_it_says_or_what_the_text_tells(tmp_path: Path) -> None:
    memories = [
        {"id": 1, "memory": "Trains are fine", "metadata": {"type": "Decision"}},
        {"id": 2, "memory": "I prefer tea"},
        {"id": 3, "memory": "Vienna, third district"},
    ]
    assert [turn.type for turn in turns(tmp_path, "mem0", lines(*memories))] == ["decision", "preference", "fact"]


def test_an_agent_of_mem0_is_a_persona(tmp_path: Path) -> None:
    memories = [{"id": "1", "memory": "I prefer tea", "agent_id": agent} for agent in ("cook", "coach", None)]
    found = turns(tmp_path, "mem0", lines(*memories))
    assert [turn.persona_id for turn in found] == ["cook", "coach", None]
    assert len({turn.turn_id for turn in found}) == 3


def test_what_mem0_added_is_told_from_what_it_removed_or_left(tmp_path: Path) -> None:
    events = ("ADD", "UPDATE", "DELETE", "NONE")
    found, source = read(tmp_path, "mem0", {"results": [{"memory": event, "event": event} for event in events]})
    assert (found, source.skipped) == (["ADD", "UPDATE"], {"deleted there": 1, "without a change": 1})


def test_a_memory_of_mem0_that_has_expired_is_left_out_and_that_one_ends_one_day_is_told(tmp_path: Path) -> None:
    days = ("2020-01-31", datetime.now(UTC).date().isoformat(), "2990-01-31")
    memories = [{"id": day, "memory": f"Until {day}", "expiration_date": day} for day in days]
    found, source = read(tmp_path, "mem0", lines(*memories))
    assert found == [f"Until {day}" for day in days[1:]]
    assert (source.skipped, source.notes) == ({"no longer valid": 1}, {ENDING: 2})


@pytest.mark.parametrize(
    ("document", "more"),
    [
        ({"count": 4, "next": NEXT, "results": TWO}, True),
        ({"next": NEXT, "results": TWO}, True),
        ({"count": 4, "next": None, "previous": "https://x/", "results": TWO}, True),
        ([{"count": 4, "next": NEXT, "results": TWO}] * 2, False),
        ({"count": 2, "next": None, "results": TWO}, False),
        (TWO, False),
    ],
)
def test_a_page_of_mem0_is_told_from_all_of_it(tmp_path: Path, document: object, more: bool) -> None:
    assert read(tmp_path, "mem0", document)[1].notes == ({MORE: 1} if more else {})


def test_zep_threads_and_facts(tmp_path: Path) -> None:
    messages = [
        {"uuid": "m1", "role": "user", "name": "Ann", "content": "Hi", "created_at": "2025-01-01T00:00:00Z"},
        {"uuid": "m2", "role_type": "assistant", "role": "Bot", "content": "Hello"},
        {"uuid": "m3", "role": "tool", "content": "{}"},
    ]
    edges = [
        {"uuid": "e1", "fact": "Ann lives in Graz", "valid_at": "2024-05-01T00:00:00Z", "name": "LIVES_IN"},
        {"uuid": "e2", "fact": "Ann lives in Linz", "invalid_at": "2024-05-01T00:00:00Z"},
    ]
    threads = [{"thread_id": "t1", "user_id": "ann", "messages": messages, "facts": ["Ann greets people"]}]
    source = Source(written(tmp_path, {"threads": threads, "edges": edges}), "zep", "me")
    found = {turn.text: turn for turn in read_turns(source)}
    assert [(turn.text, turn.user_id, turn.conversation_id, turn.type) for turn in found.values()] == [
        ("Ann lives in Graz", "me", "zep", "fact"),
        ("Hi", "ann", "t1", None),
        ("Hello", "ann", "t1", None),
        ("Ann greets people", "ann", "t1", "fact"),
    ]
    assert (found["Hi"].speaker, found["Hello"].speaker) == ("Ann", "Bot")
    assert found["Ann lives in Graz"].tags == ("lives in",)
    assert found["Ann lives in Graz"].created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert source.skipped == {"of tools and systems": 1, "no longer valid": 1}


def test_a_page_of_zep_is_read_and_told_from_all_of_a_thread(tmp_path: Path) -> None:
    message = {"content": "Hi", "role": "user"}
    for document in ([message], {"items": [message]}):
        assert read(tmp_path, "zep", document)[0] == ["Hi"]
    for total, more in ((2, True), (1, False), (None, False)):
        page = {"thread_id": "t", "messages": [message], "total_count": total, "facts": ["x"]}
        assert read(tmp_path, "zep", page)[1].notes == ({MORE: 1} if more else {})
        assert read(tmp_path, "zep", [page, page])[1].notes == {}


def test_a_fact_of_zep_counts_while_it_holds_and_that_it_ends_one_day_is_told(tmp_path: Path) -> None:
    facts = [
        {"fact": "Jane starts at Initech.", "valid_at": "2990-01-01T00:00:00Z", "created_at": "2025-01-01T00:00:00Z"},
        {"fact": "Jane rents a room.", "invalid_at": "2020-01-01T00:00:00Z"},
        {"fact": "Jane rents a flat.", "invalid_at": "2990-01-01T00:00:00Z"},
        {"fact": "Jane sails.", "valid_at": "2020-01-01T00:00:00Z"},
    ]
    found, source = read(tmp_path, "zep", {"edges": facts})
    assert found == ["Jane rents a flat.", "Jane sails."]
    assert (source.skipped, source.notes) == ({"not valid yet": 1, "no longer valid": 1}, {ENDING: 1})


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
    for file, day in (
        (agents | {"blocks": [block]}, 1),
        (agents | {"blocks": [block], "created_at": "2024-04-02T10:00:00Z"}, 2),
        ({"messages": [], "core_memory": [block | {"created_at": "2024-04-03T10:00:00"}]}, 3),
    ):
        assert turns(tmp_path, "letta", file)[-1].created_at == datetime(2024, 4, day, 10, tzinfo=UTC)


def part(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def test_a_letta_agent_is_its_messages_and_its_blocks(tmp_path: Path) -> None:
    event = json.dumps({"type": "user_message", "message": "I am Chad", "time": "2025-10-31 22:56 PM"})
    call = {"function": {"name": "send_message", "arguments": json.dumps({"message": "Hi Chad"})}}
    at = "2025-10-31T22:56:56.459100+00:00"
    messages = [
        {"id": "message-0", "role": "system", "content": part("You are Sam.")},
        {"id": "message-1", "role": "user", "content": part(event)},
        {"id": "message-2", "role": "assistant", "content": "thinks", "tool_calls": [call]},
        {"id": "message-3", "role": "tool", "content": part("ok")},
        {"id": "message-4", "role": "user", "content": json.dumps({"type": "login", "last_login": "Never"})},
        {"id": "message-5", "role": "assistant", "content": part("And you?"), "created_at": at},
    ]
    human = {"label": "human", "value": "First name: Chad\nLast name: ?\n\nLikes sailing", "id": "block-0"}
    document = {
        "agents": [{"id": "agent-0", "name": "sam", "messages": messages}],
        "blocks": [human, {"label": "persona", "value": "I am Sam."}],
    }
    source = Source(written(tmp_path, document, "sam.af"), "letta", "chad")
    found = list(read_turns(source))
    assert [(turn.role, turn.text, turn.manually_saved) for turn in found] == [
        ("user", "I am Chad", False),
        ("assistant", "Hi Chad", False),
        ("assistant", "And you?", False),
        ("user", "First name: Chad\nLast name: ?", True),
        ("user", "Likes sailing", True),
    ]
    assert (found[0].conversation_id, found[3].tags) == ("sam", ("human",))
    assert source.skipped == {"of tools and systems": 2, "without text": 1}


def test_letta_passages_become_facts_unless_they_are_deleted(tmp_path: Path) -> None:
    sails = {"id": "passage-1", "text": "Chad sails", "created_at": "2025-01-01T00:00:00Z", "tags": ["sport"]}
    source = Source(written(tmp_path, [sails, {"text": "old", "is_deleted": True}]), "letta", "me")
    (turn,) = read_turns(source)
    assert (turn.text, turn.type, turn.tags) == ("Chad sails", "fact", ("sport",))
    assert turn.source_ids == ("letta:passage-1",)
    assert source.skipped == {"deleted there": 1}


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
CONSTRUCTED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": {"content": content}}
    for kind, content in (("HumanMessage", "Hi"), ("AIMessage", part("Hello")))
]


@pytest.mark.parametrize(
    "state",
    [
        {"messages": [HUMAN, AI], "thread_id": "t1"},
        {"values": {"messages": [HUMAN, AI]}, "config": CONFIG, "next": []},
        {"checkpoint": {"channel_values": {"messages": [HUMAN, AI]}, "ts": "2025-01-01T00:00:00Z"}, "config": CONFIG},
        {"messages": [{"type": "human", "data": HUMAN}, {"type": "ai", "data": AI}], "thread_id": "t1"},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "thread_id": "t1"},
        {"messages": CONSTRUCTED, "thread_id": "t1"},
    ],
)
def test_messages_of_langgraph_are_read_in_every_shape(tmp_path: Path, state: object) -> None:
    found = turns(tmp_path, "langgraph", [state])
    assert [(turn.role, turn.text) for turn in found] == [("user", "Hi"), ("assistant", "Hello")]
    assert {turn.conversation_id for turn in found} == {"t1"}


def test_a_message_that_several_states_have_is_one_turn_of_the_first(tmp_path: Path) -> None:
    history = [
        {"values": {"messages": [HUMAN, AI]}, "config": CONFIG, "created_at": "2025-01-02T00:00:00Z"},
        {"values": {"messages": [HUMAN]}, "config": CONFIG, "created_at": "2025-01-01T00:00:00Z"},
        {"values": {}, "config": {}},
    ]
    source = Source(written(tmp_path, lines(*history)), "langgraph", "me")
    first, second = read_turns(source)
    assert (first.text, first.created_at) == ("Hi", datetime(2025, 1, 1, tzinfo=UTC))
    assert (second.text, second.created_at) == ("Hello", datetime(2025, 1, 2, 0, 0, 1, tzinfo=UTC))
    assert source.skipped == {"said before": 1, "without text": 1}, "a state that is empty as yet keeps no other out"


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
    found, source = read(tmp_path, "langgraph", ordered)
    assert (found, source.skipped["of branches not taken"]) == (["q", "taken"], 2)


def test_threads_of_langgraph_do_not_leave_each_other_out(tmp_path: Path) -> None:
    states = [checkpoint("platform", number, None, f"m{number}") for number in (1, 2)]
    states[1]["checkpoint"] = {"thread_id": "other", "checkpoint_id": "1"}
    assert read(tmp_path, "langgraph", states)[0] == ["m1", "m2"]
