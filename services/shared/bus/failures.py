"""What to do when a message cannot be handled: wait, try again, or set it aside with the reason.

Unavailable        not the message's fault   wait in place, as long as it takes
Poison, invalid    never going to work       dead letter at once
anything else      may heal                  delayed redelivery, dead letter after MAX_ATTEMPTS
"""

from __future__ import annotations

import base64
import random
from datetime import UTC, datetime

from nats.aio.msg import Msg
from pydantic import ValidationError

from contracts.v1.dead import DeadLetter
from services.shared.errors import Poison, in_words

MAX_ATTEMPTS = 5
_LONGEST_REASON = 2000
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
        return in_words(error)[:_LONGEST_REASON]
    return f"{error}"[:_LONGEST_REASON] or type(error).__name__


def attempts_of(msg: Msg) -> int:
    """How often the bus has delivered this message, this time included."""
    return int(msg.metadata.num_delivered or 1)


def dead_letter(msg: Msg, stage: str, error: Exception, *, room: int) -> DeadLetter:
    """The message with where it came from and why it was set aside, in at most `room` bytes."""
    headers = dict(msg.headers or {})
    kept = headers if len(str(headers)) <= room // 8 else {}
    letter = DeadLetter(
        subject=msg.subject,
        stream=msg.metadata.stream,
        sequence=msg.metadata.sequence.stream,
        stage=stage,
        reason=reason_of(error),
        permanent=is_permanent(error),
        attempts=attempts_of(msg),
        body="",
        headers=kept,
        died_at=datetime.now(UTC),
    )
    left = room - len(letter.model_dump_json().encode()) - _ENVELOPE
    body = msg.data[: max(0, left) // 4 * 3]  # base64 takes four bytes for three
    cut = len(body) < len(msg.data) or kept != headers
    return letter.model_copy(update={"body": base64.b64encode(body).decode(), "cut": cut})
