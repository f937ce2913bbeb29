"""Which of the names that an annotator found in a session are of people: a small model also takes things for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from services.shared.core import wordlists
from services.shared.core.fact_values import is_known_place, one_of
from services.shared.core.names import FIRST_NAMES

_BEFORE = wordlists.words("names", "before names")
_ALONE = wordlists.words("names", "titles alone") | wordlists.words("names", "before names")
_THINGS = wordlists.words("facts", "medicines") | wordlists.words("facts", "brands") | wordlists.words("facts", "tools")
_AS_THINGS = "|".join(wordlists.sections("names")["spoken of as things"])
_AS_PEOPLE = (
    rf"\b(?:my|our|his|her|their) (?:\w+ )?(?:{one_of('family')}|{one_of('partner')}|{one_of('acquainted')}),?"
    r" {name}\b"
    rf"|\b(?:dr|mr|mrs|ms|prof|professor|herr|frau|aunt|auntie|uncle|cousin)\.? {{name}}\b"
    rf"|\b{{name}},? (?:is |was )?(?:my|our|his|her|their) (?:\w+ )?(?:{one_of('family')}|{one_of('partner')}"
    rf"|{one_of('acquainted')})\b"
)
_BEGINS_SENTENCE = r"(?:^|[.!?\n:]['\")\]]*\s+|[-*•]\s+){name}\b"
_ABBREVIATION = re.compile(r"[A-Z]{1,2}[A-IK-Z]|[A-Z]&[A-Z]")
_SAINT = re.compile(r"(?:St|Saint|Sankt|San|Santa)\.? ")
_MOST_TEXTS = 60


def people_of(names: Iterable[str], said: Sequence[str], heard: Sequence[str] = ()) -> list[str]:
    """Those of the names that may be of people, without what only stands before them; in order, each once.

    `said` is what the user said, `heard` what was said to them: a capital there at the beginning of a sentence, and
    nowhere else, makes no name.
    """
    found = dict.fromkeys(filter(None, map(_bare, names)))
    return [name for name in found if _is_of_person(name, said[:_MOST_TEXTS], heard[:_MOST_TEXTS])]


def _bare(name: str) -> str:
    words = name.split()
    while len(words) > 1 and words[0].lower().strip(",.!") in _BEFORE:
        words.pop(0)
    return "" if len(words) == 1 and words[0].lower().strip(",.!") in _ALONE else " ".join(words)


def _is_of_person(name: str, said: Sequence[str], heard: Sequence[str]) -> bool:
    if name.split()[0].lower().removesuffix("'s") in FIRST_NAMES or _is_found(_AS_PEOPLE, name, (*said, *heard)):
        return True
    if _ABBREVIATION.fullmatch(name) or _SAINT.match(name) or name.lower() in _THINGS or is_known_place(name):
        return False
    return not _is_found(_AS_THINGS, name, (*said, *heard)) and not _only_begins(name, said, heard)


def _is_found(wording: str, name: str, texts: Iterable[str]) -> bool:
    pattern = re.compile(wording.replace("{name}", re.escape(name)), re.IGNORECASE)
    return any(pattern.search(text) for text in texts)


def _only_begins(name: str, said: Sequence[str], heard: Sequence[str]) -> bool:
    """Whether a single word is not named by the user and, where it is heard, only begins sentences."""
    anywhere = re.compile(rf"\b{re.escape(name)}\b")
    if " " in name or any(anywhere.search(text) for text in said):
        return False
    begins = re.compile(_BEGINS_SENTENCE.replace("{name}", re.escape(name)))
    return all(len(anywhere.findall(text)) == len(begins.findall(text)) for text in heard)
