"""What is known of a user, value by value: computed from their entries whenever it is asked for, and stored nowhere.

So forgetting, correcting and erasing an entry reach its facts at once, and nothing can be stale or be done twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations, pairwise
from typing import TypeAlias

from contracts.v1.entries import Entry
from services.shared.core.aliases import Person, are_of_several, introduced, of_one_person, relation_told
from services.shared.core.fact_ends import ended_in, ends_anything, points_back
from services.shared.core.fact_times import time_over
from services.shared.core.facts import Fact, FactsOf, people_named
from services.shared.core.importance import level_when_told
from services.shared.core.lineage import outdated_facts, was_rejected
from services.shared.core.names import plain_name
from services.shared.core.notes import as_user_says
from services.shared.core.sayings import as_of as entry_as_of
from services.shared.core.wordlists import words

PINNED_LEVEL = 3
"""Importance level of what a pinned entry says."""

Pairs: TypeAlias = Collection[frozenset[str]]
"""Two entries each, by id."""

_Partners: TypeAlias = Mapping[str, Collection[str]]
_VERSIONED = re.compile(r"(?P<of>[^\W\d][\w+#-]*) (?P<version>v?\d[\w.]*)")
_MOST_NAMED = 64
"""Entries that introduce somebody by one name, and are compared."""

_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}


@dataclass(frozen=True, slots=True)
class Former:
    """A value that held before, and until when; None: nobody said since when it does not."""

    value: str
    text: str
    since: datetime
    until: datetime | None
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A value of a key: since when it holds, by which entries, and the values it took the place of, latest first.

    `until`: it does not hold any more, as the user said, and nothing took its place. `times`: so often it was said,
    which raises its level. `in_conflict`: a statement that says so is in a conflict about it that nobody decided.
    """

    fact: Fact
    since: datetime
    source_ids: tuple[str, ...]
    level: int
    pinned: bool
    times: int = 1
    before: tuple[Former, ...] = ()
    until: datetime | None = None
    in_conflict: bool = False


@dataclass(frozen=True, slots=True)
class _Said:
    """A fact as an entry states it, and until when it held, if the entry was superseded or its end was told."""

    fact: Fact
    entry: Entry
    until: datetime | None

    @property
    def place(self) -> tuple[datetime, datetime, str, int]:
        """Where it stands among others: of two of one moment the greater id decides."""
        return self.entry.last_said_at, self.entry.created_at, self.entry.id, self.fact.span[0]


def profile_of(
    user_id: str,
    entries: Iterable[Entry],
    as_of: datetime | None = None,
    persons: Mapping[str, Person] | None = None,
    read: FactsOf | None = None,
    both: Pairs = (),
    now: datetime | None = None,
) -> tuple[Known, ...]:
    """What entries of the user tell, most important first; with `as_of`, what they told up to that moment.

    Of a key that holds one value the newest statement is the present one. Entries of others, and those that nobody
    can read any more, tell nothing. Their order is of no account. `persons` are those who have several names, by the
    slug of each; `read` tells the facts of an entry; of `both` of each pair the user decided that they hold. An
    appointment is over when its time is, by `as_of` or `now`.
    """
    told = [
        entry_as_of(entry, as_of)
        for entry in {entry.id: entry for entry in entries}.values()
        if entry.user_id == user_id and entry.role == "user" and entry.status in ("active", "superseded")
        if as_of is None or entry.created_at <= as_of
    ]
    keys: dict[str, list[_Said]] = {}
    in_conflict, read = _in_conflict(told), read or FactsOf()
    beside = _partners([*in_conflict, *both, *_of_namesakes(told, read)])
    doubted = frozenset().union(*in_conflict)
    stated = _with_ends(told, persons or {}, read, doubted, beside)
    if moment := as_of or now:
        stated = [_with_time_over(said, moment) for said in stated]
    unclear = _unclear(in_conflict, stated)
    for said in stated:
        keys.setdefault(said.fact.memory_key, []).append(said)
    known = [one for key in keys.values() for one in _values(sorted(key, key=lambda said: said.place), beside)]
    known = [
        replace(one, in_conflict=True) if any((id_, one.fact.memory_key) in unclear for id_ in one.source_ids) else one
        for one in known
    ]
    return tuple(sorted(known, key=_most_important_first))


