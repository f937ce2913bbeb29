"""Cards: the facts that matter most of each of those around a user, and which of them a question is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.aliases import Decisions, Person, people_of
from services.shared.core.facts import FactsOf, slug_of
from services.shared.core.names import Name, is_short_form, likeness
from services.shared.core.slots import Known, Pairs, profile_of

ON_A_CARD, IMPORTANT = 3, 2
"""Facts on a card, and the importance level from which on a fact stands on one that is not pinned."""

_MOST_CARDS = 4
_READ = 12
_LONGEST = 2000
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_NEAR = 60
_OWNED_BEFORE = re.compile(r"\b(?:my|our|projects?|dating|married|engaged|working on|building)[^.!?\n]{0,40}$")
_OWNED_AFTER = re.compile(r"[^.!?\n]{0,20}(?:is|'s) (?:my|our)\b")
_WORDLY = re.compile(r"\w")
_BEGINS = {"c": "k", "g": "j"}
_NO_NAMES = wordlists.words("names", "no names")


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of somebody or something, called by one name, with the entries that say it."""

    ref: str
    label: str
    facts: tuple[str, ...]
    source_ids: tuple[str, ...]


def facts_by_entity(known: Iterable[Known]) -> dict[str, list[Known]]:
    """The facts on the card of each person, project and event, in the order in which they are given.

    Somebody's name is a fact on their own card alone: whom it names is the same person.
    """
    found: dict[str, list[Known]] = {}
    for one in known:
        if one.until is not None or not (one.pinned or one.level >= IMPORTANT):
            continue
        first, *others = one.fact.entity_refs
        about = [ref for ref in others if ref.startswith("person:") and one.fact.slot != "name"]
        for ref in (first, *about):
            held = found.setdefault(ref, [])
            if len(held) < ON_A_CARD:
                held.append(one)
    return found


def names_asked(question: str, entries: Iterable[Entry]) -> frozenset[str]:
    """The words that name somebody or something in a question, as its spelling and these entries tell, and the like."""
    words = [_POSSESSIVE.sub("", found[0]) for found in _WORD.finditer(question[:_LONGEST])]
    asked = {word.casefold() for word in words} - _NO_NAMES
    capital = {word.casefold() for word in words if word[:1].isalpha() and not word[:1].islower()} - _NO_NAMES
    known = {
        part
        for entry in entries
        for one in entry.entities
        if one.label == "PERSON"
        for part in one.text.casefold().split()
    }
    named = capital | (asked & known)
    return frozenset(named | {other for other in known - named for one in named if _may_be_alike(one, other)})


def _may_be_alike(one: str, other: str) -> bool:
    """Whether two words may be spellings of one name; most are told apart by the letter that they begin with."""
    begins = {_BEGINS.get(word[0], word[0]) for word in (one, other)}
    return (len(begins) == 1 or is_short_form(one, other)) and likeness(Name.of(one), Name.of(other)) is not None


def cards_of(
    asked: frozenset[str],
    entries: Sequence[Entry],
    decisions: Decisions,
    as_of: datetime | None,
    both: Pairs,
    read: FactsOf,
    now: datetime | None = None,
) -> list[Card]:
    """The cards of whom these words name; `both` and `now` as in `profile_of`."""
    persons = people_of(entries, decisions, read).by_name()
    facts = facts_by_entity(profile_of(entries[0].user_id, entries, as_of, persons, read, both, now))
    asked = asked.union(map(slug_of, asked))
    cards = [_card(ref, held, persons) for ref, held in facts.items() if _is_asked_for(ref, asked, persons)]
    return cards[:_MOST_CARDS]


def telling(asked: frozenset[str], entries: Sequence[Entry]) -> list[Entry]:
    """The best of the entries that name what is asked for, if one of them tells what it is to the user.

    Without that no fact is known of it, and nothing need be read: a name in a question is mostly that of a product.
    """
    by_user = (entry for entry in entries if asked and entry.role == "user")
    mentions = [entry for entry in by_user if next(_places(asked, entry.text), None)][:_READ]
    return mentions if any(_introduces(entry.text, asked) for entry in mentions) else []


def _places(names: Iterable[str], text: str) -> Iterator[tuple[str, int, int]]:
    """Where names stand as words in a text: the folded text, and from where to where."""
    folded = text[:_LONGEST].casefold()
    for name in names:
        start = folded.find(name)
        while start >= 0:
            end = start + len(name)
            if not (start and _WORDLY.match(folded, start - 1)) and not _WORDLY.match(folded, end):
                yield folded, start, end
            start = folded.find(name, end)


def _introduces(text: str, names: Iterable[str]) -> bool:
    """Whether a text tells what somebody of these names is to the user."""
    return any(
        _OWNED_BEFORE.search(folded[max(0, start - _NEAR) : start]) or _OWNED_AFTER.match(folded, end)
        for folded, start, end in _places(names, text)
    )


def _is_asked_for(ref: str, asked: frozenset[str], persons: dict[str, Person]) -> bool:
    slug = ref.partition(":")[2]
    names = persons[slug].names if slug in persons else (slug,)
    return any(not asked.isdisjoint(name.split("_")) for name in names)


def _card(ref: str, held: Sequence[Known], persons: dict[str, Person]) -> Card:
    slug = ref.partition(":")[2]
    own = [one.fact.entity_label for one in held if one.fact.entity_refs[0] == ref]
    label = persons[slug].label if slug in persons else own[0] if own else _label_of(slug, held)
    sources = tuple(dict.fromkeys(id_ for one in held for id_ in one.source_ids[:1]))
    return Card(ref, label, tuple(map(_told, held)), sources)


def _told(known: Known) -> str:
    return f"{known.fact.text} (in conflict)" if known.in_conflict else known.fact.text


def _label_of(slug: str, held: Sequence[Known]) -> str:
    return next((one.fact.value for one in held if slug_of(one.fact.value) == slug), slug)
