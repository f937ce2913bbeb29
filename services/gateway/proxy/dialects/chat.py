"""OpenAI's chat completions, as most backends speak them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from services.gateway.proxy.dialects.base import (
    MOST_TEXT,
    NOWHERE,
    TEXT_KINDS,
    Asked,
    Json,
    Said,
    StreamReader,
    asked,
    items,
    member,
    put_in,
    role_of,
    said_in,
    string,
    text_of,
    without_memory_fields,
)
from services.gateway.proxy.dialects.events import DONE, EventReader, event
from services.shared.privacy.thoughts import without_thoughts


class ChatDialect:
    """Chat completions. The conversation is all in `messages`; what was said is the first choice."""

    name = "chat"
    path = "/chat/completions"

    def read(self, body: Json) -> Asked:
        """What the request says."""
        stripped = without_memory_fields(body)
        return asked(
            body,
            stripped,
            items(member(stripped, "messages")),
            is_users=lambda message: role_of(message) == "user",
            text=_text,
            history=lambda before: chain(*map(_said, before)),
            answers_tools=lambda message: role_of(message) == "tool",
            form=member(stripped, "response_format"),
        )

    def with_memory(self, asked: Asked, block: str, recent: Sequence[Said]) -> Json:
        """The body with recent turns before the newest user message, and the block in front of its text."""
        if asked.position == NOWHERE:
            return asked.stripped
        messages = put_in(asked.stripped["messages"], asked.position, block, recent, part="text")
        return {**asked.stripped, "messages": messages}

    def answer_text(self, body: Json) -> str:
        """What the assistant said: no refusal, no call of a tool, no thought."""
        message = member(_first_choice(body), "message")
        spoken = text_of(member(message, "content"), TEXT_KINDS) or string(
            member(member(message, "audio"), "transcript")
        )
        return without_thoughts(spoken[:MOST_TEXT])

    def answer_id(self, body: Json) -> str:
        """None: every request has all that was said."""
        return ""

    def reader(self) -> StreamReader:
        """A reader of one stream."""
        return _ChunkReader()

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        """An answer of our own, which took no tokens."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**_head(asked, id, created, "chat.completion"), "choices": [choice], "usage": _NO_TOKENS}

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
        """The same answer as chunks; the last one tells of the tokens if the request wants it."""
        tells_usage = member(member(asked.stripped, "stream_options"), "include_usage") is True
        head = _head(asked, id, created, "chat.completion.chunk") | ({"usage": None} if tells_usage else {})
        for delta, reason in (({"role": "assistant", "content": ""}, None), ({"content": text}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            yield event({**head, "choices": [choice]})
        if tells_usage:
            yield event({**head, "choices": [], "usage": _NO_TOKENS})
        yield b"data: " + DONE + b"\n\n"

    def error(self, status: int, message: str, code: str) -> Json:
        """An error as the API words it."""
        return openai_error(status, message, code)


def openai_error(status: int, message: str, code: str) -> Json:
    """An error as OpenAI words it."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


_NO_TOKENS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def _head(asked: Asked, id: str, created: int, kind: str) -> dict[str, Json]:
    return {"id": f"chatcmpl-{id}", "object": kind, "created": created, "model": asked.model}


def _text(message: Json) -> str:
    return said_in(role_of(message), member(message, "content"), TEXT_KINDS)


def _said(message: Json) -> Iterator[Said]:
    role = role_of(message)
    if role is not None:
        yield Said(role, _text(message))


def _first_choice(body: Json) -> Json:
    """The choice with index 0; a choice without an index is taken for it."""
    return next((choice for choice in items(member(body, "choices")) if member(choice, "index") in (0, None)), None)


class _ChunkReader(EventReader):
    def take(self, name: str, data: Json) -> None:
        choice = _first_choice(data)
        delta = member(choice, "delta")
        content = member(delta, "content")
        for part in content if isinstance(content, list) else ():
            self.say(member(part, "text") if member(part, "type") in TEXT_KINDS else None)
        self.say(content)
        self.say(member(member(delta, "audio"), "transcript"))
        if isinstance(member(choice, "finish_reason"), str):
            self.complete = True
