"""What a worker could not digest: the original bytes, and why."""

from __future__ import annotations

from contracts.envelope import Message, Moment


class DeadLetter(Message):
    """A message that was set aside. `body` is the original in base64, untouched."""

    subject: str
    stream: str
    sequence: int
    stage: str
    reason: str
    permanent: bool
    attempts: int
    body: str
    headers: dict[str, str]
    died_at: Moment
