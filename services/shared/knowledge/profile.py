"""The claims of a user's entries as what is known of them: which hold now, and how sure each is. Pure; reads no text.

A claim that is surer than `SURE` is told as a fact. One that is only likely is told as such, with its source, until its
user says whether it is so. What they say is obeyed whatever is read in the entry.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from contracts.v1.claims import Change, Claim, ClaimId, Slot
from contracts.v1.entries import Entry, Subject
from contracts.v1.facts import FactType
from services.shared.lifecycle.lineage import as_of as known_then
from services.shared.lifecycle.lineage import outdated_facts, was_rejected

SURE, LIKELY = 0.44, 0.3
"""From these on a claim is told as a fact, and as likely. Of those surer than the first, four of five are what a reader
notes, too, and nearly all are so; of the likely ones every second."""

Pairs: TypeAlias = Collection[frozenset[str]]
"""Two entries each, by id."""

ME = "me"
"""Whose what the user says of themselves is."""

SOMEBODY = "somebody"
"""Whose it is that a text does not name: of several of them, so that no value takes the place of another."""

_Value: TypeAlias = tuple[str, str, str]
_NOT_SLUG = re.compile(r"[^\w]+")
_AROUND = " .,;:!?'\"()–—-"


class Kind(NamedTuple):
    """What a slot is about. `holds_many`: a value stands beside others, and replaces none."""

    subject: Subject = "profile"
    fact_type: FactType = "fact"
    holds_many: bool = True
    level: int = 1


KINDS: dict[Slot, Kind] = {
    "name": Kind(holds_many=False, level=3),
    "home": Kind(holds_many=False, level=2),
    "origin": Kind(holds_many=False),
    "age": Kind(holds_many=False),
    "birthday": Kind(holds_many=False, level=3),
    "employer": Kind(holds_many=False, level=2),
    "family": Kind("people", "relationship", level=2),
    "partner": Kind("people", "relationship", level=2),
    "friend": Kind("people", "relationship", level=2),
    "colleague": Kind("people", "relationship"),
    "pet": Kind(fact_type="relationship", level=2),
    "allergy": Kind(level=3),
    "medicine": Kind(level=2),
    "health": Kind(level=2),
    "diet": Kind(fact_type="preference", level=2),
    "like": Kind(fact_type="preference"),
    "dislike": Kind(fact_type="preference"),
    "favourite": Kind(fact_type="preference"),
    "instruction": Kind(fact_type="preference", level=2),
    "habit": Kind(fact_type="habit"),
    "hobby": Kind(fact_type="habit"),
    "plan": Kind(fact_type="commitment"),
    "appointment": Kind(fact_type="commitment", level=2),
    "deadline": Kind(fact_type="commitment", level=2),
    "project": Kind("project"),
    "project_detail": Kind("project"),
    "decision": Kind(fact_type="commitment"),
}
_OTHERS = Kind()


def kind_of(slot: Slot) -> Kind:
    """What a slot is about."""
    return KINDS.get(slot, _OTHERS)


@dataclass(frozen=True, slots=True)
class ClaimedFact:
    """A claim with the entry that makes it, and the earlier ones that make it `again`, the newest first.

    `whose` is as the text names them, empty for its author; `owner` names the same one whatever they are called.
    `until`: the user gave another value since, or the entry is superseded. `decided`: when the user said that it is so,
    and `said_at` when they said it last, in whatever way.
    """

    entry: Entry
    claim: Claim
    whose: str
    owner: str
    said_at: datetime
    until: datetime | None = None
    decided: datetime | None = None
    again: tuple[Entry, ...] = ()

    @property
    def value(self) -> str:
        """The words of the value."""
        return self.entry.text[slice(*self.claim.value)]

    @property
    def text(self) -> str:
        """The sentence that says it, in the user's own words."""
        return self.entry.text[slice(*self.claim.sentence)]

    @property
    def id(self) -> str:
        """What names it where its user decides about it."""
        return str(ClaimId(self.entry.id, self.claim.value, self.claim.slot))

    @property
    def key(self) -> tuple[str, str]:
        """Whose it is and of what it gives a value."""
        return self.owner, self.claim.slot

    @property
    def folded(self) -> _Value:
        """Whose it is, of what it gives a value, and that value, however it is written."""
        return *self.key, folded(self.value)

    @property
    def sources(self) -> tuple[Entry, ...]:
        """The entries that say it, each once, the newest first."""
        return tuple({entry.id: entry for entry in (self.entry, *self.again)}.values())

    @property
    def state(self) -> Literal["sure", "likely"]:
        """Whether it is told as a fact."""
        return "sure" if self.claim.confidence >= SURE else "likely"


