"""Of which time a question is: of the past, of what was so at first, or of the latest of something."""

from __future__ import annotations

import re
from functools import lru_cache

from services.shared.language import wordlists

OF_PAST = re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE)
_LATEST, _FORMERLY, _STATE = (
    wordlists.expression("asked", rf"\b(?:{sections})(?!\w)")
    for sections in ("{latest}", "{first}", "{latest}|{beginning}|{state}")
)


@lru_cache(maxsize=16)  # one question is looked at from several sides
def asks_for_former(question: str) -> bool:
    """Whether a question is for what was so at first, or before something."""
    return _FORMERLY.search(question.lower()) is not None


def asks_for_latest(question: str) -> bool:
    """Whether a question is for the latest of something, or for what is so now."""
    return _LATEST.search(question.lower()) is not None


def without_state(question: str) -> str:
    """A question without its words for the first, the latest and the state of something; the same where it has none."""
    return _STATE.sub(" ", question.lower())
