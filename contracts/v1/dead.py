"""What a worker could not digest: the original bytes, and why."""

from __future__ import annotations

import re

from contracts.envelope import Message, Moment

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


class DeadLetter(Message):
    """A message that was set aside. `body` is the original in base64, untouched; of an event that names several
    entries it is one that names only the entry which could not be handled.

    With `cut` it is only the beginning, or headers are missing: the whole would not fit into one message of the bus.
    """

    subject: str
    stream: str
    sequence: int
    stage: str
    reason: str
    permanent: bool
    attempts: int
    body: str
    cut: bool = False
    headers: dict[str, str]
    died_at: Moment

    @property
    def trace_id(self) -> str | None:
        """The trace in which the original was published: its header `traceparent` names it."""
        given = next((value for name, value in self.headers.items() if name.lower() == "traceparent"), "")
        found = _TRACEPARENT.fullmatch(given.strip())
        return found[1] if found else None
