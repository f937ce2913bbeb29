"""Statements that somebody makes again and again, and which of them a question wants.

"I weighed in at 81.2 kg" is said every morning. Likeness cannot tell such statements apart; time can.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, takewhile
from typing import NamedTuple

from contracts.v1.entries import Entry
from services.shared.entities.identifiers import identifiers_in, named_in
from services.shared.language.analysis import is_english, words_asked
from services.shared.language.traits import ByText, terms_in
from services.shared.lifecycle.sayings import is_said_within
from services.shared.temporal.asked_times import OF_PAST, asks_for_former, asks_for_latest, without_state
from services.shared.temporal.time_spans import Span, spans_named, without

_ALIKE = 0.6
"""Least share of the words of two statements that both have; what has a digit is none of them."""

_FEWEST = 4
_SEEDS = 3
"""Memories from the best on that may be one of those alike."""

_MOST_WORDS = 12
_BEGINNING = 2000
"""Characters of a text that are looked at."""

_SIGN, _DIGIT = re.compile(r"[^\w']|_"), re.compile(r"\d")
_STANDS_OUT = 0.25
_TOLD = 2
"""The place at which the newest is told where nothing in the question asks for it, and how many go behind it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of several statements alike a question asks for: those of some times, the first of them or the newest.

    `past`: it may be one that is so no longer. `in_words`: the question says so, and not only by its tense.
    """

    spans: Sequence[Span]
    first: bool
    newest: bool
    past: bool
    in_words: bool

    @classmethod
    def by(cls, question: str, now: datetime) -> Wanted:
        """What a question asks for; one in the present tense is for the newest."""
        spans, latest = spans_named(question, now, dates_too=True), asks_for_latest(question)
        first = asks_for_former(question) and not latest
        is_of_past = OF_PAST.search(question) is not None and is_english(question)
        is_over = bool(spans) and (is_of_past or any(span.until and span.until <= now for span in spans))
        in_words = latest or first or bool(spans)
        return cls(spans, first, not first and (latest or bool(spans) or not is_of_past), first or is_over, in_words)

    def ordered(self, members: Iterable[Entry]) -> list[Entry]:
        """Those that are asked for, best first: all of the times, and else one."""
        within = [one for one in members if not self.spans or any(_is_of(one, span) for span in self.spans)]
        within = sorted(within, key=_first_said_at) if self.first else sorted(within, key=_said_at, reverse=True)
        return within if self.spans else within[:1]

    def of(self, alike: Alike, others: Iterable[Entry]) -> list[Entry]:
        """Those that are asked for of statements alike and of others; the newest of them always, and what goes on from
        it."""
        later = sorted((one for one in others if alike.goes_on(one)), key=_said_at, reverse=True)[:_TOLD]
        first = self.ordered(alike.members) if self.first or self.newest else []
        return list({one.id: one for one in (alike.newest, *later, *first)}.values())


@dataclass(frozen=True, slots=True)
class Alike:
    """Statements alike among those that were found, as far as the question does not tell them apart.

    `words` are those that all of them have, `asked` those of them that the question has, too. `thing`: where the
    question is for the state of a thing and nothing else, hashes of the terms of each word that names it; they are
    alike in it, and `lead` are those that they may begin with before they name it.
    """

    members: Sequence[Entry]
    words: Sequence[str] = ()
    asked: Sequence[str] = ()
    thing: Sequence[frozenset[int]] = ()
    lead: frozenset[int] = frozenset()

    @property
    def newest(self) -> Entry:
        return max(self.members, key=_said_at)

    def joined_by(self, others: Iterable[Entry]) -> Alike:
        """These and those of the others that are alike."""
        new = {one.id: one for one in others if self.has(one)}
        return replace(self, members=[*(one for one in self.members if one.id not in new), *new.values()])

    def has(self, entry: Entry) -> bool:
        """Whether an entry is one of them, be it found or not."""
        one = self.members[0]
        if self.thing:
            tells_of_it = _voice(entry) == _voice(one) and _names_all(entry, self.thing)
            return tells_of_it and _lead(entry, self.thing) <= self.lead
        return _Said.of(entry).is_alike(_Said.of(one)) and set(map(hash, self.words)) <= _words_in(entry.text)

    def goes_on(self, entry: Entry) -> bool:
        """Whether an entry tells later, in other words, of what they are about."""
        one = self.newest
        is_later = entry.last_said_at > one.last_said_at and _voice(entry) == _voice(one)
        return is_later and not self.has(entry) and not set(map(hash, self.asked)).isdisjoint(_words_in(entry.text))


def alike_among(entries: Sequence[Entry], question: str, now: datetime) -> Alike | None:
    """The statements alike that the best of these entries, given best first, are of; None where they are few.

    Where a question is for the state of a thing and nothing else, these are all that name it.
    """
    if of_thing := _of_thing(entries, without(question, spans_named(question, now, dates_too=True))):
        return of_thing
    said = [_Said.of(one) for one in entries]
    for seed in said[:_SEEDS]:
        members = [one for one, its in zip(entries, said, strict=True) if its.is_alike(seed)]
        if len(members) >= _FEWEST:
            return _told_apart(members, without(question, spans_named(question, now, dates_too=True)))
    return None


def of_lineage(former: Sequence[Entry], newest: Entry, question: str, alike: Alike | None) -> Alike | None:
    """What took each other's place up to the newest, and with it what is alike it; of `former` what a question of the
    newest may be for, too."""
    asked = _terms_of(question)
    has = [not asked.isdisjoint(terms_in(one.text)) for one in (newest, *former)]
    former = [one for one, its in zip(former, has[1:], strict=True) if its or not has[0]]
    if not former:
        return alike
    known = alike if alike and newest in alike.members else Alike([newest])
    return replace(known, members=[*known.members, *former])


def arranged(
    entries: Sequence[Entry], alike: Alike, question: str, now: datetime, limit: int, relevance: Sequence[float] = ()
) -> list[int]:
    """The places of entries, given best first, with those of statements alike before the others of them that the
    question asks for, and what goes on from them behind the first. The newest is one of the first `limit` always.

    What shares no word with the question, and is much more relevant (`relevance` of each entry, 0 to 1) than the
    newest, was found by what tells one of them from the others. It stays first unless the question says in words which
    it is for.
    """
    order = list(range(len(entries)))
    place = {entry.id: i for i, entry in enumerate(entries)}
    if not (members := [one for one in alike.members if one.id in place]):
        return order
    wanted, alike = Wanted.by(question, now), replace(alike, members=members)
    newest = place[alike.newest.id]
    stands_out = bool(relevance) and max(relevance[place[one.id]] for one in members) - relevance[newest] > _STANDS_OUT
    is_told_apart = stands_out and not (wanted.in_words or alike.asked)
    is_asked_for = (wanted.newest or wanted.first) and not is_told_apart
    first = [place[one.id] for one in wanted.ordered(members)] if is_asked_for else []
    told = [newest, *[i for i, one in enumerate(entries) if alike.goes_on(one)][:_TOLD]]
    top = 0 if alike.thing else min(place[one.id] for one in members)
    if not first:
        first = order[top : max(top + 1, min(top + _TOLD, limit - len(told)))]
    elif wanted.spans:
        told = []
    return list(dict.fromkeys((*order[:top], *first, *told, *order)))


def _of_thing(entries: Sequence[Entry], question: str) -> Alike | None:
    """Those that name the thing whose state is all that a question is for; None where they are few, or it is not."""
    if (rest := without_state(question)) == question.lower() or not (words := words_asked(rest)):
        return None
    thing = [frozenset(map(hash, chain.from_iterable(its))) for its in words.values()]
    if len(naming := [one for one in entries if _names_all(one, thing)]) < _FEWEST:
        return None
    lead = Counter(_lead(one, thing) for one in naming).most_common(1)[0][0]
    alike = Alike(naming[:1], tuple(words), tuple(words), thing, lead)
    members = [one for one in naming if alike.has(one)]
    return replace(alike, members=members) if len(members) >= _FEWEST else None


def _lead(entry: Entry, thing: Sequence[frozenset[int]]) -> frozenset[int]:
    """The terms that a text begins with before it names a thing: none of "Tern is late", one of "Lunch with Tern"."""
    names = frozenset(chain.from_iterable(thing))
    return frozenset(takewhile(lambda term: term not in names, terms_in(entry.text)))


def _names_all(entry: Entry, thing: Sequence[frozenset[int]]) -> bool:
    said = terms_in(entry.text)
    return not any(terms.isdisjoint(said) for terms in thing)


def _is_of(entry: Entry, span: Span) -> bool:
    """Whether an entry was said within a time, or was so then until something took its place."""
    if is_said_within(entry, span.since, span.until):
        return True
    until = entry.valid_until if entry.status == "superseded" else None
    began_before = span.until is None or entry.created_at < span.until
    return until is not None and began_before and (span.since is None or until > span.since)


def _voice(entry: Entry) -> tuple[str, str | None]:
    return entry.role, entry.speaker


def _told_apart(members: Sequence[Entry], question: str) -> Alike | None:
    """Those that have most of what the question names; None where that is one alone."""
    asked = [frozenset(map(hash, chain.from_iterable(its))) for its in words_asked(question).values()]
    named = named_in(identifiers_in(question), [one.text for one in members])
    has = [
        len(its) + sum(not word.isdisjoint(terms_in(one.text)) for word in asked)
        for its, one in zip(named, members, strict=True)
    ]
    best = [one for one, count in zip(members, has, strict=True) if count == max(has)]
    if len(best) < 2:
        return None
    shared = frozenset.intersection(*(_words_in(one.text) for one in best))
    words = [word for word in dict.fromkeys(_words(best[0].text)) if hash(word) in shared][:_MOST_WORDS]
    return Alike(best, words, [word for word in words if not _terms_of(word).isdisjoint(_terms_of(question))])


def _terms_of(text: str) -> frozenset[int]:
    return frozenset(map(hash, chain.from_iterable(chain.from_iterable(words_asked(text).values()))))


class _Said(NamedTuple):
    """Who says something, and hashes of its words."""

    voice: tuple[str, str | None]
    words: frozenset[int]

    @classmethod
    def of(cls, entry: Entry) -> _Said:
        return cls(_voice(entry), _words_in(entry.text))

    def is_alike(self, other: _Said) -> bool:
        here, there = len(self.words), len(other.words)
        if self.voice != other.voice or min(here, there) < _ALIKE * max(here, there, 1):
            return False
        shared = len(self.words & other.words)
        return shared >= _ALIKE * (here + there - shared)


def _words(text: str) -> list[str]:
    words = _SIGN.sub(" ", text[:_BEGINNING].lower()).split()
    return [word for word in words if not _DIGIT.search(word)]


def _first_said_at(entry: Entry) -> tuple[datetime, str]:
    return entry.created_at, entry.id


def _said_at(entry: Entry) -> tuple[datetime, datetime, str]:
    return entry.last_said_at, entry.created_at, entry.id


_words_in = ByText(lambda text: frozenset(map(hash, _words(text))))
