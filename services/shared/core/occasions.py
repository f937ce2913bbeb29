"""Whether a change is one of a single occasion, and leaves what is so as a rule: "today 40 instead of 20"."""

from __future__ import annotations

import re

from services.shared.core.claims import Claim
from services.shared.core.statements import SPEAKERS, Clause, kinds

_ONCE = re.compile(
    r"\b(?:(?:just|only) (?:this|for|once)|(?:week|month|time|once) only|this (?:time|once|one time|week|month)"
    r"|today|tonight|tomorrow|yesterday|(?:next|last) (?:week|\w{3,6}day)|weeks? ago|this \w{3,6}day|for once)\b"
)
_FOR_NOW = re.compile(
    r"\b(?:just for (?:today|now|once|tonight|this)|for today|while (?:the|my|our|i|we|he|she|they|\w+ is)\b"
    r"|until (?:the|my|our)"
    r"|this (?:week (?:because|due|as|since)|term)|only (?:this|for) \w+|today[.!]?$)"
)
_WHY = re.compile(r"\b(?:because|due to|owing to|since the)\b")
RECURRING = re.compile(
    r"\b(?:every|each|weekly|monthly|daily|usually|always|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b"
    r"|\b(?:of|in) (?:the|a|each|every) (?:week|month)\b"
)
_NO_HABITS = frozenset("have has am are need got is was".split())
_ONE_DAY = re.compile(r"\b(?:yesterday|last (?:night|\w{3,6}day)|on \w{3,6}day)\b")


def is_once(claim: Claim, before: Clause, text: str, *, does: bool) -> bool:
    """Whether a change is one of this time, and leaves what its speaker does as a rule, if that is what was told."""
    if claim.form in ("moved", "ended", "renewed", "instead") and _FOR_NOW.search(text.lower()):
        return True
    if claim.form == "instead" and "day" not in kinds(claim.old) and _ONE_DAY.search(text.lower()):
        return True
    if claim.form == "called off" and RECURRING.search(before.text) and _ONE_DAY.search(text.lower()):
        return True
    if claim.form in ("moved", "renewed") and RECURRING.search(before.text) and _WHY.search(text.lower()):
        return True
    if claim.form not in ("moved", "called off") or not _ONCE.search(text.lower()):
        return False
    own = does and before.words[:1] != [] and before.words[0] in SPEAKERS
    return RECURRING.search(before.text) is not None or (own and before.words[1] not in _NO_HABITS)
