"""How languages name times: patterns made of the word lists in `data/time_spans.txt`, compiled when first asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache, partial

from services.shared.language import wordlists
from services.shared.language.language import Language, language_of
from services.shared.language.text import CharTable, fold
from services.shared.temporal.month_names import without_names

_AGAIN = ("unit", "day", "season", "holiday", "month")
_TOLD_APART: tuple[Language, ...] = ("english", "german", "spanish", "french")
WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_VERBS = re.compile(
    r"\b(?:mar|march|may"
    r"|(?<![^.?!] )May(?= (?:I|we|you|he|she|it|they|one|the|this|that|my|our|his|her|your|their)\b))\b"
)
_HAS_BEEN = re.compile(
    r"(?<=\ba )ete\b|(?<!^)(?<!l')(?<!\bd')(?<!\ben )(?<!\bcet )(?<!, )(?<!\bvacances )\bete\b"
    r"(?= (?:dernier|passe|prochain|(?:19|20)[0-9]{2})\b)"
)
"""The French participle, which is no summer: a été, ont été 2024."""

_YEARS = frozenset(map(str, range(1900, 2100)))


def _plain_letter(char: str) -> str:
    """A letter without its accents, a digit, space or apostrophe as they are in the lists; never more than one."""
    if char in "’‘ʼ´":
        return "'"
    if char in "–—‑":
        return "-"
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    parts = unicodedata.normalize("NFD", char)
    if not all(map(unicodedata.combining, parts[1:])):
        return char  # a syllable of Korean
    return " " if parts[0].isspace() else parts[0]


_PLAIN = CharTable(_plain_letter)


def _written(words: Iterable[str]) -> frozenset[str]:
    """The words as they stand in texts; may in lower case is no month."""
    return frozenset(form for word in words for form in (word, word.capitalize(), word.upper()) if form != "may")


def plain(text: str) -> str:
    """The text without accents, in its own case, each character where it was."""
    return text if text.isascii() else text.translate(_PLAIN)


def lowered(plain_text: str) -> str:
    """Plain text in lower case, without what only looks like months and summer: march and may, names, a été."""
    low = _VERBS.sub(_blank, without_names(plain_text)).lower()
    return _HAS_BEEN.sub(_blank, low) if "ete" in low else low


def _blank(found: re.Match[str]) -> str:
    return "_" * len(found[0])


class TimeWords:
    """The patterns of a language, all for `lowered` text, and what the words that they find stand for.

    `times` finds an expression of time, `between` and `from_to` two of them with all that lies between, each an `end`.
    `ahead` and `behind` tell which of both a question is about, `dated` is the date that a weekday stands before, and
    `alone` what may follow a year or holiday that stands for itself, as "in 2025 words" does not.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self.expression = partial(wordlists.expression, "time_spans", language=language)
        self.times, self.end, self.ahead, self.behind, self.alone, self.dated, self.unit_before = (
            self.expression(f"{{{name}}}") for name in "times|end|ahead|behind|alone|dated|unit before".split("|")
        )
        self.between, self.from_to = (
            self.expression(rf"(?<![\w-]){{{name}}}(?!\w)") for name in ("between", "from to")
        )

    def key(self, section: str, text: str) -> str:
        """What a word or words, found by a pattern of the section, stand for."""
        return self.thing(text, section)[1]

    def number(self, text: str) -> int:
        return int(text) if text.isdecimal() else int(self.key("number", text))

    def thing(self, text: str, *sections: str) -> tuple[str, str]:
        """The section and the key of what comes again and again, or is of these sections."""
        asked = ((its, wordlists.keys("time_spans", f"{self.language} {its}")) for its in sections or _AGAIN)
        return next((its, key) for its, keys in asked for form, key in keys.items() if re.fullmatch(form, text))


@cache
def time_words(language: Language) -> TimeWords:
    return TimeWords(language)


_TRIGGERS: Mapping[Language, frozenset[str]] = {
    language: _written(wordlists.listed("time_spans", f"{language} triggers")) for language in _TOLD_APART
}
_ANY_TRIGGER = _YEARS.union(*_TRIGGERS.values())
_OF_OTHERS = _written("hier mars mai ce il week weekend tag fin este".split())
"""Words that tell times in one language, and something else in another."""

_SHORT_MONTHS = _written("jan feb mar apr jun jul aug sep sept oct nov dec".split())
"""Of English alone, and names elsewhere: where a text is of another language they tell nothing."""

_UNITS, _TELLERS = (_written(wordlists.listed("time_spans", f"english {it}")) for it in ("units told", "tellers"))
"""Words that name a time only together: this, week."""


@lru_cache(maxsize=16)  # one question is looked at from several sides
def words_for(text: str) -> TimeWords | None:
    """The words by which the times in a text are named, if any are.

    They are those of its own language where it has any of them, or else of another whose words no other has: a short
    text is easily taken for English.
    """
    words = frozenset(WORD.findall(plain(text)))
    has_unit = not _UNITS.isdisjoint(words) and not _TELLERS.isdisjoint(words)
    if _ANY_TRIGGER.isdisjoint(words) and not has_unit:
        return None
    language = language_of(_TOKEN.findall(fold(text)))
    if language in _TOLD_APART and not words.isdisjoint(_TRIGGERS[language]):
        return time_words(language)
    sure = words - _OF_OTHERS - (_SHORT_MONTHS if language not in (None, "english") else frozenset())
    for named in _TOLD_APART:
        if not sure.isdisjoint(_TRIGGERS[named]) or (named == "english" and has_unit):
            return time_words(named)
    if words.isdisjoint(_YEARS):
        return None
    return time_words(language if language in _TOLD_APART else "english")
