"""Which claims of earlier entries a new text ends."""

from __future__ import annotations

import pytest

from contracts.v1.claims import Change, Claim, DecidedClaim, Reading, Relation
from contracts.v1.entries import Entry
from services.shared.knowledge.changes import (
    CONTRADICTION,
    ENDS,
    MOST_PAIRS,
    UNSURE,
    UPDATE,
    Pair,
    are_of_two_codes,
    compared_text,
    effect,
    judge,
    may_change,
    outdated_by,
    stated,
    to_compare,
)
from services.shared.knowledge.profile import LIKELY
from tests.apps.fakes import claim
from tests.stores.builders import NOON, an_entry

WORK, TENNIS, CALL = (
    "I work for Bosch and I am allergic to nuts.",
    "I play tennis on Monday.",
    "I must call the plumber.",
)
TEXT = f"{WORK} {TENNIS} {CALL}"


def within(sentence: str, value: str, **fields: object) -> Claim:
    begin = TEXT.index(sentence)
    return claim(TEXT, value, sentence=(begin, begin + len(sentence)), **({"slot": "other_fact"} | fields))  # type: ignore[arg-type]


EMPLOYER = within(WORK, "Bosch", slot="employer")
ALLERGY = within(WORK, "nuts", slot="allergy")
HOBBY = within(TENNIS, "tennis", slot="hobby")
TASK = within(CALL, "call the plumber", kind="task")
OLD = an_entry("ann", TEXT, claims=(EMPLOYER, ALLERGY, HOBBY, TASK))


def update(likely: float) -> Relation:
    return Relation(1 - likely, 0, 0, likely)


def a_change(of: Claim, confidence: float = 1) -> Change:
    return Change(entry_id=OLD.id, kind=of.kind, slot=of.slot, value=of.value, confidence=confidence)


def test_each_sentence_is_compared_once_with_what_may_end_something_in_it() -> None:
    new = "No more tennis, nor nuts."
    pairs = to_compare([OLD, OLD, an_entry("ann", "Nothing is known of this.")], new, (HOBBY,))
    assert [(pair.texts, pair.claims) for pair in pairs] == [((WORK, new), (ALLERGY,)), ((TENNIS, new), (HOBBY,))]
    assert to_compare([OLD], "My bike is red.", (claim("My bike is red.", "red", "possession"),)) == []


def test_so_many_are_compared_at_most_the_nearest_first() -> None:
    entries = [an_entry("ann", f"I like tea {n}.") for n in range(2 * MOST_PAIRS)]
    stating = [one.model_copy(update={"claims": (claim(one.text, "tea", "like"),)}) for one in entries]
    pairs = to_compare(stating, "I had enough of it.", ())
    assert [pair.older for pair in pairs] == stating[:MOST_PAIRS]
    assert to_compare(stating, "", ()) == []


def test_what_is_less_than_likely_or_said_not_to_be_so_is_stated_by_nobody() -> None:
    unsure = EMPLOYER.model_copy(update={"confidence": LIKELY - 0.01})
    assert stated(OLD.model_copy(update={"claims": (unsure, HOBBY)})) == (HOBBY,)
    for is_so, left in ((True, [ALLERGY.value, HOBBY.value, TASK.value]), (False, [ALLERGY.value, TASK.value])):
        decided = DecidedClaim(slot="hobby", value=HOBBY.value, sentence=HOBBY.sentence, is_so=is_so, at=NOON)
        entry = OLD.model_copy(update={"claims": (ALLERGY, HOBBY, TASK), "decided_claims": (decided,)})
        assert sorted(one.value for one in stated(entry)) == left


@pytest.mark.parametrize(
    ("sentence", "new", "claims", "gone"),
    [
        (TENNIS, "I gave it up.", (), (HOBBY,)),
        (CALL, "He came today.", (), (TASK,)),
        (WORK, "I am at Miele now.", (claim("I am at Miele now.", "Miele", "employer"),), (EMPLOYER,)),
        (WORK, "No trouble with nuts any more.", (), (ALLERGY,)),
        (WORK, "Bosch is history, so are nuts.", (), (EMPLOYER, ALLERGY)),
        (WORK, "That is over.", (), ()),
    ],
)
def test_of_several_claims_of_a_sentence_those_end_that_the_new_text_can_mean(
    sentence: str, new: str, claims: tuple[Claim, ...], gone: tuple[Claim, ...]
) -> None:
    begin = TEXT.index(sentence)
    pairs = {pair.sentence: pair for pair in to_compare([OLD], new, claims)}
    assert getattr(pairs.get((begin, begin + len(sentence))), "claims", ()) == gone


def judged(relation: Relation, *, contradictions: bool = False) -> tuple[int, bool] | None:
    pair = Pair(OLD, HOBBY.sentence, "No more tennis.", (HOBBY,))
    found = judge([pair], [relation], contradictions=contradictions)
    return (len(found[0].changes), found[0].in_doubt) if found else None


