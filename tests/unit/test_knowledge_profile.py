"""What the claims of entries say of their user, up to any moment."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.claims import Change, Claim, Slot
from contracts.v1.entries import Entry, Saying
from services.shared.knowledge.profile import LIKELY, ME, SOMEBODY, SURE, ClaimedFact, claimed, kind_of
from tests.stores.builders import NOON, an_entry, minutes

VALUES = ("Ghent", "Bruges", "Ostend")


def stating(slot: Slot, value: str, at: float = 0, sure: float = 0.9, **fields: Any) -> Entry:
    """An entry that says so and nothing else, so many minutes after noon."""
    text = f"It is {value}."
    claim = Claim(slot=slot, value=(6, 6 + len(value)), sentence=(0, len(text)), confidence=sure)
    fields = {"id": f"{slot} {value} {at}", "last_said_at": NOON + minutes(at), **fields}
    return an_entry("ann", text, created_at=NOON + minutes(at), claims=(claim,), read_by="r", **fields)


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    """Entries of one user: claims of few slots, so that some meet, some of them over, and some of the assistant."""
    ids = count()

    def entry() -> Entry:
        at = draw(st.integers(0, 5))
        status = draw(st.sampled_from(["active", "active", "superseded", "archived", "forgotten"]))
        until = NOON + minutes(at + draw(st.integers(0, 3))) if status == "superseded" else None
        again = sorted(draw(st.sets(st.integers(at + 1, 9), max_size=2)), reverse=True)
        said = tuple(Saying(turn_id=f"t{n}", at=NOON + minutes(n)) for n in again)
        last = max([at, *again])
        return stating(
            draw(st.sampled_from(["home", "employer", "like"])),
            draw(st.sampled_from(VALUES)),
            at,
            draw(st.sampled_from([0.1, 0.29, LIKELY, 0.45, SURE, 0.9])),
            id=f"e{next(ids)}",
            role=draw(st.sampled_from(["user", "user", "user", "assistant"])),
            status=status,
            valid_until=until,
            repeated_in=said,
            last_said_at=NOON + minutes(last),
        )

    return [entry() for _ in range(draw(st.integers(0, 8)))]


moments = st.none() | st.integers(0, 10).map(lambda n: NOON + minutes(n))


@given(entries(), st.randoms(use_true_random=False), moments)
def test_the_order_of_the_entries_is_of_no_account(said: list[Entry], random: Any, as_of: datetime | None) -> None:
    shuffled = list(said)
    random.shuffle(shuffled)
    assert claimed(shuffled, as_of) == claimed(said, as_of)


@given(entries(), moments)
def test_a_slot_that_holds_one_value_has_one_at_a_time(said: list[Entry], as_of: datetime | None) -> None:
    present = [one.key for one in claimed(said, as_of) if one.state == "sure" and one.until is None]
    single = [key for key in present if not kind_of(key[1]).holds_many]  # type: ignore[arg-type]
    assert len(single) == len(set(single))


@given(entries(), moments)
def test_what_the_assistant_said_or_is_out_of_use_or_unlikely_is_no_fact(
    said: list[Entry], as_of: datetime | None
) -> None:
    for one in claimed(said, as_of):
        assert one.entry.role == "user"
        assert one.entry.status in ("active", "superseded")
        assert one.claim.confidence >= LIKELY
        assert one.entry.valid_until is None or one.entry.valid_until > one.entry.created_at


@given(entries(), moments)
def test_what_is_superseded_is_so_no_more(said: list[Entry], as_of: datetime | None) -> None:
    for one in claimed(said, as_of):
        if one.entry.status == "superseded" and (as_of is None or one.entry.valid_until <= as_of):  # type: ignore[operator]
            assert one.until is not None


@given(entries(), st.integers(0, 10).map(lambda n: NOON + minutes(n)))
def test_a_moment_knows_nothing_of_what_was_later(said: list[Entry], as_of: datetime) -> None:
    told = claimed(said, as_of)
    assert all(one.entry.created_at <= as_of for one in told)
    assert all(one.until is None or one.until <= as_of for one in told)
    assert [one.entry.id for one in claimed([one for one in said if one.created_at <= as_of], as_of)] == [
        one.entry.id for one in told
    ]


@given(entries(), moments)
def test_a_value_is_told_once_as_a_fact(said: list[Entry], as_of: datetime | None) -> None:
    told = [(one.key, one.value.casefold(), one.state) for one in claimed(said, as_of)]
    assert len(told) == len(set(told))


def summary(facts: list[ClaimedFact]) -> list[tuple[str, str, bool]]:
    return [(one.value, one.state, one.until is None) for one in facts]


def test_each_value_ends_with_the_next_where_a_slot_holds_one_and_stays_where_it_holds_many() -> None:
    homes = claimed([stating("home", value, n) for n, value in enumerate(VALUES)])
    assert [one.until for one in homes] == [None, NOON + minutes(2), NOON + minutes(1)]
    assert summary(homes) == [("Ostend", "sure", True), ("Bruges", "sure", False), ("Ghent", "sure", False)]
    assert [one.until for one in claimed([stating("like", value, n) for n, value in enumerate(VALUES)])] == [None] * 3


def test_what_is_likely_ends_nothing_and_hides_no_fact() -> None:
    moved = [stating("home", "Ghent"), stating("home", "Bruges", 1), stating("home", "Bruges", 2, sure=0.4)]
    assert summary(claimed(moved)) == [("Bruges", "sure", True), ("Ghent", "sure", False)]
    back = [stating("home", "Ghent"), stating("home", "Bruges", 1), stating("home", "Ghent", 2, sure=0.4)]
    assert summary(claimed(back)) == [("Ghent", "likely", True), ("Bruges", "sure", True), ("Ghent", "sure", False)]


def test_others_have_values_of_their_own() -> None:
    text = "Ines lives in Ghent."
    hers = Claim(slot="home", value=(14, 19), sentence=(0, 20), whose=(0, 4), of_user=False, confidence=0.9)
    of_ines = an_entry("ann", text, created_at=NOON + minutes(9), claims=(hers,))
    mine, other = sorted(claimed([of_ines, stating("home", "Bruges")]), key=lambda one: one.key)[::-1]
    assert {mine.key, other.key} == {("me", "home"), ("ines", "home")}
    assert mine.until is other.until is None


def test_a_moment_counts_what_was_said_until_then() -> None:
    again = (Saying(turn_id="t", at=NOON + minutes(8)),)
    said = [
        stating("home", "Ghent", 0, repeated_in=again, last_said_at=NOON + minutes(8)),
        stating("home", "Bruges", 4),
    ]
    assert [one.value for one in claimed(said) if one.until is None] == ["Ghent"]
    assert [one.value for one in claimed(said, NOON + minutes(5)) if one.until is None] == ["Bruges"]
    assert [one.value for one in claimed(said, NOON + minutes(3))] == ["Ghent"]


def test_what_is_superseded_was_so_until_then_is_over_where_nobody_knows_when_and_never_was_if_rejected() -> None:
    over = stating("home", "Ghent", 0, status="superseded", valid_until=NOON + minutes(6))
    assert [one.until for one in claimed([over])] == [NOON + minutes(6)]
    assert [one.until for one in claimed([over], NOON + minutes(5))] == [None]
    (ended,) = claimed([stating("home", "Ghent", status="superseded")])
    assert ended.until is not None
    assert claimed([stating("home", "Ghent", 3, status="superseded", valid_until=NOON)]) == []


def test_of_what_was_changed_in_part_the_rest_holds() -> None:
    text = "I live in Ghent and I like tea."
    claims = tuple(
        Claim(slot=slot, value=(text.index(value), text.index(value) + len(value)), sentence=(0, 31), confidence=0.9)
        for slot, value in (("home", "Ghent"), ("like", "tea"))
    )
    changed = {"outdated": ("I live in Ghent",), "superseded_by": "x", "valid_until": NOON + minutes(1)}
    facts = claimed([an_entry("ann", text, claims=claims, **changed)])
    assert {one.value: one.until for one in facts} == {"Ghent": NOON + minutes(1), "tea": None}


def test_a_claim_that_is_not_within_its_text_is_none() -> None:
    entry = stating("home", "Ghent")
    assert claimed([entry.model_copy(update={"text": "It"})]) == []


def ending(older: Entry, at: float, **fields: Any) -> Entry:
    """An entry that ends what another one says."""
    (claim,) = older.claims
    change = Change(entry_id=older.id, slot=claim.slot, value=claim.value, confidence=0.9)
    named = {"supersedes": (older.id,), **fields}
    return stating("other_fact", "over", at, changes=(change,), **named)


def test_what_another_entry_changes_has_ended_when_that_was_said() -> None:
    home = stating("like", "Ghent", 0)
    for end in (ending(home, 3), ending(home, 3, status="superseded", valid_until=NOON + minutes(8))):
        (known,) = [one for one in claimed([home, end]) if one.entry is home]
        assert known.until == NOON + minutes(3)
        (before,) = [one for one in claimed([home, end], NOON + minutes(2)) if one.entry is home]
        assert before.until is None


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "forgotten"},
        {"role": "assistant"},
        {"supersedes": (), "conflicts_with": ("like Ghent 0",)},
        {"supersedes": ()},
    ],
    ids=["forgotten", "of the assistant", "in conflict", "decided otherwise"],
)
def test_what_is_gone_in_conflict_or_decided_otherwise_ends_nothing(fields: dict[str, Any]) -> None:
    home = stating("like", "Ghent", 0)
    (known,) = [one for one in claimed([home, ending(home, 3, **fields)]) if one.entry is home]
    assert known.until is None


def test_what_was_said_again_since_has_not_ended() -> None:
    home = stating("like", "Ghent", 0, last_said_at=NOON + minutes(5))
    (known,) = [one for one in claimed([home, ending(home, 3)]) if one.entry is home]
    assert known.until is None


def test_of_whom_a_text_does_not_name_nothing_is_the_user_s_own_or_ends_another() -> None:
    mine, theirs = stating("home", "Ghent", 0), stating("home", "Bruges", 1)
    (claim,) = theirs.claims
    theirs = theirs.model_copy(update={"claims": (claim.model_copy(update={"of_user": False}),)})
    other = theirs.model_copy(update={"id": "another", "text": theirs.text.replace("Bruges", "Ostend")})
    facts = claimed([mine, theirs, other])
    assert {(one.owner, one.value, one.until) for one in facts} == {
        (ME, "Ghent", None),
        (SOMEBODY, "Bruges", None),
        (SOMEBODY, "Ostend", None),
    }


def test_a_value_ends_with_no_other_that_only_has_its_signs() -> None:
    text = "My PIN is 23 and my locker is 1234."
    said = tuple(
        Claim(slot=slot, value=(at, at + len(value)), sentence=(0, len(text)), confidence=0.9)
        for slot, value, at in (("identifier", "23", 10), ("place", "1234", 30))
    )
    entry = an_entry("ann", text, claims=said, outdated=("1234",), valid_until=NOON, superseded_by="x")
    assert {one.value: one.until is not None for one in claimed([entry])} == {"23": False, "1234": True}


def test_a_value_is_the_same_whatever_stands_around_it() -> None:
    said = [stating("home", value, n) for n, value in enumerate(("New York", "New  York", "New York,", "new york"))]
    (one,) = claimed(said)
    assert (one.until, len(one.sources)) == (None, 4)
