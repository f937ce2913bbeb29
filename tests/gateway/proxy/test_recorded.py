"""What real programs send, played through the proxy: what people said is kept and asked with, and nothing else is."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
import pytest

from contracts import flow
from contracts.paths import VERB_OF, Verb
from contracts.v1.commands import ListRequest
from services.gateway.api import Edge
from services.gateway.callers import Caller
from tests.gateway.proxy.backend import every_api
from tests.gateway.proxy.chatting import Chat
from tests.polling import eventually

_FOLDER = Path(__file__).with_name("recorded")
_ANSWER = "Understood, thanks."
_KNOWN = "The key of our green letterbox hangs behind the barometer."
_ASKED = "Where does the key of our green letterbox hang?"
_LAST = "Here the recorded request is over."


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request of a program, and what of it a person said."""

    name: str
    program: str
    version: str
    kind: str
    session: str
    order: int
    said: list[str]
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def is_task(self) -> bool:
        return self.kind == "task"

    @property
    def sent(self) -> bytes:
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()

    def saying(self, text: str) -> Recorded:
        """The same request with another text in place of what was typed last."""
        words = [json.dumps(said, ensure_ascii=False)[1:-1] for said in (self.said[-1], text)]
        body = json.loads(words[1].join(json.dumps(self.body, ensure_ascii=False).rsplit(words[0], 1)))
        return replace(self, said=[*self.said[:-1], text], body=body)


def _all() -> list[Recorded]:
    read = (Recorded(path.stem, **json.loads(path.read_text())) for path in _FOLDER.glob("*.json"))
    return sorted(read, key=lambda one: (one.program, one.order))


ALL = _all()
CHATS = [one for one in ALL if not one.is_task]
TYPED = [one for one in CHATS if not one.name.endswith("-result")]  # what goes on with a tool says nothing new
TASKS = [one for one in ALL if one.is_task]
PROGRAMS = {name: list(these) for name, these in groupby(ALL, key=lambda one: one.program)}


