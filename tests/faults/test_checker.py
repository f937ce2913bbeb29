"""The checker sees each kind of broken promise, and none where all are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from contracts.ports import Key, LogRecord, Outcome, ProposalRecord
from contracts.subjects import DEAD_STREAM
from contracts.v1.entries import Entry, Revision
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from tests.faults.checker import Observed, check
from tests.faults.findings import Findings, Kind
from tests.faults.journal import UNKEPT, Promise
from tests.faults.journal import Kind as Step

AT = datetime(2026, 2, 1, tzinfo=UTC)


def said(turn_id: str, marker: str, *, user: str = "ann", number: int = 1) -> Promise:
    return Promise("say", user, "default", turn_id, f"{marker}-{number}", marker)


def forgotten(marker: str, *, user: str = "ann") -> Promise:
    return Promise("forget", user, "default", "", f"{marker}-1", marker)


def erased(user: str) -> Promise:
    return Promise("erase", user)


def spoiled(letter: str) -> Promise:
    return Promise("spoil", "ann", letter=letter)


def record(promise: Promise, settled: Outcome | None, text: str | None = None) -> LogRecord:
    turn = LoggedTurn(
        user_id=promise.user_id,
        role="user",
        text=f"My {promise.marker} is here" if text is None else text,
        turn_id=promise.turn_id,
        created_at=AT,
        session_id="s",
    )
    proposal = Proposal(id=id_of(promise), turn=turn, text=turn.text)
    return LogRecord(turn, (ProposalRecord(proposal, settled),))


def id_of(promise: Promise) -> str:
    return entry_id(promise.user_id, promise.space, promise.turn_id)


def stored(promise: Promise) -> Outcome:
    return Outcome(id_of(promise), "stored", id_of(promise))


def merged(promise: Promise, canonical: Promise) -> Outcome:
    return Outcome(id_of(promise), "merged", id_of(canonical))


def entry(promise: Promise, **changed: object) -> Entry:
    values: dict[str, object] = {
        "id": id_of(promise),
        "user_id": promise.user_id,
        "turn_id": promise.turn_id,
        "text": f"My {promise.marker} is here",
        "embedding_state": "ready",
        "created_at": AT,
        "updated_at": AT,
        "version": 3,
    }
    return Entry.model_validate(values | changed)


def point(promise: Promise, user: str | None = None) -> Key:
    return Key(user or promise.user_id, id_of(promise))


FIRST, REPEAT, OTHER = said("t1", "qqfirst"), said("t2", "qqfirst"), said("t3", "qqother", user="bob")
PROMISES = (FIRST, REPEAT, OTHER, spoiled("bad"))
WELL = Observed(
    records=(record(FIRST, stored(FIRST)), record(REPEAT, merged(REPEAT, FIRST)), record(OTHER, stored(OTHER))),
    entries=(entry(FIRST, repeat_count=1), entry(OTHER)),
    points=(point(FIRST), point(OTHER)),
    letters={"bad": 1},
    versions={id_of(FIRST): 3},
)
TOMBSTONE = entry(FIRST, text="", status="forgotten", repeat_count=1)
WELL_FORGOTTEN = replace(
    WELL,
    records=(
        record(FIRST, stored(FIRST), "[forgotten]"),
        record(REPEAT, merged(REPEAT, FIRST), "[forgotten]"),
        WELL.records[2],
    ),
    entries=(TOMBSTONE, WELL.entries[1]),
    points=(point(OTHER),),
)


def found(promises: Sequence[Promise], observed: Observed) -> dict[Kind, int]:
    findings = check(promises, observed)
    return {kind: len(what) for kind, what in findings.by_kind.items()}


def test_nothing_is_found_where_every_promise_was_kept() -> None:
    findings = check(PROMISES, WELL)
    assert findings.clean
    assert findings.acknowledged == 4
    assert found((*PROMISES, forgotten("qqfirst")), WELL_FORGOTTEN) == {}
    gone = replace(
        WELL, records=WELL.records[:2], entries=WELL.entries[:1], points=WELL.points[:1] if WELL.points else ()
    )
    assert found((*PROMISES, erased("bob")), gone) == {}


def test_an_entry_that_no_model_read_is_found_where_there_is_one() -> None:
    text = "The one called qqfirst has the code 12"
    unread = Observed(
        (record(FIRST, stored(FIRST), text),), (entry(FIRST, text=text),), versions={id_of(FIRST): 3}, letters={}
    )
    assert found((FIRST,), unread) == {}
    assert found((FIRST,), replace(unread, by_model=True)) == {"lost": 1}


def test_a_pin_and_a_correction_must_hold() -> None:
    other = OTHER.statement
    pin, update = (Promise(kind, "bob", "default", "", other, "qqother") for kind in ("pin", "update"))
    assert found((*PROMISES, pin), WELL) == {"lost": 1}
    assert found((*PROMISES, update), WELL) == {"lost": 1}
    before = Revision(version=3, at=AT, text="My qqother is here")
    corrected: dict[str, object] = {"text": "the qqother was sold", "edited_at": AT, "revisions": (before,)}
    held = with_other(pinned=True, importance=1.0, **corrected)
    assert found((*PROMISES, pin, update), replace(held, points=WELL.points)) == {}
    twice = with_other(**(corrected | {"revisions": (before, before)}))
    assert found((*PROMISES, update), replace(twice, points=WELL.points)) == {"lost": 1}
    assert found((*PROMISES, pin, update, forgotten("qqother", user="bob")), WELL).get("lost") is None


def with_other(**changed: object) -> Observed:
    """The entry of bob as it should not be, and so without a vector."""
    return replace(WELL, entries=(WELL.entries[0], entry(OTHER, **changed)), points=(point(FIRST),))


def with_last(settled: Outcome | None, promise: Promise = OTHER) -> Observed:
    return replace(WELL, records=(*WELL.records[:2], record(promise, settled)))


TWO_ENTRIES = Observed(
    records=(WELL.records[0], record(REPEAT, stored(REPEAT)), WELL.records[2]),
    entries=(entry(FIRST), entry(REPEAT), entry(OTHER)),
    points=(point(FIRST), point(REPEAT), point(OTHER)),
    letters=WELL.letters,
)
NOBODY = said("t9", "qqnobody")

BROKEN: dict[str, tuple[Kind, Observed]] = {
    "not logged": ("lost", replace(WELL, records=WELL.records[:2], entries=WELL.entries[:1], points=(point(FIRST),))),
    "undecided": ("lost", with_last(None)),
    "refused": ("lost", with_last(Outcome(id_of(OTHER), "refused", None, "why"))),
    "no entry": ("lost", replace(WELL, entries=WELL.entries[:1], points=(point(FIRST),))),
    "repeat not counted": ("lost", replace(WELL, entries=(entry(FIRST), entry(OTHER)))),
    "archived": ("lost", with_other(status="archived")),
    "never embedded": ("lost", with_other(embedding_state="pending")),
    "logged twice": ("duplicated", replace(WELL, records=(*WELL.records, WELL.records[2]))),
    "repeat counted twice": ("duplicated", replace(WELL, entries=(entry(FIRST, repeat_count=2), entry(OTHER)))),
    "two entries": ("duplicated", TWO_ENTRIES),
    "said by nobody": ("foreign", replace(WELL, records=(*WELL.records, record(NOBODY, stored(NOBODY))))),
    "another user's words": ("foreign", with_other(text="My qqfirst is here")),
    "another user's vector": ("foreign", replace(WELL, points=(point(FIRST), point(OTHER, "ann")))),
    "older version": ("went_back", replace(WELL, versions={id_of(FIRST): 4})),
    "no vector": ("vectors_differ", replace(WELL, points=(point(FIRST),))),
    "outdated vector": ("vectors_differ", replace(WELL, lacking=frozenset({id_of(OTHER)}))),
    "no letter": ("letters_differ", replace(WELL, letters={})),
    "two letters": ("letters_differ", replace(WELL, letters={"bad": 2})),
    "letter of a good message": ("letters_differ", replace(WELL, letters={"bad": 1, "good": 1})),
}


@pytest.mark.parametrize(("kind", "broken"), BROKEN.values(), ids=BROKEN)
def test_each_broken_promise_is_found_as_what_it_is(kind: Kind, broken: Observed) -> None:
    assert kind in found(PROMISES, broken)


@pytest.mark.parametrize(
    "zombie",
    [
        replace(WELL_FORGOTTEN, records=WELL.records),
        replace(WELL_FORGOTTEN, entries=(entry(FIRST, repeat_count=1), WELL.entries[1])),
        replace(WELL_FORGOTTEN, entries=(entry(FIRST, status="forgotten", repeat_count=1), WELL.entries[1])),
        replace(WELL_FORGOTTEN, points=WELL.points),
        replace(WELL_FORGOTTEN, left=frozenset({"qqfirst"})),
    ],
    ids=["log", "entry", "words", "vector", "bytes"],
)
def test_what_was_forgotten_is_found_wherever_it_still_is(zombie: Observed) -> None:
    assert "zombie" in found((*PROMISES, forgotten("qqfirst")), zombie)


def test_a_repeat_that_was_counted_may_be_refused_once_its_entry_was_forgotten() -> None:
    logged, _, other = WELL_FORGOTTEN.records
    refused = record(REPEAT, Outcome(id_of(REPEAT), "refused", None, "forgotten"), "[forgotten]")
    killed_between = replace(WELL_FORGOTTEN, records=(logged, refused, other))
    assert found((*PROMISES, forgotten("qqfirst")), killed_between) == {}
    twice = replace(killed_between, entries=(entry(FIRST, text="", status="forgotten", repeat_count=2), entry(OTHER)))
    assert found((*PROMISES, forgotten("qqfirst")), twice) == {"duplicated": 1}


@pytest.mark.parametrize("kind", UNKEPT)
def test_what_was_not_to_be_kept_is_found_in_a_file_and_in_the_log(kind: Step) -> None:
    secret = replace(said("t9", "qqsecret", user="eve"), kind=kind)
    well = replace(WELL, decided=frozenset({(kind, "eve")}))
    logged = replace(well, records=(*WELL.records, record(secret, None)))
    assert found((*PROMISES, secret), well) == {}
    assert found((*PROMISES, secret), replace(well, left=frozenset({"qqsecret"}))) == {"zombie": 1}
    assert found((*PROMISES, secret), logged) == {"foreign": 1}
    assert found((*PROMISES, secret), WELL) == {"lost": 1}, "who decided so is not asked again"


def test_whatever_is_left_of_an_erased_user_is_a_zombie() -> None:
    assert found((*PROMISES, erased("bob")), WELL) == {"zombie": 3}


def test_of_a_user_with_many_bad_messages_the_dead_letters_are_a_full_share() -> None:
    many = [spoiled(f"bad {number}") for number in range(DEAD_STREAM.share + 8)]
    kept = {promise.letter: 1 for promise in many[8:]}
    assert found((*PROMISES[:3], *many), replace(WELL, letters=kept)) == {}
    del kept[many[-1].letter]
    assert found((*PROMISES[:3], *many), replace(WELL, letters=kept)) == {"letters_differ": 9}


def test_a_statement_with_another_number_must_not_be_merged() -> None:
    other = said("t2", "qqfirst", number=2)
    assert found((FIRST, other, OTHER, spoiled("bad")), WELL) == {"merged_wrongly": 1}


@pytest.mark.parametrize(
    ("missing", "place"),
    [((0, 1), "prefix"), ((2,), "middle"), ((3, 4), "postfix")],
    ids=["prefix", "middle", "postfix"],
)
def test_it_says_where_in_the_order_of_publishing_turns_were_lost(place: str, missing: tuple[int, ...]) -> None:
    turns = [said(f"t{number}", f"qq{number}") for number in range(5)]
    kept = [turn for number, turn in enumerate(turns) if number not in missing]
    observed = Observed([record(turn, stored(turn)) for turn in kept], [entry(turn) for turn in kept])
    findings: Findings = check(turns, observed)
    assert findings.places == {place: len(missing)}
    assert findings.count("lost") == len(missing)
