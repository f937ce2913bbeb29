"""Declares streams and consumers, and proves that they are as declared. Services declare nothing themselves."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from contracts import subjects
from contracts.subjects import Consumer, Stream
from services.shared.settings import Settings

log = logging.getLogger(__name__)

ACK_WAIT = 10.0
MAX_ACK_PENDING = 8192
_DUPLICATE_WINDOW = 120.0
_RETENTION = {
    "until_done": RetentionPolicy.LIMITS,
    "interest": RetentionPolicy.INTEREST,
    "log": RetentionPolicy.LIMITS,
}


class ProvisioningError(Exception):
    """A stream or consumer is not as declared and cannot be made so."""


def stream_config(stream: Stream, settings: Settings) -> StreamConfig:
    """How the bus must keep this stream. Full means refused (`discard new`), never silently forgotten."""
    return StreamConfig(
        name=stream.name,
        subjects=list(stream.subjects),
        retention=_RETENTION[stream.keeps],
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD if stream.keeps == "log" else DiscardPolicy.NEW,
        max_bytes=settings.turns_max_bytes,
        max_age=float(stream.max_age_seconds),
        duplicate_window=_DUPLICATE_WINDOW,
        num_replicas=1,
    )


def consumer_config(consumer: Consumer) -> ConsumerConfig:
    """How this consumer must read. Redelivery is bounded by the failure policy, not by the bus."""
    return ConsumerConfig(
        durable_name=consumer.name,
        filter_subject=consumer.subject,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ACK_WAIT,
        max_deliver=-1,
        max_ack_pending=MAX_ACK_PENDING,
    )


async def provision(js: JetStreamContext, settings: Settings) -> None:
    """Make every stream and consumer as declared; safe to repeat.

    Raises:
        ProvisioningError: something exists with a setting that cannot be changed.
    """
    for stream in subjects.STREAMS:
        await _provision_stream(js, stream_config(stream, settings))
    for consumer in subjects.CONSUMERS:
        await _provision_consumer(js, consumer.stream, consumer_config(consumer))


async def _provision_stream(js: JetStreamContext, wanted: StreamConfig) -> None:
    assert wanted.name is not None
    try:
        held = (await js.stream_info(wanted.name)).config
    except NotFoundError:
        held = (await js.add_stream(wanted)).config
        log.info("stream_created", extra={"stream": wanted.name})
    if _differences(wanted, held):
        held = (await js.update_stream(wanted)).config
    _assert_as_declared(f"stream {wanted.name}", wanted, held)


async def _provision_consumer(js: JetStreamContext, stream: str, wanted: ConsumerConfig) -> None:
    assert wanted.durable_name is not None
    try:
        held = (await js.consumer_info(stream, wanted.durable_name)).config
    except NotFoundError:
        held = (await js.add_consumer(stream, wanted)).config
    if _differences(wanted, held):
        held = (await js.add_consumer(stream, wanted)).config  # the bus updates a durable of the same name
    _assert_as_declared(f"consumer {wanted.durable_name}", wanted, held)


def _differences(wanted: Any, held: Any) -> list[str]:
    names: Iterable[str] = (field.name for field in fields(wanted))
    pairs = ((name, getattr(wanted, name), getattr(held, name)) for name in names)
    return [
        f"{name} is {has!r}, wanted {want!r}"
        for name, want, has in pairs
        if want not in (None, 0, False) and want != has
    ]


def _assert_as_declared(what: str, wanted: Any, held: Any) -> None:
    if differences := _differences(wanted, held):
        raise ProvisioningError(f"{what}: {'; '.join(differences)}")
