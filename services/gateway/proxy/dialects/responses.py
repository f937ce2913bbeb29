"""OpenAI's responses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from services.gateway.proxy.dialects.base import Asked, Dialect
from services.gateway.proxy.dialects.content import Json, items, kind_of, member, string
from services.gateway.proxy.dialects.events import EventReader, event

_OURS = "resp_memorybus_"  # ids of our own answers, which the provider does not know
_NAME = re.compile(rf"{_OURS}(chat-[0-9a-f]{{16}})_")
_BETWEEN = "\n\n"


class _ResponseReader(EventReader):
    def __init__(self) -> None:
        super().__init__()
        self._message: object = None
        self._heard: set[tuple[str, str]] = set()

    def take(self, data: Json) -> None:
        kind = kind_of(data)
        self.answer_id = self.answer_id or string(member(data, "response", "id"))
        if kind in ("response.output_text.delta", "response.output_text.done"):
            self._hear(data, is_delta=kind.endswith("delta"))

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


class ResponsesDialect(Dialect):
    """Responses. What was said before may lie with the provider: then the newest input is all there is."""

    name = "responses"
    place = "input"
    instructions = "instructions"
    part = "input_text"
    reader = _ResponseReader

    def read(self, body: Json) -> Asked:
        """What the request says, and what it goes on from."""
        talk = member(body, "conversation")
        return replace(
            super().read(body),
            behind=string(member(body, "previous_response_id")),
            talk=string(member(talk, "id") if isinstance(talk, dict) else talk),
            has_id=True,
        )

    def stripped(self, body: Json) -> Json:
        """The body that goes on after the provider's last response where ours is in between."""
        body = super().stripped(body)
        before = member(body, "previous_response_id")
        if not isinstance(before, str) or not before.startswith(_OURS):
            return body
        theirs = before.partition(".")[2]
        rest = {name: value for name, value in body.items() if name != "previous_response_id"}
        return {**rest, "previous_response_id": theirs} if theirs else rest

    def messages(self, stripped: Json) -> list[Json]:
        """The items of the input; a text is a message of the user."""
        given = member(stripped, self.place)
        return [{"role": "user", "content": given}] if isinstance(given, str) else items(given)

    def results(self, message: Json) -> list[Json]:
        """A result of a tool is an item of its own."""
        is_result = kind_of(message).endswith(("_output", "_approval_response"))
        return [member(message, "output")] if is_result else []

    def events_of(self, body: Json) -> Iterator[Json]:
        """The texts of its messages, each in one piece."""
        for at, item in enumerate(items(member(body, "output"))):
            for place, part in enumerate(items(member(item, "content")) if kind_of(item) == "message" else ()):
                if kind_of(part) == "output_text":
                    where = {"output_index": at, "content_index": place}
                    yield {"type": "response.output_text.done", **where, "text": member(part, "text")}

    def answer_id(self, body: Json) -> str:
        """The id of the response."""
        return string(member(body, "id"))

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        return {
            **_head(asked, id, created),
            "status": "completed",
            "completed_at": created,
            "output": [_message(id, "completed", [_part(text)])],
            "usage": _NO_TOKENS,
        }

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
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


_NO_TOKENS = {
    "input_tokens": 0,
    "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def _head(asked: Asked, id: str, created: int) -> dict[str, Json]:
    """What every response tells. Its id carries that of the response before it: see `ResponsesDialect.stripped`."""
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


def named_in(answer_id: str) -> str:
    """The name of the conversation that the id of an answer of our own carries; empty in other ids."""
    return found[1] if (found := _NAME.match(answer_id)) else ""