def each(of: list[Recorded]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("recorded", of, ids=[one.name for one in of])


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {"MEMORYBUS_PROXY_CARDS": "false", "MEMORYBUS_GATEWAY_QUERIES_PER_MINUTE": "0"}


@pytest.fixture
def talking(chat: Chat) -> Chat:
    chat.model.script = every_api(_ANSWER, calls_tools=False)
    return chat


@contextmanager
def overheard(user: str) -> Iterator[list[str]]:
    """The questions that the memory is asked for a user."""
    queries: list[str] = []
    ask = Edge.ask

    async def heard(edge: Edge, caller: Caller, verb: Verb, values: Any, **more: Any) -> bytes:
        if caller.user_id == user and verb == VERB_OF[flow.RETRIEVE.subject]:
            queries.append(values["query"])
        return await ask(edge, caller, verb, values, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Edge, "ask", heard)
        yield queries


async def play(chat: Chat, recorded: Recorded) -> httpx.Response:
    """Send what a program sent, for a user."""
    headers = {"authorization": "Bearer sk-own", **recorded.headers, "memory-user": chat.user}
    answer = await chat.http.post(recorded.path.removeprefix("/v1"), content=recorded.sent, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


async def kept(chat: Chat) -> dict[str, list[str]]:
    """All that is kept of a user, by role, once what was said after it is, too."""
    await chat.says(_LAST, memory_id="last")
    listed = ListRequest(user_id=chat.user, limit=100)
    await eventually(lambda: chat.client.list(listed), lambda reply: any(one.text == _LAST for one in reply.items))
    await chat.digested(1)
    found: dict[str, list[str]] = defaultdict(list)
    for entry in (await chat.client.list(listed)).items:
        if entry.conversation_id != "last":
            found[entry.role].append(entry.text)
    return found


def without_block(told: Any, sent: Any) -> tuple[Any, list[str]]:
    """What a model was told, without the words in front of one text or between its parts; these words."""
    if isinstance(told, str) and isinstance(sent, str) and told != sent and told.endswith(f"\n\n{sent}"):
        return sent, [told.removesuffix(f"\n\n{sent}")]
    if isinstance(told, dict) and isinstance(sent, dict) and told.keys() == sent.keys():
        parts = {name: without_block(told[name], sent[name]) for name in told}
        return {name: part for name, (part, _) in parts.items()}, [
            word for _, words in parts.values() for word in words
        ]
    if isinstance(told, list) and isinstance(sent, list):
        added = [part for part in told if _is_block(part)] if len(told) == len(sent) + 1 else []
        each_of = [without_block(*both) for both in zip([p for p in told if p not in added], sent, strict=True)]
        blocks = [block for _, found in each_of for block in found]
        return [part for part, _ in each_of], [*blocks, *(part["text"] for part in added)]
    return told, []


def _is_block(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("text")).startswith("<memory>")


async def remember(chat: Chat, text: str) -> None:
    answer = await chat.send({"text": text, "role": "user", "conversation_id": "before"}, "/memory/turns")
    assert answer.is_success, answer.text
    await chat.digested(1)


def test_every_recorded_request_is_small_and_names_what_was_typed() -> None:
    assert len(ALL) >= 40
    assert set(PROGRAMS) == {"aider", "claude-code", "codex", "open-webui", "opencode"}
    for one in ALL:
        assert (_FOLDER / f"{one.name}.json").stat().st_size < 20_000
        assert f"`{one.program}" in (_FOLDER / "README.md").read_text()
        assert one.is_task or one.said
        assert not {"authorization", "x-api-key", "cookie"} & one.headers.keys()


@each(CHATS)
async def test_the_model_gets_every_byte_and_what_was_typed_is_kept_to_the_letter_and_nothing_else(
    talking: Chat, recorded: Recorded
) -> None:
    with overheard(talking.user) as queries:
        await play(talking, recorded)
    assert [seen.body for seen in talking.model.seen] == [recorded.sent]
    found = await kept(talking)
    assert set(found["user"]) <= set(recorded.said), "nothing but what was typed"
    assert recorded.said[-1] in found["user"]
    assert [*found] in (["user"], ["user", "assistant"], ["assistant", "user"])
    assert set(found["assistant"]) <= {_ANSWER}
    assert [query for query in queries if query] == [recorded.said[-1]]


@each(TASKS)
async def test_of_a_task_nothing_is_kept_and_nothing_is_recalled_for_it(talking: Chat, recorded: Recorded) -> None:
    await remember(talking, f"{_KNOWN} {' '.join(recorded.said)}")
    with overheard(talking.user) as queries:
        answer = await play(talking, recorded)
    assert [query for query in queries if query] == []
    assert [seen.body for seen in talking.model.seen] == [recorded.sent]
    assert "memory-used" not in answer.headers
    found = await kept(talking)
    assert sum(map(len, found.values())) == 1, "what was there before"


@each(TYPED)
async def test_a_question_finds_through_each_program_what_it_finds_when_asked_plainly(
    talking: Chat, recorded: Recorded
) -> None:
    await remember(talking, _KNOWN)
    asked = recorded.saying(_ASKED)
    answer = await play(talking, asked)
    assert "memory-used" in answer.headers
    told, blocks = without_block(json.loads(talking.model.seen[-1].body), asked.body)
    assert told == asked.body, "all but the block is as it was sent"
    (block,) = blocks
    assert _KNOWN in block


@each(TYPED)
async def test_a_command_is_obeyed_through_each_program(talking: Chat, recorded: Recorded) -> None:
    await remember(talking, _KNOWN)
    answer = await play(talking, recorded.saying("What do you remember about our letterbox?"))
    assert answer.headers.get("memory-command") == "true"
    assert "barometer" in answer.text
    assert talking.model.seen == []


@pytest.mark.parametrize("program", PROGRAMS)
async def test_the_chats_of_a_session_are_one_conversation_and_those_of_others_are_others(
    talking: Chat, program: str
) -> None:
    named: dict[str, set[str]] = defaultdict(set)
    for recorded in PROGRAMS[program]:
        answer = await play(talking, recorded)
        if not recorded.is_task:
            named[recorded.session].add(answer.headers["memory-conversation"])
    assert all(len(names) == 1 for names in named.values()), named
    assert len(set().union(*named.values())) == len(named), named


@pytest.mark.parametrize("program", PROGRAMS)
async def test_of_all_that_a_program_sends_what_people_typed_is_kept(talking: Chat, program: str) -> None:
    for recorded in PROGRAMS[program]:
        await play(talking, recorded)
    found = await kept(talking)
    typed = {text for recorded in PROGRAMS[program] if not recorded.is_task for text in recorded.said}
    assert set(found["user"]) == typed
    assert set(found["assistant"]) <= {_ANSWER}
