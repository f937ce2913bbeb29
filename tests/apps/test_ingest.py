"""ingest decides: what is a turn, and which session it belongs to."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts import subjects
from contracts.ports import Erasure, LastTurn, MissingFromStream, TextStore, Unavailable
from contracts.v1.turns import DatedTurn, Turn, derived_turn_id
from services.dedupe.handler import candidate_entry
from services.ingest import handler
from services.ingest.app import _tell_if_read_in_part
from services.ingest.handler import Arrived, Incoming, log_turns, place_in_sessions, propose, read_turn
from services.shared import erasures, telemetry
from services.shared.errors import Poison
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import Instead
from tests.stores.builders import NOON

GAP = timedelta(minutes=30)


def reading(*, longest: int = 100, stored_at: datetime = NOON, **fields: Any) -> DatedTurn:
    """What is read of a turn of ann as it was published."""
    body = json.dumps({"user_id": "ann", "role": "user", "text": "hello", **fields}).encode()
    return read_turn(Incoming(subjects.turns("ann"), body, stored_at), longest=longest)


def a_turn(minutes: float, **given: Any) -> DatedTurn:
    fields = {"user_id": "ann", "role": "user", "text": f"at {minutes}", "turn_id": f"t{minutes}"}
    return DatedTurn(**{**fields, "created_at": NOON + timedelta(minutes=minutes), **given})


def test_a_missing_id_follows_from_the_content_and_a_missing_time_is_the_streams() -> None:
    turn = reading()
    assert turn.turn_id == reading().turn_id != reading(text="howdy").turn_id
    assert turn.created_at == NOON
    later, time = NOON + timedelta(hours=1), "2099-01-01T00:00:00Z"
    assert reading(created_at=time).turn_id == reading(created_at=time, stored_at=later).turn_id, "whenever it arrives"


@pytest.mark.parametrize(
    ("ahead", "said_at"),
    [(-1e6, -1e6), (0, 0), (5, 5), (5.1, 0), (60 * 24 * 365 * 3, 0)],  # minutes
)
def test_a_time_that_is_far_ahead_of_the_bus_counts_as_the_arrival_and_is_marked(ahead: float, said_at: float) -> None:
    turn = reading(clock_ahead=True, created_at=(NOON + timedelta(minutes=ahead)).isoformat())
    assert turn.created_at == NOON + timedelta(minutes=said_at)
    assert turn.clock_ahead == (ahead != said_at)
    (logged,) = place_in_sessions([turn], [None], GAP)
    entry = candidate_entry(propose(logged))
    assert logged.clock_ahead == entry.clock_ahead == turn.clock_ahead


def test_what_a_program_wrapped_around_what_was_said_is_no_part_of_a_turn() -> None:
    text = "<page>\nPetra lives in Umeå.\n</page>\nI keep bees."
    turn = reading(text=text)
    assert turn.text == "I keep bees."
    assert turn.turn_id == derived_turn_id(Turn(user_id="ann", role="user", text=text))


def test_letters_and_accents_that_were_written_apart_are_read_as_one() -> None:
    text, speaker = "Käthe has moved to Düsseldorf, 서울 and が", "José"
    turn = reading(text=unicodedata.normalize("NFD", text), speaker=unicodedata.normalize("NFD", speaker))
    assert (turn.text, turn.speaker) == (text, speaker)


def test_no_persona_is_called_as_what_asks_for_all_of_them() -> None:
    with pytest.raises(Poison, match="persona"):
        reading(persona_id="*")


def test_length_is_counted_in_bytes() -> None:
    assert reading(text="żółw", longest=7).text == "żółw"
    with pytest.raises(Poison, match="7 bytes"):
        reading(text="żółw", longest=6)


@given(st.binary(max_size=300))
def test_any_bytes_are_either_a_turn_or_refused(body: bytes) -> None:
    with suppress(Poison, ValidationError):
        assert read_turn(Incoming(subjects.turns("ann"), body, NOON), longest=100).user_id == "ann"


def sessions(turns: list[DatedTurn], marks: list[LastTurn | None] | None = None) -> list[str]:
    return [turn.session_id for turn in place_in_sessions(turns, marks or [None] * len(turns), GAP)]


@pytest.mark.parametrize(("text", "told"), [("." * 8000, 1), ("I live in Turku.\n" + "-" * 40, 0)])
def test_a_turn_that_is_mostly_not_read_is_counted_and_told_of_without_its_words(
    text: str, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = telemetry.READ_IN_PART._value.get()
    with caplog.at_level("INFO"):
        _tell_if_read_in_part(text, 7)
    assert telemetry.READ_IN_PART._value.get() - before == told
    assert [(record.message, vars(record)["characters"]) for record in caplog.records] == [
        ("turn_read_in_part", len(text))
    ] * told


def test_a_turn_continues_the_session_that_the_log_knows() -> None:
    known = LastTurn("known", NOON - timedelta(minutes=10))
    old = LastTurn("old", NOON - timedelta(minutes=31))
    assert sessions([a_turn(0)], [known]) == ["known"]
    assert sessions([a_turn(0)], [old]) != ["old"]


def test_conversations_spaces_and_users_have_sessions_of_their_own() -> None:
    turns = [a_turn(0), a_turn(1, conversation_id="other"), a_turn(2, space="work"), a_turn(3, user_id="bob")]
    assert len(set(sessions(turns))) == 4


@given(st.permutations([a_turn(minutes) for minutes in (0, 29, 58, 89, 100, 200)]))
def test_a_session_ends_with_half_an_hour_of_silence_whatever_the_order_within_a_batch(turns: list[DatedTurn]) -> None:
    by_id = dict(zip([turn.turn_id for turn in turns], sessions(turns), strict=True))
    assert by_id["t0"] == by_id["t29"] == by_id["t58"]
    assert by_id["t89"] == by_id["t100"]
    assert len(set(by_id.values())) == 3


def bus_letting_go_of(*numbers: int, before: bool = False, away: int = 0) -> MissingFromStream:
    """A bus that holds these messages no more when it is asked again, or `before`; `away`: so often it does not answer.

    It answers the first time.
    """
    answers = iter([set(numbers) if before else set(), *[None] * away])

    async def gone(wanted: Collection[int]) -> set[int]:
        answer = next(answers, set(numbers))
        if answer is None:
            raise Unavailable("the bus is away")
        return set(wanted) & answer

    return gone


async def proposed(store: TextStore, gone: MissingFromStream, *turns: DatedTurn) -> int:
    """Have these turns logged as messages 0, 1, ...; how many are proposed."""
    arrived = [Arrived(number=number, turn=turn) for number, turn in enumerate(turns)]
    events = await log_turns(arrived, store=store, missing_from_stream=gone, defer=nobody_defers, gap=GAP)
    return sum(len(event.entries) for event in events)


async def nobody_defers(numbers: Collection[int]) -> None:
    raise AssertionError(f"{numbers} are deferred")


async def test_marks_are_looked_for_once_when_logging_is_prompt(
    store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure that leaves its mark meanwhile finds what was logged."""
    monkeypatch.setattr(handler, "LANDS_WITHIN", 60.0)  # prompt is what a busy machine does
    marked = marking(store, Erasure("ann", 1, NOON), after=False)
    assert await proposed(marked, bus_letting_go_of(), a_turn(1)) == 1
    assert (await store.counts("ann")).turns == 1


