"""How alike two names of people are: written alike, sounding alike, a short form, a part, or near; or two relations."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from services.shared.language import wordlists
from services.shared.language.spelling import TITLES
from services.shared.language.text import without_accents

Likeness: TypeAlias = Literal["written", "sound", "vowel", "nickname", "part"]
"""How two names are alike, the surest first. `part`: one of them is the first name of the other."""

FIRST_NAMES = wordlists.words("names", "first names") | wordlists.words("names", "nicknames")
"""Common first names and their short forms, in lower case."""

FIGURES = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})
"""Labels of annotators that name nothing: what a text is about is said by the others."""

KIN = wordlists.words("names", "kin")
"""What people are to somebody and may be called by, in lower case: mum, aunt, boss."""

_SOUNDS = tuple(
    (re.compile(pattern), said)
    for pattern, said in (
        (r"ph|(?<=te)v(?=en)", "f"),
        (r"^geo(?=f)", "je"),
        (r"ck|q(?!u)|^ch(?=[rl])|c(?![heiy])", "k"),
        (r"sch|sh", "ʃ"),
        (r"c(?=[eiy])", "s"),
        (r"ou|oo", "u"),
        (r"ee|ie(?!l)", "i"),
        (r"[yj](?=[^aeiou]|$)", "i"),
        (r"(?<=[bdgklmnprtwaeiou])h", ""),
        (r"(.)\1+", r"\1"),
        (r"(?<=[aeiou][^aeiou])e$|(?<=[^aeiou]{2})e$", ""),
    )
)
_SHORT = 4


def _by_short_form() -> dict[str, frozenset[str]]:
    whole = defaultdict(set)
    for line in wordlists.sections("names")["nicknames"]:
        full, *short = line.split()
        for name in short:
            whole[name].add(full)
    return {name: frozenset(full) for name, full in whole.items()}


_WHOLE = _by_short_form()
_RELATIONS = {word: line.split()[0] for line in wordlists.sections("names")["same relation"] for word in line.split()}


def relation_of(word: str) -> str:
    """A relation in lower case by one of its words: mum, mom and mother are one, so are boss and manager."""
    return _RELATIONS.get(word, word)


@dataclass(frozen=True, slots=True)
class Name:
    """A name, its words in plain letters, and these as they are spoken, roughly, in the languages of Europe."""

    text: str
    words: tuple[str, ...]
    sounds: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """The name that is written so."""
        words = plain_words_of(text)
        return cls(text, words, tuple(map(_sound, words)))

    @property
    def keys(self) -> set[str]:
        """What it is found by: names that have no key in common are not alike."""
        if not self.words:
            return set()
        whole = {_skeleton(_sound(name)) for name in _WHOLE.get(self.words[0], ())}
        return {_skeleton(self.sounds[0]), "".join(self.words)} | whole


def likeness(one: Name, other: Name) -> Likeness | None:
    """How two names are alike; None when nothing tells that they may be of one person."""
    if not one.words or not other.words:
        return None
    if "".join(one.words) == "".join(other.words):
        return "written"
    if len(one.words) != len(other.words):
        is_part = min(len(one.words), len(other.words)) == 1 and _sound_alike(one, other, 0)
        return "part" if is_part else None
    found = {_of_words(one, other, place) for place in range(len(one.words))}
    for alike in ("vowel", "nickname", "sound"):
        if alike in found:
            return alike if found <= {"written", "sound", alike} else None
    return None


def _of_words(one: Name, other: Name, place: int) -> Likeness | None:
    this, that = one.words[place], other.words[place]
    if this == that:
        return "written"
    if _sound_alike(one, other, place):
        return "sound"
    if _is_short_for(this, other.sounds[place]) or _is_short_for(that, one.sounds[place]):
        return "nickname"
    return "vowel" if _differ_by_a_vowel(one.sounds[place], other.sounds[place]) else None


def plain_name(name: str) -> str:
    """A name in lower case and without accents, which many leave out."""
    return without_accents(name.casefold())


def plain_words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without titles, accents, hyphens and apostrophes."""
    spelled = unicodedata.normalize("NFKD", without_accents(name.casefold()))
    plain = "".join(char for char in spelled if not unicodedata.combining(char))
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=\w)['’`](?=\w)", "", plain))
    return tuple(word for word in words if word not in TITLES) or tuple(words)


def _sound(word: str) -> str:
    for pattern, said in _SOUNDS:
        word = pattern.sub(said, word)
    return word


def _skeleton(sound: str) -> str:
    return re.sub("[aeiou]+", "-", sound)


def _sound_alike(one: Name, other: Name, place: int) -> bool:
    this, that = one.words[place], other.words[place]
    if min(len(this), len(that)) < _SHORT and ("y" in this) != ("y" in that):
        return False  # of three letters each counts: Mia is not Mya
    return one.sounds[place] == other.sounds[place]


def _is_short_for(short: str, sound: str) -> bool:
    return any(_sound(name) == sound for name in _WHOLE.get(short, ()))


def _differ_by_a_vowel(one: str, other: str) -> bool:
    """Whether only vowels before the last letter differ: the last one tells Maria from Mario."""
    if min(len(one), len(other)) <= _SHORT or one[-1] != other[-1]:
        return False
    return _skeleton(one) == _skeleton(other)
