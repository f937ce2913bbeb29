"""The frame around everything that travels: immutable messages, events with a cause, replies that always answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

NAMESPACE = UUID("6f1d2a52-8d3c-5b61-9a4e-0c7f5e2b9d10")


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs a zone, for example 2026-02-01T10:00:00Z")
    if not moment.utcoffset():
        return moment
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a time must lie between the years 1 and 9999 in UTC") from error


def _as_written(moment: object) -> object:
    if isinstance(moment, int | float) or (isinstance(moment, str) and not _ISO_8601.match(moment)):
        raise ValueError("a time is written as in ISO 8601, for example 2026-02-01T10:00:00Z")
    return moment


_ISO_8601 = re.compile("[0-9]{4}-")

Moment = Annotated[datetime, BeforeValidator(_as_written), AfterValidator(_with_zone)]
"""A point in time with a zone, kept in UTC. A number is none: nobody knows in what it counts, and from when."""

_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})$")


def offset_of(moment: object) -> int | None:
    """The minutes by which a time, or the text of one, is ahead of UTC; None where it does not tell."""
    if isinstance(moment, datetime):
        offset = moment.utcoffset()
        return None if offset is None else round(offset.total_seconds() / 60)
    found = _OFFSET.search(moment, 10) if isinstance(moment, str) else None
    return found and int(found["sign"] + "1") * (60 * int(found["hours"]) + int(found["minutes"]))


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError("is no time zone of the IANA database, for example Europe/Vienna") from None
    return name


TimeZone = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_known_zone)]
"""Where days begin for somebody, by the name in the IANA database."""


class Message(BaseModel):
    """Anything that travels. Unknown fields are ignored, so that a field can be added without a new version; an
    `IrreversibleRequest` is refused with one.

    An error about one names the field and never repeats what was in it, which users may have said.
    """

    # Built when first used: of all the models, most of the time of an import, a program needs few.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)


class Event(Message):
    """A fact that has happened.

    The id follows from the causes and the subject alone: a repeated cause repeats the id, never makes a second fact.
    """

    event_id: UUID
    occurred_at: Moment


def derived_id(subject: str, causes: Iterable[str]) -> UUID:
    """The id of the event that `causes`, in whatever order, bring about on `subject`."""
    return uuid5(NAMESPACE, "\n".join([subject, *sorted(causes)]))


ErrorCode = Literal[
    "invalid_request",
    "user_mismatch",
    "not_found",
    "refused",
    "conflict",
    "deadline_exceeded",
    "overloaded",
    "unavailable",
    "internal",
]


class ErrorInfo(Message):
    """Why a request failed, and whether the same request may succeed later."""

    code: ErrorCode
    message: str
    retryable: bool = False


class ErrorReply(Message):
    """The answer to a request that failed. Somebody waits, so there is always an answer."""

    ok: Literal[False] = False
    error: ErrorInfo
    correlation_id: str | None = None


class Reply(Message):
    """The answer to a request that succeeded."""

    ok: Literal[True] = True
    correlation_id: str | None = None


class Request(Message):
    """What every request carries: whose memory it is about."""

    user_id: str = Field(min_length=1, max_length=512)
    correlation_id: str | None = None


class IrreversibleRequest(Request):
    """A request whose effect cannot be undone. An unknown field is refused: it may be one that limits it, misspelt."""

    model_config = ConfigDict(extra="forbid")
