"""What to do when a message cannot be handled: wait, try again, or set it aside with the reason.

Unavailable        not the message's fault   wait in place, as long as it takes
Poison, invalid    never going to work       dead letter at once
anything else      may heal                  delayed redelivery, dead letter after MAX_ATTEMPTS

An event that names several entries is condemned only where one of them fails alone: the others have their effect.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TypeVar

from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from contracts import subjects
from contracts.v1.dead import DeadLetter
from contracts.v1.entries import EntryEvent
from services.shared.errors import Poison, describe_error
from services.shared.redaction import redact_text

M = TypeVar("M", bound=BaseModel)

MAX_ATTEMPTS = 5
NO_MEMORYBUS = "this bus has no memorybus on it: start one with `memorybus up`"
_LONGEST_REASON = 2000
LARGEST_BODY = 128 * 1024
"""Bytes of a message that a letter keeps at most: twice the longest text that is taken by default."""
_ENVELOPE = 1024  # bytes around a letter: its message id, and the words of the protocol


def is_permanent(error: Exception) -> bool:
    """Whether trying again is pointless."""
    return isinstance(error, Poison | ValidationError)


def backoff(attempt: int, *, base: float = 0.1, longest: float = 10.0) -> float:
    """Seconds to wait before attempt number `attempt` + 1: doubled each time, bounded, half of it random."""
    full: float = min(longest, base * 2 ** min(attempt, 20))
    return full * random.uniform(0.5, 1.0)


def reason_of(error: Exception) -> str:
    """The error in words that help who reads the dead letter; a validation error without the offending text."""
    if isinstance(error, ValidationError):
        return describe_error(error)[:_LONGEST_REASON]
    return redact_text(str(error))[:_LONGEST_REASON] or type(error).__name__


def number_of(msg: Msg) -> int:
    """The number of this message in its stream."""
    return int(msg.metadata.sequence.stream)


def attempts_of(msg: Msg) -> int:
    """How often the bus has delivered this message, this time included."""
    return int(msg.metadata.num_delivered or 1)


def split(model: M) -> list[M]:
    """Two events for one that names several entries; nothing for what cannot be split."""
    if not isinstance(model, EntryEvent) or len(model.entries) < 2:
        return []
    middle = len(model.entries) // 2
    parts = (model.entries[:middle], model.entries[middle:])
    return [model.of(part, at=model.occurred_at) for part in parts]


def joined(parts: Sequence[M]) -> M:
    """One event for all that these name."""
    first = parts[0]
    if not isinstance(first, EntryEvent):
        return first
    refs = [ref for part in parts if isinstance(part, EntryEvent) for ref in part.entries]
    return first.of(refs, at=first.occurred_at)


def dead_letter(msg: Msg, stage: str, error: Exception, *, part: BaseModel | None = None, room: int) -> DeadLetter:
    """The message with where it came from and why it was set aside, in at most `room` bytes.

    Of a large body the beginning is kept.

    With `part` its body is that part of the message; all else is of the message itself.
    """
    whole = msg.data if part is None else part.model_dump_json().encode()
    headers = dict(msg.headers or {})
    kept = headers if len(str(headers)) <= min(room, LARGEST_BODY) // 8 else {}
    letter = DeadLetter(
        subject=subjects.published_as(msg.subject),
        stream=msg.metadata.stream,
        sequence=number_of(msg),
        stage=stage,
        reason=reason_of(error),
        permanent=is_permanent(error),
        attempts=attempts_of(msg),
        body="",
        headers=kept,
        died_at=datetime.now(UTC),
    )
    left = room - len(letter.model_dump_json().encode()) - _ENVELOPE
    body = whole[: min(LARGEST_BODY, max(0, left) // 4 * 3)]  # base64 takes four bytes for three
    cut = len(body) < len(whole) or kept != headers
    return letter.model_copy(update={"body": base64.b64encode(body).decode(), "cut": cut})


def letter_id(letter: DeadLetter, part: BaseModel | None) -> str:
    """The message id of a letter: the same for the same message, or part of it, however often it is set aside.

    What a publisher says once more under the same message id, as it did not hear the promise, is the same message.
    """
    if isinstance(part, EntryEvent):
        return f"dead:{letter.stream}:{letter.sequence}:{letter.stage}:{part.event_id}"
    given = letter.headers.get(subjects.MSG_ID_HEADER)
    said = f"{given}\x1f{letter.subject}\x1f{letter.body}" if given else str(letter.sequence)
    return f"dead:{letter.stream}:{letter.stage}:{blake2b(said.encode(), digest_size=16).hexdigest()}"
