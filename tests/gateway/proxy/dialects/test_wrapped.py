"""Requests in which a program wrapped something around what a person said, and answers with thoughts in them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from services.gateway.proxy.dialects import DIALECTS, Dialect
from tests.gateway.proxy.dialects.talk import (
    BLOCK,
    CHAT,
    MESSAGES,
    RESPONSES,
    ask,
    body,
    told,
)

ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
REMINDER = "<system-reminder>\nUse tabs. The maintainer lives in Tromsø.\n</system-reminder>"
SAID = "My deploy server is heron."


def user(dialect: Dialect, *texts: str) -> dict[str, Any]:
    """A message of the user with these parts."""
    return {"role": "user", "content": [{"type": dialect.part, "text": text} for text in texts]}


@ALL
def test_what_was_typed_is_the_question_and_the_opening(dialect: Dialect) -> None:
    asked = ask(dialect, [user(dialect, REMINDER, SAID)])
    assert (asked.question, asked.opening, asked.position) == (SAID, SAID, 0)
    assert asked.as_sent(0) == f"{REMINDER}\n{SAID}"


@ALL
def test_a_message_that_a_program_made_is_neither_unanswered_nor_the_opening(dialect: Dialect) -> None:
    asked = ask(dialect, [user(dialect, REMINDER), user(dialect, "I like tea."), user(dialect, SAID)])
    assert (asked.question, asked.opening) == (SAID, "I like tea.")
    assert [text for _, text in asked.unanswered] == ["I like tea."]
    assert [said.text for said in asked.history] == ["I like tea."]


@ALL
def test_in_a_message_of_a_program_alone_nothing_is_asked(dialect: Dialect) -> None:
    answer = {"role": "assistant", "content": "Noted."}
    asked = ask(dialect, [{"role": "user", "content": SAID}, answer, user(dialect, REMINDER)])
    assert (asked.question, asked.position) == (None, 2)


@ALL
def test_a_picture_beside_what_a_program_says_begins_a_chat(dialect: Dialect) -> None:
    picture = {"type": "image", "data": "abc"}
    message = user(dialect, REMINDER)
    shown = {**message, "content": [*message["content"], picture]}
    other = {**message, "content": [*message["content"], {**picture, "data": "abd"}]}
    assert ask(dialect, [shown]).opening != ask(dialect, [other]).opening


@pytest.mark.parametrize(
    ("dialect", "loop"),
    [
        (CHAT, [{"role": "assistant", "tool_calls": []}, {"role": "tool", "tool_call_id": "t", "content": "21"}]),
        (RESPONSES, [{"type": "function_call", "call_id": "t"}, {"type": "function_call_output", "output": "21"}]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_reminder_behind_a_result_is_no_new_question(dialect: Dialect, loop: list[Any]) -> None:
    asked = ask(dialect, [user(dialect, SAID), *loop, user(dialect, REMINDER)])
    assert (asked.question, asked.position, asked.answering_tools) == (SAID, 0, True)


def test_a_reminder_beside_a_result_is_no_new_question() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "21"}
    beside = {"role": "user", "content": [result, {"type": "text", "text": REMINDER}]}
    asked = ask(MESSAGES, [user(MESSAGES, SAID), {"role": "assistant", "content": []}, beside])
    assert (asked.question, asked.position, asked.answering_tools) == (SAID, 0, True)
    said = {"role": "user", "content": [result, {"type": "text", "text": "And now?"}]}
    assert ask(MESSAGES, [user(MESSAGES, SAID), {"role": "assistant", "content": []}, said]).question == "And now?"


@ALL
def test_bytes_of_a_program_go_to_the_model_as_they_are(dialect: Dialect) -> None:
    messages = [user(dialect, REMINDER, SAID), {"role": "assistant", "content": "Hm."}, user(dialect, REMINDER, "Why?")]
    untouched = copy.deepcopy(messages)
    asked = ask(dialect, messages)
    assert asked.stripped == body(dialect, untouched)
    newest = {**messages[2], "content": [{"type": dialect.part, "text": BLOCK}, *messages[2]["content"]]}
    assert told(dialect, messages) == [*untouched[:2], newest]


@ALL
def test_rules_that_the_system_prompt_ends_with_are_not_said(dialect: Dialect) -> None:
    rules = "Answer as a *file listing*:\n\nname\n```\nall of it\n```\n\nReply in English."
    messages = [{"role": "developer", "content": f"You write code.\n\n{rules}"}] if dialect != MESSAGES else []
    system = {"system": f"You write code.\n\n{rules}"} if dialect == MESSAGES else {}
    asked = ask(dialect, [*messages, user(dialect, f"{SAID}\n\n{rules}\n")], **system)
    assert (asked.question, asked.opening) == (SAID, SAID)
    asked = ask(dialect, [*messages, {"role": "user", "content": f"{SAID}\n\n{rules}\n"}], **system)
    assert asked.question == SAID


@ALL
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (f'"{SAID}"', SAID),
        ('"I say \\"hi\\" to Ida."', 'I say "hi" to Ida.'),
        ('"Hi" and "bye" are words', '"Hi" and "bye" are words'),
        ('"Hi" she said "bye"', '"Hi" she said "bye"'),
        ('"heron"', '"heron"'),
    ],
)
def test_what_a_program_put_between_quotation_marks_as_a_whole_was_said(dialect: Dialect, sent: str, said: str) -> None:
    assert ask(dialect, [user(dialect, REMINDER, sent)]).question == said


@ALL
def test_thoughts_in_a_history_are_not_what_the_assistant_said(dialect: Dialect) -> None:
    answer = {"role": "assistant", "content": "<thinking>tea?</thinking>\nTea."}
    asked = ask(dialect, [{"role": "user", "content": "Hi"}, answer, {"role": "user", "content": "Why?"}])
    assert [said.text for said in asked.history] == ["Hi", "Tea."]
