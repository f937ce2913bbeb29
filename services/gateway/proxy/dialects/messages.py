"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator

from services.gateway.proxy.dialects.base import Asked, Dialect
from services.gateway.proxy.dialects.content import Json, items, kind_of, member, role_of, said_in
from services.gateway.proxy.dialects.events import EventReader, event

_RESULT = "tool_result"
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


class _MessageReader(EventReader):
    def __init__(self) -> None:
        super().__init__()
        self._is_cut = False

    def take(self, data: Json) -> None:
        match kind_of(data):
            case "content_block_start":
                block = member(data, "content_block")
                self._is_cut = self._is_cut or kind_of(block) != "text"
                self._hear(block, "text")
            case "content_block_delta":
                self._hear(member(data, "delta"), "text_delta")

    def _hear(self, part: Json, kind: str) -> None:
        text = member(part, "text")
        if kind_of(part) != kind or not isinstance(text, str) or not text:
            return
        if self._is_cut and self._said:
            self.say(_BETWEEN)
        self._is_cut = False
        self.say(text)


class MessagesDialect(Dialect):
    """Messages. Results of tools stand in messages of the user; one of nothing else is no question."""

    name = "messages"
    instructions = "system"
    reader = _MessageReader

    def is_users(self, message: Json) -> bool:
        """Whether the user says or shows something in it; beside results a program may have texts of its own."""
        if role_of(message) != "user" or not self.results(message):
            return role_of(message) == "user"
        shown = (part for part in items(member(message, "content")) if kind_of(part) not in ("text", _RESULT))
        return bool(said_in(message)) or any(True for _ in shown)

    def results(self, message: Json) -> list[Json]:
        """Results of tools are parts."""
        return [member(part, "content") for part in items(member(message, "content")) if kind_of(part) == _RESULT]

    def events_of(self, body: Json) -> Iterator[Json]:
        """Its blocks, each in one piece. Those of text side by side are one text."""
        for block in items(member(body, "content")):
            yield {"type": "content_block_start", "content_block": block}

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        return {**_begun(asked, id), "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
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
