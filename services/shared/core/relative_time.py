"""Whether a text names a time that only the day on which it is said makes clear: tomorrow, next week, on Monday."""

from __future__ import annotations

import re
from functools import partial

from services.shared.core import wordlists
from services.shared.core.text import fold

_pattern = partial(wordlists.pattern, "relative_time")

_TIME = re.compile(rf"(?<![\w-])(?:{_pattern('words')}|{_pattern('phrases')})(?!\w)|{_pattern('unspaced words')}")
_HIER = re.compile(r"(?<![\w-])hier(?!\w)")
_FRENCH = re.compile(rf"(?<![\w-]){_pattern('french')}(?!\w)")
_WEEKDAY = re.compile(rf"(?<![\w-]){_pattern('weekday')}(?![\w-])|{_pattern('unspaced weekday')}")
_SHORT = frozenset("mon tue tues wed thu thur thurs fri sat sun".split())
_BEFORE_SHORT = re.compile(r"(?:on|by|until|till|for|from|and|or|to|,|;) ?$")
_EVERY = re.compile(rf"(?<!\w){_pattern('every')}(?: (?:second|other|single|zweiten?|andere|deux|tweede))?[ ]$")
_AND = re.compile(rf"{_pattern('and')}[ ]*$")
_DATE = re.compile(
    r"[ ,.(]*(?:the |den |dem |le |el |il |o |de )?"
    r"(?:[0-9]{1,2}(?:st|nd|rd|th)?[ ./-]+(?:of |de )?(?:MONTH|[0-9])|MONTH\.? [0-9]|[0-9]{4}-[0-9])".replace(
        "MONTH", rf"{_pattern('month')}[^\W\d]*"
    )
)


def names_relative_time(text: str) -> bool:
    """Whether a text names a time relative to the day on which it is said.

    "The dentist is tomorrow" said on another day is another statement; "the dentist is on Tuesday, 10 March" and "I
    swim every Monday" are not. Knows English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and
    Japanese. A word in doubt, as in "Today Show" or "diary of yesterday", counts as relative.
    """
    folded = fold(text)
    if _TIME.search(folded) or _names_bare_weekday(folded):
        return True
    return bool(_HIER.search(folded) and _FRENCH.search(folded))


def _names_bare_weekday(folded: str) -> bool:
    """Whether a weekday stands alone: neither every such day nor one with its date."""
    every = False
    for found in _WEEKDAY.finditer(folded):
        before, after = folded[max(0, found.start() - 24) : found.start()], folded[found.end() : found.end() + 24]
        if found[0] in _SHORT and not _BEFORE_SHORT.search(before):
            continue  # the sun, he sat, newly wed
        every = bool(_EVERY.search(before)) or (every and bool(_AND.search(before)))
        if not every and not _DATE.match(after):
            return True
    return False
