"""The users of the bus: what they may follows from the tables, and no password is ever written down."""

from __future__ import annotations

import re

import pytest

from contracts import subjects
from contracts.flow import ERASE, FLOW, FORGET, RETRIEVE, USER_STATUS
from services.shared.bus.permissions import ASSISTANT, OPERATOR, PROVISION, STREAMS_ACCOUNT, User, accounts, users

USERS = {user.name: user for user in users()}


def covers(pattern: str, subject: str) -> bool:
    """Whether a permission allows a subject, as the bus decides it."""
    wanted, given = pattern.split("."), subject.split(".")
    for index, token in enumerate(wanted):
        if token == ">":
            return len(given) > index
        if index >= len(given) or token not in ("*", given[index]):
            return False
    return len(wanted) == len(given)


def may_publish(user: User, subject: str) -> bool:
    return any(covers(pattern, subject) for pattern in user.publish)


def who_may_publish(subject: str) -> set[str]:
    return {name for name, user in USERS.items() if may_publish(user, subject)}


def test_there_is_a_user_for_every_service_and_three_more() -> None:
    assert list(USERS) == [*(step.service for step in FLOW), PROVISION, OPERATOR, ASSISTANT]


def test_every_event_is_said_by_its_service_and_again_by_who_resumes_it_or_retries_a_dead_letter() -> None:
    read = {subjects.ENTRY_PROPOSED, subjects.ENTRY_ACCEPTED, subjects.ENTRY_ENRICHED, subjects.EXTRACT_WANTED}
    for step in FLOW:
        for event in step.says:
            again = {"curate", OPERATOR} if event.subject in read else set()
            assert who_may_publish(event.subject) == {step.service} | again


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_consumer_is_read_acknowledged_and_given_up_by_its_service_alone(partitions: int) -> None:
    for consumer in subjects.declared_consumers(partitions):
        name = f"{consumer.stream}.{consumer.name}"
        assert who_may_publish(f"$JS.API.CONSUMER.MSG.NEXT.{name}") == {consumer.service}
        assert who_may_publish(f"$JS.ACK.{name}.1.2.3.4.5") == {consumer.service}
        assert who_may_publish(subjects.dead(consumer.service)) == {consumer.service}


def test_only_ingest_removes_turns_and_only_the_provisioning_user_declares_but_for_counts() -> None:
    for stream in subjects.STREAMS:
        purges = {"ingest"} if stream is subjects.TURNS_STREAM else set()
        assert who_may_publish(f"$JS.API.STREAM.PURGE.{stream.name}") == purges
        for verb in ("STREAM.CREATE", "STREAM.UPDATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.DELETE"):
            subject = f"$JS.API.{verb}.{stream.name}" + (".x" if verb.startswith("CONSUMER") else "")
            restores = {"gateway"} if (stream, verb) == (subjects.LIMITS_STREAM, "STREAM.CREATE") else set()
            assert who_may_publish(subject) == {PROVISION} | restores


def test_single_messages_are_taken_out_by_curate_refused_ones_by_ingest_and_dead_letters_by_operators_too() -> None:
    takers = {
        subjects.TURNS_STREAM: {"curate"},
        subjects.DEAD_STREAM: {"curate", OPERATOR},
        subjects.KEYS_STREAM: {OPERATOR},
    }
    for stream in subjects.STREAMS:
        for verb in ("GET", "DELETE"):
            refuses = {"ingest"} if verb == "DELETE" and stream is subjects.TURNS_STREAM else set()
            reads = {"gateway"} if (stream, verb) == (subjects.KEYS_STREAM, "GET") else set()
            takes = takers.get(stream, set()) | refuses | reads
            assert who_may_publish(f"$JS.API.STREAM.MSG.{verb}.{stream.name}") == takes


def test_incognito_turns_come_from_assistants_and_the_gateway_and_no_account_takes_them() -> None:
    assert who_may_publish("memory.v1.incognito.ann") == {ASSISTANT, "gateway"}
    assert not any(covers(pattern.split()[0], "memory.v1.incognito.ann") for u in users() for pattern in u.subscribe)
    assert not any(covers(pattern, "memory.v1.incognito.ann") for one in subjects.STREAMS for pattern in one.subjects)
    assert re.findall(r"(?:service|stream): .*incognito\.\*", accounts(users())) == []


def test_keys_are_made_by_operators_alone_and_the_gateway_alone_counts() -> None:
    assert who_may_publish(subjects.key("0")) == {OPERATOR}
    assert who_may_publish(f"{subjects.LIMITS}.requests.0.0") == {"gateway"}


def test_turns_and_questions_come_from_assistants_and_questions_are_heard_by_who_answers() -> None:
    assert who_may_publish("memory.v1.turns.ann") == {ASSISTANT, OPERATOR, "curate", "gateway"}
    for step in FLOW:
        for answer in step.answers:
            also = {OPERATOR} if answer in (USER_STATUS, FORGET, ERASE) else set()
            also |= {"curate"} if answer is RETRIEVE else set()  # a chat command may ask a question
            asks = {ASSISTANT, "gateway"} | also if answer.is_of_one_user else {OPERATOR}
            assert who_may_publish(answer.pattern.replace("*", "ann")) == asks
            hears = {name for name, user in USERS.items() if f"{answer.pattern} {step.service}" in user.subscribe}
            assert hears == {step.service}


def test_nobody_may_do_everything() -> None:
    for user in USERS.values():
        for pattern in (*user.publish, *user.subscribe):
            assert pattern.split(".")[0] not in ("*", ">")
            assert not covers(pattern, "$SYS.REQ.SERVER.PING")
            assert not covers(pattern.split()[0], "$JS.API.STREAM.DELETE.MEMORY_TURNS")


def test_replies_come_to_an_inbox_of_ones_own() -> None:
    for name, user in USERS.items():
        assert [p for p in user.subscribe if p.startswith(subjects.INBOX)] == [f"_INBOX.{name}.>"]


def test_passwords_are_references_to_the_environment_of_the_server() -> None:
    text = accounts(users())
    assert text.count("password:") == len(USERS)
    for name in USERS:
        assert f"password: $MEMORYBUS_NATS_PASSWORD_{name.upper()}\n" in text


def test_nobody_shares_an_account_and_nobody_is_in_that_of_the_streams() -> None:
    blocks = dict(re.findall(r"^  (\w+) \{\n(.*?)^  \}$", accounts(users()), flags=re.MULTILINE | re.DOTALL))
    assert set(blocks) == {STREAMS_ACCOUNT, *(user.account for user in USERS.values())}
    assert [name for name, block in blocks.items() if "jetstream" in block] == [STREAMS_ACCOUNT]
    for user in USERS.values():
        assert re.findall(r"^ +user: (.*)$", blocks[user.account], flags=re.MULTILINE) == [user.name]
    assert "user" not in blocks[STREAMS_ACCOUNT]


def test_what_is_exported_is_exported_to_somebody() -> None:
    for line in re.findall(r"^ +\{ (?:service|stream): \".*$", accounts(users()), flags=re.MULTILINE):
        assert "accounts: [MEMORY_" in line
