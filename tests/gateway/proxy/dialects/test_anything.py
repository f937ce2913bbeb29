"""Whatever a request, an answer or a stream is, a dialect reads it, and changes nothing but the one place."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.gateway.proxy.dialects import DIALECTS, BadField, Dialect, Said
from tests.gateway.proxy.dialects.talk import BLOCK, STREAMS, heard

EACH = pytest.mark.parametrize(("dialect", "raw", "text"), STREAMS.values(), ids=STREAMS)

WORDS = (
    "role", "content", "type", "text", "user", "assistant", "developer", "tool", "tool_result", "input_text",
    "output_text", "messages", "input", "output", "message", "choices", "delta", "index", "memory_id", "stream",
    "memory_top_k", "previous_response_id", "function_call_output", "instructions", "system", "cache_control",
)  # fmt: skip
NAME = st.sampled_from(WORDS) | st.text(max_size=5)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | NAME | st.just("\ud800")
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=4), max_leaves=8
)

TEXT = st.text(max_size=20)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "input_text", "image", "tool_result"]), "text": TEXT},
    optional={"cache_control": st.just({"type": "ephemeral"}), "content": TEXT},
)
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system", "developer", "tool"]),
        "content": TEXT | st.lists(PART, max_size=4) | st.none(),
    },
    optional={"name": TEXT, "x": JSON},
)
SAID = st.builds(Said, st.sampled_from(["user", "assistant", "tool"]), TEXT.filter(bool))


@settings(max_examples=80, deadline=None)
@given(body=JSON)
def test_any_body_is_read_or_its_field_is_refused(body: Any) -> None:
    before = copy.deepcopy(body)
    for dialect in DIALECTS.values():
        with suppress(BadField):
            asked = dialect.read(body)
            dialect.with_memory(asked, BLOCK, [Said("user", "a"), Said("assistant", "b")])
            dialect.spoken("t", asked, id="i", created=1)
            list(dialect.spoken_stream("t", asked, id="i", created=1))
        dialect.answer_text(body)
        heard(dialect, b"data: " + json.dumps(body).encode() + b"\n\n", 64)
    assert repr(body) == repr(before)


@settings(max_examples=80, deadline=None)
@given(messages=st.lists(MESSAGE, max_size=6), recent=st.lists(SAID, max_size=4), extra=JSON)
def test_nothing_changes_but_the_one_place(messages: list[Any], recent: list[Said], extra: Any) -> None:
    for dialect in DIALECTS.values():
        _check_the_place(dialect, messages, recent, extra)


def _check_the_place(dialect: Dialect, messages: list[Any], recent: list[Said], extra: Any) -> None:
    name = dialect.place
    body = {"model": "m", name: messages, "extra": extra}
    asked = dialect.read(body)
    told = dialect.with_memory(asked, BLOCK, recent)
    assert list(told) == list(body)
    assert (told["model"], repr(told["extra"])) == ("m", repr(extra))  # NaN is not equal to itself
    at = asked.position
    if at < 0:
        assert repr(told) == repr(body)
        return
    added = len(told[name]) - len(messages)
    assert repr(told[name][:at]) == repr(messages[:at])
    assert repr(told[name][at + added + 1 :]) == repr(messages[at + 1 :])
    roles = [message["role"] for message in told[name][at : at + added]]
    assert roles == ["user", "assistant"] * (added // 2)
    _check_the_newest(messages[at], told[name][at + added])


def _check_the_newest(before: Any, after: Any) -> None:
    """Its text is behind the block, its parts are in order, and nothing else differs."""
    assert repr({**after, "content": 0}) == repr({**before, "content": 0})
    match before["content"]:
        case None:
            assert after["content"] is None
        case str() as text:
            assert after["content"].endswith(f"{BLOCK}\n\n{text}")
        case parts:
            (put,) = [part for part in after["content"] if part.get("text", "").endswith(BLOCK)]
            assert [part for part in after["content"] if part is not put] == parts
            behind = after["content"][after["content"].index(put) :]
            assert not any("cache_control" in part for part in behind)


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(st.binary(max_size=40) | st.sampled_from([b"data: ", b"\n\n", b"event: x\n", b"\r", b"{}"])))
def test_any_bytes_are_a_stream(pieces: list[bytes]) -> None:
    for dialect in DIALECTS.values():
        reader = dialect.reader()
        for piece in pieces:
            reader.feed(piece)
        assert reader.text == heard(dialect, b"".join(pieces))


@EACH
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_cut_of_a_stream_gives_the_same_text(dialect: Dialect, raw: bytes, text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=10)))
    reader = dialect.reader()
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        reader.feed(raw[begin:end])
    assert reader.text == text
