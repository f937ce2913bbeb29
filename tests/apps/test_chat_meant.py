"""What a command is about: "that", a place in a list, what a correction resembles, and a topic with its names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from contracts.ports import Change, TextStore
from contracts.v1.claims import Slot
from contracts.v1.entries import Entry
from tests.apps.chatting import Memory
from tests.apps.test_forgetting import DAY
from tests.claims import a_claim
from tests.stores.builders import NOON, an_entry, store_entries

TEA, TRIP, WELDER = "My favourite tea is oolong.", "I drank tea in Kyoto.", "I work as a welder."
OLD, NEW = "My wifi password is tulip77.", "My wifi password has been changed to rose88."


@pytest.fixture
def memory(store: TextStore) -> Memory:
    return Memory(store)


async def test_that_is_what_the_user_said_last_in_the_conversation(memory: Memory) -> None:
    await memory.hears("I live in Porto.", conversation_id="c1")
    await memory.hears("Noted: Porto.", conversation_id="c1", role="assistant", created_at=NOON + DAY)
    await memory.hears("I play chess.", conversation_id="c2", created_at=NOON + 2 * DAY)
    await memory.hears("Forget that.", conversation_id="c1", created_at=NOON + 3 * DAY)
    reply = await memory.says("forget that", conversation_id="c1")
    assert [entry.text for entry in reply.items] == ["I live in Porto."]
    assert reply.needs_confirmation
    assert "I live in Porto." in await memory.texts(), "nothing is forgotten at the first word"

    done = await memory.says("forget that", conversation_id="c1", confirm=reply.token)
    assert done.reply == "Forgotten: 1 memory."
    assert await memory.texts() == {"Noted: Porto.", "I play chess.", "Forget that."}


async def test_without_a_conversation_that_is_what_the_last_answer_showed_of_the_space(memory: Memory) -> None:
    porto, _ = await memory.hears("I live in Porto.", "I play chess.")
    (badge,) = await memory.hears("The badge is green.", space="work")
    assert await memory.lists("forget that", shown=[porto.id]) == [porto.text]
    reply = await memory.says("forget that", shown=[badge.id], space="home")
    assert (reply.items, reply.needs_confirmation) == ((), False)


async def test_an_entry_of_somebody_else_is_never_that(memory: Memory) -> None:
    (theirs,) = await memory.hears("I live in Rome.", user="bob", conversation_id="c1")
    for said in ("forget that", "why do you think that?"):
        for listed in (False, True):
            reply = await memory.says(said, conversation_id="c1", shown=[theirs.id], listed=listed)
            assert (reply.items, reply.token) == ((), None)


async def test_after_a_list_that_is_what_was_listed_and_of_several_it_is_asked_which(memory: Memory) -> None:
    tea, trip = await memory.hears(TEA, TRIP, conversation_id="c0")
    await memory.hears(WELDER, conversation_id="c1", created_at=NOON + DAY)
    in_chat = {"conversation_id": "c1", "listed": True}
    for said in ("forget that", "why do you think that?", "pin that"):
        assert await memory.lists(said, shown=[tea.id], **in_chat) == [TEA]
        asked = await memory.says(said, shown=[tea.id, trip.id], **in_chat)
        assert [entry.text for entry in asked.items] == [TEA, TRIP]
        assert asked.reply.startswith("Which of these do you mean?")
        assert asked.token is None
    assert await memory.pinned() == {TEA}
    alone = await memory.lists("forget that", shown=[tea.id], conversation_id="c1")
    assert alone == [WELDER], "the answer before listed nothing"


async def test_a_place_in_the_list_is_what_stands_there_and_without_a_list_it_is_no_command(memory: Memory) -> None:
    said = ("I play chess.", "I drink tea.", "I own a boat.", "I sing.")
    ids = [entry.id for entry in await memory.hears(*said)]
    for text, where in (
        ("forget the second one", [1]),
        ("Please forget 3.", [2]),
        ("delete the first and the last one", [0, 3]),
        ("forget numbers", None),
        ("forget all of them", [0, 1, 2, 3]),
    ):
        reply = await memory.says(text, shown=ids, listed=True)
        assert reply.understood == (where is not None)
        assert [entry.id for entry in reply.items] == [ids[place] for place in where or ()]
        assert not (await memory.says(text, shown=ids)).understood
        assert not (await memory.says(text, listed=True)).understood
    asked = await memory.says("forget 1 and 3", shown=ids, listed=True)
    assert asked.reply == "2 memories will be forgotten, as listed. Confirm to go on."
    await memory.says("forget 1 and 3", shown=ids, listed=True, confirm=asked.token)
    assert await memory.texts() == {said[1], said[3]}
    for gone in ("forget the fifth one", "forget the first one"):
        nothing = await memory.says(gone, shown=ids, listed=True)
        assert nothing.reply == "The list has no such place that is still remembered: it ends at 4."
        assert nothing.token is None
    assert (await memory.says("pin the last one", shown=ids, listed=True)).reply == "Pinned: “I sing.”."


@pytest.mark.parametrize(
    "asked", ["What is my salary?", "what's my salary", "How much do I earn?", "Tell me my salary.", "my salary?"]
)
async def test_that_is_what_an_answer_rests_on_where_the_user_only_asked(memory: Memory, asked: str) -> None:
    salary, tea = await memory.hears("I earn 50k a year.", "I like tea.", conversation_id="c0")
    (question,) = await memory.hears(asked, created_at=NOON + DAY)
    in_chat = {"conversation_id": "c1", "shown": [question.id, salary.id, tea.id]}
    for text in ("forget that", "pin that", "correct that: I earn 60k a year", "correct that: it is 60k"):
        assert await memory.lists(text, **in_chat) == [salary.text]
    assert await memory.lists("correct: I like coffee", **in_chat) == [tea.text]
    assert await memory.lists("forget that", conversation_id="c1") == [asked], "nothing was shown"
    nothing = await memory.says("correct that: I earn 60k a year", conversation_id="c1")
    assert (nothing.items, nothing.token) == ((), None)


async def test_that_is_what_was_stated_last_whatever_its_answer_rests_on(memory: Memory) -> None:
    (tea,) = await memory.hears("I like tea.", conversation_id="c0")
    for text in ("I earn 50k a year. Is it much?", "What I do is secret.", "How I did it is a secret."):
        await memory.hears(text, conversation_id=text[:9])
        assert await memory.lists("forget that", conversation_id=text[:9], shown=[tea.id]) == [text]


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("correct: my flight leaves at 8:40", None),
        ("Correction: my sister lives in Rome", None),
        ("Correct: I'm 34, not 43", None),
        ("correct: my dentist is on Thursday", "My dentist is on Tuesday."),
        ("correct: I drink coffee, not tea", "I like tea."),
        ("correct that: the budget is 40k", "I like tea."),
        ("correction: it is coffee", "I like tea."),
    ],
)
async def test_what_shares_nothing_with_a_correction_is_not_corrected(
    memory: Memory, text: str, corrected: str | None
) -> None:
    await memory.hears("My dentist is on Tuesday.", "I like tea.", conversation_id="c1")
    reply = await memory.says(text, conversation_id="c1")
    assert [entry.text for entry in reply.items] == ([corrected] if corrected else [])
    assert reply.needs_confirmation == bool(corrected)
    assert corrected or reply.reply.startswith("Nothing like this is found")


async def test_a_correction_is_of_what_it_resembles_in_whatever_conversation_that_was_said(memory: Memory) -> None:
    helga = "My mother is called Helga."
    await memory.hears(helga, "My mother bakes.", "Is my mother called Herta?", conversation_id="c1")
    await memory.hears("My mother is called Olga.", conversation_id="c1", space="work")
    assert await memory.lists("correct: my mother is called Herta", conversation_id="c2") == [helga]
    assert await memory.lists("correct: my aunt likes gin", conversation_id="c2") == []


async def test_a_correction_after_a_list_is_of_what_it_resembles_there_or_of_what_was_said(memory: Memory) -> None:
    shown = [entry.id for entry in await memory.hears(TEA, TRIP, conversation_id="c0")]
    await memory.hears(WELDER, conversation_id="c1", created_at=NOON + DAY)
    for words, text in (("I drank coffee in Kyoto", TRIP), ("I work as a baker", WELDER), ("it is sencha I like", TEA)):
        assert await memory.lists(f"correct: {words}", conversation_id="c1", listed=True, shown=shown) == [text]


async def test_without_a_conversation_a_correction_is_of_what_was_shown_or_resembles_it(memory: Memory) -> None:
    tea, dentist = await memory.hears("I like tea.", "My dentist is on Tuesday.")
    for text, found in (
        ("correct: my dentist is on Thursday", [dentist.text]),
        ("correct that: I drink coffee", [tea.text]),
        ("correct: my flight leaves at 8:40", []),
    ):
        assert await memory.lists(text, shown=[tea.id]) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Forget everything about tulip77", [OLD]),
        ("Forget everything about my wifi password", [NEW, OLD]),
        ("forget that my wifi password is tulip77", [OLD]),
        ("forget what I said in this chat", [NEW, OLD]),
        ("Forget everything about roses", []),
    ],
)
async def test_what_holds_no_more_is_listed_last_and_forgotten(memory: Memory, text: str, found: list[str]) -> None:
    await memory.hears_change(OLD, NEW)
    assert not (await memory.says("why do you think I like tulip77?")).understood, "it is not thought any more"
    asked = await memory.says(text, conversation_id="c1")
    assert [entry.text for entry in asked.items] == found
    if not found:
        return
    assert asked.items[-1].status == "superseded"
    done = await memory.says(text, conversation_id="c1", confirm=asked.token)
    assert [entry.status for entry in done.items] == ["forgotten"] * len(found)
    assert await memory.lists(text, conversation_id="c1") == []


async def test_a_topic_of_one_original_is_not_that_of_its_roll_up(memory: Memory) -> None:
    told = ["My sourdough lives in the cellar.", "My sourdough recipe came from Aunt Wilma."]
    originals = [an_entry("ann", text, status="archived", rolled_up_into="r1") for text in told]
    ids = tuple(one.id for one in originals)
    rolled = {"source": "rollup", "source_ids": ids, "line_sources": ((ids[0],), (ids[1],))}
    await store_entries(memory.store, [*originals, an_entry("ann", "\n".join(told), id="r1", **rolled)])
    assert await memory.lists("forget Wilma") == [told[1]]
    both = await memory.says("Forget everything about sourdough")
    assert {entry.id for entry in both.items} == set(ids)


@pytest.mark.parametrize("name", "Mia Ben Mai Will An Von Sara Zoë José Anne-Marie Bo Hope Can".split())
async def test_a_name_is_found_whatever_else_it_means_in_any_language(memory: Memory, name: str) -> None:
    told = {f"{name} is allergic to peanuts.", f"{name} plays piano."}
    tagged = [an_entry("ann", text, tags=(name.casefold(), "food")) for text in told]
    other = [an_entry("ann", text) for text in ("I like tea and you may, too, as an aid.", "It will rain on me.")]
    await store_entries(memory.store, [*tagged, *other])
    assert {*await memory.lists(f"Forget everything about {name}")} == told
    for written in (name, name.lower()):
        found = await memory.lists(f"forget that {written} is allergic to peanuts")
        assert found == [f"{name} is allergic to peanuts."]


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("my son Will", {"My son Will is ten."}),
        ("Will Smith", set[str]()),
        ("Ben and Will", set[str]()),
        ("my son", {"My son Will is ten.", "My son Ben is six."}),
        ("will", {"My son Will is ten."}),
        ("her", set[str]()),
    ],
)
async def test_every_name_of_a_topic_counts(memory: Memory, topic: str, found: set[str]) -> None:
    said = ("My son Will is ten.", "My son Ben is six.", "A smith lives here.", "Her car is red.")
    await store_entries(memory.store, [an_entry("ann", text) for text in said])
    assert {*await memory.lists(f"Forget all about {topic}")} == found


async def test_about_several_is_what_mentions_all_of_them_else_what_mentions_any(memory: Memory) -> None:
    either = {"Clara lives in Porto.", "The dentist is on Tuesday."}
    await memory.hears(*either, "I like tea.")
    assert {*await memory.lists("forget about Clara and the dentist")} == either
    await memory.hears("Clara knows a dentist.")
    assert await memory.lists("forget about Clara and the dentist") == ["Clara knows a dentist."]


async def test_a_statement_that_was_said_as_a_command_can_be_forgotten(memory: Memory) -> None:
    told = (
        "Correction: my husband is called Stephan.",
        "Forget that Stephan snores",
        "Forget everything about Stephan",
    )
    await memory.hears(*told, conversation_id="c1")
    assert {*await memory.lists("Forget everything about Stephan")} == set(told[:2])
    assert await memory.lists("forget that", conversation_id="c1") == [told[0]]
    assert len(await memory.entries()) == 3


async def test_what_is_known_of_a_name_is_told_where_a_memory_mentions_it_and_left_to_the_model_else(
    memory: Memory,
) -> None:
    mia, *others = memory.found = await memory.hears(
        "Mia is allergic to peanuts.", "Who is Mia?", "My niece likes tea."
    )
    assert await memory.lists("What do you know about Mia?") == [mia.text]
    for text in ("What do you know about Napoleon?", "tell me what u know about Napoleon"):
        assert not (await memory.says(text)).understood
    memory.found = others
    assert (await memory.says("what do you remember about Mia?")).understood


async def test_a_lone_name_is_forgotten_where_something_mentions_it(memory: Memory) -> None:
    await memory.hears("Clara lives in Porto.")
    for text in ("Forget Clara", "remove all mentions of Clara", "Remove everything about Clara from your memory"):
        assert await memory.lists(text) == ["Clara lives in Porto."]
    for text in ("Forget Napoleon", "Remove all mentions of Napoleon"):
        assert not (await memory.says(text)).understood


@pytest.mark.parametrize("text", ["forget everything about Drubbelina", "forget everything I said today"])
async def test_what_is_forgotten_by_topic_or_time_is_looked_for_in_every_space_that_the_caller_may_see(
    memory: Memory, text: str
) -> None:
    now = datetime.now(UTC)
    for space in ("default", "trips", "work"):
        await memory.hears(f"Drubbelina is at the {space} desk.", space=space, created_at=now)
    (old,) = await memory.hears("The archive has Drubbelina.", space="old", created_at=now)
    assert not await memory.store.replace([Change(old, old.model_copy(update={"status": "archived"}))])
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
    await memory.hears("Drubbelina has the office key.", space="work")
    for text in ("what do you remember?", "pin that Drubbelina has the office key", "correct: Drubbelina has the key"):
        assert await memory.lists(text) == []


def told(text: str, whose: str = "", value: str = "", slot: Slot = "family") -> Entry:
    """What a user said, and that it says what somebody is to them."""
    claims = (a_claim(text, value, slot, whose=whose),) if whose else ()
    return an_entry("ann", text, claims=claims)


HEINZ = (
    told("My brother Heinz lives in Bremen.", "Heinz", "My brother Heinz"),
    told("Heinz had a stroke."),
    told("Heinz is 79."),
)
KARL = told("My brother Karl is a vet.", "Karl", "My brother Karl"), told("Karl snores.")
COLLEAGUE = told("My colleague Heinz is a vet.", "Heinz", "My colleague Heinz", "colleague")
ILL, MOTHER = told("My brother is ill."), told("My mother is 80.")
MUM = told("Mum forgot my name.", "Mum", "forgot my name", "health")
DOG = told("We have a new dog, Rufus.", "Rufus", "dog", "pet"), told("Rufus bites.")


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
        ((ILL, HEINZ[2]), "my brother", (ILL,)),
        (HEINZ, "my brother's stroke", ()),
        ((MOTHER, MUM), "my mother", (MOTHER, MUM)),
        (DOG, "our dog", DOG),
    ],
)
async def test_what_mentions_the_name_of_whom_a_topic_means_is_about_them(
    memory: Memory, said: tuple[Entry, ...], topic: str, found: tuple[Entry, ...]
) -> None:
    await store_entries(memory.store, said)
    assert {*await memory.lists(f"forget everything about {topic}")} == {one.text for one in found}


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
    await memory.hears(told_of, other, "I like tea.")
    assert await memory.lists(f"forget everything about {topic}") == [told_of]


async def test_what_is_forgotten_with_a_relative_is_named(memory: Memory) -> None:
    await store_entries(memory.store, HEINZ)
    asked = await memory.says("forget everything about my brother")
    assert asked.reply.startswith("3 memories will be forgotten, as listed, with what mentions Heinz.")
    done = await memory.says("forget everything about my brother", confirm=asked.token)
    assert [entry.status for entry in done.items] == ["forgotten"] * 3
