"""Incognito decided: which turns of a conversation are refused, however late they are judged, and until when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import subjects
from contracts.ports import Conversation, Record, Unavailable
from contracts.v1.control import EVERY_SPACE, IncognitoEndRequest, IncognitoStartRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import DatedTurn
from services.curate import control
from services.curate.control import expire_incognito, set_incognito
from services.ingest.handler import Arrived, Incoming
from services.ingest.refusals import admit, is_private
from services.retrieve.app import decided
from services.shared import preferences
from services.shared.announced import MOST, QUIET_SECONDS, Announced
from services.shared.preferences import Mark, Marks, PreferenceReader
from services.shared.refused import RefusedTurns, in_place_of
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeInFlight

NOW = datetime.now(UTC)
PLACE = Conversation("ann", "default", "chat")


class Numbered(FakeInFlight):
    """A bus that holds so many turns."""

    def __init__(self, last: int, oldest: datetime | None = None) -> None:
        super().__init__()
        self.number, self.since = last, oldest

    async def last(self) -> int:
        return self.number

    async def oldest(self) -> datetime | None:
        return self.since


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "SETTLES", 0.0)
    monkeypatch.setattr(preferences, "FRESH", 0.0)


async def start(store: SqliteTextStore, last: int, hours: float = 24, chat: str = "chat") -> None:
    request = IncognitoStartRequest(user_id="ann", conversation_id=chat, hours=hours)
    await set_incognito(request, records=store, in_flight=Numbered(last))


async def end(store: SqliteTextStore, last: int, chat: str = "chat") -> None:
    request = IncognitoEndRequest(user_id="ann", conversation_id=chat)
    await set_incognito(request, records=store, in_flight=Numbered(last))


def arrived(number: int, at: datetime = NOW, **given: object) -> Arrived:
    fields = {"user_id": "ann", "role": "user", "text": "hello", "turn_id": f"t{number}", "conversation_id": "chat"}
    turn = DatedTurn.model_validate({**fields, "created_at": at, **given})
    return Arrived(number=number, turn=turn, stored_at=at)


async def admitted(
    store: SqliteTextStore, some: list[Arrived], refused_turns: RefusedTurns | None = None
) -> tuple[list[int], list[int]]:
    """The numbers of the turns that may be kept, and of those that were overwritten."""
    scrubbed: list[int] = []

    async def scrub(numbers: Collection[int]) -> None:
        scrubbed.extend(numbers)

    refused_turns = refused_turns or RefusedTurns(Announced())
    kept = await admit(some, preferences=PreferenceReader(store), scrub=scrub, refused_turns=refused_turns)
    return [one.number for one in kept], scrubbed


async def test_turns_are_judged_by_what_held_when_they_were_published(store: SqliteTextStore) -> None:
    await start(store, last=2)
    await end(store, last=5)
    await start(store, last=7)
    kept, scrubbed = await admitted(store, [arrived(number) for number in range(1, 10)])
    assert (kept, scrubbed) == ([1, 2, 6, 7], [3, 4, 5, 8, 9])


async def test_a_turn_that_a_program_made_is_not_kept(store: SqliteTextStore) -> None:
    made = "<page>\nPetra lives in Umeå.\n</page>"
    some = [arrived(1, text=made), arrived(2, text=f"{made}\nI keep bees."), arrived(3, text=made, role="tool")]
    some += [arrived(4, text=made, manually_saved=True), arrived(5, text="<think>hm", role="assistant")]
    assert await admitted(store, some) == ([2, 3, 4], [1, 5])


async def test_other_conversations_and_users_are_not_incognito(store: SqliteTextStore) -> None:
    await start(store, last=0)
    others = [arrived(1, conversation_id="other"), arrived(2, user_id="bob"), arrived(3, space="work")]
    assert await admitted(store, others) == ([1, 2], [3])


async def test_a_turn_that_says_so_itself_is_not_kept(store: SqliteTextStore) -> None:
    said = "Please don't remember this: my code is 4477"
    some = [arrived(1, text=said), arrived(2), arrived(3, text=said, role="assistant")]
    assert await admitted(store, [*some, arrived(4, text=said, manually_saved=True)]) == ([2, 3, 4], [1])


async def test_a_turn_that_was_announced_as_not_to_be_kept_is_not(store: SqliteTextStore) -> None:
    turns, secret = RefusedTurns(Announced()), "My code is 4477"
    some = [arrived(1, text="Off the record:"), arrived(2, role="assistant"), arrived(3, conversation_id="other")]
    assert await admitted(store, some, turns) == ([3], [1, 2])
    assert await admitted(store, [arrived(4, text=secret)], turns) == ([], [4])
    assert await admitted(store, [arrived(4, text=secret), arrived(5)], turns) == ([5], [4]), "delivered again"


async def test_what_answers_a_turn_that_is_not_kept_is_not_until_the_user_speaks_again(store: SqliteTextStore) -> None:
    turns, secret = RefusedTurns(Announced()), "Don't remember this: my code is 4477"
    told: list[dict[str, Any]] = [
        {"text": secret},
        {"role": "tool", "text": "code 4477: ok"},
        {"role": "assistant", "text": "4477, I see."},
        {"role": "assistant", "text": "4477!", "conversation_id": "other"},
        {"role": "assistant", "text": "Saved on purpose.", "manually_saved": True},
        {"text": "What is for lunch?"},
        {"role": "assistant", "text": "Soup."},
    ]
    some = [arrived(number, **one) for number, one in enumerate(told, start=1)]
    assert await admitted(store, some, turns) == ([4, 5, 6, 7], [1, 2, 3])
    assert await admitted(store, some[2:3], turns) == ([], [3]), "delivered again, after later turns"
    assert await admitted(store, some[6:], turns) == ([7], [])
    assert await admitted(store, some[::-1]) == ([7, 6, 5, 4], [1, 2, 3]), "in another order"


async def test_what_answers_an_announced_turn_is_not_kept(store: SqliteTextStore) -> None:
    turns = RefusedTurns(Announced())
    chat = [("user", "Off the record:"), ("assistant", "Go on."), ("user", "I owe 900"), ("assistant", "900, I see.")]
    some = [arrived(number, role=role, text=text) for number, (role, text) in enumerate(chat, start=1)]
    assert await admitted(store, some, turns) == ([], [1, 3, 2, 4])


async def test_what_is_saved_on_purpose_is_no_secret_to_its_answer(store: SqliteTextStore) -> None:
    said = "Don't remember this: my code is 4477"
    some = [arrived(1, text=said, manually_saved=True), arrived(2, role="assistant")]
    assert await admitted(store, some) == ([1, 2], [])


@pytest.mark.parametrize("text", ["Don't remember this: my code is 4477", "Off the record:"])
async def test_what_stands_in_place_of_a_turn_has_none_of_its_words_and_the_same_effect(
    store: SqliteTextStore, text: str
) -> None:
    turns, instead = RefusedTurns(Announced()), in_place_of(arrived(1, text=text, tags=("door",)).turn, "t1")
    assert "4477" not in instead.model_dump_json()
    assert (instead.tags, instead.turn_id, instead.conversation_id) == ((), "t1", "chat")
    some = [arrived(1, text=instead.text), arrived(2, role="assistant"), arrived(3)]
    is_next = text.startswith("Off")
    assert await admitted(store, some, turns) == ([] if is_next else [3], [1, 3, 2] if is_next else [1, 2])


async def test_an_answer_that_is_no_turn_leaves_no_letter_either(store: SqliteTextStore) -> None:
    reader, turns = PreferenceReader(store), RefusedTurns(Announced())

    async def private(number: int, body: bytes) -> bool:
        incoming = Incoming(subjects.turns("ann"), body, NOW)
        return await is_private(incoming, number, preferences=reader, refused_turns=turns)

    answer = b'{"user_id": "ann", "conversation_id": "chat", "role": "assistant", "text": 4477}'
    assert not await private(1, answer)
    assert await private(2, b'{"user_id": "ann", "conversation_id": "chat", "text": "dont save this: 4477", "x": 1}')
    assert await private(3, answer)
    assert not await private(1, answer)
    assert not await private(4, answer.replace(b'"chat"', b'"other"'))


def test_refused_turns_are_bounded_and_do_not_hold_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = RefusedTurns(Announced())
    for number in range(MOST + 1):
        turns.note(number, 1, refused=True)
    assert [turns.has_answer(number, 2) for number in (0, 1, MOST)] == [False, True, True]
    for number in range(2, 40):
        turns.note(1, number, refused=False)
    assert not turns.has_answer(1, 2), "too long ago"
    later = time.monotonic() + QUIET_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert not turns.has_answer(MOST, 2)


async def test_it_ends_by_itself(store: SqliteTextStore) -> None:
    await start(store, last=0, hours=2)
    now = datetime.now(UTC)
    some = [arrived(1, now + timedelta(hours=1.9)), arrived(2, now + timedelta(hours=2.1))]
    assert await admitted(store, some) == ([2], [1])


async def test_turns_of_a_bus_that_was_made_anew_are_judged_by_their_time(store: SqliteTextStore) -> None:
    await start(store, last=1_000_000)
    assert await admitted(store, [arrived(1, datetime.now(UTC) + timedelta(minutes=6))]) == ([], [1])


async def test_where_incognito_is_the_default_an_end_is_what_keeps(store: SqliteTextStore) -> None:
    await store.put_record(Record("ann", "settings", EVERY_SPACE, {"incognito_default": True}, NOW), held=None)
    await end(store, last=2)
    some = [arrived(1), arrived(3), arrived(4, conversation_id="other"), arrived(5, conversation_id="notes")]
    assert await admitted(store, some) == ([3], [1, 4, 5])


BODIES = {
    b'{"user_id": "ann", "conversation_id": "chat"}': True,
    b'{"user_id": "bob", "conversation_id": "chat", "role": 3}': True,  # published under the subject of ann
    b'{"user_id": "ann", "conversation_id": "other"}': False,
    b'{"user_id": "ann", "conversation_id": "cha': True,  # nobody knows which
    b"[]": True,
    b'{"user_id": 7}': False,
}


@pytest.mark.parametrize("body", BODIES)
async def test_what_is_no_turn_is_judged_by_what_it_claims(store: SqliteTextStore, body: bytes) -> None:
    reader = PreferenceReader(store)
    incoming = Incoming(subjects.turns("ann"), body, NOW)
    assert not await is_private(incoming, 1, preferences=reader, refused_turns=RefusedTurns(Announced()))
    await start(store, last=0)
    assert await is_private(incoming, 1, preferences=reader, refused_turns=RefusedTurns(Announced())) == BODIES[body]


async def test_a_decision_goes_when_it_is_over_for_every_turn_that_waits(store: SqliteTextStore) -> None:
    await start(store, last=0, hours=1e-7)
    await asyncio.sleep(0.01)
    waits = Numbered(3, oldest=NOW - timedelta(hours=1))
    assert await expire_incognito(records=store, in_flight=waits) == 0
    assert await expire_incognito(records=store, in_flight=Numbered(3)) == 1
    assert await store.records("ann", "incognito") == []


async def test_while_the_store_is_away_nothing_is_kept_and_the_last_known_is_answered(store: SqliteTextStore) -> None:
    await start(store, last=0)
    reader = PreferenceReader(store)
    asked = RetrieveRequest(user_id="ann", query="what?", asked_in="chat")
    assert (await decided(asked, reader))[0] == "incognito"

    async def away(keys: object) -> dict[object, Record]:
        raise Unavailable("away")

    store.get_records = away  # type: ignore[method-assign, assignment]
    assert (await decided(asked, reader))[0] == "incognito"
    with pytest.raises(Unavailable):
        await reader.of([PLACE])


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=8), st.integers(1, 60), st.booleans())
def test_the_latest_mark_before_a_turn_decides(given: list[tuple[int, bool]], number: int, default: bool) -> None:
    ordered = sorted(given, key=lambda one: one[0])
    until = NOW + timedelta(days=1)
    marks = Marks(marks=tuple(Mark(after=after, incognito=on, at=NOW, until=until) for after, on in ordered))
    before = [on for after, on in ordered if after < number]
    assert marks.holds(number, NOW, default=default) == (before[-1] if before else default)
    assert marks.holds(number, until, default=default) == default


@pytest.mark.parametrize(
    "body",
    [
        b'{"user_id": "bob", "role": "bogus", "text": "Don\'t remember this: my pin is 4711"}',
        b'{"user_id": "bob", "role": "user", "text": "off the record: my pin is 4711"',
    ],
)
async def test_what_is_no_turn_and_not_to_be_kept_is_private(store: SqliteTextStore, body: bytes) -> None:
    incoming = Incoming(subject="memory.v1.turn.bob", body=body, stored_at=NOW)
    turns = RefusedTurns(Announced())
    assert await is_private(incoming, 1, preferences=PreferenceReader(store), refused_turns=turns)
