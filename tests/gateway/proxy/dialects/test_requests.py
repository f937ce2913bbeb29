"""What a request says, and where memories go in it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from services.gateway.proxy.dialects import DIALECTS, BadField, Dialect, Said
from services.gateway.proxy.dialects.wishes import Wishes
from tests.gateway.proxy.dialects.talk import BLOCK, CHAT, MESSAGES, RESPONSES, ask, body, told

ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)

TALK = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "  Tea or coffee? "},
]
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "21 degrees"}
MARK = {"type": "ephemeral"}

LOOPS: list[tuple[Dialect, list[Any]]] = [
    (CHAT, [{"role": "assistant", "tool_calls": []}, {"role": "tool", "tool_call_id": "t", "content": "21"}]),
    (RESPONSES, [{"type": "function_call", "call_id": "t"}, {"type": "function_call_output", "output": "21"}]),
    (MESSAGES, [{"role": "assistant", "content": []}, {"role": "user", "content": [RESULT]}]),
]


@ALL
def test_the_newest_user_text_is_the_question_and_all_before_it_is_history(dialect: Dialect) -> None:
    asked = ask(dialect, TALK, stream=True)
    assert (asked.question, asked.position, asked.answering_tools) == ("Tea or coffee?", 2, False)
    assert asked.history == (Said("user", "Hi"), Said("assistant", "Hello"))
    assert (asked.stream, asked.model) == (True, "m")


@ALL
def test_the_block_stands_in_front_of_the_newest_text(dialect: Dialect) -> None:
    assert told(dialect, TALK) == [*TALK[:2], {"role": "user", "content": f"{BLOCK}\n\n  Tea or coffee? "}]


@ALL
def test_recent_turns_come_before_the_newest_message_by_turns(dialect: Dialect) -> None:
    recent = [
        Said("assistant", "cut off"),
        Said("user", "a"),
        Said("tool", "t"),
        Said("user", "b"),
        Said("assistant", "c"),
        Said("user", "unanswered"),
    ]
    assert told(dialect, [{"role": "user", "content": "q"}], recent) == [
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": f"unanswered\n\n{BLOCK}\n\nq"},
    ]


@ALL
def test_without_block_and_turns_nothing_changes(dialect: Dialect) -> None:
    given = body(dialect, TALK)
    asked = dialect.read(given)
    assert asked.stripped is given
    assert dialect.with_memory(asked, "", ()) == given


@ALL
@pytest.mark.parametrize("name", ["memory_topk", "memory_", "memory_Id"])
def test_a_field_of_memory_that_is_misspelt_is_refused(dialect: Dialect, name: str) -> None:
    with pytest.raises(BadField, match=f"{name}.*memory_id, memory_top_k, memory_incognito"):
        ask(dialect, TALK, **{name: None})


@ALL
def test_fields_of_memory_are_read_and_taken_out(dialect: Dialect) -> None:
    given = body(dialect, TALK, memory_id="trip", memory_top_k=200, memory_incognito=True, memories=1)
    untouched = copy.deepcopy(given)
    asked = dialect.read(given)
    assert asked.wishes == Wishes(memory_id="trip", memory_top_k=200, memory_incognito=True)
    assert asked.stripped == body(dialect, TALK, memories=1)  # not ours
    dialect.with_memory(asked, BLOCK, ())
    assert given == untouched
    nothing = ask(dialect, TALK, memory_id=None, memory_top_k=None, memory_incognito=None)
    assert nothing.wishes == Wishes()
    assert nothing.stripped == body(dialect, TALK)


@pytest.mark.parametrize("top_k", [0, 201, -1, True, "5", 5.0, [5], 10**30])
def test_a_number_of_memories_out_of_bounds_is_refused(top_k: Any) -> None:
    with pytest.raises(BadField, match="memory_top_k has to be a whole number from 1 to 200"):
        ask(CHAT, TALK, memory_top_k=top_k)


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb", 7, ["a"], "\ud800"])
def test_a_conversation_without_a_usable_name_is_refused(name: Any) -> None:
    with pytest.raises(BadField, match="memory_id has to be the name of a conversation"):
        ask(CHAT, TALK, memory_id=name)


def test_incognito_is_true_or_false() -> None:
    with pytest.raises(BadField, match="memory_incognito has to be true or false"):
        ask(CHAT, TALK, memory_incognito="yes")


@pytest.mark.parametrize(("dialect", "loop"), LOOPS, ids=lambda value: getattr(value, "name", ""))
def test_in_a_loop_of_tools_question_and_place_stay(dialect: Dialect, loop: list[Any]) -> None:
    asked = ask(dialect, [*TALK, *loop])
    assert (asked.question, asked.position, asked.answering_tools) == ("Tea or coffee?", 2, True)
    assert told(dialect, [*TALK, *loop]) == [*told(dialect, TALK), *loop]


@pytest.mark.parametrize(("dialect", "loop"), LOOPS, ids=lambda value: getattr(value, "name", ""))
def test_after_a_loop_of_tools_the_next_text_is_a_new_question(dialect: Dialect, loop: list[Any]) -> None:
    asked = ask(dialect, [*TALK, *loop, {"role": "user", "content": "And now?"}])
    assert (asked.question, asked.position, asked.answering_tools) == ("And now?", 5, False)
    assert [said for said in asked.history if said.role == "tool"] == [Said("tool", asked.history[-1].text)]


@pytest.mark.parametrize(("dialect", "kind"), [(CHAT, "text"), (RESPONSES, "input_text"), (MESSAGES, "text")])
def test_of_parts_the_text_counts_and_the_block_becomes_one(dialect: Dialect, kind: str) -> None:
    picture = {"type": "image", "source": {"type": "url"}}
    parts = [picture, {"type": kind, "text": "What is"}, {"type": kind, "text": "this?"}]
    assert ask(dialect, [{"role": "user", "content": parts}]).question == "What is\nthis?"
    (message,) = told(dialect, [{"role": "user", "content": parts}])
    assert message["content"] == [picture, {"type": kind, "text": BLOCK}, *parts[1:]]


@ALL
def test_a_picture_alone_is_no_question(dialect: Dialect) -> None:
    asked = ask(dialect, [*TALK, {"role": "user", "content": [{"type": "image", "source": {}}]}])
    assert (asked.question, asked.position) == (None, 3)


def test_developers_speak_as_the_system_and_functions_as_tools() -> None:
    messages = [{"role": "developer", "content": "Be brief"}, {"role": "function", "content": "3"}, TALK[0]]
    assert ask(CHAT, messages).history == (Said("system", "Be brief"), Said("tool", "3"))


def test_instructions_beside_the_messages_are_history() -> None:
    assert ask(RESPONSES, TALK[:1], instructions="Be brief").history == (Said("system", "Be brief"),)
    system = [{"type": "text", "text": "Be brief", "cache_control": MARK}]
    assert ask(MESSAGES, TALK[:1], system=system).history == (Said("system", "Be brief"),)


def test_results_beside_a_text_of_the_user_stay_in_front() -> None:
    content = [RESULT, {"type": "text", "text": "Stop, rather this"}]
    asked = ask(MESSAGES, [*TALK, {"role": "user", "content": content}])
    assert (asked.question, asked.position, asked.answering_tools) == ("Stop, rather this", 3, False)
    last = told(MESSAGES, [*TALK, {"role": "user", "content": content}])[-1]
    assert last["content"] == [RESULT, {"type": "text", "text": BLOCK}, content[1]]


@pytest.mark.parametrize("dialect", [CHAT, MESSAGES], ids=lambda dialect: dialect.name)
def test_the_block_comes_after_the_marks_of_the_prompt_cache(dialect: Dialect) -> None:
    first = {"type": "text", "text": "a long document", "cache_control": MARK}
    question = {"type": "text", "text": "What does it say?"}
    marked = {**question, "cache_control": MARK}
    block = {"type": "text", "text": BLOCK}
    for parts, wanted in (
        ([first, question], [first, block, question]),
        ([first, marked], [first, marked, block]),
    ):
        assert told(dialect, [{"role": "user", "content": parts}]) == [{"role": "user", "content": wanted}]


def test_a_text_as_input_stays_a_text() -> None:
    assert ask(RESPONSES, "Tea?").question == "Tea?"
    assert told(RESPONSES, "Tea?") == f"{BLOCK}\n\nTea?"
    assert told(RESPONSES, "Tea?", [Said("user", "Hi"), Said("assistant", "Hello")]) == [
        *TALK[:2],
        {"role": "user", "content": f"{BLOCK}\n\nTea?"},
    ]


@pytest.mark.parametrize("kept", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_what_was_said_before_may_be_kept_by_the_provider(kept: dict[str, Any]) -> None:
    only_results = ask(RESPONSES, [{"type": "function_call_output", "call_id": "t", "output": "21"}], **kept)
    assert (only_results.question, only_results.answering_tools, only_results.is_kept_there) == (None, True, True)


@pytest.mark.parametrize("before", [None, "resp_68a.b-1"])
def test_after_an_answer_of_ours_the_providers_last_one_counts(before: str | None) -> None:
    fields = {"previous_response_id": before} if before else {}
    ours = ask(RESPONSES, "forget that", **fields)
    answer = RESPONSES.spoken("Done.", ours, id="1.2", created=1)
    again = RESPONSES.spoken("Done.", ask(RESPONSES, "and that", previous_response_id=answer["id"]), id="3", created=1)
    after = ask(RESPONSES, "Tea?", previous_response_id=again["id"])
    assert after.stripped == body(RESPONSES, "Tea?", **fields)


SCHEMA = {"type": "json_schema", "json_schema": {"name": "city", "schema": {"type": "object"}}}
FORMED = [
    (CHAT, {"response_format": SCHEMA}),
    (CHAT, {"response_format": {"type": "json_object"}}),
    (CHAT, {"tool_choice": "required"}),
    (CHAT, {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    (CHAT, {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}}),
    (RESPONSES, {"text": {"format": SCHEMA}}),
    (RESPONSES, {"tool_choice": {"type": "function", "name": "f"}}),
    (RESPONSES, {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}}),
    (MESSAGES, {"output_config": {"format": SCHEMA}}),
    (MESSAGES, {"output_format": SCHEMA}),
    (MESSAGES, {"tool_choice": {"type": "any"}}),
    (MESSAGES, {"tool_choice": {"type": "tool", "name": "f"}}),
]
FREE: list[tuple[Dialect, dict[str, Any]]] = [
    (CHAT, {}),
    (CHAT, {"response_format": {"type": "text"}, "tool_choice": "auto"}),
    (CHAT, {"response_format": None, "tool_choice": None}),
    (CHAT, {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}}),
    (CHAT, {"response_format": [1], "tool_choice": [{}]}),
    (RESPONSES, {"text": {"format": {"type": "text"}, "verbosity": "low"}, "tool_choice": "none"}),
    (RESPONSES, {"text": "json", "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}),
    (MESSAGES, {"output_config": {"effort": "low"}, "tool_choice": {"type": "auto"}}),
    (MESSAGES, {"tool_choice": {"type": "none"}}),
]


@pytest.mark.parametrize(("dialect", "fields"), FORMED)
def test_an_answer_that_has_to_be_json_or_a_call_is_no_prose(dialect: Dialect, fields: dict[str, Any]) -> None:
    assert ask(dialect, TALK, **fields).wants_form


@pytest.mark.parametrize(("dialect", "fields"), FREE)
def test_an_answer_that_need_not_be_json_may_be_prose(dialect: Dialect, fields: dict[str, Any]) -> None:
    assert not ask(dialect, TALK, **fields).wants_form
