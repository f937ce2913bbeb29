"""Facts in labelled sentences: half of them was not looked at while the rules were written."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.v1.turns import Role
from services.bench.facts import judged, quality, read_sentences
from services.shared.core.facts import Fact, facts_in

HERE = Path(__file__).parent
FILES = [HERE / "facts.tsv", HERE / "facts_held_out.tsv"]
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def found(text: str, role: Role = "user", speaker: str | None = None) -> tuple[Fact, ...]:
    return facts_in(text, role=role, speaker=speaker, said_at=NOW)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_facts_are_told_from_what_only_looks_like_them(file: Path) -> None:
    results = judged(read_sentences(file))
    assert quality(results).precision >= 0.95
    assert quality(results).recall >= 0.7


def test_half_of_as_many_sentences_as_promised_are_traps() -> None:
    sentences = [one for file in FILES for one in read_sentences(file)]
    assert len({one.text for one in sentences}) == len(sentences) >= 400
    assert sum(one.facts == "-" for one in sentences) >= len(sentences) / 2


def test_a_fact_says_whose_it_is_and_where_the_text_says_it() -> None:
    text = "Hello there. My sister Clara lives in Oslo, and it rains."
    relationship, home = found(text)
    assert relationship.memory_key == "people|person|clara|relationship"
    assert relationship.text == "Clara is their sister"
    assert home.entity_refs == ("person:clara", "place:oslo")
    assert (home.subject, home.entity_label, home.value, home.text) == (
        "people",
        "Clara",
        "Oslo",
        "Clara lives in Oslo",
    )
    assert text[slice(*home.span)].startswith("My sister Clara lives in Oslo")


def test_keys_that_hold_many_values_say_so() -> None:
    assert {fact.holds_many for fact in found("I speak Dutch and German")} == {True}
    assert [fact.holds_many for fact in found("I live in Oslo")] == [False]


@pytest.mark.parametrize(
    ("text", "event", "value"),
    [
        ("My dentist appointment has moved to Thursday", "dentist", "Thursday"),
        ("They moved my eye exam again, it's now on Friday at 11:30", "eye_exam", "Friday at 11:30"),
        ("My flight got delayed again, and it's now at 10:40", "flight", "10:40"),
        ("My exam was postponed once more. The new date is 10 May.", "exam", "10 May"),
        ("Globex deadline is now 20 November, final.", "globex_deadline", "20 November"),
        ("From now on the standup is at 9:45", "standup", "9:45"),
        ("As of next week, our yoga class is on Tuesdays", "yoga_class", "Tuesdays"),
    ],
)
def test_the_time_of_what_was_moved_is_the_new_one(text: str, event: str, value: str) -> None:
    (time,) = found(text)
    assert (time.memory_key, time.value) == (f"profile|event|{event}|time", value)


@pytest.mark.parametrize(
    "text",
    [
        "They moved my exam, it is annoying",
        "If they move my exam again, it's now on Friday",
        "They might have moved my exam. Is it now on Friday?",
        "It is now on Friday",
    ],
)
def test_what_tells_no_new_time_of_anything_makes_no_fact(text: str) -> None:
    assert not found(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Correction: my husband is called Stephan, with ph.", "Stephan"),
        ("My wife's name is spelled Sarah, with an h at the end", "Sarah"),
        ("My wife is called Sarah with an h", "Sarah"),
        ("My wife is Philippa, with one l and two p", "Philippa"),
    ],
)
def test_how_a_name_is_spelled_is_no_part_of_it(text: str, value: str) -> None:
    assert [fact.value for fact in found(text)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "Wanda is my boss now",
        "Oliver was promoted, now Wanda is my boss.",
        "Oliver left, and now Wanda is my boss",
        "Now Wanda is my new boss",
    ],
)
def test_who_is_somebodys_now_is_known(text: str) -> None:
    assert [(fact.entity_label, fact.value) for fact in found(text)] == [("Wanda", "boss")]


def test_what_takes_a_joke_back_is_meant() -> None:
    assert [fact.entity_label for fact in found("I was joking, my boss is still Rita.")] == ["Rita"]
    assert not found("my boss is Rita, just kidding")


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_what_a_user_says_makes_facts(role: Role) -> None:
    assert not found("I live in Oslo", role)


def test_a_named_speaker_tells_of_themselves() -> None:
    home, sister = found("I live in Oslo and Clara is my sister. Clara is my sister.", speaker="John Doe")[:2]
    assert home.memory_key == "people|person|john_doe|home"
    assert home.text == "John Doe lives in Oslo"
    assert sister.text == "Clara is John Doe's sister"


@pytest.mark.parametrize("piece", [" ", "I live in ", "my sister Clara ", "so, and ", "(", "'a ", "a", "1.", "I am \n"])
def test_a_text_of_any_length_is_read(piece: str) -> None:
    assert len(found(piece * (10_000 // len(piece)) + " I have a dog named Rex")) < 200
