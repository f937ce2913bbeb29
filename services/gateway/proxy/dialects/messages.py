"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from services.gateway.proxy.dialects.base import (
    MOST_TEXT,
    NOWHERE,
    Asked,
    Json,
    Said,
    StreamReader,
    asked,
    items,
    kind_of,
    member,
    put_in,
    role_of,
    said_in,
    string,
    text_of,
    without_memory_fields,
)
from services.gateway.proxy.dialects.events import EventReader, event
from services.shared.privacy.thoughts import without_thoughts

_TEXT = ("text",)
_RESULT = "tool_result"
_OF_TOOLS = (*_TEXT, _RESULT)
_BETWEEN = "\n\n"
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class MessagesDialect:
    """Messages. Results of tools stand in messages of the user; one of nothing else is no question."""

    name = "messages"
    path = "/v1/messages"

    def read(self, body: Json) -> Asked:
        """What the request says."""
        stripped = without_memory_fields(body)
        system = Said("system", text_of(member(stripped, "system"), _TEXT))
        return asked(
            body,
            stripped,
            items(member(stripped, "messages")),
            is_users=_is_users_own,
            text=_text,
            history=lambda before: chain([system], *map(_said, before)),
            answers_tools=lambda message: bool(_results(message)),
            form=member(member(stripped, "output_config"), "format") or member(stripped, "output_format"),
        )

    def with_memory(self, asked: Asked, block: str, recent: Sequence[Said]) -> Json:
        """The body with recent turns before the newest user message, and the block in front of its text."""
        if asked.position == NOWHERE:
            return asked.stripped
        messages = put_in(asked.stripped["messages"], asked.position, block, recent, part="text")
        return {**asked.stripped, "messages": messages}

    def answer_text(self, body: Json) -> str:
        """What the assistant said: no call of a tool, no thought. Blocks of text side by side are one text."""
        said = ""
        is_cut = False
        for block in items(member(body, "content")):
            text = string(member(block, "text")) if kind_of(block) == "text" else ""
            said += f"{_BETWEEN}{text}" if text and is_cut and said else text
            is_cut = kind_of(block) != "text" or (is_cut and not text)
        return without_thoughts(said[:MOST_TEXT])

    def answer_id(self, body: Json) -> str:
        """None: every request has all that was said."""
        return ""

    def reader(self) -> StreamReader:
        """A reader of one stream."""
        return _MessageReader()

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        """An answer of our own, which took no tokens."""
        return {**_begun(asked, id), "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
        """The same answer as events."""
        ended = {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 0}}
        events: list[tuple[str, Json]] = [
            ("message_start", {"message": _begun(asked, id)}),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", ended),
            ("message_stop", {}),
        ]
        for name, data in events:
            yield event({"type": name, **data}, name)

    def error(self, status: int, message: str, code: str) -> Json:
        """An error as the API words it; it has no place for a code."""
        kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}


def _begun(asked: Asked, id: str) -> dict[str, Json]:
    return {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _text(message: Json) -> str:
    return said_in(role_of(message), member(message, "content"), _TEXT)


def _results(message: Json) -> list[Json]:
    return [part for part in items(member(message, "content")) if kind_of(part) == _RESULT]


def _is_users_own(message: Json) -> bool:
    """Whether the user says or shows something in it; beside results a program may have texts of its own."""
    if role_of(message) != "user" or not _results(message):
        return role_of(message) == "user"
    return bool(_text(message)) or any(kind_of(part) not in _OF_TOOLS for part in items(member(message, "content")))


def _said(message: Json) -> Iterator[Said]:
    for result in _results(message):
        yield Said("tool", text_of(member(result, "content"), _TEXT))
    role = role_of(message)
    if role is not None:
        yield Said(role, _text(message))


class _MessageReader(EventReader):
    def __init__(self) -> None:
        super().__init__()
        self._is_cut = False

    def take(self, name: str, data: Json) -> None:
        match kind_of(data) or name:
            case "content_block_start":
                block = member(data, "content_block")
                self._is_cut = self._is_cut or kind_of(block) != "text"
                self._hear(block, "text")
            case "content_block_delta":
                self._hear(member(data, "delta"), "text_delta")
            case "message_stop":
                self.complete = True

    def _hear(self, part: Json, kind: str) -> None:
        text = member(part, "text")
        if kind_of(part) != kind or not isinstance(text, str) or not text:
            return
        if self._is_cut and self._said:
            self.say(_BETWEEN)
        self._is_cut = False
        self.say(text)