def former_of(known: Iterable[Known]) -> Mapping[str, frozenset[str]]:
    """By entry the texts of its facts that are not so any more."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in known:
        gone = [(former.source_ids, former.text) for former in one.before]
        gone += [(one.source_ids, one.fact.text)] if one.until else []
        for ids, text in gone:
            for id_ in ids:
                found[id_].add(text)
    return {id_: frozenset(texts) for id_, texts in found.items()}


def _most_important_first(known: Known) -> tuple[bool, bool, int, float, str, str]:
    fact = known.fact
    newest = -known.since.timestamp()
    return known.until is not None, not known.pinned, -known.level, newest, fact.memory_key, fact.value.casefold()


def _in_conflict(entries: list[Entry]) -> list[frozenset[str]]:
    """The pairs of entries in use that cannot both be true, where nobody decided."""
    in_use = {entry.id for entry in entries if entry.status == "active"}
    named = [(entry.id, other) for entry in entries if entry.id in in_use for other in entry.conflicts_with]
    return [frozenset(pair) for pair in named if pair[1] in in_use]


def _unclear(pairs: Iterable[frozenset[str]], stated: Iterable[_Said]) -> set[tuple[str, str]]:
    """By entry the keys that its conflicts are about: those that both entries have, or all, where none is of both."""
    keys: dict[str, set[str]] = defaultdict(set)
    for said in stated:
        keys[said.entry.id].add(said.fact.memory_key)
    return {
        (id_, key)
        for pair in pairs
        for id_ in pair
        for key in set.intersection(*(keys[each] for each in pair)) or keys[id_]
    }


def _of_namesakes(entries: Iterable[Entry], read: FactsOf) -> list[frozenset[str]]:
    """The pairs of entries that introduce two people by one name: a daughter and a niece. A partner may become more."""
    named: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for entry in entries:
        said = as_user_says(entry)
        people = introduced(read(entry)) or (people_named(said) if ends_anything(said) else {})
        for name, relations in people.items():
            if len(named[name]) < _MOST_NAMED and relations:
                named[name][entry.id] = relations
    return [
        frozenset((one, other))
        for its in named.values()
        for one, other in combinations(its, 2)
        if are_of_several(its[one] | its[other]) and not (its[one] | its[other]) <= words("facts", "partner")
    ]


def _partners(pairs: Pairs) -> _Partners:
    partners: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        for id_ in pair:
            partners[id_] |= pair
    return partners


def _with_ends(
    entries: list[Entry], persons: Mapping[str, Person], read: FactsOf, doubted: Collection[str], beside: _Partners
) -> list[_Said]:
    """What the entries say; one in conflict ends nothing, and of two that hold both neither does the other."""
    facts = _facts_by_entry(entries, read)
    if not any(facts.values()):
        return []
    ends = _Ends([entry for entry in entries if entry.status == "active"], facts, doubted, beside)
    replaced = {entry.id: {fact.plain_key for fact in facts[entry.id]} for entry in entries if entry.supersedes}

    def is_replaced(fact: Fact, entry: Entry) -> bool:
        by = entry.superseded_by or ""
        gone = {one.plain_key for one in facts[entry.id] if ends.is_told(one, entry, by)}
        return entry.status == "superseded" and not _goes_on(fact, facts[entry.id], gone.union(replaced.get(by, ())))

    def until(fact: Fact, entry: Entry) -> datetime | None:
        is_gone = fact.text in outdated_facts(entry) or is_replaced(fact, entry)
        return entry.valid_until if is_gone else ends.first(fact, entry)

    return [
        _Said(of_one_person(fact, persons), entry, until(fact, entry))
        for entry in entries
        for fact in facts[entry.id]
        if not (was_rejected(entry) and is_replaced(fact, entry))
    ]


def _with_time_over(said: _Said, now: datetime) -> _Said:
    over = None if said.until else time_over(said.fact, said.entry.last_said_at, now)
    return replace(said, until=over) if over else said


def _facts_by_entry(entries: list[Entry], read: FactsOf) -> dict[str, tuple[Fact, ...]]:
    """The facts of each entry: of a name alone where its speaker told in any of them whose it is, and of one person."""
    people: dict[str | None, list[Fact]] = {}
    for entry in entries:
        people.setdefault(entry.speaker, []).extend(fact for fact in read(entry) if relation_told(fact))
    known = {
        speaker: {name for name, relations in introduced(facts).items() if not are_of_several(relations)}
        for speaker, facts in people.items()
    }
    return {entry.id: read(entry, known.get(entry.speaker, ())) for entry in entries}


def _goes_on(fact: Fact, beside: Sequence[Fact], replaced: Collection[str]) -> bool:
    """Whether who somebody is still holds, where another thing that was told of them took its place."""
    told = relation_told(fact)
    if told is None:
        return False
    of_them = {one.plain_key for one in beside if one.entity_label == told[0] and one is not fact}
    return not of_them.isdisjoint(replaced)


def _is_opposite(fact: Fact, other: Fact) -> bool:
    """Whether one likes what the other dislikes, so that the later one counts."""
    same = _subject_and_value(fact) == _subject_and_value(other)
    return same and _OPPOSITE.get(fact.slot) == other.slot


def _subject_and_value(fact: Fact) -> tuple[str, str]:
    return plain_name(fact.entity_label), fact.value.casefold()


def _is_upgrade(fact: Fact, other: Fact) -> bool:
    """Whether one says that something has another version than the other tells: "Postgres 16" and "Postgres 14"."""
    is_, was = _VERSIONED.fullmatch(fact.value), _VERSIONED.fullmatch(other.value)
    if is_ is None or was is None or fact.memory_key != other.memory_key:
        return False
    return is_["of"].casefold() == was["of"].casefold() and is_["version"] != was["version"]


def _is_newer(entry: Entry, other: Entry) -> bool:
    return entry.speaker == other.speaker and entry.last_said_at > other.last_said_at


def _pointing_back(said: Iterable[tuple[Entry, str]]) -> Iterator[tuple[Entry, str, str]]:
    """What ends a thing that the message before it in the same conversation named, with that message."""
    last: dict[tuple[str | None, str | None], str] = {}
    for entry, text in sorted(said, key=lambda one: (one[0].created_at, one[0].ordinal, one[0].id)):
        place = entry.speaker, entry.conversation_id
        if place in last and points_back(text):
            yield entry, text, last[place]
        last[place] = text


class _Ends:
    """Which entries end facts of others: by what they tell of a fact, or another taste or version.

    One in doubt ends nothing, but another version of the same thing, which is certain.
    """

    def __init__(
        self, active: list[Entry], facts: Mapping[str, Sequence[Fact]], doubted: Collection[str], beside: _Partners
    ) -> None:
        self._beside = beside
        entries = [entry for entry in active if entry.id not in doubted]
        said = [(entry, as_user_says(entry)) for entry in entries]
        self._told = {entry.id: (entry, ended_in(text)) for entry, text in said if ends_anything(text)}
        self._told |= {entry.id: (entry, ended_in(text, before)) for entry, text, before in _pointing_back(said)}
        self._tastes = [(entry, fact) for entry in entries for fact in facts[entry.id] if fact.slot in _OPPOSITE]
        self._versions = [(entry, fact) for entry in active for fact in facts[entry.id] if fact.slot == "stack"]

    def is_told(self, fact: Fact, entry: Entry, by: str) -> bool:
        """Whether an entry says that this fact of another is no longer so."""
        return by in self._told and any(one.is_of(fact, entry.speaker) for one in self._told[by][1])

    def first(self, fact: Fact, entry: Entry) -> datetime | None:
        """When the same speaker first told, later, that a fact of an entry is not so any more."""
        turned = [end for end, other in self._tastes if _is_opposite(fact, other)]
        told = [end for id_, (end, _) in self._told.items() if self.is_told(fact, entry, id_)]
        later = [end for end in (*turned, *told) if self._is_later(end, entry)]
        later += [end for end, other in self._versions if _is_upgrade(other, fact) and _is_newer(end, entry)]
        return min((end.last_said_at for end in later), default=None)

    def _is_later(self, end: Entry, entry: Entry) -> bool:
        is_beside = end.id in self._beside.get(entry.id, ())
        return _is_newer(end, entry) and not is_beside


def _values(said: list[_Said], beside: _Partners) -> list[Known]:
    """The values of a key, given in the order in which they were said.

    Of one that holds one value the last is the present one, and another only where its statement stands beside that.
    """
    groups: dict[str, list[_Said]] = {}
    for one in said:
        groups.setdefault(one.fact.value.casefold(), []).append(one)
    newest_last = sorted(groups.values(), key=lambda group: group[-1].place)
    known = [_known(group, [one for one in said if one not in group]) for group in newest_last]
    if said[0].fact.holds_many:
        return known
    present = known[-1]
    too = [one for one in known[:-1] if one.until is None and _are_beside(one, present, beside)]
    row = [one for one in known if one not in too]
    ended = [_former(one, other) for one, other in pairwise(row)]
    return [replace(present, before=tuple(reversed(ended))), *too]


def _are_beside(one: Known, other: Known, beside: _Partners) -> bool:
    return any(not set(other.source_ids).isdisjoint(beside.get(id_, ())) for id_ in one.source_ids)


def _known(group: list[_Said], others: list[_Said]) -> Known:
    """A value by those who state it: since the first of them, or since the last after another value held."""
    latest = group[-1]
    between = [one.entry.last_said_at for one in others if group[0].entry.created_at < one.entry.last_said_at]
    came_back = [one for one in between if one < latest.entry.last_said_at]
    many = latest.fact.holds_many
    since = group[0].entry.created_at if many or not came_back else latest.entry.last_said_at
    pinned = any(one.entry.pinned for one in group)
    times = sum(1 + repeats for repeats in {one.entry.id: one.entry.repeat_count for one in group}.values())
    return Known(
        fact=latest.fact,
        since=min(one.entry.created_at for one in group) if many else since,
        source_ids=tuple(dict.fromkeys(one.entry.id for one in reversed(group))),
        level=PINNED_LEVEL if pinned else level_when_told(latest.fact.level, times),
        times=times,
        pinned=pinned,
        until=latest.until,
    )


def _former(known: Known, after: Known) -> Former:
    until = min(known.until, after.since) if known.until else max(known.since, after.since)
    return Former(known.fact.value, known.fact.text, known.since, until, known.source_ids)
