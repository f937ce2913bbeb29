"""What is declared and how it differs from what the bus holds; how turns are split and known again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import subjects
from services.shared.bus.declarations import declared_consumer, declared_stream, difference, partitions_in
from services.shared.settings import Settings

PARTS = st.integers(1, 256)


@given(parts=PARTS, replicas=st.integers(1, 5), most=st.integers(1, 10**12))
def test_what_is_declared_does_not_differ_from_itself(parts: int, replicas: int, most: int) -> None:
    settings = Settings(turns_partitions=parts, nats_replicas=replicas, turns_max_bytes=most)
    for stream in subjects.STREAMS:
        wanted = declared_stream(stream, settings)
        held = {**wanted, "compression": "none", "metadata": {"_nats.ver": "2.15.1"}}
        assert difference("stream", stream.name, wanted, held).action == "keep"
    for consumer in subjects.consumers(parts):
        assert (
            difference("consumer", consumer.name, declared_consumer(consumer), declared_consumer(consumer)).fields == ()
        )


def test_every_field_that_differs_is_named_with_both_values() -> None:
    wanted = declared_stream(subjects.TURNS_STREAM, Settings())
    for name, value in wanted.items():
        (field,) = difference("stream", "s", wanted, {**wanted, name: "other"}).fields
        assert (field.name, field.held, field.wanted) == (name, "other", value)


def test_what_the_bus_leaves_out_is_the_same_as_nothing() -> None:
    wanted = declared_stream(subjects.DEAD_STREAM, Settings())
    held = {name: value for name, value in wanted.items() if value}
    assert len(held) < len(wanted)
    assert difference("stream", "s", wanted, held).action == "keep"


def test_every_stream_has_as_many_copies_as_the_settings_say() -> None:
    copies = [declared_stream(stream, Settings(nats_replicas=3))["num_replicas"] for stream in subjects.STREAMS]
    assert set(copies) == {3}


def test_only_the_turns_are_split_and_whole_turns_are_as_they_always_were() -> None:
    whole = declared_stream(subjects.TURNS_STREAM, Settings())
    split = [declared_stream(stream, Settings(turns_partitions=8)) for stream in subjects.STREAMS]
    assert (whole["subjects"], whole["subject_transform"]) == (["memory.v1.turns.*"], None)
    assert [partitions_in(config) for config in split] == [8, 1, 1, 1, 1, 1]
    assert split[0]["subjects"] == ["memory.v1.turns.*"]
    assert subjects.consumers(1) == subjects.CONSUMERS
    assert "priority_groups" not in declared_consumer(subjects.INGEST)


@given(PARTS)
def test_the_number_of_parts_is_read_back_from_the_transform(parts: int) -> None:
    assert subjects.partitions_of(subjects.partition_transform(parts)) == parts
    assert partitions_in(declared_stream(subjects.TURNS_STREAM, Settings(turns_partitions=parts))) == parts


@pytest.mark.parametrize("foreign", ["", "memory.v1.partition.0.x", "other.{{partition(3,1)}}.{{wildcard(1)}}"])
def test_a_transform_that_is_not_ours_is_not_taken_for_one(foreign: str) -> None:
    with pytest.raises(ValueError, match="does not split turns by user"):
        subjects.partitions_of(foreign)


@given(user=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), part=st.integers(0, 255))
def test_a_turn_is_known_by_the_subject_it_was_published_on_wherever_it_is_kept(user: str, part: int) -> None:
    public = subjects.turns(user)
    assert subjects.published_as(public) == public
    assert subjects.published_as(f"{subjects.PARTITION}.{part}.{subjects.user_token(user)}") == public


@given(PARTS)
def test_every_part_has_one_consumer_of_its_own_name_and_all_belong_to_ingest(parts: int) -> None:
    consumers = subjects.ingest_consumers(parts)
    assert len({one.name for one in consumers}) == len({one.subject for one in consumers}) == parts
    assert {one.service for one in consumers} == {"ingest"}


@pytest.mark.parametrize("user", [None, "", "a.b", "*", ">", "a b", "x" * 65, "_INBOX.ann"])
def test_a_user_of_the_bus_that_does_not_fit_into_a_subject_shares_the_common_inbox(user: str | None) -> None:
    assert subjects.inbox(user) == "_INBOX"
    assert subjects.inbox("ann") == "_INBOX.ann"
