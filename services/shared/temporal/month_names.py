"""Where what looks like an English month is somebody's name: "Where does Jan live?", "my sister June"."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice

from services.shared.language import wordlists

_expression = partial(wordlists.expression, "months", flags=re.IGNORECASE)

_MAY_BE_NAMES = _expression(
    r"\b(?:(?P<short>jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|april|june|august|(?-i:May|MAY))\b"
)
_NEAR = 40
"""Characters on either side that are looked at."""

_MOST = 64
"""Names of a text that are looked at."""

_KIN = wordlists.any_of("people", "family", "partner", "acquainted")
_DAY, _WHEN, _WHEN_OR_WHO, _NAMED, _ASKED = (
    _expression(rf"(?<!\w){before}$")
    for before in ("{day}", "{when}", "{when or who}", f"(?:{{named}}|{_KIN} )", "{asked}")
)
_NUMBER, _AFTER_MONTH, _SURNAME, _ACTS, _OWN_OF_MONTH, _SAID_OF_MONTH, _ENDS, _LISTED = (
    _expression(f"{{{after}}}")
    for after in ("number", "after a month", "surname", "acts", "own of a month", "said of a month", "ends", "listed")
)


def without_names(text: str) -> str:
    """The text, without accents, with underscores for each name of somebody that is one of a month as well.

    A short form (Jan, Mar) is a month beside a number and where it is told when; what is a first name too (April,
    May) is none where it is used as one.
    """
    parts, kept, last, is_month = [], 0, 0, False
    for found in islice(_MAY_BE_NAMES.finditer(text), _MOST):
        start, end = found.span()
        is_listed = last > 0 and _LISTED.fullmatch(text, last, start) is not None
        is_month, last = (is_listed and is_month) or _is_month(found, is_listed=is_listed), end
        if not is_month:
            parts += [text[kept:start], "_" * (end - start)]
            kept = end
    return f"{''.join(parts)}{text[kept:]}" if parts else text


def _is_month(found: re.Match[str], *, is_listed: bool) -> bool:
    start, end = found.span()
    before, after = found.string[max(0, start - _NEAR) : start], found.string[end : end + _NEAR]
    if _DAY.search(before) or _NUMBER.match(after):
        return True
    if after.startswith("'s "):
        return _OWN_OF_MONTH.match(after, 3) is not None
    if _WHEN.search(before):
        return True
    if _WHEN_OR_WHO.search(before):
        return _ACTS.match(after) is None
    if found["short"]:
        is_asked = _NAMED.search(before) or _ASKED.search(before)
        is_due = before.lower().endswith("by ") and _ENDS.match(after)
        return bool(is_due or (_AFTER_MONTH.match(after) and not is_asked))
    return not is_listed and not _is_name(before, after)


def _is_name(before: str, after: str) -> bool:
    """Whether a first name that is a month as well is used as a name."""
    if _NAMED.search(before) or _ACTS.match(after) or _SURNAME.match(after):
        return True
    return _ASKED.search(before) is not None and _SAID_OF_MONTH.match(after) is None
