"""What facts tell of whom they call by name: what these are to the user, and whether nobody is all of that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import combinations

from services.shared.core import wordlists
from services.shared.core.facts import Fact
from services.shared.core.names import plain_name, relation_of

_BESIDES = wordlists.words("names", "besides others")


def relation_told(fact: Fact) -> tuple[str, str] | None:
    """The name of somebody and what they are to the user, where that is what a fact tells."""
    if fact.slot == "partner":
        name, relation = fact.value, fact.text.rsplit(" ", 1)[-1]
    elif fact.slot == "relationship":
        name, relation = fact.entity_label, fact.value.removeprefix("best ")
    else:
        return None
    return name, relation_of(relation)


def are_of_several(relations: Collection[str]) -> bool:
    """Whether nobody is all of this to the user."""
    return any(_exclude(one, other) for one, other in combinations(relations, 2))


def introduced(facts: Iterable[Fact]) -> dict[str, frozenset[str]]:
    """Whom facts call by name, in plain letters, and what these are to the user."""
    people: defaultdict[str, set[str]] = defaultdict(set)
    for told in filter(None, map(relation_told, facts)):
        people[plain_name(told[0])].add(told[1])
    return {name: frozenset(relations) for name, relations in people.items()}


def _exclude(one: str, other: str) -> bool:
    """Whether nobody is both to the user; what is said of friends and colleagues says nothing of each other."""
    if one == other:
        return False
    partners = {"wife", "husband", "partner", "spouse"}
    return not ({one, other} <= _BESIDES or {one, other} <= partners)
