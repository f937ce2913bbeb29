"""Declares streams and consumers, and proves that they are as declared. Services declare nothing themselves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from nats.errors import NoRespondersError
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from contracts import subjects
from services.shared.bus.dead_letters import subject_of
from services.shared.bus.declarations import Change, declared_consumer, declared_stream, difference, partitions_in
from services.shared.bus.nats_patches import NotAllowed
from services.shared.bus.streams import JetStream, Json
from services.shared.redaction import redact_address
from services.shared.settings import Settings

log = logging.getLogger(__name__)

_NOT_YET = (ServiceUnavailableError, NoRespondersError, TimeoutError)
_NO_PEERS = 10005  # a cluster whose servers do not know each other yet
_CLOSED = "memory.v1.closed"
_PATIENCE = 60.0
_LOOK_EVERY = 0.5
_SETTLING = 1.0
_RESTORED = [Change("stream", subjects.LIMITS_STREAM.name, "create")]
"""What may be missing from a bus that was declared: the gateway, which alone uses it, makes it anew."""


class ProvisioningError(Exception):
    """A stream or consumer is not as declared and cannot be made so; the text says what to do."""


async def provision(
    js: JetStreamContext,
    settings: Settings,
    *,
    patience: float = _PATIENCE,
    waiting: Callable[[str], None] = lambda what: None,
) -> list[Change]:
    """Make every stream and consumer as declared, and return what was done; safe to repeat.

    With `settings.provision` off nothing is changed: it waits up to `patience` seconds for somebody else to do it, and
    says what it is `waiting` for. Streams of counts are not waited for: see `restore_counts`.

    Raises:
        ProvisioningError: something is not as declared and cannot or must not be changed here.
    """
    if not settings.provision:
        await _await_as_declared(js, settings, patience, waiting)
        return []
    return await _patiently(lambda: _apply(js, settings), patience)


async def restore_counts(js: JetStreamContext, settings: Settings) -> bool:
    """Make the stream of counts anew where it is missing, and tell so: it is in memory, and goes with its servers."""
    bus, wanted = JetStream(js), declared_stream(subjects.LIMITS_STREAM, settings)
    if await bus.stream(subjects.LIMITS_STREAM.name) is not None:
        return False
    await bus.make_stream(wanted)
    return True


async def plan(js: JetStreamContext, settings: Settings, *, patience: float = 5.0) -> list[Change]:
    """The changes `provision` would make, one for each stream and consumer; nothing is changed.

    Raises:
        ProvisioningError: the bus does not answer for its streams within `patience` seconds.
    """
    return await _patiently(lambda: _differences(JetStream(js), settings), patience)


async def _differences(bus: JetStream, settings: Settings) -> list[Change]:
    changes: list[Change] = []
    for stream in subjects.STREAMS:
        wanted = declared_stream(stream, settings)
        changes.append(difference("stream", stream.name, wanted, await bus.stream(stream.name)))
    for consumer in subjects.declared_consumers(settings.turns_partitions):
        held = await bus.consumer(consumer.stream, consumer.name)
        changes.append(difference("consumer", f"{consumer.stream}/{consumer.name}", declared_consumer(consumer), held))
    return [*changes, *(Change("consumer", name, "delete") for name in await _left_over(bus, settings))]


_ROOM = (
    ": each of the three streams reserves MEMORYBUS_TURNS_MAX_BYTES, of at most three quarters of its disk; "
    "free some space, or set it lower"
)


async def _apply(js: JetStreamContext, settings: Settings) -> list[Change]:
    bus = JetStream(js)
    changes = await _differences(bus, settings)
    try:
        await _make_streams(js, settings)
        await _make_consumers(bus, settings)
    except APIError as error:
        if _is_early(error):
            raise
        hint = _ROOM if "insufficient" in (error.description or "") else ""
        raise ProvisioningError(f"the bus refused what is declared: {error.description}{hint}") from error
    _insist(await _differences(bus, settings), "the bus did not take what is declared")
    for change in changes:
        if change.action != "keep":
            log.debug("provisioned", extra={"what": change.name, "action": change.action})
    return changes


async def _make_streams(js: JetStreamContext, settings: Settings) -> None:
    bus = JetStream(js)
    for stream in subjects.STREAMS:
        wanted = declared_stream(stream, settings)
        held = await bus.stream(stream.name)
        if held is None:
            await bus.make_stream(wanted)
        elif _parts(held) != _parts(wanted):
            await _split_anew(bus, held, wanted)
        elif difference("stream", stream.name, wanted, held).action != "keep":
            if stream is subjects.DEAD_STREAM:
                await _share_letters(js)
            await bus.change_stream({**held, **wanted})


async def _share_letters(js: JetStreamContext) -> None:
    """Move letters that an older version kept under one subject into shares: the limit of a subject would drop most."""
    name, last = subjects.DEAD_STREAM.name, 0
    while True:
        try:
            found = await js.get_msg(name, seq=last + 1, subject=f"{subjects.DEAD}.*", next=True)
        except NotFoundError:
            return
        last, raw = found.seq or 0, found.data or b""
        stage = (found.subject or "").rpartition(".")[2]
        await js.publish(subject_of(stage, raw), raw, stream=name, timeout=5.0)
        await js.delete_msg(name, last)


async def _split_anew(bus: JetStream, held: Json, wanted: Json) -> None:
    """Change how the turns are split, while none is there and none can come in: each has its reader by its subject."""
    await _refuse_unless_empty(bus, held, wanted)
    await bus.change_stream({**held, "subjects": [_CLOSED]})  # publishers get no promise now, and try again
    try:
        await asyncio.sleep(_SETTLING)  # turns that the servers had already taken in are counted by then
        await _refuse_unless_empty(bus, held, wanted)
        await _remove_readers(bus, set(), of=str(held["name"]))
        await bus.change_stream({**held, **wanted})
    except Exception:
        with suppress(APIError, *_NOT_YET):
            await bus.change_stream({**held, "subjects": wanted["subjects"]})
        raise


async def _refuse_unless_empty(bus: JetStream, held: Json, wanted: Json) -> None:
    if waiting := await bus.messages(str(held["name"])):
        before, after = _parts(held), _parts(wanted)
        raise ProvisioningError(
            f"the turns of this bus are split into {before}, {after} are wanted, and {waiting} turns are still there: "
            f"run ingest with MEMORYBUS_TURNS_PARTITIONS={before} until `memorybus status` shows that none waits, "
            f"provision again, then start ingest anew with MEMORYBUS_TURNS_PARTITIONS={after}"
        )


async def _make_consumers(bus: JetStream, settings: Settings) -> None:
    for consumer in subjects.declared_consumers(settings.turns_partitions):
        wanted = declared_consumer(consumer)
        held = await bus.consumer(consumer.stream, consumer.name)
        if difference("consumer", consumer.name, wanted, held).action != "keep":
            await bus.make_consumer(consumer.stream, {**(held or {}), **wanted})
    keep = {one.name for one in subjects.ingest_consumers(settings.turns_partitions)}
    await _remove_readers(bus, keep, of=subjects.TURNS_STREAM.name)


async def _remove_readers(bus: JetStream, keep: set[str], *, of: str) -> None:
    for name in await bus.consumers(of):
        if _reads_turns(name) and name not in keep:
            await bus.remove_consumer(of, name)


def _parts(stream: Json) -> int:
    try:
        return partitions_in(stream)
    except ValueError as error:
        raise ProvisioningError(f"stream {stream['name']}: {error}; remove its subject transform first") from error


async def _left_over(bus: JetStream, settings: Settings) -> list[str]:
    """Readers of turns that belong to another number of parts."""
    turns = subjects.TURNS_STREAM.name
    if await bus.stream(turns) is None:
        return []
    wanted = {one.name for one in subjects.ingest_consumers(settings.turns_partitions)}
    return [f"{turns}/{name}" for name in await bus.consumers(turns) if _reads_turns(name) and name not in wanted]


def _reads_turns(consumer_name: str) -> bool:
    service, _, part = consumer_name.partition("-")
    return service == subjects.INGEST.name and (not part or part.isdecimal())


async def _await_as_declared(
    js: JetStreamContext, settings: Settings, patience: float, waiting: Callable[[str], None]
) -> None:
    """Wait for streams and consumers that are missing, as another process may be provisioning; not for others."""
    option = f" --nats {redact_address(settings.nats_url)}" if settings.nats_url else ""
    hint = f"provisioning is off here; run `memorybus provision{option}` with the same settings"
    problem = f"the bus is not as declared, and {hint}"
    deadline, told = time.monotonic() + patience, ""
    while True:
        changes = [change for change in await plan(js, settings, patience=patience) if change not in _RESTORED]
        missing = "; ".join(str(change) for change in changes if change.action == "create")
        if not missing or time.monotonic() > deadline:
            _insist(changes, problem)
            return
        if told != missing:
            log.warning("waiting_for_provisioning", extra={"missing": missing, "seconds": patience, "hint": hint})
            waiting(f"{problem}: {missing}")
        told = missing
        await asyncio.sleep(_LOOK_EVERY)


def _insist(changes: Sequence[Change], problem: str) -> None:
    if different := [str(change) for change in changes if change.action != "keep"]:
        raise ProvisioningError(f"{problem}: {'; '.join(different)}")


async def _patiently(work: Callable[[], Awaitable[list[Change]]], patience: float) -> list[Change]:
    """Try again while the servers of a cluster do not know each other yet."""
    deadline, told = time.monotonic() + patience, False
    while True:
        try:
            return await work()
        except (*_NOT_YET, APIError, NotAllowed) as error:
            if not _is_early(error) or time.monotonic() > deadline:
                raise ProvisioningError(_no_answer(error)) from error
            if not told:
                log.warning("bus_not_ready", extra={"seconds": patience, "cause": repr(error)})
            told = True
            await asyncio.sleep(_LOOK_EVERY)


def _is_early(error: Exception) -> bool:
    return isinstance(error, _NOT_YET) or (isinstance(error, APIError) and error.err_code == _NO_PEERS)


def _no_answer(error: Exception) -> str:
    return (
        f"the bus does not answer for its streams ({error!r}): is JetStream on, do enough of its servers run, and may "
        "this user look at them? `memorybus provision --permissions` prints what each user needs"
    )
