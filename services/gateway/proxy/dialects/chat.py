"""OpenAI's chat completions, as most backends speak them."""

from __future__ import annotations

from collections.abc import Iterator

from services.gateway.proxy.dialects.base import Asked, Dialect
from services.gateway.proxy.dialects.content import TEXT_KINDS, Json, items, kind_of, member, role_of
from services.gateway.proxy.dialects.events import EventReader, event

_NO_TOKENS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


class _ChunkReader(EventReader):
    def take(self, data: Json) -> None:
        delta = member(_first_choice(data), "delta")
        content = member(delta, "content")
        for part in items(content):
            self.say(member(part, "text") if kind_of(part) in TEXT_KINDS else None)
        self.say(content)
        self.say(member(delta, "audio", "transcript"))


class ChatDialect(Dialect):
    """Chat completions. The conversation is all in `messages`; what was said is the first choice."""

    name = "chat"
    reader = _ChunkReader

    def results(self, message: Json) -> list[Json]:
        """A result of a tool is a message of its own."""
        return [member(message, "content")] if role_of(message) == "tool" else []

    def events_of(self, body: Json) -> Iterator[Json]:
        """The first choice in one piece."""
        yield {"choices": [{"delta": member(_first_choice(body), "message")}]}

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**_head(asked, id, created, "chat.completion"), "choices": [choice], "usage": _NO_TOKENS}

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
        """The same answer as chunks; the last one tells of the tokens if the request wants it."""
        tells_usage = member(asked.stripped, "stream_options", "include_usage") is True
        head = _head(asked, id, created, "chat.completion.chunk") | ({"usage": None} if tells_usage else {})
        for delta, reason in (({"role": "assistant", "content": ""}, None), ({"content": text}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            yield event({**head, "choices": [choice]})
        if tells_usage:
            yield event({**head, "choices": [], "usage": _NO_TOKENS})
        yield b"data: [DONE]\n\n"


def _head(asked: Asked, id: str, created: int, kind: str) -> dict[str, Json]:
    return {"id": f"chatcmpl-{id}", "object": kind, "created": created, "model": asked.model}


def _first_choice(body: Json) -> Json:
    """The choice with index 0; a choice without an index is taken for it."""
    return next((choice for choice in items(member(body, "choices")) if member(choice, "index") in (0, None)), None)
