"""Whom a user means by what somebody is to them: "my brother" is Heinz, if they said so and have no other brother."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.aliases import People, are_of_several
from services.shared.core.fact_values import PERSON_NAME
from services.shared.core.facts import people_named
from services.shared.core.names import plain_name, relation_of
from services.shared.core.notes import as_user_says
from services.shared.core.statements import QUOTED

_RELATIONS = frozenset().union(*(wordlists.words("facts", kind) for kind in ("family", "partner", "acquainted")))
_TOPIC = re.compile(rf"(?:my|our) (?P<relation>[\w-]+)(?: (?P<name>{PERSON_NAME}))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Relation:
    """What somebody is to the user: one of them, called `name` if that is said, or all that are."""

    word: str
    name: str
    are_all: bool

    def may_be_in(self, text: str) -> bool:
        """Whether a text has a word for it."""
        return any(relation_of(word) == self.word for word in re.findall(r"[\w-]+", text.lower()))


def relation_in(topic: str) -> Relation | None:
    """The relation that a topic names, and nothing beside it: "my brother", "my brothers", "my brother Heinz"."""
    if not (found := _TOPIC.fullmatch(topic.strip())):
        return None
    said, name = found["relation"].lower(), found["name"] or ""
    singular = said.removesuffix("s")
    if said in _RELATIONS:
        return Relation(relation_of(said), name, are_all=False)
    return Relation(relation_of(singular), "", are_all=True) if singular in _RELATIONS and not name else None


def names_of(relation: Relation, entries: Iterable[Entry], people: People) -> list[str]:
    """The names of whom a user means, as their own statements link these with the relation; none where that is unclear.

    A name by which they call somebody else, too, is not theirs alone. `people` tells which names are of one person.
    """
    named = _relations_by_name(entries)
    alike = [name for name, relations in named.items() if relation.word in relations]
    if relation.name:
        alike = [name for name in alike if name == plain_name(relation.name)]
    of = {plain_name(label): person for person in people.persons for label in person.names.values()}
    if len({of[name].slug if name in of else name for name in alike}) > 1 and not relation.are_all:
        return []
    sure = [name for name in alike if not are_of_several(named[name])]
    labels = [label for name in sure for label in (of[name].names.values() if name in of else (name.title(),))]
    return list(dict.fromkeys(labels))


def _relations_by_name(entries: Iterable[Entry]) -> Mapping[str, set[str]]:
    """By name, in plain letters, what the user says whoever is called so is to them."""
    found: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        said = as_user_says(entry)
        if entry.role == "user" and not entry.speaker and not QUOTED.search(said):
            for name, relations in people_named(said).items():
                found[name] |= {relation_of(one.removeprefix("best ")) for one in relations}
    return found
