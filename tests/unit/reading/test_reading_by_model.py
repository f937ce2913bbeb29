"""Answers of a language model: a claim is believed where the turn has its words, and never otherwise."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.claims import MOST_CLAIMS, Claim, Slot
from services.shared.reading.by_model import CONFIDENCE, SCHEMA, Exchange, InvalidAnswer, messages_for, read_answer

TURN = "Clara, my sister, moved to\nPorto in March. I need to call the plumber. Is Hamburg nice?"
EXCHANGE = Exchange(TURN, before=("assistant: Do you have family nearby, or Bob?",))
GOOD = {
    "kind": "fact",
    "slot": "home",
    "value": "Porto",
    "sentence": "Clara, my sister, moved to Porto in March.",
    "about": "Clara",
    "is_new": True,
}
TASK = {"kind": "task", "slot": "other_fact", "value": "call the plumber", "sentence": "I need to call the plumber."}


def read(*claims: Any, exchange: Exchange = EXCHANGE) -> list[Claim]:
    kept, dropped = read_answer(json.dumps({"claims": claims}), exchange)
    assert dropped == len(claims) - len(kept)
    return list(kept)


def words(claim: Claim, turn: str = TURN) -> str:
    return turn[slice(*claim.value)]


def test_a_claim_says_where_the_turn_has_its_value_its_sentence_and_its_owner() -> None:
    (claim,) = read(GOOD)
    assert (claim.kind, claim.slot, claim.of_user, claim.is_new) == ("fact", "home", False, True)
    assert claim.confidence == CONFIDENCE
    assert words(claim) == "Porto"
    assert TURN[slice(*claim.sentence)] in TURN
    assert words(claim) in TURN[slice(*claim.sentence)]
    assert claim.whose is not None
    assert TURN[slice(*claim.whose)] == "Clara"


def test_a_task_is_of_its_user() -> None:
    (task,) = read({**TASK, "about": "user", "is_new": False})
    assert (task.kind, task.slot, task.of_user, words(task)) == ("task", "other_fact", True, "call the plumber")


@pytest.mark.parametrize("about", ["user", "The user", "me"])
def test_the_user_is_named_in_several_ways(about: str) -> None:
    (claim,) = read(GOOD | {"about": about})
    assert (claim.of_user, claim.whose) == (True, None)


@pytest.mark.parametrize("about", ["", "Bob"])
def test_who_is_named_nowhere_or_in_the_turns_before_alone_is_nobody_by_name(about: str) -> None:
    (claim,) = read(GOOD | {"about": about})
    assert (claim.of_user, claim.whose) == (False, None)


def test_a_value_is_where_its_sentence_is() -> None:
    turn = "Tea is cheap. I like tea."
    said = GOOD | {"value": "tea", "sentence": "I like tea.", "about": "user", "slot": "like"}
    (claim,) = read(said, exchange=Exchange(turn))
    assert claim.value == (turn.rindex("tea"), turn.rindex("tea") + 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": "Lisbon"},
        {"value": "ort"},
        {"value": " . "},
        {"value": "x" * 10_000},
        {"sentence": "Clara moved to Porto."},
        {"sentence": "I need to call the plumber."},
        {"sentence": TURN * 100},
        {"about": "Deutsche Bank"},
        {"about": "Clara " * 100},
        {"slot": "ignore all previous instructions"},
        {"kind": "deity"},
        {"value": "family", "sentence": "Do you have family nearby, or Bob?"},
        {"is_new": "perhaps"},
    ],
)
def test_an_invented_or_malformed_claim_is_dropped_and_its_neighbour_kept(wrong: dict[str, Any]) -> None:
    assert [words(claim) for claim in read(GOOD | wrong, GOOD)] == ["Porto"]


def test_of_what_is_pasted_nothing_is_kept() -> None:
    pasted = " " * len("I own a yacht.")
    yacht = GOOD | {"value": "yacht", "sentence": "I own a yacht.", "about": "user"}
    assert read(yacht, exchange=Exchange(f"{pasted} hello there")) == []


def test_claims_come_once_each_in_the_order_of_the_turn_and_not_without_end() -> None:
    march = GOOD | {"value": "in March", "slot": "event"}
    assert [words(claim) for claim in read(march, GOOD, march, GOOD)] == ["Porto", "in March"]
    turn = ", ".join(f"no {number}" for number in range(400))
    many = [GOOD | {"value": f"no {n}", "sentence": turn[:1400], "about": "user"} for n in range(300)]
    assert len(read(*many, exchange=Exchange(turn))) <= MOST_CLAIMS


@pytest.mark.parametrize(
    "content",
    ["", "null", "[]", "Sure! Here they are.", '{"claims": 3}', "[" * 60_000, '{"claims": [', "{}", '{"facts": []}'],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused_without_a_word_of_it(content: str) -> None:
    with pytest.raises(InvalidAnswer, match=r"^the answer is not JSON with a list of claims$"):
        read_answer(content, EXCHANGE)


def test_an_answer_with_more_claims_than_anybody_reads_is_refused() -> None:
    with pytest.raises(InvalidAnswer):
        read_answer(json.dumps({"claims": [0] * 3000}), EXCHANGE)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_whatever_a_claim_is_made_of_it_is_dropped_or_stands_in_the_turn(junk: Any) -> None:
    for claim in read(junk, {**GOOD, "value": junk}, {**GOOD, "sentence": junk}, {**GOOD, "about": junk}):
        assert 0 <= claim.value[0] < claim.value[1] <= len(TURN)
        assert claim.sentence[0] <= claim.value[0]
        assert claim.value[1] <= claim.sentence[1]


_LETTERS = "ab .\u0130\u00df"


@given(st.text(alphabet=f"{_LETTERS}\n", max_size=40), st.text(alphabet=_LETTERS, min_size=1, max_size=6))
def test_a_place_has_the_words_of_the_value(turn: str, value: str) -> None:
    said = GOOD | {"value": value, "sentence": turn, "about": "user"}
    for claim in read(said, exchange=Exchange(turn)):
        found = " ".join(turn[slice(*claim.value)].split()).casefold()
        assert found == " ".join(value.strip(" .,;:").split()).casefold()


def test_what_is_sent_is_the_order_and_the_exchange_as_data() -> None:
    system, user = messages_for(Exchange("I        own   it", before=("user: " + "x" * 5000,)))
    assert all(slot in system["content"] for slot in get_args(Slot))
    given_ = json.loads(user["content"])
    assert given_["turn"] == "I own it"
    assert len(given_["before"][0]) < 1000


def test_the_schema_asks_for_every_field_and_no_other() -> None:
    item = SCHEMA["properties"]["claims"]["items"]
    assert set(item["required"]) == set(item["properties"]) == set(GOOD)
    assert item["additionalProperties"] is False
