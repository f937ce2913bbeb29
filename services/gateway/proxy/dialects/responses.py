"""OpenAI's responses."""

from __future__ import annotations

import re
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
    kind_of,
    member,
    put_in,
    role_of,
    said_in,
    string,
    text_of,
    without_memory_fields,
)
from services.gateway.proxy.dialects.chat import openai_error
from services.gateway.proxy.dialects.events import EventReader, event
from services.shared.privacy.thoughts import without_thoughts

_OURS = "resp_memorybus_"  # ids of our own answers, which the provider does not know
_NAME = re.compile(rf"{_OURS}(chat-[0-9a-f]{{16}})_")
_BETWEEN = "\n\n"


class ResponsesDialect:
    """Responses. What was said before may lie with the provider: then the newest input is all there is."""

    name = "responses"
    path = "/responses"

    def read(self, body: Json) -> Asked:
        """What the request says."""
        stripped = _without_our_ids(without_memory_fields(body))
        given = member(stripped, "input")
        instructions = Said("system", string(member(stripped, "instructions")))
        talk = member(stripped, "conversation")
        return asked(
            body,
            stripped,
            [{"role": "user", "content": given}] if isinstance(given, str) else items(given),
            is_users=lambda item: role_of(item) == "user",
            text=_text,
            history=lambda before: chain([instructions], *map(_said, before)),
            answers_tools=_is_result,
            form=member(member(stripped, "text"), "format"),
            behind=string(member(body, "previous_response_id")),
            talk=string(member(talk, "id") if isinstance(talk, dict) else talk),
            has_id=True,
        )

    def with_memory(self, asked: Asked, block: str, recent: Sequence[Said]) -> Json:
        """The body with the block in front of the newest text; recent turns only where the provider has none."""
        if asked.position == NOWHERE:
            return asked.stripped
        recent = () if asked.is_kept_there else recent
        given = asked.stripped["input"]
        inputs = [{"role": "user", "content": given}] if isinstance(given, str) else given
        inputs = put_in(inputs, asked.position, block, recent, part="input_text")
        is_plain = isinstance(given, str) and len(inputs) == 1
        return {**asked.stripped, "input": inputs[0]["content"] if is_plain else inputs}

    def answer_text(self, body: Json) -> str:
        """What the assistant said: no refusal, no call of a tool, no reasoning."""
        messages = (item for item in items(member(body, "output")) if kind_of(item) == "message")
        return without_thoughts(_BETWEEN.join(filter(None, map(_output_text, messages)))[:MOST_TEXT])

    def answer_id(self, body: Json) -> str:
        """The id of the response."""
        return string(member(body, "id"))

    def reader(self) -> StreamReader:
        """A reader of one stream."""
        return _ResponseReader()

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        """An answer of our own, which took no tokens."""
        return {
            **_head(asked, id, created),
            "status": "completed",
            "completed_at": created,
            "output": [_message(id, "completed", [_part(text)])],
            "usage": _NO_TOKENS,
        }

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
        """The same answer as events."""
        begun = {**_head(asked, id, created), "status": "in_progress", "output": [], "usage": None}
        place = {"output_index": 0}
        part = {**place, "item_id": f"msg_{id}", "content_index": 0}
        events: list[tuple[str, Json]] = [
            ("created", {"response": begun}),
            ("in_progress", {"response": begun}),
            ("output_item.added", {**place, "item": _message(id, "in_progress", [])}),
            ("content_part.added", {**part, "part": _part("")}),
            ("output_text.delta", {**part, "delta": text, "logprobs": []}),
            ("output_text.done", {**part, "text": text, "logprobs": []}),
            ("content_part.done", {**part, "part": _part(text)}),
            ("output_item.done", {**place, "item": _message(id, "completed", [_part(text)])}),
            ("completed", {"response": self.spoken(text, asked, id=id, created=created)}),
        ]
        for number, (name, data) in enumerate(events):
            kind = f"response.{name}"
            yield event({"type": kind, "sequence_number": number, **data}, kind)

    def error(self, status: int, message: str, code: str) -> Json:
        """An error as the API words it."""
        return openai_error(status, message, code)


_NO_TOKENS = {
    "input_tokens": 0,
    "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def _head(asked: Asked, id: str, created: int) -> dict[str, Json]:
    """What every response tells. Its id carries that of the response before it: see `_without_our_ids`."""
    before = string(member(asked.stripped, "previous_response_id"))
    return {
        "id": f"{_OURS}{id.replace('.', '')}" + (f".{before}" if before else ""),
        "object": "response",
        "created_at": created,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": asked.model,
        "parallel_tool_calls": True,
        "previous_response_id": before or None,
        "tool_choice": "auto",
        "tools": [],
    }


def _message(id: str, status: str, content: list[Json]) -> Json:
    return {"id": f"msg_{id}", "type": "message", "status": status, "role": "assistant", "content": content}


def _part(text: str) -> Json:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _without_our_ids(body: Json) -> Json:
    """The body that goes on after the provider's last response where ours is in between."""
    before = member(body, "previous_response_id")
    if not isinstance(before, str) or not before.startswith(_OURS):
        return body
    theirs = before.partition(".")[2]
    rest = {name: value for name, value in body.items() if name != "previous_response_id"}
    return {**rest, "previous_response_id": theirs} if theirs else rest


def named_in(answer_id: str) -> str:
    """The name of the conversation that the id of an answer of our own carries; empty in other ids."""
    return found[1] if (found := _NAME.match(answer_id)) else ""


def _text(item: Json) -> str:
    return said_in(role_of(item), member(item, "content"), TEXT_KINDS)


def _said(item: Json) -> Iterator[Said]:
    role = role_of(item)
    if role is not None:
        yield Said(role, _text(item))
    elif _is_result(item):
        yield Said("tool", text_of(member(item, "output"), TEXT_KINDS))


def _is_result(item: Json) -> bool:
    return kind_of(item).endswith(("_output", "_approval_response"))


def _output_text(message: Json) -> str:
    parts = (part for part in items(member(message, "content")) if kind_of(part) == "output_text")
    return "".join(string(member(part, "text")) for part in parts)


class _ResponseReader(EventReader):
    def __init__(self) -> None:
        super().__init__()
        self._message: object = None
        self._heard: set[tuple[str, str]] = set()

    def take(self, name: str, data: Json) -> None:
        kind = kind_of(data) or name
        self.answer_id = self.answer_id or string(member(member(data, "response"), "id"))
        if kind in ("response.output_text.delta", "response.output_text.done"):
            self._hear(data, is_delta=kind.endswith("delta"))
        elif kind in ("response.completed", "response.incomplete"):
            self.complete = True

    def _hear(self, data: Json, *, is_delta: bool) -> None:
        """Take a text. The whole of one at its end counts only where none of its pieces came."""
        message = repr(member(data, "output_index"))[:32]
        part = (message, repr(member(data, "content_index"))[:32])
        text = member(data, "delta" if is_delta else "text")
        if not isinstance(text, str) or not text or (not is_delta and part in self._heard):
            return
        if self._said and message != self._message:
            self.say(_BETWEEN)
        self._message = message
        if len(self._heard) < 1024:
            self._heard.add(part)
        self.say(text)
