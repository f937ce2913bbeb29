"""Corrections that name nothing: "No, it is 8:40" gives another value to what its speaker said just before."""

from __future__ import annotations

import re

from services.shared.core.statements import Clause, clauses, kinds, terms

_LONGEST = 80  # characters
_FIXED = re.compile(
    r"(?:(?:no|nope|sorry|oops|wait|actually|correction|i meant?|(?:or )?rather|ah|oh|hm|my mistake)\b[,.:!–-]* *)+"
    r"(?:(?:make|i meant?|it should be) (?:it|that)? ?)?"
    r"(?:(?:it|that|this|they)(?: is| was| are|'s|'re)|(?:his|her|its|their|the) \w+ (?:is|was)"
    r"|(?:(?:it|that|he|she)(?: is|'s) )(?P<called>called|named))? ?"
    r"(?:actually |really |on |at |in |for )*"
    r"(?P<value>[^\s,;?]+(?: [^\s,;?]+){0,4}?)(?:,? (?:and )?not .{1,30})?[.! ]*",
    re.IGNORECASE,
)
_NAME = re.compile(r"\bname (?:is|was)\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:called|named|name is|name was)\b")


def may_correct_unnamed(text: str) -> bool:
    """Whether a text may give another value to something without saying to what."""
    return len(text) <= _LONGEST and _FIXED.fullmatch(text.strip()) is not None


def corrects_unnamed(before: str, text: str) -> bool:
    """Whether a text that names nothing gives another value to a statement said just before it.

    The value has to be of a kind of which that statement tells one other: a day, a time of day, a number with the same
    words beside it, a name.
    """
    fixed = _FIXED.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if fixed is None:
        return False
    told = [clause for clause in clauses(before) if clause.meant and not clause.past]
    value = fixed["value"].lower()
    if fixed["called"] or _NAME.search(text):
        return any(_NAMED.search(clause.text) and not terms(value) <= clause.terms for clause in told)
    return sum(_has_another(clause, value) for clause in told) == 1


def _has_another(clause: Clause, value: str) -> bool:
    is_, was = kinds(value), kinds(clause.text)
    if len(is_) != 1:
        return False
    ((kind, values),) = is_.items()
    if kind == "day":  # several words tell one: Tuesday, 12 March
        return kind in was and not values <= was[kind]
    if len(values) != 1 or len(was.get(kind, ())) != 1 or values == was[kind]:
        return False
    return kind == "clock" or terms(value) - values <= clause.terms
