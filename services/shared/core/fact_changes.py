"""Which older statements a newer one changes as the facts in both tell, whatever their words have in common.

"I have moved to Porto" shares no word with "I live in Lisbon", and gives the same key of one value another one. What is
asked, supposed, quoted, denied or long past is no fact, and nothing changes without a cue.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from services.shared.core import wordlists
from services.shared.core.aliases import are_of_several, introduced, relation_told
from services.shared.core.bounded import as_read
from services.shared.core.claims import ADDING, PASSING, Claim, claims, is_change
from services.shared.core.corrections import denies
from services.shared.core.fact_ends import ended_in, ends_anything
from services.shared.core.fact_values import is_known_place
from services.shared.core.facts import Fact, facts_in, names_alone, people_named
from services.shared.core.names import plain_name
from services.shared.core.over import is_over
from services.shared.core.statements import differ, kinds, terms
from services.shared.core.updates import leaves_some, relation

Effect: TypeAlias = Literal["replaced", "replaced in part", "unclear", "beside"]
"""What becomes of an older statement: it is no longer so; it states other things, too; it may be of somebody else, or
not be meant; it tells something else, which goes on."""

_People: TypeAlias = Mapping[str, frozenset[str]]
_BY_WORDS_ALONE = frozenset({"relationship", "name", "time"})
_MEANWHILE = re.compile(wordlists.pattern("changes", "meanwhile"))
_ON_THE_SIDE = re.compile(r"\bvolunteer\w*|\bon (?:weekends|\w{3,6}days)\b")
_WORDS_OF = wordlists.pairs("changes", "words of slots")
_MOST_BESIDE = 1  # words of a statement that are not of its facts
_MOST_IN_PART = 8  # such words, beside which a job that has ended is still a part of what a statement tells
_TOOLS = wordlists.words("facts", "tools")
_AS_HOME = re.compile(
    r"\b(?:flat|house|apartment|home|city|town|village|country|abroad|suburb|neighbou?rhood|district|island|coast|rent"
    r"|landlord|in with)\b"
)
_MORE_OF_IT = re.compile(r"(?:,|\.|;|!|\band\b|\bbut\b)+\s+(?:it|they|she|he)\b(?:'s|'re)?[^.;!?\n]*", re.IGNORECASE)
"""What is said further of something named just before: "…, it is red and cheap"."""

_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def may_change_facts(text: str) -> bool:
    """Whether a text says that something is not as it was, or ends what may be a fact."""
    return is_change(text) or ends_anything(text)


def words_of_changed(text: str) -> str | None:
    """The words by which to look for older statements of the facts that a text says have changed; None if of none."""
    words = [f"{_name_of(fact)} {_words_of(fact.slot)}" for fact in _changed(text, names_alone(text))]
    words += [f"{one.of} {one.value} {_words_of(one.slot)}" for one in ended_in(text)]
    return " ".join(words).replace("_", " ").strip() or None


def _words_of(slot: str) -> str:
    return _WORDS_OF.get(slot, slot)


@dataclass(frozen=True, slots=True)
class _Change:
    """The facts that a statement says have changed, by key, and which of these keys may be meant otherwise.

    `whose`: the people that it introduces, `people`: those that any statement does. `is_all`: it changes nothing else.
    """

    facts: Mapping[str, Fact]
    unsure: frozenset[str]
    whose: _People
    people: _People
    is_all: bool


def effects(new: str, older: Sequence[str]) -> list[Effect | None]:
    """What a newer statement of somebody does to each of their older ones; None: nothing.

    Who is who is told by all of them: "Clara" alone is the one whom another calls "my sister Clara".
    """
    by_end = [_effect_of_end(new, text) for text in older]
    if not _changed(new, names_alone(new)):
        return by_end
    alone = [_read(text) for text in older]
    people = introduced(fact for facts in (_read(new), *alone) for fact in facts)
    change = _change(new, people)
    return [
        ended or _effect(change, _read(text, people.keys()) if people.keys() & names_alone(text) else facts)
        for text, facts, ended in zip(older, alone, by_end, strict=True)
    ]


def _effect_of_end(new: str, text: str) -> Effect | None:
    """What an end does to an older statement, if that tells nothing besides facts."""
    if not ends_anything(new):
        return None
    old = _read(text)
    gone = [fact for fact in old if any(one.is_of(fact) for one in ended_in(new))]
    if not gone or _is_of_namesake(new, old):
        return None
    told = frozenset().union(*(terms(_told_by(fact)) for fact in old))
    beside = len(terms(text.lower()) - told)
    if beside > _MOST_BESIDE:
        return "replaced in part" if beside <= _MOST_IN_PART and all(fact.slot == "employer" for fact in gone) else None
    named = {plain_name(fact.entity_label) for fact in gone}
    more = [fact for fact in old if fact not in gone and not _introduces(fact, named)]
    return "replaced in part" if more else "replaced"


def _told_by(fact: Fact) -> str:
    """The words that tell a fact; of an appointment what it is, too."""
    what = fact.entity_label if fact.slot == "time" else ""
    return f"{fact.value} {what} {_words_of(fact.slot)}".lower()


def _is_of_namesake(new: str, old: Sequence[Fact]) -> bool:
    """Whether a statement is of somebody else than older facts introduce by the same name."""
    named = people_named(new)
    return any(are_of_several(named[name] | kins) for name, kins in introduced(old).items() if name in named)


def outdated_in(text: str, by: str) -> frozenset[str] | None:
    """The facts, as texts, of an older statement that a newer one, which holds, has ended; None: nothing of it goes on.

    What goes on are its other facts, but for who somebody is of whom it told nothing else, and what else it states.
    """
    text, by = as_read(text), as_read(by)
    people = introduced((*_read(text), *_read(by))).keys()
    old, new = _read(text, people), {fact.plain_key: fact for fact in _read(by, people)}
    gone = [fact for fact in old if _is_replaced(fact, new.get(fact.plain_key)) or _is_ended(fact, old, text, by)]
    named = {plain_name(fact.entity_label) for fact in gone}
    more = [fact for fact in old if fact not in gone and not _introduces(fact, named)]
    if not more and not leaves_some(_MORE_OF_IT.sub("", text), by):
        return None
    return frozenset(fact.text for fact in gone)


def _is_ended(fact: Fact, beside: Sequence[Fact], text: str, by: str) -> bool:
    """Whether a statement says of a fact in another one that it is not so: of one told together with others by name.

    Who somebody is holds where that is said of them by name.
    """
    if any(one.is_of(fact) for one in ended_in(by)):
        return True
    clause, said = text[slice(*fact.span)], terms(by.lower())
    told = relation_told(fact)
    if told and terms(told[0].lower()) & said:
        return False
    if sum(one.span == fact.span for one in beside) > 1 and not terms(fact.value.lower()) & said:
        return False
    return relation(clause, by) in ("update", "contradiction") or denies(clause, by) or is_over(clause, by)


def _change(text: str, people: _People) -> _Change:
    facts = {fact.plain_key: fact for fact in _changed(text, people.keys())}
    unsure = frozenset(key for key, fact in facts.items() if _is_unsure(fact, text))
    is_all = len(facts) == sum(claim.form is not None for claim in claims(text))
    return _Change(facts, unsure, introduced(_read(text)), people, is_all)


def _read(text: str, known: Collection[str] = ()) -> tuple[Fact, ...]:
    return facts_in(text, role="user", speaker=None, said_at=_ANY_TIME, known=known)


def _changed(text: str, known: Collection[str]) -> list[Fact]:
    if not is_change(text):
        return []
    facts = [fact for fact in _read(text, known) if _may_change(fact) and _is_cued(fact, text)]
    return [fact for fact in facts if text.islower() or not (fact.value.islower() and _is_unsure(fact, text))]


def _name_of(fact: Fact) -> str:
    return fact.entity_label if fact.subject != "profile" else ""


def _may_change(fact: Fact) -> bool:
    return not fact.holds_many and fact.slot not in _BY_WORDS_ALONE


def _is_cued(fact: Fact, text: str) -> bool:
    """Whether the clause that states a fact says itself that this is so since, or corrects what was said."""
    clause = text[slice(*fact.span)]
    if _MEANWHILE.search(clause.lower()) or _ON_THE_SIDE.search(clause.lower()):
        return False
    corrections = [claim for claim in claims(text) if claim.form == "renewed"]
    return any(_gives(claim, fact) for claim in (*claims(clause), *corrections))


def _is_unsure(fact: Fact, text: str) -> bool:
    """Whether what somebody moved to may be no place: it is written without a capital, or is none that is known."""
    clause = text[slice(*fact.span)]
    moved = [claim for claim in claims(clause.lower()) if claim.form == "moved"] if fact.slot == "home" else []
    if not moved or fact.value.islower():
        return bool(moved)
    return not (_AS_HOME.search(text.lower()) or any(map(is_known_place, (fact.value, *(one.old for one in moved)))))


def _gives(claim: Claim, fact: Fact) -> bool:
    given = {"moved": claim.new, "switched": claim.new, "instead": claim.topic}
    given |= dict.fromkeys(("renewed", "begun"), claim.said)
    said = given.get(claim.form or "", "")
    value = fact.value.lower()
    if claim.form == "begun" and _TOOLS.intersection(value.split()) and "joined" in claim.said:
        return False
    if ADDING.search(claim.said) or (claim.form != "moved" and PASSING.search(claim.said)):
        return False
    if fact.slot == "partner" and not said.startswith(value) and not said.endswith(value):
        return False  # it is named in passing
    return bool(terms(value)) and terms(value) <= terms(said)


def _effect(change: _Change, old: Sequence[Fact]) -> Effect | None:
    replaced = [fact for fact in old if _is_replaced(fact, change.facts.get(fact.plain_key))]
    others = [fact for fact in old if fact.plain_key not in change.facts]
    if not replaced:
        return "beside" if change.is_all and any(map(_may_change, others)) else None
    found = {_whose(fact, introduced(old), change) for fact in replaced}
    if "another" in found:
        return None
    if "unclear" in found or not change.unsure.isdisjoint(fact.plain_key for fact in replaced):
        return "unclear"
    named = {plain_name(fact.entity_label) for fact in replaced}
    more = [fact for fact in others if not _introduces(fact, named)]
    return "replaced in part" if more else "replaced"


def _introduces(fact: Fact, named: Collection[str]) -> bool:
    told = relation_told(fact)
    return told is not None and plain_name(told[0]) in named


def _is_replaced(fact: Fact, by: Fact | None) -> bool:
    if by is None or fact.holds_many:
        return False
    was, is_ = plain_name(fact.value), plain_name(by.value)
    if kinds(was).keys() & kinds(is_).keys():
        return differ(kinds(is_), kinds(was))
    return not (terms(was) <= terms(is_) or terms(is_) <= terms(was))


def _whose(fact: Fact, old: _People, change: _Change) -> Literal["same", "another", "unclear"]:
    """Whether two statements that give a name are of one person, by what that is called in each, or anywhere."""
    name = plain_name(fact.entity_label)
    if name in change.whose and name in old:
        return "another" if are_of_several(change.whose[name] | old[name]) else "same"
    return "unclear" if are_of_several(change.people.get(name, frozenset())) else "same"
