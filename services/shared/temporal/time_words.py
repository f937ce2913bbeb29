"""How languages name times: patterns made of the word lists in `data/time_spans.txt`, compiled when first asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache

from services.shared.language import wordlists
from services.shared.language.language import Language, language_of
from services.shared.language.text import CharTable, fold
from services.shared.temporal.month_names import without_names

_KEYED = "relation article which back unit day month months season number part holiday".split()
_AGAIN = ("unit", "day", "season", "holiday", "month")
_TOLD_APART: tuple[Language, ...] = ("english", "german", "spanish", "french")
_YEAR = r"(?:19|20)[0-9]{2}"
_NUMERIC = (
    r"(?<![./])(?P<numeric>[0-9]{1,2}(?:/[0-9]{1,2}/|\.[0-9]{1,2}\.)[0-9]{4}|[0-9]{4}(?:-[0-9]{2}-|/[0-9]{2}/)[0-9]{2})"
    r"(?![\w/]|[.-][0-9])"
)
_SLOT = re.compile(r"\{([a-z ]+)\}")
_WORD = re.compile(r"[^\W_]+")
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
_DAY = "[0-3]?[0-9]"
_END = (
    rf"(?:{_DAY}(?:st|nd|rd|th|\.|er)?(?: of| de)? )?(?:{{month}})(?: {_DAY}(?:st|nd|rd|th)?(?![0-9]))?"
    rf"(?:,?(?: of| de)? {{year}})?|{{year}}|{{day}}|{_DAY}(?:st|nd|rd|th|\.|er)?"
)
_END = (
    rf"(?:(?P<day_before>{_DAY})(?:st|nd|rd|th|\.|er)?(?: of| de)? )?(?P<month>{{month}})"
    rf"(?: (?P<day_after>{_DAY})(?:st|nd|rd|th)?(?![0-9]))?(?:,?(?: of| de)? (?P<year>{{year}}))?"
    rf"|(?P<alone>{{year}})|(?P<weekday>{{day}})|(?P<only_day>{_DAY})(?:st|nd|rd|th|\.|er)?"
)
_SOME_END = re.sub(r"\(\?P<\w+>", "(?:", _END)


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
    `future` and `past` tell which of both a question is about, `dated` is the date that a weekday stands before, and
    `alone` what may follow a year or holiday that stands for itself, as "in 2025 words" does not.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self._slots, self._keys = _slots_of(language)
        self.times = self.compiled(_around(_lines(language, "forms", self._slots)))
        between, from_to = wordlists.sections("time_spans")[f"{language} between"]
        self.between, self.from_to = (self.compiled(_between(line)) for line in (between, from_to))
        self.end = self.compiled(_END)
        self.future, self.past = (self.compiled(rf"(?<!\w)(?:{{{name}}})(?!\w)") for name in ("future", "past"))
        self.alone = self.compiled(r"(?i:\W*$|[?!.,;:)]|'s |\s(?:{follows})(?!\w))")
        self.dated = self.compiled(
            rf",? (?:(?:the|de[nm]) )?(?:{_DAY}(?:st|nd|rd|th|\.|er)?(?: of| de)? {{month}}|{{month}} {_DAY})"
        )
        self.unit_before = self.compiled(r"(?<!\w)(?:{unit}|{day}) $")

    def compiled(self, form: str) -> re.Pattern[str]:
        """A form in which {name} stands for the words of a section."""
        return re.compile(_filled(form, self._slots))

    def key(self, section: str, text: str) -> str:
        """What a word or words, found by a pattern of the section, stand for."""
        return self.thing(text, section)[1]

    def number(self, text: str) -> int:
        return int(text) if text.isdecimal() else int(self.key("number", text))

    def thing(self, text: str, *sections: str) -> tuple[str, str]:
        """The section and the key of what comes again and again, or is of these sections."""
        asked = ((section, self._keys[section]) for section in sections or _AGAIN)
        return next((its, key) for its, keys in asked for key, form in keys.items() if re.fullmatch(form, text))


@cache
def time_words(language: Language) -> TimeWords:
    return TimeWords(language)


def _slots_of(language: Language) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What a form may name in braces, and the patterns of each section by what they stand for."""
    lines = wordlists.sections("time_spans")
    keys = {its: dict(line.split(": ", 1) for line in lines.get(f"{language} {its}", ())) for its in _KEYED}
    slots = {its: "|".join(forms[key] for key in sorted(forms, key=len, reverse=True)) for its, forms in keys.items()}
    slots |= {name: _lines(language, name, {}) for name in ("future", "past")}
    slots["follows"] = "|".join(wordlists.listed("time_spans", f"{language} follows"))
    slots |= {"number": rf"[0-9]{{1,3}}|{slots['number']}", "year": _YEAR}
    slots["of year"] = _filled(_lines(language, "of year", {}), slots)
    return slots, keys


def _lines(language: Language, section: str, slots: Mapping[str, str]) -> str:
    return "|".join(_filled(line, slots) for line in wordlists.sections("time_spans")[f"{language} {section}"])


def _filled(form: str, slots: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda found: f"(?:{slots[found[1]]})" if found[1] in slots else found[0], form)


def _around(forms: str) -> str:
    return (
        r"(?<!\w)(?<![^0-9]-)(?<![0-9][.,])(?:(?P<relation>{relation})(?: |(?<=d')))?(?:(?P<article>{article}) ?)?"
        rf"(?:(?P<part>{{part}})(?:[ -]|(?<=d'))(?:{{article}} ?)?)?(?:{forms}|{_NUMERIC}|(?P<alone>{{year}}))"
        r"(?!\w)(?! (?:of|before|after|der|des)\b)"
    )


def _between(form: str) -> str:
    one, other = (f"(?P<{name}>{_SOME_END})" for name in ("one", "other"))
    return rf"(?<![\w-]){form.replace('{end}', one, 1).replace('{end}', other, 1)}(?!\w)"


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


def words_for(text: str) -> TimeWords | None:
    """The words by which the times in a text are named, if any are.

    They are those of its own language where it has any of them, or else of another whose words no other has: a short
    text is easily taken for English.
    """
    words = frozenset(_WORD.findall(plain(text)))
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