def test_an_erasure_waits_longer_than_logging_may_take() -> None:
    assert erasures.LANDS_WITHIN < erasures.SETTLING


@pytest.mark.parametrize("before", [True, False], ids=["before it is logged", "while it is logged"])
async def test_what_is_erased_while_it_is_in_hand_is_not_left(store: SqliteTextStore, *, before: bool) -> None:
    stays, erased = a_turn(1), a_turn(2, user_id="bob")
    assert await proposed(store, bus_letting_go_of(1, before=before), stays, erased) == 1
    assert set((await store.count_remaining("bob")).values()) == {0}
    assert (await store.counts("ann")).turns == 1


async def test_what_somebody_else_has_logged_meanwhile_stays(store: SqliteTextStore) -> None:
    """A message also leaves the bus because it is done with."""
    assert await proposed(store, bus_letting_go_of(), a_turn(1)) == 1
    assert await proposed(store, bus_letting_go_of(0), a_turn(1)) == 1
    assert (await store.counts("ann")).turns == 1


async def test_what_comes_again_while_the_first_was_erased_stays(store: SqliteTextStore) -> None:
    assert await proposed(store, bus_letting_go_of(0), a_turn(1), a_turn(1)) == 2
    assert (await store.counts("ann")).turns == 1


async def test_while_the_bus_is_away_it_is_asked_again(store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "_PAUSE", 0.0)
    assert await proposed(store, bus_letting_go_of(0, away=3), a_turn(1)) == 0
    assert set((await store.count_remaining("ann")).values()) == {0}


def marking(store: SqliteTextStore, mark: Erasure, *, after: bool) -> TextStore:
    """A store in which a user is marked before the log is written, or just after."""

    async def append(turns: Any, proposals: Any) -> Any:
        new = await store.append(turns, proposals) if after else None
        await store.record_erasure(mark.user_id, None, mark)
        return new if after else await store.append(turns, proposals)

    return cast(TextStore, Instead(store, append=append))


@pytest.mark.parametrize("when", ["first", "before", "after"])
@pytest.mark.parametrize("cleared", [False, True])
async def test_what_is_older_than_an_erasure_is_refused_and_what_is_newer_waits_until_the_store_is_cleared(
    store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch, when: str, *, cleared: bool
) -> None:
    monkeypatch.setattr(handler, "LANDS_WITHIN", 0.0)  # logging takes longer than an erasure waits for it
    mark = Erasure("bob", 1, NOON, cleared=cleared)
    if when == "first":
        await store.record_erasure("bob", None, mark)
    marked = store if when == "first" else marking(store, mark, after=when == "after")
    turns = [a_turn(0), a_turn(1, user_id="bob"), a_turn(2, user_id="bob")]
    arrived = [Arrived(number=number, turn=turn) for number, turn in enumerate(turns)]
    deferred: set[int] = set()

    async def defer(numbers: Collection[int]) -> None:
        deferred.update(numbers)

    events = await log_turns(arrived, store=marked, missing_from_stream=bus_letting_go_of(), defer=defer, gap=GAP)
    assert deferred == (set() if cleared else {2})
    assert (await store.counts("ann")).turns == 1
    logged = [record.turn.turn_id for record in await store.export_log("bob", after=None, limit=9)]
    assert logged == (["t2"] if cleared else [])
    assert sum(len(event.entries) for event in events) == 1 + len(logged)
