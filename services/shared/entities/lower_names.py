"""Names in lower case, in texts that are so throughout: "my brother robert works at ford", "a cat called muffin"."""

from __future__ import annotations

import re

from services.shared.entities.names import FIRST_NAMES
from services.shared.language import wordlists
from services.shared.language.analysis import is_foreign

_WORDINGS = ("language", "lexicon", "people", "relative_time", "spelling", "lower_names", "pasted")
_CAPITAL_BEGINS = re.compile(r"(?:^|[.!?\n]\s{0,3})[\"'(]*[^\W\d_a-z]|\bI\b")
_WORD = r"(?P<name>[^\W\d_A-Z]{3,20})"
_ENDS = r"(?=$|[,.!;)\n]| and (?:i|my|our|we)\b)"
_JOB, _PET = wordlists.any_of("people", "occupations"), wordlists.any_of("people", "pets")
_KIN = rf"(?!(?:baby|child|twin)\b){wordlists.any_of('people', 'family', 'partner')}"
_ANYBODY = f"(?:{_KIN}|{_PET}|{wordlists.any_of('people', 'acquainted')})"
_SAYS = rf"(?= (?:{wordlists.pattern('lower_names', 'says')}|is an? (?:\w+ )?{_JOB})(?!\w))"
_OWN = r"\b(?:my|our) (?:best |older |elder |younger |little |big |twin |new |old )?"
_FORMED = re.compile(
    r"\w+(?:ed|ing|ly|ful|less|ous|ish|ive|able|ible|ese|tion|ness|ment|ic|al|ent|ant|ian|[^aiu]s|[a-z]y|n't)"
)
_FORMED_AFTER_CALLED = re.compile(r"\w+(?:ed|ing|ly|n't)")
_NAMING = tuple(
    (re.compile(wording), formed)
    for wording, formed in (
        (rf"(?:{_OWN}|\ban? ){_ANYBODY}(?: is|'s)? (?:called|named) {_WORD}(?:{_ENDS}|{_SAYS})", _FORMED_AFTER_CALLED),
        (rf"{_OWN}{_ANYBODY}'s name(?: is|'s) {_WORD}{_ENDS}", _FORMED_AFTER_CALLED),
        (rf"{_OWN}(?:{_KIN}|{_PET}) {_WORD}{_SAYS}", _FORMED),
        (rf"(?:^|[,.!;\n] *|\b(?:and|is|with|meet) )(?:my|our) {_KIN} {_WORD}{_ENDS}", _FORMED),
        (rf"^(?:hi|hello|hey)(?: there)?,? (?:im|i'm|i am) {_WORD}{_ENDS}", _FORMED),
    )
)
"""Each wording with the forms of words that are no names in it."""

_OF_NAMES = {("lower_names", "names"), ("lower_names", "also words"), ("lower_names", "begins names")}
_COMMON = frozenset(
    word
    for name in _WORDINGS
    for section, lines in wordlists.sections(name).items()
    if (name, section) not in _OF_NAMES and (name != "language" or section == "english")
    for word in re.findall(r"[a-z]{3,}", " ".join(lines))
)
"""The English words in the lists of wordings: common ones, and those of which facts are told."""

_KNOWN = frozenset(wordlists.listed("names", "nicknames") + wordlists.listed("lower_names", "names")) - _COMMON
_FIRST_NAMES = FIRST_NAMES - wordlists.words("lower_names", "also words") - _COMMON


def with_names(text: str) -> str:
    """The text, as long as it was, with a capital where a naming wording names somebody in lower case.

    A text in which a sentence begins with a capital stays as it is, and so does what may be a common word.
    """
    if _CAPITAL_BEGINS.search(text):
        return text
    places = {
        found.start("name")
        for naming, formed in _NAMING
        for found in naming.finditer(text)
        if _is_name(found["name"], formed)
    }
    return "".join(char.upper() if place in places else char for place, char in enumerate(text)) if places else text


_CAPITAL_INSIDE = re.compile(r"(?<=[\w,;)'’] )[A-Z][a-z]")
_FIRST_NAME = re.compile(r"(?<![\w'’@/.-])(?<!\b(?:an|my) )(?<!\b(?:the|our) )(?<!\ba )[a-z]{3,20}(?![\w@/-]|[.:]\w)")
"""A word that may be one; a hazel and my dawn are none."""

_BEGINS_NAMES = wordlists.words("lower_names", "begins names") | wordlists.words("lexicon", "interjections")
_OPENING = re.compile(
    r"(?:^(?:[-*•] )?|(?<=[.!?] ))(?P<word>[A-Z][a-z]{1,20})(?= (?:[a-z]{1,6} ){0,2}(?P<next>[A-Z][a-z]{1,20}))",
    re.MULTILINE,
)


def with_first_names(text: str) -> str:
    """The text, as long as it was, with a capital on each common first name, where none inside a sentence has any.

    What is not English stays as it is: rosa is a colour, too.
    """
    if _CAPITAL_INSIDE.search(text):
        return text
    text = with_names(text)
    written = _FIRST_NAME.sub(lambda word: word[0].capitalize() if word[0] in _FIRST_NAMES else word[0], text)
    return text if written == text or is_foreign(text) else written


def with_low_openings(text: str) -> str:
    """The text, as long as it was, in which a first word of a sentence that is no name, before one that may be one, has
    no capital: who met Anna is not called Met Anna."""
    return _OPENING.sub(lambda found: found[0].lower() if _opens(*map(str.lower, found.groups())) else found[0], text)


def _opens(word: str, after: str) -> bool:
    """Whether of two words with a capital the first is a common one, or the other a name."""
    if word in FIRST_NAMES or word in _BEGINS_NAMES:
        return False
    return word in _COMMON or _FORMED_AFTER_CALLED.fullmatch(word) is not None or after in FIRST_NAMES


def _is_name(word: str, formed: re.Pattern[str]) -> bool:
    return word in _KNOWN or (word not in _COMMON and not formed.fullmatch(word) and len(word[0].upper()) == 1)