def test_how_sure_it_is_tells_a_change_from_a_question_and_from_nothing() -> None:
    assert judged(update(UPDATE)) == (1, False)
    assert judged(update(UPDATE - 0.01)) == judged(update(UNSURE)) == (0, True)
    assert judged(update(UNSURE - 0.01)) is None
    at_odds = Relation(0, 1 - CONTRADICTION, CONTRADICTION, 0)
    assert judged(at_odds) is None
    assert judged(at_odds, contradictions=True) == (0, True)


def test_an_entry_of_which_all_has_ended_is_superseded_and_else_in_part() -> None:
    changes = [a_change(one) for one in OLD.claims]
    assert effect(OLD, changes) == "superseded"
    assert effect(OLD, changes[1:]) == "in part"
    assert effect(OLD, []) is None
    assert effect(an_entry("ann", TEXT, claims=OLD.claims), changes) is None
    assert effect(OLD, [a_change(claim(TEXT, "am", "hobby"))]) is None


def in_part(*changes: Change) -> Entry:
    update = {"outdated": outdated_by(OLD, changes), "valid_until": NOON, "superseded_by": "new"}
    return OLD.model_copy(update=update)


def test_what_ended_before_adds_up() -> None:
    *first, last = map(a_change, OLD.claims)
    entry = in_part(*first)
    assert entry.outdated == ("Bosch", "nuts", "tennis")
    assert stated(entry) == (TASK,)
    assert effect(entry, first) is None
    assert effect(entry, [last]) == "superseded"
    new = "I am at Miele now."
    assert to_compare([in_part(first[0])], new, (claim(new, "Miele", "employer"),)) == []
    assert outdated_by(entry, [last]) == ("Bosch", "call the plumber", "nuts", "tennis")


@pytest.mark.parametrize(
    ("reading", "contradictions", "may"),
    [
        (Reading(ends=ENDS), False, True),
        (Reading((HOBBY,), ends=ENDS - 0.01), False, False),
        (Reading((HOBBY,), ends=ENDS - 0.01), True, True),
        (Reading((HOBBY.model_copy(update={"is_new": True}),)), False, True),
    ],
)
def test_only_what_may_change_something_is_compared(reading: Reading, contradictions: bool, may: bool) -> None:
    assert may_change(reading, contradictions=contradictions) == may


def test_of_a_long_text_the_sentences_that_claim_anything_are_compared() -> None:
    assert compared_text("  I moved \n to Porto. ", ()) == "I moved to Porto."
    long = f"{TEXT} {'And so on. ' * 40}"
    assert compared_text(long, (HOBBY, EMPLOYER, ALLERGY)) == f"{WORK} {TENNIS}"
    assert len(compared_text(long, ())) == 300


@pytest.mark.parametrize(
    ("one", "other", "are_two"),
    [
        ("Ticket OPS-482 has been moved", "Ticket OPS-956 is with billing now", True),
        ("kim.428@shop.example is on the starter plan", "kim.842@shop.example switched", True),
        ("Commit b659fe was reverted", "b659fe is back", False),
        ("My rent is 950 euros", "it is 980 now, for flat 12b-4", False),
        ("The flight is at 14:30", "it leaves at 15:10", False),
        ("My password is tulip77", "It is rose88 now", False),
        ("My mail is kim.428@shop.example", "It is k77@post.example now", False),
        ("Ticket OPS-428 is with billing", "kim.428@shop.example is on the starter plan", True),
        ("Ticket OPS-428 is with billing", "Commit b428fe was replaced", True),
        ("The fix is in b659fe.", "b659fe was reverted", False),
        ("The fix is in b659fe.", "b956fe was reverted", True),
    ],
)
def test_what_was_said_of_one_code_holds_for_it_alone(one: str, other: str, *, are_two: bool) -> None:
    assert are_of_two_codes(one, other) == are_of_two_codes(other, one) == are_two


def test_a_long_message_that_has_nothing_of_it_hides_no_other() -> None:
    dishes = " ".join(f"I like dish {n}." for n in range(2 * MOST_PAIRS))
    places = [(dishes.index(f"I like dish {n}."), len(f"I like dish {n}.")) for n in range(2 * MOST_PAIRS)]
    likes = tuple(Claim(slot="like", value=(at, at + n), sentence=(at, at + n), confidence=0.9) for at, n in places)
    home = "I live in Porto."
    of_home = an_entry("ann", home, id="home", claims=(claim(home, "Porto", slot="home"),))
    new = "I moved to Lisbon."
    pairs = to_compare([an_entry("ann", dishes, claims=likes), of_home], new, [claim(new, "Lisbon", slot="home")])
    assert [one.texts for one in pairs] == [(home, new)]


def test_a_name_said_again_changes_nothing_that_somebody_is() -> None:
    text = "My sister Irena marries on 19 December."
    said = (claim(text, "sister Irena", slot="family"), claim(text, "19 December", slot="event"))
    new = "Irena's wedding moved to 16 January."
    (pair,) = to_compare([an_entry("ann", text, claims=said)], new, [claim(new, "16 January", slot="event")])
    assert pair.claims == said[1:]
