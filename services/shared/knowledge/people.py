"""Which names around a user are of one person: by what the user decided, then where they are written as one. Pure.

Joined are names that are the same but for accents, hyphens and titles, and a first name with the only full name that
begins with it, unless they are different things to the user. What only sounds or looks alike is proposed. What the
user decides goes before all that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations
from typing import Literal, TypeAlias

from contracts.v1.claims import Slot
from contracts.v1.entries import Entry
from services.shared.entities.names import KIN, Likeness, Name, likeness, plain_words_of, relation_of
from services.shared.knowledge.profile import ME, ClaimedFact, slug_of

Decisions: TypeAlias = Mapping[frozenset[str], bool]
"""What the user decided of pairs of names, each named by its `hash_of`: whether both are of one person."""

MOST = 300
"""Names that are compared with each other at most, those said most often."""

RELATIONS: frozenset[Slot] = frozenset({"family", "partner", "friend", "colleague", "pet"})
"""Slots that say what somebody is to the user."""

_BESIDES: frozenset[Slot] = frozenset({"friend", "colleague"})

_Verdict: TypeAlias = Literal["same", "likely", "apart"]
_Verdicts: TypeAlias = dict[frozenset[str], _Verdict]


def hash_of(user_id: str, slug: str) -> str:
    """What a name of somebody around this user is called where no word of theirs may stand."""
    return blake2b(f"{user_id}\x1f{slug}".encode(), digest_size=12).hexdigest()


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
    """Everybody who is named, and what the user may want to decide."""

    persons: tuple[Person, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    @property
    def slugs(self) -> Mapping[str, str]:
        """By the slug of each name that of whom it names."""
        return {slug: person.slug for person in self.persons for slug in person.names}

    @property
    def by_slug(self) -> Mapping[str, Person]:
        """Each person by the slug that stands for them."""
        return {person.slug: person for person in self.persons}


@dataclass(slots=True)
class _Known:
    """How a name was written, in which entries, and by which slots they are somebody to the user."""

    labels: Counter[str] = field(default_factory=Counter)
    relations: set[Slot] = field(default_factory=set)
    entries: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        """As it was written most often."""
        return min(self.labels, key=lambda name: (-self.labels[name], name))


_All: TypeAlias = Mapping[str, _Known]


def people_of(
    facts: Iterable[ClaimedFact], entries: Iterable[Entry] = (), decisions: Decisions | None = None
) -> People:
    """Those whom the facts of a user are about, and whom an annotator found by name in their entries."""
    everybody: defaultdict[str, _Known] = defaultdict(_Known)
    users: set[str] = set()
    facts = [one for one in facts if one.owner != ME and slug_of(one.whose) and one.state == "sure"]
    for fact in facts:
        everybody[slug_of(fact.whose)].relations |= {fact.claim.slot} & RELATIONS
    for name, entry in _named(facts, entries):
        users.add(entry.user_id)
        if (slug := slug_of(name)) and slug != ME:
            everybody[slug].labels[name] += 1
            everybody[slug].entries.add(entry.id)
    named = sorted(everybody, key=lambda slug: (-len(everybody[slug].entries), slug))[:MOST]
    known = {slug: everybody[slug] for slug in named}
    verdicts = _verdicts(known)
    for user_id in users:
        verdicts |= _decided(user_id, known, decisions or {})
    groups = _joined(known, verdicts)
    return People(tuple(_person(group, known) for group in groups), _proposals(verdicts, groups, known))


def _named(facts: Iterable[ClaimedFact], entries: Iterable[Entry]) -> Iterator[tuple[str, Entry]]:
    for fact in facts:
        yield from ((fact.whose, entry) for entry in fact.sources)
    for entry in entries:
        if entry.role == "user":
            yield from ((one.text, entry) for one in entry.entities if one.label == "PERSON")


def _decided(user_id: str, known: _All, decisions: Decisions) -> _Verdicts:
    by_hash = {hash_of(user_id, slug): slug for slug in known} if decisions else {}
    return {
        frozenset(by_hash[name] for name in pair): "same" if is_same else "apart"
        for pair, is_same in decisions.items()
        if pair <= by_hash.keys()
    }


def _verdicts(known: _All) -> _Verdicts:
    names = {slug: Name.of(one.label) for slug, one in known.items()}
    found: _Verdicts = {}
    for one, other in sorted(_perhaps_alike(names)):
        alike = likeness(names[one], names[other])
        if _exclude(known[one].relations, known[other].relations):
            found[frozenset((one, other))] = "apart"
        elif alike == "written" or (alike == "part" and _is_only_one(names, names[one], names[other])):
            found[frozenset((one, other))] = "same"
        elif alike not in (None, "part") and known[one].entries.isdisjoint(known[other].entries):
            found[frozenset((one, other))] = "likely"
    return found


def _exclude(these: Collection[Slot], those: Collection[Slot]) -> bool:
    """Whether nobody is both to the user; a friend may be a colleague."""
    together = {*these, *those}
    return bool(these and those) and set(these).isdisjoint(those) and not together <= _BESIDES


def _perhaps_alike(names: Mapping[str, Name]) -> set[tuple[str, str]]:
    by_key: defaultdict[str, list[str]] = defaultdict(list)
    for slug in sorted(names):
        for key in names[slug].keys:
            by_key[key].append(slug)
    return {pair for slugs in by_key.values() for pair in combinations(slugs, 2)}


def _is_only_one(names: Mapping[str, Name], one: Name, other: Name) -> bool:
    """Whether one is the first name of the other, and of no other full name."""
    first, full = sorted((one.words, other.words), key=len)
    alike = {name.words for name in names.values() if len(name.words) > 1 and name.words[0] == first[0]}
    return alike == {full}


def _joined(known: _All, verdicts: _Verdicts) -> list[list[str]]:
    """Groups of names of one person each: two groups with any two names that are apart stay two."""
    groups = {slug: [slug] for slug in known}
    for one, other in (sorted(pair) for pair, verdict in verdicts.items() if verdict == "same"):
        these, those = groups[one], groups[other]
        if these is not those and not _any_apart(these, those, verdicts):
            these += those
            groups.update(dict.fromkeys(those, these))
    return list({id(group): group for group in groups.values()}.values())


def _any_apart(these: Sequence[str], those: Sequence[str], verdicts: _Verdicts) -> bool:
    return any(verdicts.get(frozenset((one, other))) == "apart" for one in these for other in those)


def _person(group: Sequence[str], known: _All) -> Person:
    """The name that was said most often stands for the person; of two the longer one."""
    best = min(group, key=lambda slug: (-len(known[slug].entries), -len(slug), slug))
    return Person(best, known[best].label, {slug: known[slug].label for slug in sorted(group)})


def _proposals(verdicts: _Verdicts, groups: Sequence[Sequence[str]], known: _All) -> tuple[Proposal, ...]:
    of = {slug: n for n, group in enumerate(groups) for slug in group}
    found: dict[frozenset[int], Proposal] = {}
    for one, other in (sorted(pair) for pair, verdict in verdicts.items() if verdict == "likely"):
        between, labels = frozenset((of[one], of[other])), (known[one].label, known[other].label)
        why = likeness(*map(Name.of, labels))
        if len(between) == 2 and why is not None and not _any_apart(groups[of[one]], groups[of[other]], verdicts):
            found.setdefault(between, Proposal(*labels, why))
    return tuple(found.values())


def names_of(topic: str, facts: Iterable[ClaimedFact], people: People) -> list[str]:
    """The names of whom a topic means by what they are to the user: "my brother", if they have one, or "my brothers".

    None where that is unclear. A name by which somebody else is called, too, is not theirs alone.
    """
    words = _relation_words(topic)
    told = [one for one in facts if one.whose and one.state == "sure"]
    meant = [one for one in told if words and _is_meant(one, words)]
    owners = dict.fromkeys(one.owner for one in meant)
    if len(owners) > 1 and not topic.casefold().endswith("s"):
        return []
    slots = {owner: {one.claim.slot for one in told if one.owner == owner} & RELATIONS for owner in owners}
    alone = [owner for owner in owners if len(slots[owner]) <= 1 or slots[owner] <= _BESIDES]
    return list(dict.fromkeys(name for owner in alone for name in _called(owner, people)))


def _is_meant(fact: ClaimedFact, words: frozenset[str]) -> bool:
    """Whether a fact says that whom it is about is this to the user, or calls them so: "Mum"."""
    is_told = fact.claim.slot in RELATIONS and words <= _relation_words(f"my {fact.value} {fact.whose}")
    return is_told or words == _relation_words(f"my {fact.whose}")


def _relation_words(text: str) -> frozenset[str]:
    """The words of what is the user's, each relation by one of its words; none where it is not called theirs."""
    own, *words = text.casefold().replace(" in law", "-in-law").split() or [""]
    if own not in ("my", "our"):
        return frozenset()
    plain = (word.strip(",.;:!?()'\"").removesuffix("'s") for word in words)
    return frozenset(relation_of(word if word.endswith("ss") else word.removesuffix("s")) for word in plain if word)


def _called(owner: str, people: People) -> Iterator[str]:
    """All names of one person, and their first name where nobody else has it."""
    names = people.by_slug[owner].names.values() if owner in people.by_slug else ()
    yield from names
    firsts = Counter(words[0] for one in people.persons if (words := plain_words_of(one.label)))
    for first in filter(None, map(_first_word, names)):
        if firsts[plain_words_of(first)[0]] == 1 and first.casefold() not in KIN:
            yield first


def _first_word(name: str) -> str:
    """The first word of a name behind its titles, as it is written; none of one without letters."""
    plain = plain_words_of(name)[:1]
    return next((word for word in name.split() if plain and plain_words_of(word)[:1] == plain), "")
