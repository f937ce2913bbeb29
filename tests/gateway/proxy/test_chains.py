"""Chats of which the provider keeps what was said: they go on from the id of an answer, or in a conversation there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from services.gateway.proxy import chains
from services.gateway.proxy.chains import Chain, Chains, named_after
from tests.gateway.proxy.backend import Script, Seen, answer, begin, chunk
from tests.gateway.proxy.chatting import Chat
from tests.gateway.proxy.dialects.talk import RESPONSES, ask

SECRET = "I have a knee operation in Linz on Monday."
BEGINS = "Nothing of this conversation is kept until"


def responding(says: Callable[[Seen], str]) -> Script:
    """A model whose responses have ids of the provider, each another."""
    count = 0

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        asked = RESPONSES.read(seen.json)
        whole = RESPONSES.spoken(says(seen), asked, id="1", created=1) | {"id": f"resp_{seen.headers['x-run']}{count}"}
        if not asked.stream:
            await answer(writer, json.dumps(whole).encode())
            return
        await begin(writer)
        for part in RESPONSES.spoken_stream(says(seen), asked, id="1", created=1):
            await chunk(
                writer, part.replace(b'"resp_memorybus_1', b'"resp_' + f"{seen.headers['x-run']}{count}".encode())
            )
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return script


class Talk:
    """One chat of a user, which goes on from the answer before, or has what the provider calls it."""

    def __init__(self, chat: Chat, **more: Any) -> None:
        self._chat, self._more = chat, more
        self.behind = ""
        self.name = ""

    async def says(self, text: str, **more: Any) -> str:
        """Say something, and get the answer."""
        body = {"model": "m-1", "input": text, **self._more, **more}
        if self.behind and "conversation" not in body:
            body.setdefault("previous_response_id", self.behind)
        got = await self._chat.send(body, "/responses", X_Run=self._chat.user)
        assert got.status_code == 200, got.text
        self.name = got.headers["memory-conversation"]
        whole = got.json() if not body.get("stream") else _streamed(got.text)
        self.behind = whole["id"]
        return str(RESPONSES.answer_text(whole))


def _streamed(text: str) -> Any:
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return json.loads(data[-1])["response"]


@pytest.fixture
def speaking(chat: Chat) -> Chat:
    chat.model.script = responding(lambda seen: "Fine.")
    return chat


async def kept(chat: Chat, turns: int) -> dict[str, str | None]:
    """What is remembered, and of which conversation, once something harmless was said, too, in another chat."""
    await Talk(chat).says("I play chess.")
    await chat.digested(turns + 2)
    found = {entry.text: entry.conversation_id for entry in await chat.entries(0)}
    return {text: name for text, name in found.items() if text not in ("I play chess.", "Fine.")}


KINDS = pytest.mark.parametrize("more", [{}, {"conversation": "conv_77"}, {"conversation": {"id": "conv_78"}}])
WISHES = {"Don't save this chat.": BEGINS, "Don't save this chat. What helps against a cold?": "Fine."}


@KINDS
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wish", WISHES)
async def test_what_is_said_after_a_wish_for_it_is_not_kept(
    speaking: Chat, more: dict[str, Any], stream: bool, wish: str
) -> None:
    talk = Talk(speaking, **more, stream=stream)
    await talk.says("Hello, I grow tomatoes.")
    assert (await talk.says(wish)).startswith(WISHES[wish])
    assert await talk.says(SECRET) == "Fine."
    assert await talk.says("And a hernia.") == "Fine."
    assert (await kept(speaking, 2)).keys() == {"Hello, I grow tomatoes."}


async def test_a_wish_at_the_beginning_holds_in_this_chat_and_in_no_other(speaking: Chat) -> None:
    secret = Talk(speaking)
    assert (await secret.says("Don't save this chat.")).startswith(BEGINS)
    await secret.says(SECRET)
    other = Talk(speaking)
    await other.says("Hello, I grow tomatoes.")
    await other.says("I have two cats.")
    assert (await kept(speaking, 4)).keys() == {"Hello, I grow tomatoes.", "I have two cats."}


async def test_a_chat_is_one_conversation_and_those_that_begin_alike_are_others(speaking: Chat) -> None:
    names = []
    for text in ("I work at Siemens.", "I collect stamps."):
        talk = Talk(speaking)
        for said in ("Hi", text, f"Really: {text}"):
            await talk.says(said)
            names.append(talk.name)
    assert names[0] == names[3]
    assert names[1] == names[2] != names[4] == names[5]
    assert (await kept(speaking, 10))["I work at Siemens."] == names[1]


@KINDS
async def test_what_destroys_is_confirmed_by_the_next_word(speaking: Chat, more: dict[str, Any]) -> None:
    talk = Talk(speaking, **more)
    await talk.says("My dog Rex bites postmen.")
    await speaking.digested(2)
    seen = len(speaking.model.seen)
    asked = await talk.says("Forget that my dog Rex bites postmen.")
    assert "Say yes" in asked
    question = talk.behind
    assert await talk.says("yes") == "Forgotten: 1 memory."
    if not more:
        talk.behind = question
        assert await talk.says("yes") == "Forgotten: 1 memory.", "made again, it is what it was"
    assert len(speaking.model.seen) == seen
    assert [entry.text for entry in await speaking.entries(0)] == ["Fine."]


@KINDS
async def test_that_is_what_was_said_last_in_this_chat(speaking: Chat, more: dict[str, Any]) -> None:
    talk = Talk(speaking, **more)
    await talk.says("My cat Tom hates milk.")
    assert "forgotten: “My cat Tom hates milk.”" in await talk.says("forget that")
    assert await talk.says("no") == "Then nothing was changed."
    await talk.says("My parrot is called Coco.")
    assert "forgotten: “My parrot is called Coco.”" in await talk.says("forget that")
    assert await talk.says("yes") == "Forgotten: 1 memory."


async def test_a_yes_counts_only_behind_the_answer_that_asks_for_it(speaking: Chat) -> None:
    talk = Talk(speaking)
    await talk.says("My cat Tom hates milk.")
    before = talk.behind
    assert "Say yes" in await talk.says("forget that")
    talk.behind = before
    assert await talk.says("yes") == "Fine."


@KINDS
async def test_what_was_announced_is_not_kept_nor_what_later_answers_say_of_it(
    speaking: Chat, more: dict[str, Any]
) -> None:
    talk = Talk(speaking, **more)
    await talk.says("Off the record:")
    await talk.says(SECRET)
    speaking.model.script = responding(lambda seen: "Your operation in Linz is on the knee.")
    await talk.says("When is it again?")
    speaking.model.script = responding(lambda seen: "Fine.")
    assert (await kept(speaking, 1)).keys() == {"When is it again?"}


async def test_of_what_was_forgotten_no_later_answer_is_learned(speaking: Chat) -> None:
    talk = Talk(speaking)
    await talk.says("My code is 9911.")
    await talk.says("forget that")
    assert await talk.says("yes") == "Forgotten: 1 memory."
    speaking.model.script = responding(lambda seen: "Use 9911 for the surgery.")
    await talk.says("What else should I know?")
    speaking.model.script = responding(lambda seen: "Fine.")
    assert (await kept(speaking, 3)).keys() == {"What else should I know?"}


async def test_nobody_joins_the_conversation_of_another_by_an_id(speaking: Chat) -> None:
    talk = Talk(speaking)
    await talk.says("My dog Rex bites postmen.")
    assert "Say yes" in await talk.says("forget that")
    other = Talk(speaking.other)
    other.behind = talk.behind
    assert await other.says("yes") == "Fine."
    assert await talk.says("yes") == "Forgotten: 1 memory."


async def test_a_request_that_goes_on_is_not_changed_where_nothing_is_added(speaking: Chat) -> None:
    raw = b'{"model" : "m-1", "input" : "Good morning", "previous_response_id": "resp_x", "x": 1.0}'
    headers = {"Memory-User": speaking.user, "X-Run": speaking.user, "Memory-Id": "c1"}
    for _ in range(2):  # the first time there is nothing that was said before
        await speaking.http.post("/responses", content=raw, headers=headers)
        assert speaking.model.seen[-1].body == raw


async def test_after_a_restart_no_chat_is_kept_that_may_be_the_one_not_to_be(
    speaking: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(speaking)
    await talk.says("Hello, I grow tomatoes.")
    await talk.says("Go incognito.")
    await talk.says("I moved to Porto in May.")
    with monkeypatch.context() as patch:
        patch.setattr(Chains, "_known", lambda *_: None)
        await talk.says(SECRET)
    await talk.says("And a hernia.")
    assert (await kept(speaking, 2)).keys() == {"Hello, I grow tomatoes."}


async def test_of_a_chat_whose_beginning_is_not_known_no_answer_is_learned(speaking: Chat) -> None:
    speaking.model.script = responding(lambda seen: "Your operation in Linz is on the knee.")
    talk = Talk(speaking)
    talk.behind = "resp_of_long_ago"
    await talk.says("When is it again?")
    await talk.says("I have two cats.")
    speaking.model.script = responding(lambda seen: "Fine.")
    assert (await kept(speaking, 2)).keys() == {"When is it again?", "I have two cats."}


def test_so_many_answers_are_in_mind_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MOST", 2)
    held = Chains()
    for number in range(3):
        held.put("ann", f"resp_{number}", Chain("chat-1"))
    known = [held.of("ann", ask(RESPONSES, "x", previous_response_id=f"resp_{number}")) for number in range(3)]
    assert [chain and chain.is_known for chain in known] == [False, True, True]
    assert known[0] == Chain(named_after("resp_0"), is_private=True, is_known=False)
    of_another = held.of("bob", ask(RESPONSES, "x", previous_response_id="resp_2"))
    assert of_another is not None
    assert (of_another.name, of_another.is_known) == (named_after("resp_2"), False)


def test_the_id_of_a_reply_carries_the_name_of_its_conversation() -> None:
    name = named_after("resp_1")
    reply = RESPONSES.spoken("Done.", ask(RESPONSES, "x", previous_response_id="resp_2"), id=f"{name}_0", created=1)
    asked = ask(RESPONSES, "yes", previous_response_id=reply["id"])
    found = Chains().of("ann", asked)
    assert found is not None
    assert found.name == name
    assert asked.stripped["previous_response_id"] == "resp_2"


async def test_a_name_of_the_client_wins_over_what_is_not_known_of_an_id(speaking: Chat) -> None:
    talk = Talk(speaking, memory_id="c1")
    talk.behind = "resp_of_long_ago"
    await talk.says("I have two cats.")
    await talk.says("They like fish.")
    assert set((await kept(speaking, 2)).values()) == {"c1"}


def test_of_a_user_who_is_erased_no_id_is_known_any_more() -> None:
    held, asked = Chains(), ask(RESPONSES, "x", previous_response_id="resp_1")
    for user in ("ann", "bob"):
        held.put(user, "resp_1", Chain("chat-1"))
    held.forget("bob")
    held.erase("ann")
    found = held.of("ann", asked), held.of("bob", asked)
    assert [(chain.is_known, chain.is_private) for chain in found if chain] == [(False, True), (True, True)]