def folded(value: str) -> str:
    """A value whatever its case, its blanks, and the signs around it."""
    return " ".join(value.split()).strip(_AROUND).casefold()


def slug_of(name: str) -> str:
    """A name as keys have it: lower case, words joined by underscores."""
    return _NOT_SLUG.sub("_", name.casefold().replace("i\u0307", "i").strip()).strip("_")


def claimed(
    entries: Iterable[Entry],
    as_of: datetime | None = None,
    names: Mapping[str, str] | None = None,
    beside: Pairs = (),
) -> list[ClaimedFact]:
    """What the entries of one user claim, the newest first; of what holds one value the older ones have ended.

    The order of the entries is of no account. A value that is told as a fact now is not told as likely beside that.
    What the user said is not so takes with it what was said of the same value before. `names`: by the slug of each
    name that of whom it names. Of the entries of a pair `beside` neither ends what the other says. What another entry
    changes has ended when that was said.
    """
    entries, names, partners = list(entries), names or {}, _partners(beside)
    rejected, ends = _rejected(entries, names), _ends(entries, as_of)
    newer: defaultdict[tuple[str, str], list[ClaimedFact]] = defaultdict(list)
    told: dict[tuple[str, str, str, str], ClaimedFact] = {}
    said_again: defaultdict[tuple[str, str, str, str], dict[str, Entry]] = defaultdict(dict)
    for one in sorted(_stated(entries, as_of, names), key=_place, reverse=True):
        one = _changed(one, ends.get(one.entry.id, ()))
        again = (*one.folded, one.state)
        if one.folded in rejected and max(one.said_at, one.decided or one.said_at) <= rejected[one.folded]:
            continue
        if again in told:
            said_again[again].setdefault(one.entry.id, one.entry)
            continue
        if one.state == "sure" and one.owner != SOMEBODY and not kind_of(one.claim.slot).holds_many:
            one = _ended(one, newer[one.key], partners)
            newer[one.key].append(one)
        told[again] = one
    facts = {again[:3] for again, one in told.items() if one.state == "sure" and one.until is None}
    told |= {again: replace(told[again], again=tuple(others.values())) for again, others in said_again.items()}
    return [one for again, one in told.items() if one.state == "sure" or again[:3] not in facts]


def _partners(pairs: Pairs) -> Mapping[str, Collection[str]]:
    """Those of which an entry ends no value, by its id."""
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        for id_ in pair:
            partners[id_] |= pair
    return partners


def _ended(one: ClaimedFact, newer: Sequence[ClaimedFact], partners: Mapping[str, Collection[str]]) -> ClaimedFact:
    """It with when another value took its place; of the `newer` values the last is the oldest."""
    beside = partners.get(one.entry.id, ())
    after = next((other.said_at for other in reversed(newer) if other.entry.id not in beside), None)
    return replace(one, until=min(filter(None, (one.until, after)))) if after else one


def _place(one: ClaimedFact) -> tuple[datetime, str, tuple[int, int], float]:
    return one.said_at, one.entry.id, one.claim.value, one.claim.confidence


