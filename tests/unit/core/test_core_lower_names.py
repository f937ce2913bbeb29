"""Names in lower case: told by what names somebody outright, in texts that are in lower case throughout."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.core.facts import Fact, facts_in
from services.shared.core.lower_names import with_first_names, with_low_openings, with_names

_NAMING = ("name", "partner", "pet", "relationship")


def named_in(text: str) -> list[str]:
    found = facts_in(text, role="user", speaker=None, said_at=datetime(2026, 3, 1, tzinfo=UTC))
    return [_shown(fact) for fact in found if fact.memory_key.rsplit("|", 1)[1] in _NAMING]


def _shown(fact: Fact) -> str:
    _, _, who, slot = fact.memory_key.split("|")
    return f"{slot} {who if slot == 'relationship' else fact.value}"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("hi im theresa", "name Theresa"),
        ("my cat is called muffin, he is 7", "pet Muffin (cat)"),
        ("my husband tomas", "partner Tomas"),
        ("my brother max works at Infineon", "relationship max"),
        ("my mum annemarie lives in villach", "relationship annemarie"),
        ("we have a dog named bruno", "pet Bruno (dog)"),
        ("this is my sister lena, she lives in graz", "relationship lena"),
        ("i have a sister called ines", "relationship ines"),
        ("hello, i'm dariusz", "name Dariusz"),
        ("my girlfriend mirjam speaks Dutch", "partner Mirjam"),
        ("our dog is named waffles", "pet Waffles (dog)"),
        ("my dad herbert is a plumber", "relationship herbert"),
        ("my son is called jonas", "relationship jonas"),
        ("my wife katrin and i live in linz", "partner Katrin"),
        ("my cat luna is 3", "pet Luna (cat)"),
        ("hey im veronika, nice to meet you", "name Veronika"),
        ("my boyfriend sandro is from naples", "partner Sandro"),
        ("we adopted a kitten called pickles", "pet Pickles (kitten)"),
        ("meet my husband gregor", "partner Gregor"),
        ("my sister klara, she is a nurse", "relationship klara"),
        ("hi im florian and i like tea", "name Florian"),
        ("my aunt hedwig is from graz", "relationship hedwig"),
        ("my cat's name is momo", "pet Momo (cat)"),
        ("my best friend is called yusuf", "relationship yusuf"),
        ("my uncle bertl lives in wels", "relationship bertl"),
        ("my rabbit pepper is 2", "pet Pepper (rabbit)"),
    ],
)
def test_who_is_named_outright_is_known(text: str, named: str) -> None:
    assert named in named_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "hi im hungry",
        "my husband snores, it is awful",
        "my mother tongue is german",
        "my cat litter is empty",
        "i bought my mum chocolate",
        "my brother fell, poor him",
        "my dog walker is ill",
        "my sister is called often",
        "my Brother max works at Infineon. He is old",
        "let my husband cook",
        "hi im pregnant",
        "hi im vegan",
        "hey im bored, tell me a joke",
        "hello im german",
        "my wife cooks",
        "my sister cried",
        "my brother abroad is fine",
        "my dad passed away",
        "my baby shower is on saturday",
        "my dog ate it",
        "my cat hates water",
        "my son school is far",
        "my husband sometimes works late",
        "hi im curious, what is rust",
        "my father figure is my coach",
        "my girlfriend yesterday said no",
        "my mum was called lazy",
        "my cat tree is broken",
        "hi im sara? no",
        "my husband and i live in graz",
        "my brother quit",
        "my boss is called away",
        "hi im lazy",
        "my son homework is a pain",
        "my dog breath is a problem",
        "my boyfriend hoodie is my favourite",
        "my boyfriend hoodie has a hole",
        "my dad phone works again",
        "my brother currently works nights",
        "hi im alright",
        "hi im thirsty",
        "hey im dizzy, help",
        "hello im retired",
        "hi im chinese",
        "hi im back",
        "hi im stupid",
        "hi im famished",
        "hi im parched",
        "hi im peckish",
        "hi im furious",
        "hi im disabled",
        "hi im married, two kids",
        "hi im diabetic",
        "hi im outta ideas",
        "hi im gluten intolerant",
        "my wife drives me mad",
        "my cat bowl is empty",
        "my dog food is expensive",
        "my dad joke is bad",
        "my mum bun is messy",
        "my brother in law is here",
        "my husband does not know",
        "my daughter swimming is great",
        "my bird seed is gone",
        "my horse stable is old",
        "my sister act is funny",
        "my dad bod is real",
        "my father christmas is fake",
        "my wife beater is dirty",
        "with my mum shopping",
        "my sister hates me",
        "my boyfriend jeans is torn",
        "my girlfriend experience was bad",
        "my cat meme is viral",
        "my dog tag is lost",
        "my cat nap was short",
        "my son always wins",
        "my brother rarely is home",
        "my mother hen is old",
        "my cousin also works",
        "my dad really loves it",
        "my dog whisperer is nice",
        "my dog day was hard",
        "my puppy eyes is on",
        "my wife earns more",
        "my cat purrs, so cute",
        "my husband left",
        "my dog barks, always",
        "my parrot talks",
        "with my dad fishing",
        "my sister and brother",
        "my mother goose was cooked",
        "my cat scratcher was cheap",
        "my puppy class is on monday",
        "my brother ill, my mum tired",
        "my cat is called a lot of things",
        "my dog is named after a king",
        "my sister is called up",
    ],
)
def test_a_common_word_is_no_name(text: str) -> None:
    assert with_names(text) == text


@pytest.mark.parametrize("begin", ["Hi. ", "I am here, ", "ok! Then "])
def test_who_writes_capitals_writes_names_with_them(begin: str) -> None:
    assert with_names(f"{begin}my husband tomas") == f"{begin}my husband tomas"


def test_where_a_name_stands_is_kept() -> None:
    text = "hello, my brother max works at Infineon"
    assert with_names(text) == text.replace("max", "Max")


_PIECES = st.sampled_from(
    "hi im my our brother cat is called named ßen ǆana max ,|.|and|i|works".replace("|", " ").split()
)


@given(st.lists(_PIECES, max_size=20).map(" ".join) | st.text(max_size=80))
def test_nothing_but_capitals_changes(text: str) -> None:
    assert len(with_names(text)) == len(text)
    assert with_names(text).casefold() == text.casefold()


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("Met Anna at the station", "met Anna at the station"),
        ("Emailed Zanele the contract", "emailed Zanele the contract"),
        ("- Met Anna\n- Called Tom", "- met Anna\n- called Tom"),
        ("It rained. Walked with Tobias.", "It rained. walked with Tobias."),
        ("Beat Henrik at chess", "beat Henrik at chess"),
    ],
)
def test_a_first_word_before_a_name_is_read_in_lower_case(text: str, low: str) -> None:
    assert with_low_openings(text) == low


@pytest.mark.parametrize(
    "text",
    [
        "Anna Smith came",
        "Will Smith was there",
        "New York is big",
        "Red Bull gives wings",
        "Lake Victoria is deep",
        "Queen Elizabeth died",
        "Hey Anna, hello",
        "Thanks Tom",
        "Mark Twain wrote it",
        "We met. Anna Smith came",
        "MET ANNA",
        "met anna",
    ],
)
def test_what_begins_a_name_keeps_its_capital(text: str) -> None:
    assert with_low_openings(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("met anna at the station", "met Anna at the station"),
        ("Met anna at the station. Then called tom.", "Met Anna at the station. Then called Tom."),
        ("ask nina, tom and clara", "ask Nina, Tom and Clara"),
        ("i think anna's right", "i think Anna's right"),
        ("I met Oliver and anna", "I met Oliver and anna"),
        ("anna.schmidt@example.org", "anna.schmidt@example.org"),
        ("see /home/anna/notes and @tom", "see /home/anna/notes and @tom"),
        ("pay max 50 euros, then sue them", "pay max 50 euros, then sue them"),
        ("the carol and a robin at dawn", "the carol and a robin at dawn"),
        ("Me gusta la casa rosa.", "Me gusta la casa rosa."),
        ("das kleid ist rosa und die hose auch", "das kleid ist rosa und die hose auch"),
        ("my brother zork works at the bank", "my brother Zork works at the bank"),
    ],
)
def test_common_first_names_have_a_capital_where_nothing_inside_has_one(text: str, written: str) -> None:
    assert with_first_names(text) == written


@given(st.text(alphabet="AaNnTtoOmMe .!?-\n@'i", max_size=80))
def test_no_text_becomes_longer_and_only_its_case_changes(text: str) -> None:
    for written in (with_first_names(text), with_low_openings(text)):
        assert written.lower() == text.lower()


@pytest.mark.parametrize("text", ["a", "A", "Aa", "Aa ", "a ", "anna ", "Met Anna ", "- ", ". A", "the ", "'", "é"])
def test_any_text_is_recased_in_linear_time(text: str) -> None:
    def seconds(length: int) -> float:
        began = time.process_time()
        with_low_openings(with_first_names(text * (length // len(text))))
        return time.process_time() - began

    seconds(10_000)
    assert seconds(100_000) < 1.0 + 30 * seconds(10_000)
