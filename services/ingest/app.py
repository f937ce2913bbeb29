"""ingest: take each turn into the conversation log.

memory.v1.turns.<user> ──► ingest ──► entry.proposed
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import MsgAlreadyAckdError

from contracts import subjects
from contracts.errors import Unavailable
from contracts.subjects import Consumer
from contracts.v1.entries import EntryProposed
from services.ingest.handler import Arrived, Incoming, log_turns, read_turn
from services.ingest.refusals import admit, is_private
from services.ingest.settings import IngestSettings
from services.ingest.turns_stream import PartitionBalancer, StreamPurger
from services.shared import telemetry
from services.shared.announced import Announced
from services.shared.app import Host, Service
from services.shared.bus.dead_letters import number_of
from services.shared.bus.fairness import load_of_turn
from services.shared.bus.streams import Bus
from services.shared.bus.worker import Stage, Worker
from services.shared.language.bounded import as_read
from services.shared.preferences import PreferenceReader
from services.shared.refused import RefusedTurns

log = logging.getLogger(__name__)

_MOMENT = 0.5
"""Seconds after which a turn is delivered again that came while its user was being erased."""


async def build(host: Host) -> Service:
    """Wire the stage: once, or once for each part that the turns are split into."""
    settings = IngestSettings()
    missing_from_stream = partial(host.bus.missing_from_stream, subjects.TURNS_STREAM.name)
    in_hand: WeakValueDictionary[int, Msg] = WeakValueDictionary()  # by number, for as long as the stage has them
    defer = partial(_give_back, in_hand)
    store = await host.text_store()
    preferences, refused_turns = PreferenceReader(store), RefusedTurns(Announced())
    scrub = partial(_scrub, host.bus)
    consumers = subjects.ingest_consumers(host.settings.turns_partitions)
    purger = StreamPurger(host.bus, consumers, every=settings.purge_every_seconds)

    async def handle(arrived: Sequence[Arrived]) -> list[EntryProposed]:
        wanted = await admit(arrived, preferences=preferences, scrub=scrub, refused_turns=refused_turns)
        if not wanted:
            return []
        return await log_turns(
            wanted, store=store, missing_from_stream=missing_from_stream, defer=defer, gap=settings.session_gap
        )

    async def keeps_no_letter(msg: Msg) -> bool:
        number = number_of(msg)
        if not await is_private(incoming_of(msg), number, preferences=preferences, refused_turns=refused_turns):
            return bool(await missing_from_stream([number]))
        await scrub([number])
        return True

    def stage_of(consumer: Consumer) -> Stage[Arrived]:
        def read(msg: Msg) -> Arrived:
            purger.mark_read(consumer)
            incoming, number = incoming_of(msg), number_of(msg)
            turn = read_turn(incoming, longest=host.settings.max_text_bytes)
            in_hand[number] = msg
            _tell_if_read_in_part(turn.text, number)
            return Arrived(number=number, turn=turn, stored_at=incoming.stored_at)

        return Stage(
            consumer,
            Arrived,
            read,
            handle,
            says=(EntryProposed,),
            max_batch=settings.max_batch,
            keeps_no_letter=keeps_no_letter,
            window=2 * settings.max_batch,
            load_of=load_of_turn,
        )

    def own_workers() -> list[Worker[Any]]:
        return [worker for worker in host.workers if worker.stage.consumer in consumers]

    background = (purger.run, PartitionBalancer(host.bus, own_workers).run) if len(consumers) > 1 else (purger.run,)
    return Service("ingest", stages=tuple(map(stage_of, consumers)), background=background)


def incoming_of(msg: Msg) -> Incoming:
    """A message of the stream as the handler sees it."""
    return Incoming(subjects.published_as(msg.subject), msg.data, msg.metadata.timestamp)


async def _scrub(bus: Bus, numbers: Collection[int]) -> None:
    await asyncio.gather(*(bus.delete(subjects.TURNS_STREAM.name, number) for number in numbers))


async def _give_back(in_hand: Mapping[int, Msg], numbers: Collection[int]) -> None:
    """Have the bus deliver messages again a moment later: settled now, they are not acknowledged afterwards."""
    for msg in [in_hand[number] for number in numbers if number in in_hand]:
        try:
            await msg.nak(delay=_MOMENT)
        except MsgAlreadyAckdError:
            continue
        except NatsError as error:
            raise Unavailable(f"the bus takes no message back: {error!r}") from error


def _tell_if_read_in_part(text: str, number: int) -> None:
    chars, read = len(text), len(as_read(text))
    if read < chars / 2:
        telemetry.READ_IN_PART.inc()
        log.info("turn_read_in_part", extra={"number": number, "characters": chars, "read": read})
