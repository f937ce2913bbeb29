"""What an assistant says, in answers and streams; and our own answers, as the SDKs of the providers read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from services.gateway.proxy.dialects import DIALECTS, Dialect
from services.gateway.proxy.dialects.events import MOST_EVENT, MOST_TEXT
from tests.gateway.proxy.dialects.talk import CHAT, MESSAGES, RESPONSES, STREAMS, ask, delta, heard, stream

ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
EACH = pytest.mark.parametrize(("dialect", "raw", "text"), STREAMS.values(), ids=STREAMS)


def read_by_sdk(dialect: Dialect) -> tuple[Any, Any]:
    """What the SDK reads an answer as, and each event. Imported here: every worker of a run imports this file."""
    if dialect is MESSAGES:
        from anthropic.types import Message, RawMessageStreamEvent

        return Message, RawMessageStreamEvent
    if dialect is RESPONSES:
        from openai.types.responses import Response, ResponseStreamEvent

        return Response, ResponseStreamEvent
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    return ChatCompletion, ChatCompletionChunk


@EACH
def test_a_stream_is_heard_however_it_is_cut(dialect: Dialect, raw: bytes, text: str) -> None:
    for ends in (b"\n", b"\r\n", b"\r"):
        sent = raw.replace(b"\r\n", b"\n").replace(b"\n", ends)
        assert {heard(dialect, sent, size) for size in (1, 2, 3, 7, 64, None)} == {text}


@ALL
def test_garbage_is_not_heard(dialect: Dialect) -> None:
    garbage = b"\xff\xfe\x00 data: \n\ndata: {\n\ndata: " + b"[" * 100_000 + b"\n\nevent: x\n\ndata\n\n\r\r\n"
    assert heard(dialect, garbage) == ""


@EACH
def test_what_is_too_long_is_left_out_and_the_rest_is_heard(dialect: Dialect, raw: bytes, text: str) -> None:
    long = b'data: {"type": "x", "data": "' + b"y" * (2 * MOST_EVENT) + b'"}\n\n'
    assert heard(dialect, long + raw, 65_536) == text
    lines = (b"data: " + b"y" * 1000 + b"\n") * 2000 + b"\n"
    assert heard(dialect, lines + raw, 65_536) == text


@ALL
def test_a_reader_keeps_a_bounded_part(dialect: Dialect) -> None:
    reader = dialect.reader()
    piece = "y" * 10_000
    events = {
        CHAT.name: delta(piece),
        RESPONSES.name: {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece},
        MESSAGES.name: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}},
    }
    for _ in range(100):
        reader.feed(stream(events[dialect.name]))
    assert len(reader.text) == MOST_TEXT
    for _ in range(100):
        reader.feed(b"y" * 100_000)  # a line without end
    assert len(reader._rest) <= MOST_EVENT


def test_halves_of_a_character_are_put_together() -> None:
    assert heard(CHAT, stream(delta("\ud83d"), delta("\ude00 \ud83d"))) == "😀 �"


@ALL
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>tea?</think>\n\nTea.", "Tea."),
        ("hm\n</think>\n\nTea.", "Tea."),
        ("Tea.\n<reasoning>\nhm", "Tea."),
        ("<think>still at it", ""),
        ("Write <think> in brackets", "Write <think> in brackets"),
    ],
)
def test_thoughts_in_a_text_are_not_said(dialect: Dialect, text: str, said: str) -> None:
    asked = ask(dialect, [])
    assert dialect.answer_text(dialect.spoken(text, asked, id="1", created=1)) == said
    assert heard(dialect, b"".join(dialect.spoken_stream(text, asked, id="1", created=1)), 7) == said


def test_chat_says_its_first_choice() -> None:
    choices: list[Any] = [
        {"index": 1, "message": {"content": "second"}},
        {"index": 0, "message": {"content": "first", "reasoning_content": "hm", "tool_calls": [{}]}},
    ]
    assert CHAT.answer_text({"choices": choices}) == "first"
    assert CHAT.answer_text({"choices": [{"index": 0, "message": {"content": None, "refusal": "no"}}]}) == ""
    spoken = {"content": None, "audio": {"data": "AAAA", "transcript": "Tea."}}
    assert CHAT.answer_text({"choices": [{"index": 0, "message": spoken}]}) == "Tea."


def test_a_content_in_parts_is_heard_as_in_a_whole_answer() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Tea."}]
    assert heard(CHAT, stream(delta(parts))) == "Tea."
    assert CHAT.answer_text({"choices": [{"index": 0, "message": {"content": parts}}]}) == "Tea."


def test_a_response_says_the_text_of_its_messages() -> None:
    output: list[Any] = [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
        {
            "type": "message",
            "content": [{"type": "output_text", "text": "Te"}, {"type": "output_text", "text": "a."}],
        },
        {"type": "function_call", "arguments": "{}"},
        {"type": "message", "content": [{"type": "refusal", "refusal": "no"}, {"type": "output_text", "text": "Hm"}]},
    ]
    assert RESPONSES.answer_text({"output": output}) == "Tea.\n\nHm"


def test_a_message_says_its_texts() -> None:
    content: list[Any] = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Te"},
        {"type": "text", "text": "a."},
        {"type": "tool_use", "input": {}},
        {"type": "text", "text": "Hm"},
    ]
    assert MESSAGES.answer_text({"content": content}) == "Tea.\n\nHm"


@ALL
def test_our_answer_is_one_of_the_api(dialect: Dialect) -> None:
    answer = dialect.spoken("Done.", ask(dialect, []), id="1", created=1)
    whole, _ = read_by_sdk(dialect)
    parsed = whole.model_validate(answer)
    assert dialect.answer_text(answer) == "Done."
    texts: dict[str, Callable[[Any], str]] = {
        "chat": lambda whole: whole.choices[0].message.content,
        "responses": lambda whole: whole.output_text,
        "messages": lambda whole: whole.content[0].text,
    }
    assert texts[dialect.name](parsed) == "Done."


@ALL
def test_our_stream_is_one_of_the_api(dialect: Dialect) -> None:
    events = b"".join(dialect.spoken_stream("Grüß dich", ask(dialect, []), id="1", created=1))
    assert heard(dialect, events, 5) == "Grüß dich"
    data = [line.removeprefix("data: ") for line in events.decode().splitlines() if line.startswith("data: ")]
    _, event = read_by_sdk(dialect)
    model = TypeAdapter(event)
    parsed = [model.validate_json(each) for each in data if each != "[DONE]"]
    assert len(parsed) > 2
    assert (data[-1] == "[DONE]") == (dialect is CHAT)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_chat_tells_its_tokens_if_it_is_asked(wanted: bool) -> None:
    asked = ask(CHAT, [], stream_options={"include_usage": wanted})
    *chunks, _ = b"".join(CHAT.spoken_stream("Tea.", asked, id="1", created=1)).split(b"data: ")[1:]
    told = [json.loads(chunk).get("usage", "-") for chunk in chunks]
    none = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert told == ([None, None, None, none] if wanted else ["-"] * 3)


@ALL
@pytest.mark.parametrize("status", [400, 401, 404, 413, 418, 429, 500, 503])
def test_our_errors_are_those_of_the_api(dialect: Dialect, status: int) -> None:
    error = dialect.error(status, "Set this.", "unset")
    assert error["error"]["message"] == "Set this."
    assert error["error"]["type"].endswith(("_error", "_large"))
    assert (error["error"]["type"] in ("server_error", "api_error", "overloaded_error")) == (status >= 500)
    assert error.get("type") == ("error" if dialect is MESSAGES else None)
