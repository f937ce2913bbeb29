"""An event with poison among its entries: the others have their effect; the poison alone is tried again and kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

from contracts import subjects
from contracts.ports import Unavailable
from contracts.v1.entries import EntryAccepted, EntryEnriched, EntryRef
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, StoredLetter
from services.shared.bus.pull import PullConsumer
from services.shared.bus.streams import Bus
from services.shared.bus.worker import MAX_ATTEMPTS, Stage, Worker, read_json, split
from services.shared.errors import Poison
from tests.polling import eventually

TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
REFS = tuple(EntryRef(user_id="ann", id=str(uuid4())) for _ in range(128))
Answer = Callable[[EntryRef], Exception | None]


class Enricher:
    """Has each entry's effect by counting it, unless something is the matter with one of those it is given."""

    def __init__(self, matter: Answer) -> None:
        self.matter = matter
        self.calls: list[tuple[EntryRef, ...]] = []
        self.effects: dict[str, int] = {}

    async def __call__(self, events: Sequence[EntryAccepted]) -> list[EntryEnriched]:
        refs = tuple(ref for event in events for ref in event.entries)
        self.calls.append(refs)
        for error in map(self.matter, refs):
            if error is not None:
                raise error
        self.effects |= {ref.id: self.effects.get(ref.id, 0) + 1 for ref in refs}
        return [EntryEnriched.of(refs, at=datetime.now(UTC))]

    def alone(self, ref: EntryRef) -> int:
        return self.calls.count((ref,))


@asynccontextmanager
async def at_work(bus: Bus, matter: Answer) -> AsyncIterator[Enricher]:
    enricher = Enricher(matter)
    stage = Stage(subjects.ENRICH, EntryAccepted, read_json(EntryAccepted), enricher, says=(EntryEnriched,))
    worker = Worker(stage, bus)
    await worker.start()
    try:
        yield enricher
    finally:
        await worker.stop()


async def say(bus: Bus, *refs: EntryRef) -> EntryAccepted:
    event = EntryAccepted.of(refs, at=datetime.now(UTC))
    headers = {**TRACE, subjects.MSG_ID_HEADER: str(event.event_id)}
    await bus.js.publish(event.subject, event.model_dump_json().encode(), headers=headers)
    return event


async def letters_of(bus: Bus) -> list[StoredLetter]:
    return [kept async for kept in DeadLetterQueue(bus).newest_first(LetterFilter())]


async def dead_lettered(bus: Bus, count: int) -> dict[str, StoredLetter]:
    """The letters, by the one entry that each names, once there are so many and nothing is left to do."""
    await eventually(lambda: letters_of(bus), lambda found: len(found) >= count)
    await eventually(lambda: bus.backlog(subjects.ENRICH), lambda backlog: backlog == 0)
    letters = await letters_of(bus)
    named = [EntryAccepted.model_validate_json(kept.body).entries for kept in letters]
    assert all(len(entries) == 1 for entries in named)
    assert len({entries[0].id for entries in named}) == len(letters)
    return {entries[0].id: kept for entries, kept in zip(named, letters, strict=True)}


async def enriched(bus: Bus) -> list[str]:
    """The ids that events tell of; nobody has read these events yet."""
    state = (await bus.js.stream_info(subjects.EVENTS_STREAM.name)).state
    told: list[str] = []
    for number in range(state.first_seq, state.last_seq + 1):
        message = await bus.js.get_msg(subjects.EVENTS_STREAM.name, number)
        if message.subject == subjects.ENTRY_ENRICHED:
            told += [ref.id for ref in EntryEnriched.model_validate_json(message.data or b"").entries]
    return told


def fails_for(*bad: EntryRef, error: Exception) -> Answer:
    return lambda ref: error if ref in bad else None


async def test_the_others_have_their_effect_and_are_told_of_once_while_the_poison_is_tried_five_times(bus: Bus) -> None:
    bad = (REFS[7], REFS[90])
    async with at_work(bus, fails_for(*bad, error=RuntimeError("unforeseen"))) as enricher:
        await say(bus, *REFS)
        letters = await dead_lettered(bus, 2)
    assert set(letters) == {ref.id for ref in bad}
    assert [enricher.alone(ref) for ref in bad] == [MAX_ATTEMPTS, MAX_ATTEMPTS]
    assert enricher.effects.keys() == {ref.id for ref in REFS} - letters.keys()
    assert sorted(await enriched(bus)) == sorted(enricher.effects)
    for kept in letters.values():
        assert kept.letter is not None
        assert (kept.letter.reason, kept.letter.attempts, kept.letter.permanent) == ("unforeseen", MAX_ATTEMPTS, False)
        assert kept.letter.trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"


async def test_poison_that_will_never_heal_is_set_aside_at_once_each_with_its_own_reason(bus: Bus) -> None:
    why = {REFS[0].id: "too long", REFS[127].id: "too strange"}
    async with at_work(bus, lambda ref: Poison(why[ref.id]) if ref.id in why else None) as enricher:
        await say(bus, *REFS)
        letters = await dead_lettered(bus, 2)
    assert {id_: kept.reason for id_, kept in letters.items()} == why
    assert {enricher.alone(REFS[0]), enricher.alone(REFS[127])} == {1}
    assert len(enricher.effects) == 126


