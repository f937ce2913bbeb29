"""Whatever was decided, whoever reads and however a text is changed: decisions hold, and stay with their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.claims import Claim, ClaimId, DecidedClaim, Place, Slot
from contracts.v1.entries import Entry
from services.shared.knowledge.profile import claimed
from services.shared.lifecycle.decided_claims import claim_at, decided, still_decided
from tests.stores.builders import NOON, an_entry

LATER = NOON + timedelta(days=1)
SENTENCES = [" Pears, please. ", "Pears, please?", "Back to Faro", "Then pears; then Faro!", "No…"]
TEXT = "Pears, please. Back to Faro\nThen pears; then Faro!"

SLOTS = st.sampled_from(["home", "like"])
PLACES = st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 12)).map(
    lambda one: (one[0], min(len(TEXT), one[0] + one[1]))
)
READINGS = st.lists(
    st.builds(Claim, slot=SLOTS, value=PLACES, sentence=PLACES, confidence=st.floats(0.3, 1)), min_size=1, max_size=6
)
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map("\n".join)


def read(claims: Sequence[Claim], text: str = TEXT) -> Entry:
    return an_entry("ann", text, claims=tuple(claims))


def covers(one: DecidedClaim, claim: Claim) -> bool:
    return one.slot == claim.slot and not {*range(*one.value)}.isdisjoint(range(*claim.value))


@given(READINGS, st.lists(st.tuples(st.integers(0, 5), st.sampled_from([True, False, None])), max_size=6), READINGS)
def test_decisions_hold_whoever_reads(
    first: list[Claim], said: list[tuple[int, bool | None]], second: list[Claim]
) -> None:
    entry = read(first)
    for n, is_so in said:
        claim = first[n % len(first)]
        entry = decided(entry, claim, is_so, LATER) or entry
        assert decided(entry, claim, is_so, LATER) is None
        its = [(one.value, one.is_so) for one in entry.decided_claims if covers(one, claim)]
        assert its == ([] if is_so is None else [(claim.value, is_so)])
    for reading in (first, second, []):
        told = claimed([entry.model_copy(update={"claims": tuple(reading)})])
        for one in entry.decided_claims:
            there = [fact for fact in told if covers(one, fact.claim)]
            assert all(fact.decided and fact.claim.confidence == 1 for fact in there)
            words = {fact.value.casefold() for fact in told if fact.claim.slot == one.slot}
            assert (TEXT[slice(*one.value)].casefold() in words) <= one.is_so or any(
                other.is_so and _words(other) == _words(one) for other in entry.decided_claims
            )


def _words(one: DecidedClaim) -> tuple[str, str]:
    return one.slot, TEXT[slice(*one.value)].casefold()


def of_sentence(text: str, number: int) -> DecidedClaim:
    """A decision about the last word of a sentence."""
    line = text.split("\n")[number]
    sentence = line.strip()
    begin = sum(len(one) + 1 for one in text.split("\n")[:number]) + line.index(sentence)
    place: Place = (begin + sentence.rfind(" ") + 1, begin + len(sentence) - 1)
    slot: Slot = "like"
    return DecidedClaim(slot=slot, value=place, sentence=(begin, begin + len(sentence)), is_so=False, at=NOON)


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_a_decision_stays_with_its_sentence_or_goes_with_it(old: str, new: str, number: int) -> None:
    number %= old.count("\n") + 1
    one = of_sentence(old, number)
    kept = still_decided([one], old, new)
    assert bool(kept) == (old.split("\n")[number] in new.split("\n"))
    for moved in kept:
        assert new[slice(*moved.sentence)] == old[slice(*one.sentence)]
        assert new[slice(*moved.value)] == old[slice(*one.value)]
        assert moved.model_copy(update={"value": one.value, "sentence": one.sentence}) == one
    assert still_decided([one], old, old) == (one,)


def test_words_that_go_on_in_another_way_are_another_sentence() -> None:
    one = DecidedClaim(slot="home", value=(10, 15), sentence=(0, 15), is_so=True, at=NOON)
    for new in ("I live in Portorož", "I live in Porto no more.", "Once I live in Porto", "I live in Porto."):
        assert still_decided([one], "I live in Porto", new) == ()
    (moved,) = still_decided([one], "I live in Porto", "Hello there.  I live in Porto\nBye.")
    assert moved.value == (24, 29)


def test_of_several_claims_the_one_with_most_of_a_place_is_meant() -> None:
    wide, narrow = (Claim(slot="home", value=place, sentence=(0, 27), confidence=0.5) for place in ((0, 20), (15, 27)))
    entry = read([wide, narrow])
    assert claim_at(entry, (14, 27), "home") == narrow
    assert claim_at(entry, (2, 17), "home") == wide
    assert claim_at(entry, (16, 18), "home") == narrow
    assert claim_at(entry, (2, 17), "like") is None


def test_an_id_is_read_as_it_is_written() -> None:
    one = ClaimId("6f1d2a52", (10, 15), "project_detail")
    assert ClaimId.read(str(one)) == one
    for wrong in (
        "6f1d2a52",
        "6f1d2a52:10-15",
        "6f1d2a52:10-15:nonsense",
        ":10-15:home",
        "a:-1-5:home",
        "a:1-5:home\n",
    ):
        assert ClaimId.read(wrong) is None
