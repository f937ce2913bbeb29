"""Which dead letters a command is about: filters shared by all."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from contracts import subjects

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
    str | None, typer.Option("--stage", parser=a_stage, metavar="STAGE", help="Set aside by this stage.")
]
WhoseOption = Annotated[str | None, typer.Option("--user", "-u", help="About this user's memory.", metavar="USER")]
SinceOption = Annotated[
    datetime | None,
    typer.Option("--since", parser=a_moment, metavar="WHEN", help="Set aside since: 30m, 2h, 7d ago, or a date (UTC)."),
]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="With this text in the reason.", metavar="TEXT")]
