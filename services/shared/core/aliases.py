"""Which names in the memory of a user are of one person: joined when that is sure, proposed when it is likely.

Names that are told apart anywhere are never joined: both in one text, as different relatives, or by the user. What the
user decides goes before all rules.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, combinations
from typing import Literal, TypeAlias

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.fact_values import CAPITAL
from services.shared.core.facts import ME, Fact, FactsOf, slug_of
from services.shared.core.frames import as_stated
from services.shared.core.names import Likeness, Name, likeness, plain_name, relation_of

Verdict: TypeAlias = Literal["same", "likely", "apart"]

Decisions: TypeAlias = Mapping[frozenset[str], bool]
"""What the user decided of pairs of names, each named by its `hash_of`: whether both are of one person."""

MOST = 300
"""Names that are compared with each other at most, those said most often."""

_LONGEST = 10_000
_ONE_NAME = rf"{CAPITAL}[\w'-]+(?: {CAPITAL}[\w'-]+){{0,2}}"
_TOLD = tuple(
    (cues, re.compile(pattern))
    for cues, pattern in (
        (
            ("goes by", "short for", "called", "known as", "nickname"),
            rf"\b(?P<one>{_ONE_NAME}) (?:goes by|is short for|is (?:also )?(?:called|known as)|is a nickname for) "
            rf"(?P<other>{_ONE_NAME})(?=$|[.,!;]| by )",
        ),
        (
            ("call",),
            rf"\b(?:[Ee](?:verybody|veryone)|[Pp]eople|[Ww]e|I|[Yy]ou can) (?:all |just |also )?calls? "
            rf"(?P<one>{CAPITAL}[\w'-]+) (?P<other>{CAPITAL}[\w'-]+)\b",
        ),
        (
            ("call", "known as", "aka", "a.k.a."),
            rf"\b(?P<one>{_ONE_NAME}),? \(?(?:also (?:known as|called)|aka|a\.k\.a\.|(?:whom |who )?"
            rf"(?:we|I|they|everyone) calls? (?:her |him |them )?) ?(?P<other>{_ONE_NAME})",
        ),
        (
            (" not ",),
            rf"\b[Ii]t(?: is|'s) (?:spelled |spelt )?(?P<one>{_ONE_NAME}),? not (?P<other>{_ONE_NAME})",
        ),
        (
            ("misspel", "mistyped", "misheard"),
            rf"\bmis(?:spelled|spelt|typed|heard) (?P<one>{_ONE_NAME}),? (?:it is|it's|the name is) "
            rf"(?P<other>{_ONE_NAME})",
        ),
        (("nickname",), rf"\b(?P<one>{_ONE_NAME})'s nickname is (?P<other>{_ONE_NAME})"),
    )
)
"""How two names are told to be of one person; what is not said with one of the cues is not told so."""

_HE, _SHE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE), re.compile(r"\b(?:she|her|hers)\b", re.IGNORECASE)
_SINGLE, _BESIDES = wordlists.words("names", "single"), wordlists.words("names", "besides others")
_OF_MEN, _OF_WOMEN = wordlists.words("names", "he"), wordlists.words("names", "she")
_TELLING_SLOTS = ("home", "employer", "birthday", "occupation")


def hash_of(user_id: str, slug: str) -> str:
    """What a name of somebody around this user is called where no word of theirs may stand."""
    return blake2b(f"{user_id}\x1f{slug}".encode(), digest_size=12).hexdigest()


@dataclass(slots=True)
class _Known:
    """What is known of a name: how it was written, what it is to the user, what else is told, and where it stands."""

    labels: Counter[str] = field(default_factory=Counter)
    relations: set[str] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)
    genders: set[str] = field(default_factory=set)
    entries: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        """As it was written most often."""
        return min(self.labels, key=lambda name: (-self.labels[name], name))


_All: TypeAlias = Mapping[str, _Known]
_Verdicts: TypeAlias = dict[frozenset[str], Verdict]


@dataclass(frozen=True, slots=True)
class Person:
    """One person: the slug that stands for all their names, and each name as it is written, by its slug."""

    slug: str
    label: str
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two names that are probably of one person; `why` they are taken to be alike."""

    one: str
    other: str
    why: Likeness