async def test_what_heals_while_it_is_tried_again_leaves_no_letter(bus: Bus) -> None:
    sick = {REFS[3].id: 2}

    def matter(ref: EntryRef) -> Exception | None:
        return RuntimeError("not yet") if sick.get(ref.id) else None

    async with at_work(bus, matter) as enricher:
        await say(bus, *REFS[:8])
        await eventually(lambda: asyncio.sleep(0, enricher.alone(REFS[3])), lambda tried: tried == 2)
        sick.clear()
        await eventually(lambda: bus.backlog(subjects.ENRICH), lambda backlog: backlog == 0)
    assert await letters_of(bus) == []
    assert enricher.effects.keys() == {ref.id for ref in REFS[:8]} == set(await enriched(bus))


async def test_what_is_only_away_is_waited_for_and_condemns_nobody(bus: Bus) -> None:
    away = [Unavailable("the store is away")] * 2

    def matter(ref: EntryRef) -> Exception | None:
        if ref == REFS[1]:
            return RuntimeError("unforeseen")
        return away.pop() if ref == REFS[2] and away else None

    async with at_work(bus, matter) as enricher:
        await say(bus, *REFS[:4])
        letters = await dead_lettered(bus, 1)
    assert away == []
    assert letters.keys() == {REFS[1].id}
    assert enricher.effects.keys() == {REFS[0].id, REFS[2].id, REFS[3].id}


async def test_no_second_letter_where_the_worker_ends_between_the_letters_and_the_last_word(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = 0

    async def comes_again(msg: Msg) -> None:
        nonlocal ended
        ended += 1
        monkeypatch.undo()
        await msg.nak()

    monkeypatch.setattr(Msg, "term", comes_again)
    async with at_work(bus, fails_for(REFS[2], REFS[5], error=Poison("no use"))) as enricher:
        await say(bus, *REFS[:8])
        await eventually(lambda: asyncio.sleep(0, enricher.alone(REFS[5])), lambda tried: tried == 2)
        letters = await dead_lettered(bus, 2)
    assert ended == 1
    assert letters.keys() == {REFS[2].id, REFS[5].id}


async def test_a_retried_letter_brings_back_the_poison_alone(bus: Bus) -> None:
    sick = {REFS[9].id}
    async with at_work(bus, lambda ref: Poison("no use") if ref.id in sick else None) as enricher:
        await say(bus, *REFS)
        (kept,) = (await dead_lettered(bus, 1)).values()
        sick.clear()
        enricher.calls.clear()
        await DeadLetterQueue(bus).retry(kept.number)
        await eventually(lambda: asyncio.sleep(0, enricher.calls), bool)
        await eventually(lambda: bus.backlog(subjects.ENRICH), lambda backlog: backlog == 0)
    assert enricher.calls == [(REFS[9],)]
    assert enricher.effects == {ref.id: 1 for ref in REFS}


async def test_an_event_that_names_one_entry_is_kept_to_the_byte(bus: Bus) -> None:
    async with at_work(bus, fails_for(REFS[0], error=Poison("no use"))):
        said = await say(bus, REFS[0])
        (kept,) = (await dead_lettered(bus, 1)).values()
    assert kept.body == said.model_dump_json().encode()


def test_an_entry_that_an_event_names_again_and_again_is_one_part() -> None:
    event = EntryAccepted.of([REFS[0], REFS[1], *[REFS[0]] * 300], at=datetime.now(UTC))
    assert [part.entries for part in split(event)] == [REFS[:1], REFS[1:2]]
    repeated = EntryAccepted.of(REFS[:1] * 2, at=event.occurred_at)
    assert [part.entries for part in split(repeated)] == [REFS[:1]]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 128])
def test_halves_name_all_entries_once_in_order_with_ids_that_no_path_changes(count: int) -> None:
    event = EntryAccepted.of(REFS[:count], at=datetime.now(UTC))

    def singles(part: EntryAccepted) -> list[EntryAccepted]:
        return [one for half in split(part) for one in singles(half)] or [part]

    if count < 2:
        assert split(event) == []
    else:
        expected = [EntryAccepted.of([ref], at=event.occurred_at) for ref in REFS[:count]]
        assert singles(event) == expected


async def test_a_stage_whose_bus_cannot_be_asked_for_a_while_goes_on(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fetch, failed = PullConsumer.next_batch, list[str]()

    async def failing_twice(pull: PullConsumer) -> Any:
        if len(failed) < 2:
            failed.append("TooLarge")
            raise ValueError("larger than the bus takes now")
        return await fetch(pull)

    monkeypatch.setattr(PullConsumer, "next_batch", failing_twice)
    async with at_work(bus, lambda ref: None) as enricher:
        ref = REFS[0]
        await say(bus, ref)
        await eventually(lambda: asyncio.sleep(0, enricher.effects), lambda effects: effects == {ref.id: 1}, within=20)
    assert [record.message for record in caplog.records].count("stage_failed") == 2
