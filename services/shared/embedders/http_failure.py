"""Why an embedding server gave no vectors, as far as one answer tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["passing", "refusal", "garbled", "setting", "silence", "hangs"]

_PASSING = {408, 425, 429}
_REFUSAL = {400, 413, 422}
_ADVICE = {
    401: "check MEMORYBUS_EMBEDDER_API_KEY",
    403: "check MEMORYBUS_EMBEDDER_API_KEY",
    404: "check MEMORYBUS_EMBEDDER_URL and MEMORYBUS_EMBEDDER_MODEL",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What came instead of vectors.

    `passing` may be over at the next attempt, which is wanted `after` so many seconds; a `refusal` is of these texts
    together, or as long as they are; `garbled` is an answer that is none; `setting` is what `advice` may mend, unless
    it is for these texts alone; `silence` is for everybody, and it `hangs` where others were answered meanwhile.
    """

    reason: str
    kind: Kind
    after: float = 0.0
    advice: str = ""


class Failed(Exception):
    """The server gave no vectors of these texts."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def of_status(status: int, retry_after: str) -> Failure:
    """What a status says. Only that is told of an answer that is none: servers repeat what they were sent."""
    reason = f"HTTP {status}"
    if status in _PASSING or status >= 500:
        # A date in place of seconds is not read.
        return Failure(reason, "passing", after=float(retry_after) if retry_after.isdecimal() else 0.0)
    if status in _REFUSAL:
        return Failure(reason, "refusal")
    return Failure(reason, "setting", advice=_ADVICE.get(status, "check MEMORYBUS_EMBEDDER_URL"))
