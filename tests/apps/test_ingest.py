"""ingest decides: what is a turn, and which session it belongs to."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
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

GAP = timedelta(minutes=30)
NOON = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)


def incoming(body: bytes, user: str = "ann") -> Incoming:
    return Incoming(subject=subjects.turns(user), body=body, stored_at=NOON)


def a_turn(minutes: float, **given: Any) -> DatedTurn:
    fields = {"user_id": "ann", "role": "user", "text": f"at {minutes}", "turn_id": f"t{minutes}"}
    return DatedTurn(**{**fields, "created_at": NOON + timedelta(minutes=minutes), **given})


def test_a_missing_id_follows_from_the_content_and_a_missing_time_is_the_streams() -> None:
    body = b'{"user_id": "ann", "role": "user", "text": "hello there"}'
    one, same = read_turn(incoming(body), longest=100), read_turn(incoming(body), longest=100)
    other = read_turn(incoming(body.replace(b"hello", b"howdy")), longest=100)
    assert one.turn_id == same.turn_id != other.turn_id
    assert one.created_at == NOON


@pytest.mark.parametrize(
    ("ahead", "said_at"),
    [(-1e6, -1e6), (0, 0), (5, 5), (5.1, 0), (60 * 24 * 365 * 3, 0)],  # minutes
)
def test_a_time_that_is_far_ahead_of_the_bus_counts_as_the_arrival_and_is_marked(ahead: float, said_at: float) -> None:
    given = {"user_id": "ann", "role": "user", "text": "hello", "clock_ahead": True}
    turn = read_turn(
        incoming(json.dumps(given | {"created_at": (NOON + timedelta(minutes=ahead)).isoformat()}).encode()), longest=9
    )
    assert turn.created_at == NOON + timedelta(minutes=said_at)
    assert turn.clock_ahead == (ahead != said_at)
    (logged,) = place_in_sessions([turn], [None], GAP)
    entry = candidate_entry(propose(logged))
    assert logged.clock_ahead == entry.clock_ahead == turn.clock_ahead


def test_a_turn_keeps_the_id_that_follows_from_what_was_published_whenever_it_arrives() -> None:
    body = b'{"user_id": "ann", "role": "user", "text": "hi", "created_at": "2099-01-01T00:00:00Z"}'
    later = Incoming(subjects.turns("ann"), body, NOON + timedelta(hours=1))
    assert read_turn(incoming(body), longest=9).turn_id == read_turn(later, longest=9).turn_id


def test_what_a_program_wrapped_around_what_was_said_is_no_part_of_a_turn() -> None:
    fields = {"user_id": "ann", "role": "user", "text": "<page>\nPetra lives in Umeå.\n</page>\nI keep bees."}
    turn = read_turn(incoming(json.dumps(fields).encode()), longest=100)
    assert turn.text == "I keep bees."
    assert turn.turn_id == derived_turn_id(Turn.model_validate(fields))


def test_letters_and_accents_that_were_written_apart_are_read_as_one() -> None:
    apart = unicodedata.normalize("NFD", "Käthe has moved to Düsseldorf, 서울 and が")
    fields = {"user_id": "ann", "role": "user", "text": apart, "speaker": unicodedata.normalize("NFD", "José")}
    turn = read_turn(incoming(json.dumps(fields).encode()), longest=100)
    assert (turn.text, turn.speaker) == ("Käthe has moved to Düsseldorf, 서울 and が", "José")


def test_no_persona_is_called_as_what_asks_for_all_of_them() -> None:
    body = b'{"user_id": "ann", "role": "user", "text": "hello", "persona_id": "*"}'
    with pytest.raises(Poison, match="persona"):
        read_turn(incoming(body), longest=9)


@pytest.mark.parametrize(("longest", "fits"), [(5, True), (4, False)])
def test_length_is_counted_in_bytes(longest: int, fits: bool) -> None:
    message = incoming('{"user_id": "ann", "role": "user", "text": "żółw"}'.encode())
    size = len("żółw".encode())
    if fits:
        assert read_turn(message, longest=size).text == "żółw"
    else:
        with pytest.raises(Poison, match=f"{size} bytes"):
            read_turn(message, longest=longest)


@given(st.binary(max_size=300))
def test_any_bytes_are_either_a_turn_or_refused(body: bytes) -> None:
    with suppress(Poison, ValidationError):
        assert read_turn(incoming(body), longest=100).user_id == "ann"


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


def test_a_session_ends_with_a_long_silence() -> None:
    first, second, third, fourth = sessions([a_turn(0), a_turn(29), a_turn(58), a_turn(89)])
    assert first == second == third
    assert fourth != third


def test_a_turn_continues_the_session_that_the_log_knows() -> None:
    known = LastTurn("known", NOON - timedelta(minutes=10))
    old = LastTurn("old", NOON - timedelta(minutes=31))
    assert sessions([a_turn(0)], [known]) == ["known"]
    assert sessions([a_turn(0)], [old]) != ["old"]


def test_conversations_spaces_and_users_have_sessions_of_their_own() -> None:
    turns = [
        a_turn(0),
        a_turn(1, conversation_id="other"),
        a_turn(2, space="work"),
        a_turn(3, user_id="bob"),
    ]
    assert len(set(sessions(turns))) == 4


@given(st.permutations([a_turn(minutes) for minutes in (0, 10, 20, 70, 80, 200)]))
def test_sessions_do_not_depend_on_the_order_within_a_batch(turns: list[DatedTurn]) -> None:
    by_id = dict(zip([turn.turn_id for turn in turns], sessions(turns), strict=True))
    assert by_id["t0"] == by_id["t10"] == by_id["t20"]
    assert by_id["t70"] == by_id["t80"]
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


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logging takes longer than an erasure waits for it."""
    monkeypatch.setattr(handler, "LANDS_WITHIN", 0.0)


