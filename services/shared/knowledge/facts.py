"""The facts of a user with what they were before, and the cards of those around them: folds over claims. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import TypeVar

from contracts.v1.entries import Entry
from services.shared.knowledge.people import Decisions, People, people_of
from services.shared.knowledge.profile import ME, SOMEBODY, ClaimedFact, Pairs, claimed, kind_of
from services.shared.lifecycle.importance import HIGHEST, level_when_told
from services.shared.temporal.due import due_on

ON_A_CARD, IMPORTANT = 3, 2
"""Facts on a card, and the importance level from which on a fact stands on one that is not pinned."""

_Shown = TypeVar("_Shown")
_DATED = ("appointment", "deadline")
_ANYWHERE = timedelta(hours=12)
"""A day ends that much later in the last time zone."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value with those that it took the place of, latest first; `ref` and `label` name whose it is.

    `in_conflict`: a statement that says so is in a conflict about it that nobody decided.
    """

    fact: ClaimedFact
    ref: str
    label: str
    before: tuple[ClaimedFact, ...] = ()
    in_conflict: bool = False

    @property
    def since(self) -> datetime:
        """Since when it holds: since it was said first or, where another value held in between, said again."""
        return since(self.fact, self.before)

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The entries that say it, the newest first."""
        return ids_of(self.fact)

    @property
    def times(self) -> int:
        """How often it was said."""
        return sum(1 + entry.repeat_count for entry in self.fact.sources)

    @property
    def is_pinned(self) -> bool:
        """Whether an entry that says it is pinned."""
        return any(entry.pinned for entry in self.fact.sources)

    @property
    def level(self) -> int:
        """How important it is: what is said often is more so."""
        return HIGHEST if self.is_pinned else level_when_told(kind_of(self.fact.claim.slot).level, self.times)

    @property
    def is_on_card(self) -> bool:
        """Whether it is so, sure, of somebody who is named, and important enough for a card."""
        is_so = self.fact.until is None and self.fact.state == "sure"
        return is_so and self.fact.owner != SOMEBODY and self.level >= IMPORTANT


def ids_of(fact: ClaimedFact) -> tuple[str, ...]:
    """The entries that say it, the newest first."""
    return tuple(entry.id for entry in fact.sources)


def since(fact: ClaimedFact, before: Sequence[ClaimedFact] = ()) -> datetime:
    """When it was said first after what was `before` it."""
    others = max((one.said_at for one in before if one.said_at < fact.said_at), default=None)
    said = [entry.created_at for entry in fact.sources if others is None or entry.created_at > others]
    return min(said, default=fact.said_at)


def known_of(
    entries: Iterable[Entry],
    decisions: Decisions | None = None,
    as_of: datetime | None = None,
    both: Pairs = (),
    *,
    now: datetime,
) -> tuple[list[Known], People]:
    """What the entries of one user tell, up to a moment, the most important first, and of whom.

    Of a slot that holds one value the values before stand with the present one. Of two statements in an open conflict,
    and of a pair that holds `both`, as the user decided, neither ends what the other says. An appointment and a
    deadline are over when the day that their sentence names is, `now`.
    """
    entries = list(entries)
    in_conflict = _in_conflict(entries)
    people = people_of(claimed(entries, as_of), entries, decisions)
    facts = claimed(entries, as_of, people.slugs, [*in_conflict, *both])
    refs, labels = _refs(facts), {slug: person.label for slug, person in people.by_slug.items()}
    unclear = _unclear(in_conflict, facts)
    known = [
        Known(
            replace(fact, until=_time_over(fact, now)),
            refs[fact.owner],
            labels.get(fact.owner, fact.whose or fact.owner),
            before,
            any((id_, fact.key) in unclear for id_ in ids_of(fact)),
        )
        for fact, before in _with_former(facts)
    ]
    return sorted(known, key=_most_important_first), people


def _most_important_first(known: Known) -> tuple[bool, bool, bool, int, float, str]:
    fact = known.fact
    return (
        fact.until is not None,
        fact.state != "sure",
        not known.is_pinned,
        -known.level,
        -known.since.timestamp(),
        fact.id,
    )


def _refs(facts: Iterable[ClaimedFact]) -> Mapping[str, str]:
    """By what each is called in keys, whether it is a project or one of the people."""
    projects = {one.owner for one in facts if kind_of(one.claim.slot).subject == "project"} - {ME, SOMEBODY}
    return {one.owner: f"{'project' if one.owner in projects else 'person'}:{one.owner}" for one in facts}


def _with_former(facts: Iterable[ClaimedFact]) -> list[tuple[ClaimedFact, tuple[ClaimedFact, ...]]]:
    """The facts; of a slot that holds one value those that have ended stand with the latest of the others.

    Of several whom nobody named none takes the place of another.
    """
    found: list[tuple[ClaimedFact, tuple[ClaimedFact, ...]]] = []
    former: defaultdict[tuple[str, str], list[ClaimedFact]] = defaultdict(list)
    for one in facts:
        if one.owner == SOMEBODY or kind_of(one.claim.slot).holds_many or one.state == "likely":
            found.append((one, ()))
        else:
            former[one.key].append(one)
    for row in former.values():
        present = [one for one in row if one.until is None] or row[:1]
        found += [(one, ()) for one in present[1:]]
        found.append((present[0], tuple(one for one in row if one.until is not None and one is not present[0])))
    return found


def _in_conflict(entries: Sequence[Entry]) -> list[frozenset[str]]:
    """The pairs of entries in use that cannot both be true, where nobody decided."""
    in_use = {entry.id for entry in entries if entry.status == "active"}
    named = [(entry.id, other) for entry in entries if entry.id in in_use for other in entry.conflicts_with]
    return [frozenset(pair) for pair in named if pair[1] in in_use]


def _unclear(pairs: Iterable[frozenset[str]], facts: Iterable[ClaimedFact]) -> set[tuple[str, tuple[str, str]]]:
    """By entry the keys that its conflicts are about: those that both entries have, or all, where none is of both."""
    keys: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for one in facts:
        for id_ in ids_of(one):
            keys[id_].add(one.key)
    return {
        (id_, key)
        for pair in pairs
        for id_ in pair
        for key in set.intersection(*(keys[each] for each in pair)) or keys[id_]
    }


def _time_over(fact: ClaimedFact, now: datetime) -> datetime | None:
    """Until when it is so: until the end of the day that it names, if that is over in any time zone."""
    if fact.until is not None or fact.claim.slot not in _DATED:
        return fact.until
    day = due_on(fact.text, fact.entry.last_said_at)
    end = datetime.combine(day, time(), UTC) + timedelta(days=1) if day else None
    return end if end and end + _ANYWHERE <= now else None


def by_entity(shown: Iterable[tuple[str, str, _Shown]]) -> dict[str, list[_Shown]]:
    """By reference what stands on each card, given as reference, text and what is shown, the most important first."""
    cards: defaultdict[str, dict[str, _Shown]] = defaultdict(dict)
    for ref, text, one in shown:
        if len(cards[ref]) < ON_A_CARD:
            cards[ref].setdefault(text, one)
    return {ref: list(held.values()) for ref, held in cards.items()}


def facts_by_entity(known: Iterable[Known]) -> dict[str, list[Known]]:
    """The facts on the card of the user and of each person, pet and project, in the order in which they are given."""
    return by_entity((one.ref, one.fact.text, one) for one in known if one.is_on_card)
