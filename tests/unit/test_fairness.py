"""Users take turns: of what waits, one of each in turn, each user's in order; a flood travels apart."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.aio.msg import Msg

from contracts.v1.entries import EntryProposed, EntryRef
from services.shared.bus.fairness import MANY, TOGETHER, Lanes, Load, load_of_event, load_of_turn, shares

NOON = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)


def a_message(subject: str, data: bytes = b"") -> Msg:
    return Msg(Client(), subject, data=data)


def lanes_of(*users: str, items: int = 1) -> Lanes:
    lanes = Lanes(lambda msg: Load(msg.subject.split(" ")[0], items))
    lanes.extend(a_message(f"{user} {number}") for number, user in enumerate(users))
    return lanes


def taken(lanes: Lanes, most: int) -> list[str]:
    return [msg.subject for msg in lanes.take(most)]


def test_a_turn_behind_a_flood_is_in_the_next_batch() -> None:
    lanes = lanes_of(*["flood"] * 1000, "ann", "ben", "ann")
    assert taken(lanes, 4) == ["flood 0", "ann 1000", "ben 1001", "flood 1"]
    assert taken(lanes, 3) == ["ann 1002", "flood 2", "flood 3"]
    assert len(lanes) == len(list(lanes)) == 1003 - 7


def test_turns_go_on_where_the_last_batch_ended() -> None:
    lanes = lanes_of("ann", "ann", "ben", "ben", "cem", "cem")
    assert [taken(lanes, 2) for _ in range(3)] == [["ann 0", "ben 2"], ["cem 4", "ann 1"], ["ben 3", "cem 5"]]
    assert taken(lanes, 2) == []


def test_a_batch_is_as_large_as_what_it_names_and_never_empty() -> None:
    lanes = lanes_of("ann", "ben", "cem", "dan", items=32)
    assert len(taken(lanes, 64)) == 2
    assert len(taken(lanes, 10)) == 1
    assert len(lanes.clear()) == 1
    assert not lanes
    assert list(lanes) == []


@given(st.lists(st.sampled_from("abcd")), st.integers(1, 7))
def test_nothing_is_lost_and_each_lane_keeps_its_order(users: list[str], most: int) -> None:
    lanes = lanes_of(*users)
    batches = []
    while lanes:
        batches.append(taken(lanes, most))
    told = list(chain.from_iterable(batches))
    assert sorted(told) == sorted(f"{user} {number}" for number, user in enumerate(users))
    for user in "abcd":
        numbers = [int(one.split(" ")[1]) for one in told if one.startswith(user)]
        assert numbers == sorted(numbers)


def proposed(**entries: int) -> EntryProposed:
    refs = [EntryRef(user_id=user, id=f"{user}-{n}") for user, count in entries.items() for n in range(count)]
    return EntryProposed.of(refs, at=NOON)


def told(event: EntryProposed) -> list[list[str]]:
    return [[ref.id for ref in part.entries] for part in shares(event)]


def test_who_has_few_entries_shares_an_event_and_who_has_many_has_their_own() -> None:
    together, *own = told(proposed(ann=1, flood=70, ben=MANY))
    assert together == ["ann-0", *(f"ben-{n}" for n in range(MANY))]
    assert own == [[f"flood-{n}" for n in range(start, min(start + MANY, 70))] for start in (0, 32, 64)]


def test_an_event_without_a_flood_stays_as_it_is() -> None:
    event = proposed(ann=3, ben=2)
    assert list(shares(event)) == [event]
    assert list(shares(proposed())) == []


def test_the_same_event_has_the_same_shares_with_ids_of_their_own() -> None:
    event = proposed(ann=100, **{f"u{n}": 1 for n in range(TOGETHER + 1)})
    ids = [part.event_id for part in shares(event)]
    assert ids == [part.event_id for part in shares(event)]
    assert len({*ids, event.event_id}) == len(ids) + 1 == 7
    assert sorted(chain.from_iterable(told(event))) == sorted(ref.id for ref in event.entries)


def test_the_load_of_an_event_is_its_only_users() -> None:
    assert load_of_turn(a_message("memory.v1.turns.ann")) == Load("memory.v1.turns.ann", 1)
    assert load_of_turn(a_message("memory.v1.turns.ann", b"x" * 20_000)).items == 20
    for event, load in ((proposed(ann=3), Load("ann", 3)), (proposed(ann=3, ben=1), Load("", 4))):
        assert load_of_event(a_message("s", event.model_dump_json().encode())) == load


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[]", b"1", b"{}", b'{"entries": 5}', b'{"entries": [1]}', b'{"entries": [{}]}', b"[" * 100_000],
)
def test_what_cannot_be_read_is_nobodys(data: bytes) -> None:
    assert load_of_event(a_message("s", data)) == Load("", 1)


def test_a_user_that_is_no_text_is_a_lane_too() -> None:
    data = json.dumps({"entries": [{"user_id": {"a": []}}]}).encode()
    assert load_of_event(a_message("s", data)).items == 1
