"""Commands said in a chat: what "that" is, what is listed first, and that exactly this is forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from contracts import flow
from contracts.ports import Change, Key, Selection, TextStore
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest
from contracts.v1.control import (
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
    SpaceSettings,
)
from contracts.v1.entries import Entry, Scores
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.curate import chat_commands, conflicts, control, privacy
from services.curate.edits import Editor
from services.retrieve.reply import item_of
from services.shared.errors import Rejected
from services.shared.ranking.scoring import Candidate, Ranked
from tests.apps.fakes import FakeInFlight, FakeReader
from tests.apps.settling import settle
from tests.apps.test_forgetting import DAY, places, say, the_entry
from tests.stores.builders import NOON, an_entry, store_entries

SCORES = Scores(relevance=0.5, recency=0.5, importance=0.5, total=1.5)


@contextmanager
def finishing(entry: Key, again: Callable[[], Awaitable[object]]) -> Iterator[None]:
    yield


@dataclass
class Memory:
    """A store behind the commands, and what was asked of the others."""

    store: TextStore
    found: list[Entry] = field(default_factory=list)
    cosine: float | None = 0.5
    asked: list[RetrieveRequest] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    decided: list[Any] = field(default_factory=list)
    waited_for: list[str] = field(default_factory=list)
    zone: str | None = None

    async def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
        self.asked.append(request)
        ranked = [
            (Ranked(Candidate(entry.id, cosine=self.cosine), 0.5, 0.5, 0.5, 1.5, NOON), entry) for entry in self.found
        ]
        items = tuple(item_of(one, entry, (), explain=request.explain) for one, entry in ranked)
        return RetrieveReply(
            items=items, context="", total_count=len(items), token_count=0, truncated=False,
            query_embedding_ms=0, retrieval_ms=0,
        )  # fmt: skip

    async def settings(self, request: SettingsRequest) -> SettingsReply:
        if request.change is not None:
            self.decided.append(request)
        return SettingsReply(space=request.space, settings=SpaceSettings(time_zone=self.zone), own=SpaceSettings())

    async def incognito(self, request: IncognitoStartRequest | IncognitoEndRequest) -> IncognitoReply:
        self.decided.append(request)
        is_on = isinstance(request, IncognitoStartRequest)
        return IncognitoReply(conversation_id=request.conversation_id, incognito=is_on, until=NOON)

    async def erase(self, request: EraseRequest) -> EraseReply:
        self.erased.append(request.user_id)
        return EraseReply(receipt=EraseReceipt(removed={}, left={}, drained=True, swept=True))

    async def until_heard(self, user_id: str) -> None:
        self.waited_for.append(user_id)

    async def says(self, text: str, **fields: Any) -> CommandReply:
        request = CommandRequest(user_id="ann", text=text, **fields)
        return await chat_commands.answer(request, store=self.store, ask=self.ask, until_heard=self.until_heard)

    async def ask(self, answer: Any, request: Any) -> Any:
        stores = places(self.store)[0]
        editor = Editor(stores, finishing, DAY, 16_384)
        answers: dict[Any, Callable[[Any], Awaitable[Any]]] = {
            flow.RETRIEVE: self.retrieve,
            flow.FORGET: editor.forget,
            flow.ERASE: self.erase,
            flow.PIN: editor.pin,
            flow.UNPIN: editor.unpin,
            flow.UPDATE: editor.update,
            flow.SETTINGS: self.settings,
            flow.INCOGNITO_START: self.incognito,
            flow.INCOGNITO_END: self.incognito,
            flow.CONFLICTS: partial(conflicts.list_conflicts, store=self.store),
            flow.RESOLVE: partial(conflicts.resolve, stores=stores),
        }
        return await answers[answer](request)

    async def texts(self) -> set[str]:
        return {entry.text for entry in (await self.store.page(Selection("ann"), limit=100, cursor=None)).entries}


@pytest.fixture
def memory(store: TextStore) -> Memory:
    return Memory(store)


@pytest.mark.parametrize(
    ("text", "waits"), [("forget that I play chess", True), ("pause my memory", False), ("Hi!", False)]
)
async def test_what_was_said_just_now_is_waited_for_where_it_may_be_meant(
    memory: Memory, text: str, waits: bool
) -> None:
    await say(memory.store, "I play chess.")
    await memory.says(text)
    assert memory.waited_for == ["ann"] * waits


async def test_what_is_no_command_does_nothing(memory: Memory) -> None:
    await say(memory.store, "I play chess.")
    reply = await memory.says("don't forget that I play chess")
    assert (reply.understood, reply.verb, reply.items) == (False, None, ())
    assert await memory.texts() == {"I play chess."}


async def test_that_is_what_the_user_said_last_in_the_conversation(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.", conversation_id="c1", created_at=NOON)
    await say(memory.store, "Noted: Porto.", conversation_id="c1", role="assistant", created_at=NOON + timedelta(1))
    await say(memory.store, "I play chess.", conversation_id="c2", created_at=NOON + timedelta(2))
    await say(memory.store, "Forget that.", conversation_id="c1", created_at=NOON + timedelta(3))
    reply = await memory.says("forget that", conversation_id="c1")
    assert [entry.text for entry in reply.items] == ["I live in Porto."]
    assert reply.needs_confirmation
    assert "I live in Porto." in await memory.texts(), "nothing is forgotten at the first word"

    done = await memory.says("forget that", conversation_id="c1", confirm=reply.token)
    assert done.reply == "Forgotten: 1 memory."
    assert await memory.texts() == {"Noted: Porto.", "I play chess.", "Forget that."}


async def test_without_a_conversation_that_is_what_the_last_answer_showed(memory: Memory) -> None:
    porto = await the_entry(memory.store, await say(memory.store, "I live in Porto."))
    await say(memory.store, "I play chess.", created_at=NOON + timedelta(2))
    reply = await memory.says("forget that", shown=[porto.id])
    assert [entry.id for entry in reply.items] == [porto.id]


async def test_an_entry_of_somebody_else_is_never_that(memory: Memory) -> None:
    theirs = await the_entry(memory.store, await say(memory.store, "I live in Rome.", "bob", conversation_id="c1"))
    for said in ("forget that", "why do you think that?"):
        reply = await memory.says(said, conversation_id="c1", shown=[theirs.id])
        assert (reply.items, reply.token) == ((), None)
        reply = await memory.says(said, conversation_id="c1", shown=[theirs.id], listed=True)
        assert (reply.items, reply.token) == ((), None)


async def test_what_is_forgotten_about_something_is_listed_first_and_is_exactly_that_list(memory: Memory) -> None:
    for text in ("My dentist is called Maria.", "The dentist's office moved to Lisbon.", "I like tea."):
        await say(memory.store, text)
    listed = await memory.says("Forget everything about my dentist")
    assert {entry.text for entry in listed.items} == {
        "My dentist is called Maria.",
        "The dentist's office moved to Lisbon.",
    }
    await say(memory.store, "My dentist is on holiday.")
    done = await memory.says("Forget everything about my dentist", confirm=listed.token)
    assert done.reply == "Forgotten: 2 memories."
    assert await memory.texts() == {"My dentist is on holiday.", "I like tea."}


async def test_a_statement_is_forgotten_in_its_own_words(memory: Memory) -> None:
    await say(memory.store, "My dentist is on Tuesday.")
    await say(memory.store, "My dentist is Dr. Huber in Linz.", created_at=datetime.now(UTC))
    asked = await memory.says("forget that my dentist is Dr. Huber")
    assert [entry.text for entry in asked.items] == ["My dentist is Dr. Huber in Linz."]
    assert asked.needs_confirmation
    await memory.says("forget that my dentist is Dr. Huber", confirm=asked.token)
    assert await memory.texts() == {"My dentist is on Tuesday."}
    assert (await memory.says("forget that I play chess")).reply.startswith("I remember nothing")
    assert not (await memory.says("forget that Pluto was a planet")).understood, "a wish to whoever talks"


@pytest.mark.parametrize(
    "wish",
    ["forget what I owe Mirko", "forget how much I owe Mirko", "forget who I owe money",
     "forget that I owe Mirko money", "please delete what I owe Mirko from your memory",
     "delete the fact that I owe Mirko 300 euros", "forget that I have debts with Mirko"],
)  # fmt: skip
async def test_a_clause_means_what_says_most_of_it_in_other_words(memory: Memory, wish: str) -> None:
    for text in ("I owe Mirko 300 euros", "I grow tomatoes", "I live in Porto", "I like chess"):
        await say(memory.store, text)
    asked = await memory.says(wish)
    assert [entry.text for entry in asked.items] == ["I owe Mirko 300 euros"]
    await memory.says(wish, confirm=asked.token)
    assert await memory.texts() == {"I grow tomatoes", "I live in Porto", "I like chess"}
    for other in ("forget that I like cilantro", "forget where my spare key is", "forget that I have a boat"):
        assert (await memory.says(other)).token is None


async def test_a_confirmation_fits_its_text_its_user_and_its_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(memory.store, "I live in Porto.")
    token = (await memory.says("forget everything about Porto")).token
    assert token is not None
    for text, confirm in (
        ("forget everything", token),
        ("forget everything about Porto", token[:-4]),
        ("forget that", "x"),
    ):
        with pytest.raises(Rejected, match="confirm"):
            await memory.says(text, confirm=confirm)
    with pytest.raises(Rejected, match="another text or conversation"):
        await memory.says("forget everything about Porto", conversation_id="c2", confirm=token)
    monkeypatch.setattr("services.curate.confirmations.time.time", lambda: 4e9)
    with pytest.raises(Rejected, match="older than ten minutes"):
        await memory.says("forget everything about Porto", confirm=token)
    assert await memory.texts() == {"I live in Porto."}


async def test_everything_is_erased_only_after_a_confirmation(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.")
    asked = await memory.says("forget everything you know about me")
    assert "1 memory" in asked.reply
    assert memory.erased == []
    await memory.says("forget everything you know about me", confirm=asked.token)
    assert memory.erased == ["ann"]


async def test_what_was_said_after_everything_was_to_be_erased_is_asked_about_again(memory: Memory) -> None:
    """Also by a confirmation that is sent twice: what was said since nobody has agreed to lose."""
    await say(memory.store, "I live in Porto.")
    asked = await memory.says("forget everything you know about me")
    await memory.store.erase("ann")
    await say(memory.store, "I live in Faro.")
    again = await memory.says("forget everything you know about me", confirm=asked.token)
    assert (memory.erased, again.needs_confirmation) == ([], True)
    assert again.reply.startswith("What I remember has changed since.")
    await memory.says("forget everything you know about me", confirm=again.token)
    assert memory.erased == ["ann"]


async def test_what_is_remembered_about_something_is_asked_of_retrieve(memory: Memory) -> None:
    porto = await the_entry(memory.store, await say(memory.store, "I live in Porto."))
    memory.found = [porto]
    reply = await memory.says("what do you remember about my city?", space="default")
    assert [(asked.query, asked.space) for asked in memory.asked] == [("my city", "default")]
    assert [entry.id for entry in reply.items] == [porto.id]
    asked = await the_entry(memory.store, await say(memory.store, "Which city should I see?"))
    for memory.found, told in (([asked, porto], [porto]), ([asked], [asked])):
        assert [e.id for e in (await memory.says("what do you remember about my city?")).items] == [e.id for e in told]
    memory.found = []
    assert (await memory.says("what do you remember about tea?")).reply == "I remember nothing about tea."


async def test_what_neither_mentions_the_topic_nor_is_like_it_is_not_told_of_it(memory: Memory) -> None:
    stove, tea = [await the_entry(memory.store, await say(memory.store, text)) for text in ("My stove hums", "Tea, hm")]
    memory.found = [stove, tea]
    for memory.cosine in (0.1, None):
        reply = await memory.says("what do you remember about my PIN?")
        assert (reply.reply, reply.items) == ("I remember nothing about my PIN.", ())
        assert [e.id for e in (await memory.says("what do you remember about tea?")).items] == [tea.id]


async def test_what_is_remembered_at_all_is_counted(memory: Memory) -> None:
    assert (await memory.says("what do you remember?")).reply == "I remember nothing yet."
    await say(memory.store, "I live in Porto.")
    reply = await memory.says("what do you remember?")
    assert (reply.reply, len(reply.items)) == ("I remember 1 thing.", 1)


async def test_small_talk_is_neither_listed_nor_counted(memory: Memory) -> None:
    for number in range(15):
        await say(memory.store, f"I like tea number {number}.", created_at=NOON)
    for text in ("Yes.", "Great, thanks!"):
        await say(memory.store, text, created_at=NOON + timedelta(1))
    reply = await memory.says("what do you remember about me?")
    assert (
        reply.reply
        == "I remember 15 things. What you told last is listed. Ask “What do you remember about …?” for more."
    )
    assert len(reply.items) == 12
    assert {entry.text for entry in reply.items} <= {f"I like tea number {number}." for number in range(15)}


async def test_why_is_answered_with_what_was_used_last(memory: Memory) -> None:
    turns = [await say(memory.store, text, conversation_id="c1") for text in ("I live in Porto.", "I like tea.")]
    for minutes, turn in zip((5, 3), turns, strict=True):
        entry = await the_entry(memory.store, turn)
        used = SCORES.model_copy(update={"computed_at": NOON + timedelta(minutes=minutes)})
        await memory.store.replace([Change(entry, entry.model_copy(update={"last_scores": used}))])
    reply = await memory.says("why do you think that?", conversation_id="c1")
    assert [entry.text for entry in reply.items] == ["I live in Porto."]
    assert "you said: “I live in Porto.”" in reply.reply


async def test_a_memory_that_is_being_erased_tells_nothing(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.", conversation_id="c1")
    await privacy.begin("ann", stores=places(memory.store)[0])
    for said in ("forget that", "forget everything about Porto", "why do you think that?", "what do you remember?"):
        assert (await memory.says(said, conversation_id="c1")).items == ()


async def store_page(memory: Memory) -> Sequence[Entry]:
    return (await memory.store.page(Selection("ann"), limit=100, cursor=None)).entries


async def the_one(memory: Memory) -> Entry:
    (entry,) = await store_page(memory)
    return entry


async def test_this_is_pinned_and_unpinned(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.", conversation_id="c1")
    assert (await memory.says("pin this", conversation_id="c1")).reply == "Pinned: “I live in Porto.”."
    assert (await the_one(memory)).pinned
    await memory.says("unpin that", conversation_id="c1")
    assert not (await the_one(memory)).pinned


async def test_what_was_said_in_so_many_words_is_pinned(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.", conversation_id="c1")
    assert (await memory.says("pin that I live in Porto", conversation_id="c2")).reply == "Pinned: “I live in Porto.”."
    assert (await the_one(memory)).pinned
    assert "nothing was pinned" in (await memory.says("pin that I live in Lisbon", conversation_id="c2")).reply


async def test_a_correction_is_of_what_it_resembles_in_whatever_conversation_that_was_said(memory: Memory) -> None:
    for text in ("My mother is called Helga.", "My mother bakes.", "Is my mother called Herta?"):
        await say(memory.store, text, conversation_id="c1")
    await say(memory.store, "My mother is called Olga.", conversation_id="c1", space="work")
    asked = await memory.says("correct: my mother is called Herta", conversation_id="c2")
    assert asked.reply.startswith("“My mother is called Helga.” will become “my mother is called Herta”.")
    assert "Nothing like this" in (await memory.says("correct: my aunt likes gin", conversation_id="c2")).reply


async def test_that_is_nothing_of_another_space(memory: Memory) -> None:
    badge = await the_entry(memory.store, await say(memory.store, "The badge is green.", space="work"))
    reply = await memory.says("forget that", shown=(badge.id,), space="home")
    assert (reply.items, reply.needs_confirmation) == ((), False)


async def test_a_correction_is_of_what_it_resembles_and_is_shown_first(memory: Memory) -> None:
    for minutes, text in enumerate(("My dentist is on Tuesday.", "I like tea.")):
        await say(memory.store, text, conversation_id="c1", created_at=NOON + timedelta(minutes=minutes))
    text = "correct: my dentist is on Thursday"
    asked = await memory.says(text, conversation_id="c1")
    assert asked.reply.startswith("“My dentist is on Tuesday.” will become “my dentist is on Thursday”.")
    assert "My dentist is on Tuesday." in await memory.texts()
    done = await memory.says(text, conversation_id="c1", confirm=asked.token)
    assert [entry.text for entry in done.items] == ["my dentist is on Thursday"]
    assert await memory.texts() == {"my dentist is on Thursday", "I like tea."}


async def test_memory_is_turned_off_and_on_in_this_space(memory: Memory) -> None:
    for said, is_on in (("turn memory off", False), ("turn memory on", True)):
        assert "in the space “work”" in (await memory.says(said, space="work")).reply
        request = memory.decided.pop()
        assert (request.user_id, request.space, request.change.memory_enabled) == ("ann", "work", is_on)


async def test_this_chat_becomes_incognito_and_is_remembered_again(memory: Memory) -> None:
    for said, kind in (
        ("start incognito for this chat", IncognitoStartRequest),
        ("end incognito", IncognitoEndRequest),
    ):
        await memory.says(said, conversation_id="c1")
        request = memory.decided.pop()
        assert isinstance(request, kind)
        assert (request.user_id, request.conversation_id) == ("ann", "c1")
    reply = await memory.says("start incognito")
    assert "do not know which conversation" in reply.reply
    assert memory.decided == []


async def test_times_are_told_and_asked_for_in_the_zone_of_the_user(memory: Memory) -> None:
    until = "until 1 February 2026, "  # NOON is 12:00 in UTC
    assert f"{until}12:00 UTC." in (await memory.says("start incognito", conversation_id="c1")).reply
    memory.zone = "Europe/Vienna"
    assert f"{until}13:00 CET." in (await memory.says("start incognito", conversation_id="c1")).reply
    told = await memory.says("start incognito", conversation_id="c1", time_zone="Pacific/Auckland")
    assert "until 2 February 2026, 01:00 NZDT." in told.reply
    await memory.says("what did I say about tea yesterday?", time_zone="Pacific/Auckland")
    assert memory.asked[-1].time_zone == "Pacific/Auckland"


async def test_what_was_forgotten_is_named_without_a_word(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.", conversation_id="c1")
    asked = await memory.says("forget that", conversation_id="c1")
    done = await memory.says("forget that", conversation_id="c1", confirm=asked.token)
    assert [entry.id for entry in done.items] == [entry.id for entry in asked.items]
    assert "Porto" not in done.model_dump_json()


async def test_what_contradicts_itself_is_asked_and_settled_in_words(store: TextStore) -> None:
    memory = Memory(store)
    assert "Nothing that I remember" in (await memory.says("do any memories contradict each other?")).reply
    assert "no open question" in (await memory.says("keep both memories")).reply
    old, new = "My landlord is called Huber", "My landlord is now called Hofer"
    entries = [an_entry("ann", old, manually_saved=True), an_entry("ann", new, created_at=NOON + DAY)]
    await store_entries(store, entries)
    await settle(store, entries, FakeReader(updates=[(old, new)]))

    asked = await memory.says("what contradicts itself in my memory?")
    assert old in asked.reply
    assert [entry.text for entry in asked.items] == [new, old]
    settled = await memory.says("Keep the older memory, please")
    assert settled.reply == f"Kept: “{old}”."
    assert await memory.texts() == {old}
    assert "Nothing that I remember" in (await memory.says("show the conflicts in my memory")).reply


async def test_of_several_questions_the_one_that_was_shown_is_settled(store: TextStore) -> None:
    memory = Memory(store)
    pairs = [("My cat is called Tom", "My cat is now called Jo"), ("My gym is Fit", "My gym is now Gold")]
    for day, (old, new) in enumerate(pairs):
        entries = [
            an_entry("ann", old, manually_saved=True, created_at=NOON + 2 * day * DAY),
            an_entry("ann", new, created_at=NOON + (2 * day + 1) * DAY),
        ]
        await store_entries(store, entries)
        await settle(store, entries, FakeReader(updates=[(old, new)]))
    first = await memory.says("any conflicts in my memory?")
    other = next(pair for pair in pairs if pair[0] not in first.reply)
    shown = tuple(entry.id for entry in await store.scan(after="", limit=10) if entry.text in other)
    reply = await memory.says("keep the newer memory", shown=shown)
    assert reply.reply.startswith(f"Kept: “{other[1]}”. On ")
    assert await memory.texts() == {other[1], *next(pair for pair in pairs if pair != other)}


async def test_about_several_is_what_mentions_all_of_them_else_what_mentions_any(memory: Memory) -> None:
    for text in ("Clara lives in Porto.", "The dentist is on Tuesday.", "I like tea."):
        await say(memory.store, text)
    listed = await memory.says("forget about Clara and the dentist")
    assert {entry.text for entry in listed.items} == {"Clara lives in Porto.", "The dentist is on Tuesday."}
    await say(memory.store, "Clara knows a dentist.")
    listed = await memory.says("forget about Clara and the dentist")
    assert [entry.text for entry in listed.items] == ["Clara knows a dentist."]
    assert listed.needs_confirmation


async def test_what_was_said_within_a_time_or_a_chat_is_listed_and_forgotten(memory: Memory) -> None:
    now = datetime.now(UTC)
    for days, text in ((0, "I like tea."), (1, "I live in Porto."), (30, "I play chess.")):
        await say(memory.store, text, created_at=now - timedelta(days), conversation_id=f"c{days}")
    for said, text in (
        ("forget what I said today", "I like tea."),
        ("forget everything I said yesterday", "I live in Porto."),
        ("forget what I said in this chat", "I play chess."),
    ):
        asked = await memory.says(said, conversation_id="c30", time_zone="UTC")
        assert [entry.text for entry in asked.items] == [text]
        assert asked.needs_confirmation
    elsewhere = await memory.says("forget what I said today", space="work", spaces=("work",))
    assert elsewhere.reply == "I remember nothing of what you said today."
    elsewhere = await memory.says("forget what I said in this chat", space="work", conversation_id="c30")
    assert elsewhere.reply == "I remember nothing of what you said in this chat."
    assert len(await memory.texts()) == 3


async def test_why_a_statement_is_believed_is_answered_where_it_was_made(memory: Memory) -> None:
    await say(memory.store, "I like jazz and old films.")
    reply = await memory.says("why do you think I like jazz?")
    assert "you said: “I like jazz and old films.”" in reply.reply
    assert not (await memory.says("why do you think I like opera?")).understood, "a question for whoever talks"


async def test_whether_a_chat_is_incognito_is_told(memory: Memory) -> None:
    assert (await memory.says("are you incognito?", conversation_id="c1")).reply.startswith("No: ")
    await control.set_incognito(
        IncognitoStartRequest(user_id="ann", conversation_id="c1"), records=memory.store, in_flight=FakeInFlight()
    )
    assert (await memory.says("are you incognito?", conversation_id="c1")).reply.startswith("Yes, ")
    assert (await memory.says("are you incognito?", conversation_id="c2")).reply.startswith("No: ")


async def test_what_can_be_undone_is_told_and_nothing_is(memory: Memory) -> None:
    await say(memory.store, "I live in Porto.", conversation_id="c1")
    await memory.says("pin this", conversation_id="c1")
    assert "is gone for good" in (await memory.says("undo that", conversation_id="c1")).reply
    assert (await the_one(memory)).pinned


async def test_more_than_can_be_listed_is_told(memory: Memory) -> None:
    await store_entries(memory.store, [an_entry("ann", f"I like tea number {n}") for n in range(51)])
    asked = await memory.says("forget everything about tea")
    assert len(asked.items) == 50
    assert "50 memories will be forgotten, as listed. There may be more" in asked.reply
