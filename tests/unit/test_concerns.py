"""Whom a dead letter concerns: whatever names a user is noticed, and nobody else's."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import flow, subjects
from contracts.v1.dead import DeadLetter
from services.shared.bus.dead_letters import is_about, share_of, users_of
from tests.letters import a_letter

USERS = st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable())
JSON = st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda x: st.lists(x, max_size=3), max_leaves=5)


def concerns(letter: DeadLetter, user: str) -> bool:
    body = base64.b64decode(letter.body)
    return is_about(letter, body, letter.model_dump_json().encode(), user)


def events_letter(said: Any, **fields: Any) -> DeadLetter:
    return a_letter(json.dumps(said).encode(), subject=subjects.ENTRY_ACCEPTED, **fields)


@given(USERS, JSON, st.lists(st.sampled_from(["list", "dict", "letter"]), max_size=8))
def test_a_user_is_found_at_any_depth_and_in_a_letter_within_a_letter(user: str, beside: Any, nests: list[str]) -> None:
    said: Any = {"beside": beside, "user_id": user}
    for nest in nests:
        body = base64.b64encode(json.dumps(said).encode()).decode()
        said = {"list": [beside, said], "dict": {"entry": said}, "letter": {"body": body}}[nest]
    letter = events_letter(said)
    assert user in users_of(letter, base64.b64decode(letter.body))
    assert concerns(letter, user)
    assert not concerns(letter, user + "!")


@given(USERS, st.booleans())
def test_a_user_is_found_in_what_was_cut(user: str, plain: bool) -> None:
    body = json.dumps({"items": [{"user_id": user, "text": "tea"}]}, ensure_ascii=plain).encode()
    letter = a_letter(body[:-9], subject=subjects.ENTRY_ACCEPTED, cut=True)
    assert concerns(letter, user)
    assert not concerns(letter, f"x{user}")


@pytest.mark.parametrize("user", ["ann", "ann b.", "żółw"])
def test_a_user_is_found_in_subject_and_headers(user: str) -> None:
    token = subjects.user_token(user)
    assert concerns(a_letter(b"\xff", subject=subjects.turns(user)), user)
    assert concerns(a_letter(b"\xff", subject=flow.LIST.subject_of(user)), user)
    for value in (user, token, f"{token}/default/t1", flow.RETRIEVE.subject_of(user)):
        letter = a_letter(b"\xff", subject="x", headers={"Whose": value})
        assert concerns(letter, user)
        assert not concerns(letter, "bob")


def test_what_is_said_about_a_name_does_not_concern_who_is_called_so() -> None:
    letter = a_letter(b'{"user_id": "bob", "text": "I met \\"ann\\"", "tags": ["ann"], "speaker": "ann"}', subject="x")
    assert not concerns(letter, "ann")
    assert concerns(letter, "bob")


@given(st.binary(max_size=200), st.text(max_size=20), USERS)
def test_any_bytes_have_a_share_that_a_subject_can_name(body: bytes, subject: str, user: str) -> None:
    share = share_of(a_letter(body, subject=subject), body)
    assert share.isalnum()
    assert user not in share or len(user) < 3
    assert isinstance(is_about(None, b"", body, user), bool)


def test_letters_of_a_user_share_a_room_whatever_they_are() -> None:
    turn, event = a_letter(b"{", subject=subjects.turns("ann")), events_letter({"entries": [{"user_id": "ann"}]})
    other = a_letter(b"{", subject=subjects.turns("bob"))
    shares = [share_of(letter, base64.b64decode(letter.body)) for letter in (turn, event, other)]
    assert shares[0] == shares[1] != shares[2]
