"""The map of the bus: user tokens and the flow table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import subjects
from contracts.flow import FLOW

SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~")


@given(st.text(min_size=1, max_size=200))
def test_every_user_has_one_token_that_fits_into_a_subject(user_id: str) -> None:
    try:
        token = subjects.user_token(user_id)
    except UnicodeEncodeError:  # a lone surrogate is no text, and no model lets it through
        return
    assert set(token) <= SAFE
    assert subjects.user_of(token) == user_id


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_two_users_never_share_a_token(one: str, other: str) -> None:
    try:
        tokens = (subjects.user_token(one), subjects.user_token(other))
    except UnicodeEncodeError:
        return
    assert (tokens[0] == tokens[1]) == (one == other)


@pytest.mark.parametrize("token", ["", "a.b", "a b", "~", "~!!", "~YQ", "x" * 129, "*", ">"])
def test_a_token_that_nobody_makes_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        subjects.user_of(token)


def test_a_plain_user_is_readable_and_any_other_is_encoded() -> None:
    assert subjects.turns("ann_1") == "memory.v1.turns.ann_1"
    assert subjects.turns("ann@example.org") == "memory.v1.turns.~YW5uQGV4YW1wbGUub3Jn"


def test_every_event_has_one_speaker_and_every_consumer_hears_what_somebody_says() -> None:
    said = [event.subject for step in FLOW for event in step.says]
    heard = {(step.service, subject.replace("<user>", "*")) for step in FLOW for subject, _ in step.hears}
    assert len(said) == len(set(said))
    assert heard == {(consumer.service, consumer.subject) for consumer in subjects.declared_consumers(1)}
    assert {subject for _, subject in heard} - {f"{subjects.TURNS}.*"} <= set(said)


def test_every_subject_of_the_flow_is_kept_by_exactly_one_stream() -> None:
    for subject in [event.subject for step in FLOW for event in step.says]:
        prefix = subject.rpartition(".")[0]
        stream = "MEMORY_EXTRACT" if subject == subjects.EXTRACT_WANTED else "MEMORY_EVENTS"
        assert [s.name for s in subjects.STREAMS if f"{prefix}.*" in s.subjects] == [stream]
