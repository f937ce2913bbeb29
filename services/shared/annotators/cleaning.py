"""Throws out what a small model takes for a name in chat: greetings, particles, punctuation."""

from __future__ import annotations

import re

LONGEST = 100
"""Characters of the longest name or phrase that is kept."""

_EDGES = " \t\r\n\"'`“”‘’«».,;:!?¡¿()[]{}<>*_~|\\/-–—…"
_FILLER = re.compile(
    "ah|aww?|awesome|bye|cheers|congrats|congratulations|cool|fyi|glad|good|goodbye|gonna|gotta|great|haha|hello|hey|hiya?"
    "|hmm|kinda|lol|nah|nice|nope?|oh|ok|okay|omg|please|sorry|sorta|sure|thanks?|thx|wanna|well|whoa|woah|wow|ya|yay"
    "|yeah|yep|yes|yo|yup",
    re.IGNORECASE,
)
_CAPITALISED = frozenset({"PERSON", "ORG", "NORP", "FAC", "PRODUCT", "WORK_OF_ART", "EVENT", "LAW"})
"""Labels of what is written with a capital letter, at least in the news that the model learned from."""

_NO_PERSON = re.compile(r"[\d!?#@$%^&*+=_]")
"""In a password, not in the name of somebody."""


def clean_name(text: str, label: str) -> str | None:
    """The name without what does not belong to it; None when nothing, or nothing likely, is left."""
    name = _without_fillers(text).removesuffix("'s").removesuffix("’s").strip(_EDGES)
    if not _is_something(name) or (label in _CAPITALISED and name.islower()):
        return None
    return None if label == "PERSON" and _NO_PERSON.search(name) else name


def clean_phrase(text: str) -> str | None:
    """The phrase without the fillers around it; None when there is nothing but fillers."""
    phrase = _without_fillers(text)
    return phrase if _is_something(phrase) else None


def _without_fillers(text: str) -> str:
    words = text.strip(_EDGES).split()
    while words and _is_filler(words[0]):
        words.pop(0)
    while words and _is_filler(words[-1]):
        words.pop()
    return " ".join(words).strip(_EDGES)


def _is_filler(word: str) -> bool:
    bare = word.strip(_EDGES)
    return not bare or _FILLER.fullmatch(bare) is not None


def _is_something(text: str) -> bool:
    return len(text) <= LONGEST and any(character.isalnum() for character in text)
