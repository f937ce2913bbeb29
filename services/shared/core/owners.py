"""Whose thing an English statement is about: the speaker's, or that of a relative or of somebody with a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from services.shared.core.names import relation_of
from services.shared.core.statements import KIN, LIGHT, stem
from services.shared.core.text import unfolded
from services.shared.core.wordlists import words

_LONGEST = 2000
"""Characters of a text that are read, as in `statements`."""

_SELF, _ANOTHER = "i", "he or she"
_GENERIC = {
    "child": "son daughter",
    "kid": "son daughter",
    "baby": "son daughter",
    "parent": "mother father",
    "partner": "wife husband",
    "spouse": "wife husband",
    "sibling": "brother sister",
    "twin": "brother sister",
    "grandchild": "grandson granddaughter",
    "ex": "wife husband",
}
_PLURAL = {
    "kids": "kid",
    "children": "child",
    "parents": "parent",
    "siblings": "sibling",
    "grandchildren": "grandchild",
}
_RELATIVES = words("facts", "family") | words("facts", "partner") | frozenset({*_GENERIC, *_PLURAL})
_PETS = words("facts", "pets")
_NO_NAMES = frozenset().union(
    words("language", "english"),
    words("names", "no names"),
    words("names", "times"),
    words("facts", "acquainted"),
    words("facts", "occupations"),
    words("facts", "family"),
)
_OWNED_BY = re.compile(r"\b(?P<owner>[A-Za-z][\w-]+)(?:'s|s')(?= (?P<next>[\w']+))")
_FOR = re.compile(r"\b(?:of|for) (?:(?:my|our) )?(?P<owner>[A-Za-z][\w-]+)(?!['\w-])")
_WITH = re.compile(r"\b(?:with|of|for) (?:(?:my|our) )?(?P<other>[A-Za-z][\w-]+)(?!['\w-])")
_SUBJECT = re.compile(
    r"(?:^|[.!?;:,]\s+|\band )(?:my|our)(?: \w+)?? (?P<owner>[a-z-]+)\b(?!')"
    r"(?! (?:\w+ ){0,3}(?:my|our|the|it|this|that|them|me|us)\b)",
    re.IGNORECASE,
)
"""A relative who does something, unless what follows tells that they do it to something: my son moved the meeting."""

_MINE = re.compile(r"\b(?:my|our|mine)\b(?: (?P<next>[\w-]+))?", re.IGNORECASE)
_I = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_THEIRS = re.compile(r"\b(?:his|her|their) \w", re.IGNORECASE)


_REASON = re.compile(r"(?<=\w) (?:because|since|as) (?!of\b)[^.;,!?\n]*", re.IGNORECASE)
"""Why something is so, which may be somebody else's affair: it moved because my son's school is closed."""


class People(NamedTuple):
    """Whose things a text tells of, and with or for whom they are, which may be anything: tickets for Hamilton."""

    owners: frozenset[str]
    company: frozenset[str]


def are_of_different_people(newer: str, older: str, speaker: str | None = None) -> bool:
    """Whether two statements of one speaker are about things of different people; not when in doubt.

    "My appointment", "my son's appointment" and "Leo's appointment" are three people's, or two: the son may be Leo.
    """
    new, old = (_people_in(text, speaker) for text in (newer, older))
    if new.company and old.company and not _may_be_same(new.company, old.company):
        return True
    if any(_is_mentioned(owner, older) for owner in new.owners) or any(_is_mentioned(it, newer) for it in old.owners):
        return False
    if new.owners and old.owners:
        return not _may_be_same(new.owners, old.owners)
    return bool(new.owners - {_SELF, _ANOTHER})


def _people_in(text: str, speaker: str | None) -> People:
    plain = _REASON.sub(" ", unfolded(text[:_LONGEST]))
    owners = frozenset(_owners(plain))
    first_name = (speaker or "").lower().partition(" ")[0]
    if first_name in owners:
        owners = owners - {first_name} | {_SELF}
    if any(not _person(found["next"] or "") for found in _MINE.finditer(plain)) or (not owners and _I.search(plain)):
        owners |= {_SELF}
    elif not owners and _THEIRS.search(plain):
        owners = frozenset({_ANOTHER})
    return People(owners, frozenset(filter(None, (_person(found["other"]) for found in _WITH.finditer(plain)))))


def _owners(plain: str) -> Iterator[str]:
    for found in _OWNED_BY.finditer(plain):
        if (person := _person(found["owner"])) and _may_be_owned(found["next"].lower()):
            yield person
    for pattern in (_FOR, _SUBJECT):
        yield from filter(None, (_relation(found["owner"]) for found in pattern.finditer(plain)))


def _may_be_owned(word: str) -> bool:
    """Whether it is a thing, where "Leo's moved", "Leo's at home" and "Leo's coming" tell what he is or did."""
    return word not in LIGHT and not word.endswith(("ed", "ing"))


def _person(word: str) -> str | None:
    """A relation or pet as the lists call it, or a name in lower case; else nothing."""
    if relation := _relation(word):
        return relation
    is_name = word[:1].isupper() and word.lower() not in _NO_NAMES
    return word.lower() if is_name and word.lower() not in _PETS else None


def _relation(word: str) -> str | None:
    lower = _PLURAL.get(word.lower(), word.lower())
    if lower in _RELATIVES or lower in _PETS or stem(lower) in KIN:
        return f"my {relation_of(lower)}"
    return None


def _may_be_same(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_is_like(one, other) for one in some for other in others)


def _is_like(one: str, other: str) -> bool:
    if one == other:
        return True
    if _SELF in (one, other):
        return False
    if _ANOTHER in (one, other) or one.startswith("my ") != other.startswith("my "):
        return True  # he may be the son, and the son may be Leo
    if one.startswith("my "):
        return bool(_meant_by(one) & _meant_by(other))
    return one[:3] == other[:3]


def _meant_by(relation: str) -> frozenset[str]:
    name = relation.removeprefix("my ")
    return frozenset({name, *_GENERIC.get(name, "").split()})


def _is_mentioned(person: str, text: str) -> bool:
    """Whether a name stands somewhere in a text."""
    is_name = person not in (_SELF, _ANOTHER) and not person.startswith("my ")
    return is_name and re.search(rf"(?<!\w){re.escape(person)}(?!\w)", text[:_LONGEST].lower()) is not None