@dataclass(frozen=True, slots=True)
class People:
    """Everybody who is named, most often named first, and what the user may want to decide."""

    persons: tuple[Person, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    def by_name(self) -> dict[str, Person]:
        """Who is meant, by the slug of each name of somebody who has several."""
        return {slug: one for one in self.persons if len(one.names) > 1 for slug in one.names}


def people_of(entries: Iterable[Entry], decisions: Decisions | None = None, read: FactsOf | None = None) -> People:
    """The people whom a user names in these entries, each with all their names; `read` tells the facts of an entry."""
    said = sorted((entry for entry in entries if entry.role == "user"), key=lambda entry: (entry.created_at, entry.id))
    if not said:
        return People()
    everybody = _known(said, read or FactsOf())
    named = sorted(everybody, key=lambda slug: (-len(everybody[slug].entries), slug))[:MOST]
    known = {slug: everybody[slug] for slug in named}
    decided = _decided(said[0].user_id, known, decisions or {})
    verdicts = decided | {pair: one for pair, one in _verdicts(known, said).items() if pair not in decided}
    groups = _joined(known, verdicts)
    return People(tuple(_person(group, known) for group in groups), _proposals(verdicts, groups, known))


def _decided(user_id: str, known: _All, decisions: Decisions) -> _Verdicts:
    by_hash = {hash_of(user_id, slug): slug for slug in known} if decisions else {}
    return {
        frozenset(by_hash[name] for name in pair): "same" if is_same else "apart"
        for pair, is_same in decisions.items()
        if pair <= by_hash.keys()
    }


def _known(said: Sequence[Entry], read: FactsOf) -> dict[str, _Known]:
    known: defaultdict[str, _Known] = defaultdict(_Known)
    for entry in said:
        facts = read(entry)
        named = {slug_of(name): name for name in _named(entry, facts)}
        for slug, name in named.items():
            if slug and slug != ME:
                known[slug].labels[name] += 1
                known[slug].entries.add(entry.id)
                if len(named) == 1:
                    known[slug].genders |= _spoken_of_as(as_stated(entry))
        for fact in facts:
            _note(fact, known)
    return known


def _named(entry: Entry, facts: Sequence[Fact]) -> Iterator[str]:
    text = as_stated(entry)[:_LONGEST]
    yield from (one.text for one in entry.entities if one.label == "PERSON" and one.text in text)
    for fact in facts:
        if fact.entity_refs[0].startswith("person:") and fact.entity_refs[0] != f"person:{ME}":
            yield fact.entity_label
        elif fact.slot == "partner":
            yield fact.value


def _note(fact: Fact, known: _All) -> None:
    _, kind, slug, slot = fact.memory_key.split("|")
    if told := relation_told(fact):
        name, relation = told
        if slug_of(name) in known:
            known[slug_of(name)].relations.add(relation)
    elif kind == "person" and slug in known and slot in _TELLING_SLOTS:
        known[slug].told.add((slot, fact.value.casefold()))


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


def _spoken_of_as(text: str) -> set[str]:
    sample = text[:_LONGEST]
    return {gender for gender, pronouns in (("he", _HE), ("she", _SHE)) if pronouns.search(sample)}


def _verdicts(known: _All, said: Sequence[Entry]) -> _Verdicts:
    names = {slug: Name.of(one.label) for slug, one in known.items()}
    found: _Verdicts = {}
    for one, other in sorted(_perhaps_alike(names)):
        if verdict := _verdict(known, names, one, other):
            found[frozenset((one, other))] = verdict
    told: _Verdicts = dict.fromkeys(sorted(_told(said, known), key=sorted), "same")
    return told | {pair: verdict for pair, verdict in found.items() if pair not in told}


def _perhaps_alike(names: Mapping[str, Name]) -> set[tuple[str, str]]:
    by_key: defaultdict[str, list[str]] = defaultdict(list)
    for slug in sorted(names):
        for key in names[slug].keys:
            by_key[key].append(slug)
    return {pair for slugs in by_key.values() for pair in combinations(slugs, 2)}


def _told(said: Sequence[Entry], known: _All) -> set[frozenset[str]]:
    """The pairs of names that the user said are of one person."""
    found: set[frozenset[str]] = set()
    for entry in said:
        text = as_stated(entry)[:_LONGEST]
        for told in chain.from_iterable(
            pattern.finditer(text) for cues, pattern in _TOLD if any(cue in text for cue in cues)
        ):
            found.add(frozenset(_slug_in(told[side], known) for side in ("one", "other")))
    return {pair for pair in found if len(pair) == 2 and "" not in pair}


def _slug_in(name: str, known: _All) -> str:
    return next((slug for slug in (slug_of(name), slug_of(name.split()[0])) if slug in known), "")


def _verdict(known: _All, names: Mapping[str, Name], one: str, other: str) -> Verdict | None:
    alike = likeness(names[one], names[other])
    if alike is None or (alike == "part" and not _is_only_one(names, names[one], names[other])):
        return None
    if _are_apart(known[one], known[other], alike):
        return "apart"
    return "same" if _is_sure(known[one], known[other], alike) else "likely"


def _are_apart(this: _Known, that: _Known, alike: Likeness) -> bool:
    are_told_together = bool(this.entries & that.entries) and alike not in ("part", "written")
    return are_told_together or _genders(this) | _genders(that) == {"he", "she"} or _exclude_each_other(this, that)


def _exclude_each_other(this: _Known, that: _Known) -> bool:
    return any(_exclude(a, b) for a in this.relations for b in that.relations)


def _genders(known: _Known) -> set[str]:
    by_relation = {"he"} if known.relations & _OF_MEN else {"she"} if known.relations & _OF_WOMEN else set()
    return by_relation or (known.genders if len(known.genders) == 1 else set())


def _exclude(one: str, other: str) -> bool:
    """Whether nobody is both to the user; what is said of friends and colleagues says nothing of each other."""
    if one == other:
        return False
    partners = {"wife", "husband", "partner", "spouse"}
    return not ({one, other} <= _BESIDES or {one, other} <= partners)


def _is_only_one(names: Mapping[str, Name], one: Name, other: Name) -> bool:
    """Whether the first name is that of one full name alone."""
    first = min(one.words, other.words, key=len)[0]
    return len({name.words for name in names.values() if len(name.words) > 1 and name.words[0] == first}) == 1


def _is_sure(this: _Known, that: _Known, alike: Likeness) -> bool:
    same = this.relations & that.relations
    if alike == "written":
        return True
    if alike == "part":
        return bool(same) or bool(this.entries & that.entries)
    if alike == "sound":
        return bool(same or this.told & that.told)
    if alike == "vowel" and same and this.told & that.told:
        return True
    return bool(same & _SINGLE) or (alike == "nickname" and bool(same & (_OF_MEN | _OF_WOMEN)))


def _joined(known: _All, verdicts: _Verdicts) -> list[list[str]]:
    """Groups of names of one person each: two groups with any two names that are apart stay two."""
    groups = {slug: [slug] for slug in known}
    for one, other in (sorted(pair) for pair, verdict in verdicts.items() if verdict == "same"):
        these, those = groups[one], groups[other]
        if these is those or _any_apart(these, those, known, verdicts):
            continue
        these += those
        groups.update(dict.fromkeys(those, these))
    return list({id(group): group for group in groups.values()}.values())


def _any_apart(these: Sequence[str], those: Sequence[str], known: _All, verdicts: _Verdicts) -> bool:
    for pair in (frozenset((a, b)) for a in these for b in those):
        verdict = verdicts.get(pair)
        if verdict == "apart" or (verdict is None and _exclude_each_other(*(known[slug] for slug in pair))):
            return True
    return False


def _person(group: Sequence[str], known: _All) -> Person:
    """The name that was said most often stands for the person; of two the longer one."""
    best = min(group, key=lambda slug: (-len(known[slug].entries), -len(slug), slug))
    return Person(best, known[best].label, {slug: known[slug].label for slug in sorted(group)})


def _proposals(verdicts: _Verdicts, groups: Sequence[Sequence[str]], known: _All) -> tuple[Proposal, ...]:
    of = {slug: n for n, group in enumerate(groups) for slug in group}
    found: dict[frozenset[int], Proposal] = {}
    for one, other in (sorted(pair) for pair, verdict in verdicts.items() if verdict == "likely"):
        between = frozenset((of[one], of[other]))
        these, those = groups[of[one]], groups[of[other]]
        why = likeness(Name.of(known[one].label), Name.of(known[other].label))
        if len(between) == 2 and why is not None and not _any_apart(these, those, known, verdicts):
            found.setdefault(between, Proposal(known[one].label, known[other].label, why))
    return tuple(found.values())


def of_one_person(fact: Fact, persons: Mapping[str, Person]) -> Fact:
    """A fact under the one name of whom it is about, whatever name it was told by; `persons` by the slug of each."""
    known = {
        ref: persons[slug] for ref in fact.entity_refs for slug in [ref.removeprefix("person:")] if slug in persons
    }
    if not known:
        return fact
    refs = tuple(f"person:{known[ref].slug}" if ref in known else ref for ref in fact.entity_refs)
    if (person := known.get(fact.entity_refs[0])) is None:
        return replace(fact, entity_refs=refs)
    subject, kind, _, slot = fact.memory_key.split("|")
    text = fact.text.removeprefix(fact.entity_label)
    return replace(
        fact,
        entity_refs=refs,
        entity_label=person.label,
        memory_key=f"{subject}|{kind}|{person.slug}|{slot}",
        text=fact.text if text == fact.text else f"{person.label}{text}",
    )
