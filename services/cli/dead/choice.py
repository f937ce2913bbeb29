"""Which dead letters a command is about: filters shared by all, and the connection to read them by."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from contracts import subjects
from contracts.errors import Unavailable
from contracts.v1.audit import MOST_NOTED, AuditNoteRequest
from services.cli.common import nats_url
from services.shared.bus.dead_letters import DeadLetterQueue
from services.shared.client import MemoryClient, RequestFailed, memory_client

_AGO = re.compile(r"(\d{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def a_stage(given: str) -> str:
    """The name of a stage.

    Raises:
        BadParameter: there is no such stage.
    """
    known = [consumer.service for consumer in subjects.CONSUMERS]
    if given not in known:
        raise typer.BadParameter(f"there is no stage {given!r}: {', '.join(known)}")
    return given


def a_moment(given: str) -> datetime:
    """A point in time: so long ago, or a date with or without a time, in UTC where it names no zone.

    Raises:
        BadParameter: it is neither.
    """
    try:
        if ago := _AGO.fullmatch(given):
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(given)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{given!r} is no time: write 30m, 2h, 7d or 2026-02-01T22:00") from None


StageOption = Annotated[
    str | None,
    typer.Option("--stage", parser=a_stage, metavar="STAGE", help="Set aside by this stage.", show_default=False),
]
WhoseOption = Annotated[
    str | None, typer.Option("--user", "-u", help="About this user's memory.", show_default=False, metavar="USER")
]
SinceOption = Annotated[
    datetime | None,
    typer.Option(
        "--since", parser=a_moment, metavar="WHEN", help="Set aside since: 30m, 2h, 7d ago, or a date (UTC).",
        show_default=False,
    ),
]  # fmt: skip
ReasonOption = Annotated[
    str | None, typer.Option("--reason", help="With this text in the reason.", show_default=False, metavar="TEXT")
]


@dataclass(frozen=True, slots=True)
class Where:
    """The options that say which bus is meant."""

    data: Path | None
    nats: str | None


@asynccontextmanager
async def letters_at(where: Where) -> AsyncIterator[DeadLetterQueue]:
    """The dead letters of the bus there.

    Raises:
        NotRunning, Unavailable: no bus is found, or none answers.
    """
    async with memory_client(nats_url(where.data, where.nats), name="memorybus-dead") as client:
        yield DeadLetterQueue(client.bus)


async def keep_account(letters: DeadLetterQueue, verb: str, numbers: Sequence[int], users: Sequence[str] = ()) -> None:
    """Have the audit say what was done with letters; they can be read while nobody is there to write it."""
    about = tuple(map(str, numbers[:MOST_NOTED]))
    request = AuditNoteRequest(verb=verb, users=tuple(users[:MOST_NOTED]), about=about)
    with suppress(Unavailable, RequestFailed):
        await MemoryClient(letters.bus.client).note(request)
