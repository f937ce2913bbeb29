"""Whatever a file contains, it is turns or one error that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.shared.commands.formats import Format, FormatError, Source, read_turns
from tests.cli.files import A_TURN, written

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.text(min_size=1, max_size=8)
DATES = st.sampled_from(["1:56 pm on 8 May, 2023", "11:59 pm on 31 December, 9999", "2026-02-01T10:00:00Z", 1769936400])


def an_object(**usual: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Mostly what is expected, each field sometimes missing and sometimes anything."""
    fields = {name: value | ANYTHING for name, value in usual.items()}
    return st.fixed_dictionaries({}, optional=fields) | st.fixed_dictionaries(dict(usual))


PARTS = st.lists(an_object(type=st.just("text"), text=WORDS), max_size=2)
MESSAGE = an_object(role=st.sampled_from(["user", "assistant", "tool"]), content=WORDS | PARTS, created_at=DATES)
CONVERSATION = an_object(messages=st.lists(MESSAGE, max_size=3), id=WORDS | st.integers())
TURNS = st.lists(an_object(speaker=WORDS, dia_id=WORDS, text=WORDS, blip_caption=WORDS), max_size=3)
SAMPLE = an_object(sample_id=WORDS, conversation=an_object(session_1=TURNS, session_1_date_time=DATES))
LINE = an_object(**{name: st.just(value) for name, value in A_TURN.items()}, created_at=DATES)

NAMES = st.sampled_from(["a", "b", "\x1b[2J", ""])
NODE = an_object(message=an_object(author=an_object(role=WORDS), content=an_object(parts=PARTS)), parent=NAMES)
CHATGPT = an_object(mapping=st.dictionaries(NAMES, NODE, max_size=3), current_node=NAMES, create_time=DATES)
SENT = an_object(
    sender=st.sampled_from(["human", "assistant"]), text=WORDS, content=PARTS, created_at=DATES, uuid=NAMES
)
CLAUDE = an_object(chat_messages=st.lists(SENT, max_size=3), current_leaf_message_uuid=NAMES)
MEMORY = an_object(memory=WORDS, id=NAMES, user_id=WORDS, created_at=DATES, metadata=an_object(type=WORDS))
FACT = an_object(fact=WORDS, valid_at=DATES, uuid=NAMES)
THREAD = an_object(thread_id=WORDS, messages=st.lists(MESSAGE, max_size=2), facts=st.lists(FACT | WORDS, max_size=2))
CALL = an_object(function=an_object(name=st.just("send_message"), arguments=st.just('{"message": "Hi"}')))
SPOKEN = an_object(role=st.sampled_from(["user", "assistant"]), content=PARTS, tool_calls=st.lists(CALL, max_size=1))
AGENT = an_object(name=WORDS, messages=st.lists(SPOKEN, max_size=2))
ITEM = an_object(namespace=st.lists(WORDS, max_size=2), key=WORDS, value=an_object(text=WORDS), created_at=DATES)
STATE = an_object(values=an_object(messages=st.lists(an_object(type=st.just("human"), content=WORDS), max_size=2)))

DOCUMENTS: dict[Format, st.SearchStrategy[object]] = {
    "jsonl": LINE,
    "locomo": SAMPLE | st.lists(SAMPLE, max_size=2),
    "openai": CONVERSATION | st.lists(CONVERSATION | MESSAGE | st.lists(MESSAGE, max_size=2), max_size=3),
    "chatgpt": CHATGPT | st.lists(CHATGPT, max_size=2),
    "claude": CLAUDE | st.lists(CLAUDE | an_object(conversations_memory=WORDS), max_size=2),
    "mem0": an_object(results=st.lists(MEMORY, max_size=3)) | st.lists(MEMORY, max_size=3),
    "zep": THREAD | st.lists(THREAD, max_size=2) | an_object(edges=st.lists(FACT, max_size=2)),
    "letta": an_object(agents=st.lists(AGENT, max_size=2), blocks=st.lists(an_object(value=WORDS), max_size=2)),
    "langgraph": an_object(items=st.lists(ITEM, max_size=2)) | st.lists(ITEM | STATE, max_size=2),
}


@pytest.mark.parametrize("format", DOCUMENTS)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_whatever_a_file_contains_it_is_turns_or_one_line(format: Format, data: st.DataObject) -> None:
    documents = (DOCUMENTS[format] | ANYTHING).map(lambda value: json.dumps(value).encode())
    content = data.draw(documents | st.binary(max_size=100))
    with TemporaryDirectory() as folder:
        source = Source(written(Path(folder), content), format, "me")
        said = outcome(source)
    assert isinstance(said, list) or (said.startswith(source.name) and said.isprintable())


def outcome(source: Source) -> list[str] | str:
    """The texts of the file, or what is wrong with it."""
    try:
        return [turn.model_dump_json() for turn in read_turns(source)]
    except FormatError as error:
        return str(error)
