"""Commands about a topic: names, what holds no more, and what was said as a command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import Change, Selection, TextStore
from contracts.v1.claims import Slot
from contracts.v1.entries import Entry
from tests.apps.fakes import FakeReader
from tests.apps.settling import settle
from tests.apps.test_chat_commands import Memory, store_page
from tests.apps.test_forgetting import say
from tests.claims import a_claim
from tests.stores.builders import NOON, an_entry, store_entries


@pytest.fixture
def memory(store: TextStore) -> Memory:
    return Memory(store)


async def listed(memory: Memory, text: str) -> set[str]:
    return {entry.text for entry in (await memory.says(text)).items}


async def changed(memory: Memory, old: str, new: str) -> None:
    in_chat = {"conversation_id": "c1", "role": "user"}
    entries = [an_entry("ann", old, **in_chat), an_entry("ann", new, created_at=NOON + timedelta(1), **in_chat)]
    await store_entries(memory.store, entries)
    await settle(memory.store, entries, FakeReader(updates=[(old, new)]))
    assert await memory.texts() == {new}


OLD, NEW = "My wifi password is tulip77.", "My wifi password has been changed to rose88."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Forget everything about tulip77", [OLD]),
        ("Forget everything about my wifi password", [NEW, OLD]),
        ("forget that my wifi password is tulip77", [OLD]),
        ("Forget everything about roses", []),
    ],
)
async def test_what_holds_no_more_is_listed_last_and_forgotten(memory: Memory, text: str, found: list[str]) -> None:
    await changed(memory, OLD, NEW)
    asked = await memory.says(text)
    assert [entry.text for entry in asked.items] == found
    if not found:
        return
    assert asked.items[-1].status == "superseded"
    done = await memory.says(text, confirm=asked.token)
    assert [entry.status for entry in done.items] == ["forgotten"] * len(found)
    assert not await listed(memory, text)


async def test_a_topic_of_one_original_is_not_that_of_its_roll_up(memory: Memory) -> None:
    told = ["My sourdough lives in the cellar.", "My sourdough recipe came from Aunt Wilma."]
    originals = [an_entry("ann", text, status="archived", rolled_up_into="r1") for text in told]
    ids = tuple(one.id for one in originals)
    whole = an_entry(
        "ann", "\n".join(told), id="r1", source="rollup", source_ids=ids, line_sources=((ids[0],), (ids[1],))
    )
    await store_entries(memory.store, [*originals, whole])
    assert await listed(memory, "forget Wilma") == {told[1]}
    both = await memory.says("Forget everything about sourdough")
    assert {entry.id for entry in both.items} == set(ids)


async def test_what_was_said_then_is_listed_though_it_holds_no_more(memory: Memory) -> None:
    await changed(memory, OLD, NEW)
    asked = await memory.says("forget what I said in this chat", conversation_id="c1")
    assert [entry.text for entry in asked.items] == [NEW, OLD]
    assert not (await memory.says("why do you think I like tulip77?")).understood, "it is not thought any more"


@pytest.mark.parametrize(
    "name", "Mia Ben Ella Dan Ali Uma Mai May Will An Hans Al Von Sara Zoë José Anne-Marie Bo Per Hope Can".split()
)
async def test_a_name_is_found_whatever_else_it_means_in_any_language(memory: Memory, name: str) -> None:
    told = {f"{name} is allergic to peanuts.", f"{name} plays piano."}
    tagged = [an_entry("ann", text, tags=(name.casefold(), "food")) for text in told]
    other = [an_entry("ann", text) for text in ("I like tea and you may, too, as an aid.", "It will rain on me.")]
    await store_entries(memory.store, [*tagged, *other])
    assert await listed(memory, f"Forget everything about {name}") == told
    for written in (name, name.lower()):
        found = await listed(memory, f"forget that {written} is allergic to peanuts")
        assert found == {f"{name} is allergic to peanuts."}


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("my son Will", {"My son Will is ten."}),
        ("Will Smith", set[str]()),
        ("Ben and Will", set[str]()),
        ("my son", {"My son Will is ten.", "My son Ben is six."}),
        ("will", {"My son Will is ten."}),
        ("ben", {"My son Ben is six."}),
        ("her", set[str]()),
    ],
)
async def test_every_name_of_a_topic_counts(memory: Memory, topic: str, found: set[str]) -> None:
    said = ("My son Will is ten.", "My son Ben is six.", "A smith lives here.", "Her car is red.")
    await store_entries(memory.store, [an_entry("ann", text) for text in said])
    assert await listed(memory, f"Forget all about {topic}") == found


async def test_a_statement_that_was_said_as_a_command_can_be_forgotten(memory: Memory) -> None:
    told = (
        "Correction: my husband is called Stephan.",
        "Forget that Stephan snores",
        "Forget everything about Stephan",
    )
    for minutes, text in enumerate(told):
        await say(memory.store, text, conversation_id="c1", created_at=NOON + timedelta(minutes=minutes))
    assert await listed(memory, "Forget everything about Stephan") == set(told[:2])
    asked = await memory.says("forget that", conversation_id="c1")
    assert [entry.text for entry in asked.items] == [told[0]]
    assert len(await store_page(memory)) == 3


async def test_what_is_known_of_a_name_is_told_where_a_memory_mentions_it_and_left_to_the_model_else(
    memory: Memory,
) -> None:
    told = [an_entry("ann", text) for text in ("Mia is allergic to peanuts.", "Who is Mia?", "My niece likes tea.")]
    await store_entries(memory.store, told)
    memory.found = told
    reply = await memory.says("What do you know about Mia?")
    assert [entry.text for entry in reply.items] == [told[0].text]
    for text in ("What do you know about Napoleon?", "tell me what u know about Napoleon"):
        assert not (await memory.says(text)).understood
    memory.found = told[1:]
    assert (await memory.says("what do you remember about Mia?")).understood


async def test_a_lone_name_is_forgotten_where_something_mentions_it(memory: Memory) -> None:
    await say(memory.store, "Clara lives in Porto.")
    for text in ("Forget Clara", "remove all mentions of Clara", "Remove everything about Clara from your memory"):
        assert await listed(memory, text) == {"Clara lives in Porto."}
    for text in ("Forget Napoleon", "Remove all mentions of Napoleon"):
        assert not (await memory.says(text)).understood


async def test_a_question_about_the_memory_is_no_memory(memory: Memory) -> None:
    for text in ("I play chess.", "what do u know about me?", "how many memories do you have?"):
        await say(memory.store, text)
    reply = await memory.says("how many memories do you have?")
    assert (reply.reply, [entry.text for entry in reply.items]) == ("I remember 1 thing.", ["I play chess."])


@pytest.mark.parametrize("text", ["forget everything about Drubbelina", "forget everything I said today"])
async def test_what_is_forgotten_by_topic_or_time_is_looked_for_in_every_space_that_the_caller_may_see(
    memory: Memory, text: str
) -> None:
    now = datetime.now(UTC)
    for space in ("default", "trips", "work"):
        await say(memory.store, f"Drubbelina is at the {space} desk.", space=space, created_at=now)
    await say(memory.store, "The archive has Drubbelina.", space="old", created_at=now)
    (old,) = (await memory.store.page(Selection("ann", "old"), limit=1, cursor=None)).entries
    archived = old.model_copy(update={"status": "archived", "version": old.version + 1})
    assert not await memory.store.replace([Change(old, archived)])
    alone = await memory.says(text, spaces=("default",))
    assert [entry.space for entry in alone.items] == ["default"]
    assert "space" not in alone.reply
    two = await memory.says(text, spaces=("default", "work"))
    assert {entry.space for entry in two.items} == {"default", "work"}
    assert "trips" not in two.model_dump_json()
    asked = await memory.says(text)
    assert {entry.space for entry in asked.items} == {"default", "trips", "work", "old"}
    assert ", 3 of them in the spaces “" in asked.reply
    assert "forgotten: " in (await memory.says(text, confirm=asked.token)).reply.lower()
    assert not await memory.texts()


async def test_what_is_told_or_pinned_is_of_the_space_alone(memory: Memory) -> None:
    await say(memory.store, "Drubbelina has the office key.", space="work")
    for text in ("what do you remember?", "pin that Drubbelina has the office key", "correct: Drubbelina has the key"):
        assert not (await memory.says(text)).items


def told(text: str, whose: str = "", value: str = "", slot: Slot = "family", day: int = 0) -> Entry:
    """What a user said, and that it says what somebody is to them."""
    claims = (a_claim(text, value, slot, whose=whose),) if whose else ()
    return an_entry("ann", text, claims=claims, created_at=NOON + timedelta(day))


HEINZ = (
    told("My brother Heinz lives in Bremen.", "Heinz", "My brother Heinz"),
    told("Heinz had a stroke."),
    told("Heinz is 79."),
)
KARL = told("My brother Karl is a vet.", "Karl", "My brother Karl"), told("Karl snores.")
COLLEAGUE = told("My colleague Heinz is a vet.", "Heinz", "My colleague Heinz", "colleague")
MUM = told("Mum forgot my name.", "Mum", "forgot my name", "health")


@pytest.mark.parametrize(
    ("said", "topic", "found"),
    [
        (HEINZ, "my brother", HEINZ),
        (HEINZ, "my brother Heinz", HEINZ),
        (HEINZ, "my sister", ()),
        ((*HEINZ, told("My sister Eva lives in Oslo.", "Eva", "My sister Eva")), "my brother", HEINZ),
        ((*HEINZ, *KARL), "my brother", (HEINZ[0], KARL[0])),
        ((*HEINZ, *KARL), "my brother Heinz", HEINZ),
        ((*HEINZ, *KARL), "my brothers", (*HEINZ, *KARL)),
        ((*HEINZ, COLLEAGUE), "my brother", (HEINZ[0],)),
        ((told("My brother is ill."), HEINZ[2]), "my brother", (told("My brother is ill."),)),
        (HEINZ, "my brother's stroke", ()),
        ((told("My mother is 80."), MUM), "my mother", (told("My mother is 80."), MUM)),
        (
            (told("We have a new dog, Rufus.", "Rufus", "dog", "pet"), told("Rufus bites.")),
            "our dog",
            (told("We have a new dog, Rufus."), told("Rufus bites.")),
        ),
    ],
)
async def test_what_mentions_the_name_of_whom_a_topic_means_is_about_them(
    memory: Memory, said: tuple[Entry, ...], topic: str, found: tuple[Entry, ...]
) -> None:
    await store_entries(memory.store, said)
    assert await listed(memory, f"forget everything about {topic}") == {one.text for one in found}


@pytest.mark.parametrize(
    ("told_of", "topic", "other"),
    [
        ("My sister Hedda is ill.", "my sister", "My sister-in-law Petra is a judge."),
        ("My brother is ill.", "my brother", "My brother in law Ole is loud."),
        ("My sister likes Tom.", "my sister", "Tom left home."),
        ("My wife is ill.", "my wife", "My ex-wife Eva moved."),
        ("My dog is ill.", "my dog", "Tom has a hamster called Rex."),
        ("My knee operation is on 4 December.", "my knee operation", "Tom's operation went well."),
    ],
)
async def test_what_is_to_be_forgotten_is_not_what_is_of_others(
    memory: Memory, told_of: str, topic: str, other: str
) -> None:
    await store_entries(memory.store, [told(told_of), told(other, day=1), told("I like tea.")])
    assert await listed(memory, f"forget everything about {topic}") == {told_of}


async def test_what_is_forgotten_with_a_relative_is_named(memory: Memory) -> None:
    await store_entries(memory.store, HEINZ)
    asked = await memory.says("forget everything about my brother")
    assert asked.reply.startswith("3 memories will be forgotten, as listed, with what mentions Heinz.")
    done = await memory.says("forget everything about my brother", confirm=asked.token)
    assert [entry.status for entry in done.items] == ["forgotten"] * 3
