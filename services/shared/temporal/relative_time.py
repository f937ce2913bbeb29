"""Whether a text names a time that only the day on which it is said makes clear: tomorrow, next week, on Monday."""

from __future__ import annotations

from functools import partial

from services.shared.language import wordlists
from services.shared.language.text import fold

_expression = partial(wordlists.expression, "relative_time")

_TIME = _expression(r"(?<![\w-])(?:{words}|{phrases})(?!\w)|{unspaced words}")
_HIER = _expression(r"(?<![\w-])(?:(?P<hier>hier)|{french})(?!\w)")
_WEEKDAY = _expression(r"(?<![\w-]){weekday}(?![\w-])|{unspaced weekday}")
_SHORT = frozenset("mon tue tues wed thu thur thurs fri sat sun".split())
_BEFORE_SHORT = ("on", "by", "until", "till", "for", "from", "and", "or", "to", ",", ";")
_EVERY = _expression(r"(?<!\w){every}(?: (?:second|other|single|zweiten?|andere|deux|tweede))?[ ]$")
_AND = _expression("{and}[ ]*$")
_DATE = _expression(
    r"[ ,.(]*(?:the |den |dem |le |el |il |o |de )?"
    r"(?:[0-9]{1,2}(?:st|nd|rd|th)?[ ./-]+(?:of |de )?(?:{month}|[0-9])|{month}[^\W\d]*\.? [0-9]|[0-9]{4}-[0-9])"
)

_BARE = _expression(r"(?<![\w.:/-]){bare}")
_HABIT_OR_DATE = _expression(r"(?<![\w-])(?:{habit}(?!\w)|{date})|[每毎]")
_CLAUSE_END = _expression("{clause end}")
_GERMAN_DAY = _expression(
    r"(?:(?<=(?<!i )am )|(?<=zum )|(?<=vom )|(?<=de[mnr] ))([0-9]{1,2})\.(?=\s|$)"
    r"|(?<![\w.])([0-9]{1,2})\.(?= {month name})"
)


def names_relative_time(text: str) -> bool:
    """Whether a text names a time relative to the day on which it is said.

    "The dentist is tomorrow", "at 5pm", "on the 5th" and "in March", said on another day, are other statements; "the
    dentist is on Tuesday, 10 March" and "I swim every Monday at 5pm" are not. Knows English, German, French, Spanish,
    Italian, Portuguese, Dutch, Chinese and Japanese. A word in doubt, as in "Today Show" or "diary of yesterday",
    counts as relative.
    """
    folded = fold(text)
    if _TIME.search(folded) or _names_bare_weekday(folded) or _names_bare_time(folded):
        return True
    return "hier" in folded and len({found["hier"] for found in _HIER.finditer(folded)}) > 1


def _names_bare_time(folded: str) -> bool:
    """Whether a clause names an hour, a day of the month or a month without its date, and tells no habit."""
    clauses = _CLAUSE_END.split(_GERMAN_DAY.sub(r"\1\2th", folded))
    return any(_BARE.search(clause) and not _HABIT_OR_DATE.search(clause) for clause in clauses)


def _names_bare_weekday(folded: str) -> bool:
    """Whether a weekday stands alone: neither every such day nor one with its date."""
    every = False
    for found in _WEEKDAY.finditer(folded):
        before, after = folded[max(0, found.start() - 24) : found.start()], folded[found.end() : found.end() + 24]
        if found[0] in _SHORT and not before.removesuffix(" ").endswith(_BEFORE_SHORT):
            continue  # the sun, he sat, newly wed
        every = bool(_EVERY.search(before)) or (every and bool(_AND.search(before)))
        if not every and not _DATE.match(after):
            return True
    return False
