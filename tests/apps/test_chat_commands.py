"""Commands said in a chat: what is listed first, that exactly this is forgotten, and what else each of them does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import Change, TextStore
from contracts.v1.control import IncognitoEndRequest, IncognitoStartRequest, SettingsChange, SettingsRequest
from contracts.v1.entries import Scores
from services.curate import control, privacy
from services.shared.errors import Rejected
from tests.apps.chatting import Memory
from tests.apps.fakes import FakeInFlight
from tests.apps.test_forgetting import DAY, places
from tests.stores.builders import NOON, an_entry, minutes, store_entries

SCORES = Scores(relevance=0.5, recency=0.5, importance=0.5, total=1.5)
PORTO = "I live in Porto."


@pytest.fixture
def memory(store: TextStore) -> Memory:
    return Memory(store)


@pytest.mark.parametrize(
    ("text", "waits"), [("forget that I play chess", True), ("pause my memory", False), ("Hi!", False)]
)
async def test_what_was_said_just_now_is_waited_for_where_it_may_be_meant(
    memory: Memory, text: str, waits: bool
) -> None:
    await memory.hears("I play chess.")
    await memory.says(text)
    assert memory.waited_for == ["ann"] * waits


async def test_what_is_no_command_does_nothing(memory: Memory) -> None:
    await memory.hears("I play chess.")
    reply = await memory.says("don't forget that I play chess")
    assert (reply.understood, reply.verb, reply.items) == (False, None, ())
    assert await memory.texts() == {"I play chess."}


async def test_what_is_forgotten_about_something_is_listed_first_and_is_exactly_that_list(memory: Memory) -> None:
    about = {"My dentist is called Maria.", "The dentist's office moved to Lisbon."}
    await memory.hears(*sorted(about), "I like tea.")
    listed = await memory.says("Forget everything about my dentist")
    assert {entry.text for entry in listed.items} == about
    await memory.hears("My dentist is on holiday.")
    done = await memory.says("Forget everything about my dentist", confirm=listed.token)
    assert done.reply == "Forgotten: 2 memories."
    assert await memory.texts() == {"My dentist is on holiday.", "I like tea."}


async def test_a_statement_is_forgotten_in_its_own_words(memory: Memory) -> None:
    await memory.hears("My dentist is on Tuesday.")
    await memory.hears("My dentist is Dr. Huber in Linz.", created_at=datetime.now(UTC))
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
    others = {"I grow tomatoes", PORTO, "I like chess"}
    await memory.hears("I owe Mirko 300 euros", *others)
    asked = await memory.says(wish)
    assert [entry.text for entry in asked.items] == ["I owe Mirko 300 euros"]
    await memory.says(wish, confirm=asked.token)
    assert await memory.texts() == others
    for other in ("forget that I like cilantro", "forget where my spare key is", "forget that I have a boat"):
        assert (await memory.says(other)).token is None


async def test_what_was_forgotten_is_named_without_a_word(memory: Memory) -> None:
    await memory.hears(PORTO, conversation_id="c1")
    asked = await memory.says("forget that", conversation_id="c1")
    done = await memory.says("forget that", conversation_id="c1", confirm=asked.token)
    assert [entry.id for entry in done.items] == [entry.id for entry in asked.items]
    assert "Porto" not in done.model_dump_json()


async def test_more_than_can_be_listed_is_told(memory: Memory) -> None:
    await store_entries(memory.store, [an_entry("ann", f"I like tea number {n}") for n in range(51)])
    asked = await memory.says("forget everything about tea")
    assert len(asked.items) == 50
    assert "50 memories will be forgotten, as listed. There may be more" in asked.reply


async def test_a_confirmation_fits_its_text_its_user_and_its_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.hears(PORTO)
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
    assert await memory.texts() == {PORTO}


async def test_everything_is_erased_after_a_confirmation_and_asked_about_again_where_more_was_said(
    memory: Memory,
) -> None:
    """Also by a confirmation that is sent twice: what was said since nobody has agreed to lose."""
    await memory.hears(PORTO)
    asked = await memory.says("forget everything you know about me")
    assert "1 memory" in asked.reply
    await memory.store.erase("ann")
    await memory.hears("I live in Faro.")
    again = await memory.says("forget everything you know about me", confirm=asked.token)
    assert (memory.erased, again.needs_confirmation) == ([], True)
    assert again.reply.startswith("What I remember has changed since.")
    await memory.says("forget everything you know about me", confirm=again.token)
    assert memory.erased == ["ann"]


async def test_what_is_remembered_about_something_is_asked_of_retrieve(memory: Memory) -> None:
    porto, question = await memory.hears(PORTO, "Which city should I see?")
    for memory.found, told in (([porto], [porto]), ([question, porto], [porto]), ([question], [question])):
        reply = await memory.says("what do you remember about my city?", space="default")
        assert [entry.id for entry in reply.items] == [entry.id for entry in told]
    assert {(asked.query, asked.space) for asked in memory.asked} == {("my city", "default")}
    memory.found = []
    assert (await memory.says("what do you remember about tea?")).reply == "I remember nothing about tea."


async def test_what_neither_mentions_the_topic_nor_is_like_it_is_not_told_of_it(memory: Memory) -> None:
    memory.found = await memory.hears("My stove hums", "Tea, hm")
    for memory.cosine in (0.1, None):
        reply = await memory.says("what do you remember about my PIN?")
        assert (reply.reply, reply.items) == ("I remember nothing about my PIN.", ())
        assert await memory.lists("what do you remember about tea?") == ["Tea, hm"]


async def test_what_is_remembered_at_all_is_counted_and_neither_small_talk_nor_questions_about_it(
    memory: Memory,
) -> None:
    assert (await memory.says("what do you remember?")).reply == "I remember nothing yet."
    await memory.hears("I play chess.", "what do u know about me?", "how many memories do you have?", "Great, thanks!")
    reply = await memory.says("how many memories do you have?")
    assert (reply.reply, [entry.text for entry in reply.items]) == ("I remember 1 thing.", ["I play chess."])
    await memory.hears(*(f"I like tea number {number}." for number in range(14)))
    reply = await memory.says("what do you remember about me?")
    assert (len(reply.items), reply.reply[:43]) == (12, "I remember 15 things. What you told last is")


async def test_why_is_answered_with_what_was_used_last(memory: Memory) -> None:
    entries = await memory.hears(PORTO, "I like tea.", conversation_id="c1")
    for used_at, entry in zip((5, 3), entries, strict=True):
        used = SCORES.model_copy(update={"computed_at": NOON + minutes(used_at)})
        await memory.store.replace([Change(entry, entry.model_copy(update={"last_scores": used}))])
    reply = await memory.says("why do you think that?", conversation_id="c1")
    assert [entry.text for entry in reply.items] == [PORTO]
    assert f"you said: “{PORTO}”" in reply.reply


async def test_why_a_statement_is_believed_is_answered_where_it_was_made(memory: Memory) -> None:
    await memory.hears("I like jazz and old films.")
    reply = await memory.says("why do you think I like jazz?")
    assert "you said: “I like jazz and old films.”" in reply.reply
    assert not (await memory.says("why do you think I like opera?")).understood, "a question for whoever talks"


async def test_a_memory_that_is_being_erased_tells_nothing(memory: Memory) -> None:
    await memory.hears(PORTO, conversation_id="c1")
    await privacy.begin("ann", stores=places(memory.store)[0])
    for said in ("forget that", "forget everything about Porto", "why do you think that?", "what do you remember?"):
        assert (await memory.says(said, conversation_id="c1")).items == ()


async def test_what_is_meant_is_pinned_and_unpinned_and_no_pin_is_undone_in_a_chat(memory: Memory) -> None:
    await memory.hears(PORTO, conversation_id="c1")
    for pin, chat in (("pin this", "c1"), ("pin that I live in Porto", "c2")):
        assert (await memory.says(pin, conversation_id=chat)).reply == f"Pinned: “{PORTO}”."
        assert "is gone for good" in (await memory.says("undo that", conversation_id="c1")).reply
        assert await memory.pinned() == {PORTO}
        await memory.says("unpin that", conversation_id="c1")
        assert await memory.pinned() == set()
    assert "nothing was pinned" in (await memory.says("pin that I live in Lisbon", conversation_id="c2")).reply


async def test_a_correction_is_shown_first(memory: Memory) -> None:
    await memory.hears("My dentist is on Tuesday.", "I like tea.", conversation_id="c1")
    text = "correct: my dentist is on Thursday"
    asked = await memory.says(text, conversation_id="c1")
    assert asked.reply.startswith("“My dentist is on Tuesday.” will become “my dentist is on Thursday”.")
    assert "My dentist is on Tuesday." in await memory.texts()
    done = await memory.says(text, conversation_id="c1", confirm=asked.token)
    assert [entry.text for entry in done.items] == ["my dentist is on Thursday"]
    assert await memory.texts() == {"my dentist is on Thursday", "I like tea."}


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("turn memory off", SettingsRequest(user_id="ann", space="work", change=SettingsChange(memory_enabled=False))),
        ("turn memory on", SettingsRequest(user_id="ann", space="work", change=SettingsChange(memory_enabled=True))),
        ("start incognito for this chat", IncognitoStartRequest(user_id="ann", space="work", conversation_id="c1")),
        ("end incognito", IncognitoEndRequest(user_id="ann", space="work", conversation_id="c1")),
    ],
)
async def test_what_is_kept_is_decided_for_this_space_or_chat(memory: Memory, said: str, decided: object) -> None:
    reply = await memory.says(said, conversation_id="c1", space="work")
    assert memory.decided == [decided]
    assert ("in the space “work”" in reply.reply) == ("memory" in said)


async def test_outside_of_a_chat_none_becomes_incognito(memory: Memory) -> None:
    assert "do not know which conversation" in (await memory.says("start incognito")).reply
    assert memory.decided == []


async def test_whether_a_chat_is_incognito_is_told(memory: Memory) -> None:
    assert (await memory.says("are you incognito?", conversation_id="c1")).reply.startswith("No: ")
    request = IncognitoStartRequest(user_id="ann", conversation_id="c1")
    await control.set_incognito(request, records=memory.store, in_flight=FakeInFlight())
    assert (await memory.says("are you incognito?", conversation_id="c1")).reply.startswith("Yes, ")
    assert (await memory.says("are you incognito?", conversation_id="c2")).reply.startswith("No: ")


async def test_times_are_told_and_asked_for_in_the_zone_of_the_user(memory: Memory) -> None:
    in_chat = {"conversation_id": "c1"}
    until = "until 1 February 2026, "  # NOON is 12:00 in UTC
    assert f"{until}12:00 UTC." in (await memory.says("start incognito", **in_chat)).reply
    memory.zone = "Europe/Vienna"
    assert f"{until}13:00 CET." in (await memory.says("start incognito", **in_chat)).reply
    told = await memory.says("start incognito", **in_chat, time_zone="Pacific/Auckland")
    assert "until 2 February 2026, 01:00 NZDT." in told.reply
    await memory.says("what did I say about tea yesterday?", time_zone="Pacific/Auckland")
    assert memory.asked[-1].time_zone == "Pacific/Auckland"


async def test_what_contradicts_itself_is_asked_and_settled_in_words(memory: Memory) -> None:
    assert "Nothing that I remember" in (await memory.says("do any memories contradict each other?")).reply
    assert "no open question" in (await memory.says("keep both memories")).reply
    old, new = "My landlord is called Huber", "My landlord is now called Hofer"
    await memory.hears_change(old, new, manually_saved=True)
    asked = await memory.says("what contradicts itself in my memory?")
    assert old in asked.reply
    assert [entry.text for entry in asked.items] == [new, old]
    settled = await memory.says("Keep the older memory, please")
    assert settled.reply == f"Kept: “{old}”."
    assert await memory.texts() == {old}
    assert "Nothing that I remember" in (await memory.says("show the conflicts in my memory")).reply


async def test_of_several_questions_the_one_that_was_shown_is_settled(memory: Memory) -> None:
    pairs = [("My cat is called Tom", "My cat is now called Jo"), ("My gym is Fit", "My gym is now Gold")]
    for n, (old, new) in enumerate(pairs):
        await memory.hears_change(old, new, at=2 * n * DAY, manually_saved=True)
    first = await memory.says("any conflicts in my memory?")
    other = next(pair for pair in pairs if pair[0] not in first.reply)
    shown = tuple(entry.id for entry in await memory.entries() if entry.text in other)
    reply = await memory.says("keep the newer memory", shown=shown)
    assert reply.reply.startswith(f"Kept: “{other[1]}”. On ")
    assert await memory.texts() == {other[1], *next(pair for pair in pairs if pair != other)}


async def test_what_was_said_within_a_time_or_a_chat_is_listed_and_forgotten(memory: Memory) -> None:
    now = datetime.now(UTC)
    for days, text in ((0, "I like tea."), (1, PORTO), (30, "I play chess.")):
        await memory.hears(text, created_at=now - timedelta(days), conversation_id=f"c{days}")
    for said, text in (
        ("forget what I said today", "I like tea."),
        ("forget everything I said yesterday", PORTO),
        ("forget what I said in this chat", "I play chess."),
    ):
        asked = await memory.says(said, conversation_id="c30", time_zone="UTC")
        assert ([entry.text for entry in asked.items], asked.needs_confirmation) == ([text], True)
    for said, fields in (("today", {"spaces": ("work",)}), ("in this chat", {"conversation_id": "c30"})):
        elsewhere = await memory.says(f"forget what I said {said}", space="work", **fields)
        assert elsewhere.reply == f"I remember nothing of what you said {said}."
    assert len(await memory.texts()) == 3
