"""Requests and streams as the three APIs have them, for the tests of the dialects."""

from __future__ import annotations

import json
from typing import Any

from services.gateway.proxy.dialects import DIALECTS, Asked, Dialect

CHAT = DIALECTS["/v1/chat/completions"]
RESPONSES = DIALECTS["/v1/responses"]
MESSAGES = DIALECTS["/v1/messages"]

BLOCK = "<memory>\n- likes tea\n</memory>"


def body(dialect: Dialect, messages: Any, **fields: Any) -> dict[str, Any]:
    """A request with these messages."""
    return {"model": "m", dialect.place: messages, **fields}


def ask(dialect: Dialect, messages: Any, **fields: Any) -> Asked:
    """What a request with these messages says."""
    return dialect.read(body(dialect, messages, **fields))


def told(dialect: Dialect, messages: Any, recent: Any = (), **fields: Any) -> Any:
    """The messages as the backend gets them, with `BLOCK` put in."""
    return dialect.with_memory(ask(dialect, messages, **fields), BLOCK, recent)[dialect.place]


def stream(*events: Any, named: bool = False) -> bytes:
    """Events on the wire; `named`, with their types as names."""
    return b"".join(
        (f"event: {event['type']}\n" if named else "").encode() + b"data: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    )


def heard(dialect: Dialect, raw: bytes, size: int | None = None) -> str:
    """The text of a stream that comes in pieces of this size."""
    reader = dialect.reader()
    for at in range(0, len(raw), size or len(raw) or 1):
        reader.feed(raw[at : at + (size or len(raw))])
    return reader.text


def delta(content: Any, index: int = 0, **fields: Any) -> dict[str, Any]:
    """A chunk of chat completions."""
    choice = {"index": index, "delta": {"content": content, **fields}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


CHAT_STREAM = (
    stream(
        delta("", role="assistant"),
        delta(None, reasoning_content="hm"),
        delta("Grüß"),
        delta("nothing", index=1),
        delta(" dich 👋"),
        delta(None, refusal="no"),
        delta(None, tool_calls=[{"index": 0, "id": "t", "function": {"name": "f", "arguments": "{"}}]),
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 3}},
    )
    + b": a comment\r\n\r\ndata: [DONE]\n\n"
)

RESPONSES_STREAM = stream(
    {"type": "response.created", "response": {"id": "r"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}},
    {"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "hm"},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Grüß"},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": " dich"},
    {"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "Grüß dich"},
    {"type": "response.refusal.delta", "output_index": 1, "content_index": 1, "delta": "no"},
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{"},
    {"type": "response.output_text.done", "output_index": 3, "content_index": 0, "text": "👋"},
    {"type": "response.completed", "response": {"id": "r", "output": []}},
    named=True,
)

MESSAGES_STREAM = stream(
    {"type": "message_start", "message": {"content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grüß"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " dich"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "content_block_start", "index": 3, "content_block": {"type": "text", "text": "👋"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
    named=True,
)

STREAMS = {
    CHAT.name: (CHAT, CHAT_STREAM, "Grüß dich 👋"),
    RESPONSES.name: (RESPONSES, RESPONSES_STREAM, "Grüß dich\n\n👋"),
    MESSAGES.name: (MESSAGES, MESSAGES_STREAM, "Grüß dich\n\n👋"),
}
"""A stream of each dialect, and what the assistant says in it."""