def _stated(entries: Iterable[Entry], as_of: datetime | None, names: Mapping[str, str]) -> Iterator[ClaimedFact]:
    for entry in entries:
        if not _counts(entry) or (as_of is not None and entry.created_at > as_of):
            continue
        then = known_then(entry, as_of)
        for claim, decided in _obeying(entry):
            until = _until(entry, entry.text[slice(*claim.value)])
            until = None if until and as_of and until > as_of else until
            said_at = then.last_said_at
            if decided and until is None and (as_of is None or decided <= as_of):
                said_at = max(said_at, decided)
            whose, owner = _owner(claim, entry, names)
            yield ClaimedFact(then, claim, whose, owner, said_at, until, decided)


def _counts(entry: Entry) -> bool:
    """Whether its user said it, and it was so once: of what they decided was never so, nothing is told."""
    return entry.role == "user" and entry.status in ("active", "superseded") and not was_rejected(entry)


def _until(entry: Entry, value: str) -> datetime | None:
    """Until when an entry says that this is so; of one that was changed in part, what was changed has ended alone."""
    if entry.status == "superseded":
        return entry.valid_until or entry.updated_at
    return entry.valid_until if is_outdated(entry, value) else None


def is_outdated(entry: Entry, value: str) -> bool:
    """Whether a value in an entry is so no longer, while the rest of the entry is: it was not said again since."""
    return any(_is_part_of(value, gone) for gone in outdated_facts(entry))


def _is_part_of(value: str, whole: str) -> bool:
    """Whether a value is another one or whole words of it, as another reader may have cut it."""
    return value == whole or re.search(rf"(?<!\w){re.escape(value)}(?!\w)", whole) is not None


def _obeying(entry: Entry) -> Iterator[tuple[Claim, datetime | None]]:
    """The claims of an entry: of those that the user decided the ones that are so, with since when."""
    for claim in entry.claims:
        is_open = not any(one.claim.overlaps(claim.value, claim.slot) for one in entry.decided_claims)
        if is_open and claim.kind == "fact" and claim.confidence >= LIKELY and claim.is_within((0, len(entry.text))):
            yield claim, None
    for one in entry.decided_claims:
        if one.is_so and one.claim.is_within((0, len(entry.text))):
            yield one.claim, one.at


def _changed(one: ClaimedFact, ends: Iterable[tuple[Change, datetime]]) -> ClaimedFact:
    """A claim until what was said since ended it."""
    at = [at for change, at in ends if one.claim.overlaps(change.value, change.slot) and at >= one.said_at]
    until = min((*at, *((one.until,) if one.until else ())), default=None)
    return replace(one, until=until)


def _ends(entries: Iterable[Entry], as_of: datetime | None) -> dict[str, list[tuple[Change, datetime]]]:
    """What other entries ended in an entry, each with when that was said."""
    found: dict[str, list[tuple[Change, datetime]]] = {}
    for by in entries:
        if _counts(by) and (as_of is None or by.created_at <= as_of):
            for change in by.changes:
                if change.kind == "fact" and change.entry_id in by.supersedes:
                    found.setdefault(change.entry_id, []).append((change, by.created_at))
    return found


def _rejected(entries: Iterable[Entry], names: Mapping[str, str]) -> dict[_Value, datetime]:
    """What the user said is not so, and when last."""
    found: dict[_Value, datetime] = {}
    for entry in entries:
        for one in entry.decided_claims:
            if not one.is_so and one.claim.is_within((0, len(entry.text))):
                _, owner = _owner(one.claim, entry, names)
                value = owner, one.slot, folded(entry.text[slice(*one.value)])
                found[value] = max(one.at, found.get(value, one.at))
    return found


def _owner(claim: Claim, entry: Entry, names: Mapping[str, str]) -> tuple[str, str]:
    """Whose it is, as the text or the speaker's name says, and what that one is called in keys."""
    whose = entry.speaker or ""
    if not claim.of_user and claim.whose is not None:
        whose = entry.text[slice(*claim.whose)]
    slug = slug_of(whose)
    if not slug:
        return "", ME if claim.of_user else SOMEBODY
    return whose, names.get(slug, slug)
