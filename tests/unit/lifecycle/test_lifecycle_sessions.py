"""Sessions, read off entries: where one ends, what stays together, and that order does not matter."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entry, Saying
from services.shared.lifecycle.sessions import Session, sessions_of, states_of
from tests.stores.builders import NOON, an_entry

LATER = NOON + timedelta(days=9)


def said(minute: float, **fields: Any) -> Entry:
    at = NOON + timedelta(minutes=minute)
    given: dict[str, Any] = {"conversation_id": "c1", "session_id": f"s of {minute}", "created_at": at, **fields}
    return an_entry("ann", **given)


def found(*entries: Entry) -> list[tuple[int, tuple[str, ...]]]:
    return [(one.turn_count, one.conversation_ids) for one in sessions_of(entries, now=LATER)]


def test_a_session_ends_with_half_an_hour_of_silence() -> None:
    assert found(said(0), said(29.9), said(60)) == [(1, ("c1",)), (2, ("c1",))]


def test_conversations_with_the_same_persona_are_one_session_and_those_of_others_are_not() -> None:
    assert found(said(0), said(5, conversation_id="c2")) == [(2, ("c1", "c2"))]
    assert len(found(said(0), said(5, persona_id="coach"), said(6, space="work"))) == 3


def test_what_was_forgotten_in_the_middle_leaves_one_session() -> None:
    assert found(said(0, session_id="s"), said(50, session_id="s")) == [(2, ("c1",))]


def test_a_repeat_is_a_turn_of_the_session_in_which_it_was_said() -> None:
    again = Saying(conversation_id="c2", turn_id="t9", at=NOON + timedelta(hours=5))
    entry = said(0).model_copy(update={"repeated_in": (again,), "last_said_at": again.at})
    assert found(entry) == [(1, ("c2",)), (1, ("c1",))]


def test_a_session_is_present_until_the_silence_has_passed() -> None:
    entries = [said(0), said(90), said(95)]
    (present, ended) = sessions_of(entries, now=NOON + timedelta(minutes=124))
    assert present.ended_at is None
    assert ended.ended_at == NOON
    (state,) = states_of([ended, present])
    assert (state.sessions, state.turns, state.present) == (2, 3, present.id)
    assert states_of(sessions_of(entries, now=NOON + timedelta(minutes=125)))[0].present is None


def test_personas_of_one_conversation_have_sessions_of_different_ids() -> None:
    both = [said(0, session_id="s"), said(1, session_id="s", persona_id="coach")]
    assert len({one.id for one in sessions_of(both, now=LATER)}) == 2


entries = st.builds(
    said,
    st.integers(0, 600),
    id=st.uuids().map(str),
    session_id=st.sampled_from([None, "s1", "s2", "s3"]),
    persona_id=st.sampled_from([None, "coach"]),
)


@given(st.lists(entries, max_size=25), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_every_entry_is_in_a_session(said: list[Entry], random: Random) -> None:
    shuffled = random.sample(said, len(said))
    sessions = sessions_of(said, now=LATER)
    assert sessions == sessions_of(shuffled, now=LATER)
    assert sum(one.turn_count for one in sessions) == len(said)
    assert {entry.id for one in sessions for entry in one.entries} == {entry.id for entry in said}
    assert len({one.id for one in sessions}) == len(sessions)
    assert all(_apart(one, other) for one in sessions for other in sessions if one.id < other.id)


def _apart(one: Session, other: Session) -> bool:
    if one.whose != other.whose:
        return True
    first, second = sorted((one, other), key=lambda session: session.started_at)
    return second.started_at - first.last_activity_at >= timedelta(minutes=30)