async def test_marks_are_looked_for_once_when_logging_is_prompt(store: SqliteTextStore) -> None:
    """An erasure that leaves its mark meanwhile finds what was logged."""
    marking = Marking(store, Erasure("ann", 1, NOON), after=False)
    assert await proposed(cast(TextStore, marking), bus_letting_go_of(), a_turn(1)) == 1
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


class Marking:
    """A store in which a user is marked before the log is written, or just after."""

    def __init__(self, store: SqliteTextStore, mark: Erasure, *, after: bool) -> None:
        self._store, self._mark, self._after = store, mark, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, turns: Any, proposals: Any) -> Any:
        if self._after:
            new = await self._store.append(turns, proposals)
        await self._store.record_erasure(self._mark.user_id, None, self._mark)
        return new if self._after else await self._store.append(turns, proposals)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("when", ["first", "before", "after"])
@pytest.mark.parametrize("cleared", [False, True])
async def test_what_is_older_than_an_erasure_is_refused_and_what_is_newer_waits_until_the_store_is_cleared(
    store: SqliteTextStore, when: str, *, cleared: bool
) -> None:
    mark = Erasure("bob", 1, NOON, cleared=cleared)
    if when == "first":
        await store.record_erasure("bob", None, mark)
    marking = store if when == "first" else Marking(store, mark, after=when == "after")
    turns = [a_turn(0), a_turn(1, user_id="bob"), a_turn(2, user_id="bob")]
    arrived = [Arrived(number=number, turn=turn) for number, turn in enumerate(turns)]
    deferred: set[int] = set()

    async def defer(numbers: Collection[int]) -> None:
        deferred.update(numbers)

    events = await log_turns(
        arrived, store=cast(TextStore, marking), missing_from_stream=bus_letting_go_of(), defer=defer, gap=GAP
    )
    assert deferred == (set() if cleared else {2})
    assert (await store.counts("ann")).turns == 1
    logged = [record.turn.turn_id for record in await store.export_log("bob", after=None, limit=9)]
    assert logged == (["t2"] if cleared else [])
    assert sum(len(event.entries) for event in events) == 1 + len(logged)
