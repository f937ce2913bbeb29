"""What a session amounts to, and all sessions of a space: chosen by what is known from their entries. Pure, no model.

Every sentence is a verbatim part of an entry and names it. Nothing here judges a tone: nothing was learned that does so
honestly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from contracts.v1.claims import Claim
from contracts.v1.entries import Entry
from contracts.v1.loops import State
from services.shared.context.summaries import ONE_LINE, Sentence, clipped, in_order, in_time, most_telling, sentence_at
from services.shared.knowledge.profile import LIKELY, ClaimedFact, claimed, kind_of
from services.shared.knowledge.tasks import Task, tasks_of

_MATTERS, _IN_A_SECTION, _NAMED = 5, 8, 12

_Section = Literal["people", "projects", "profile"]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a session amounts to. `open_loops` are what nothing later in it ended, `commitments` plans, appointments,
    deadlines and decisions."""

    one_liner: Sentence | None = None
    what_mattered: tuple[Sentence, ...] = ()
    open_loops: tuple[Sentence, ...] = ()
    commitments: tuple[Sentence, ...] = ()
    people: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class Spine:
    """All sessions of a space in four sections; a sentence stands in one of them."""

    profile: tuple[Sentence, ...] = ()
    projects: tuple[Sentence, ...] = ()
    people: tuple[Sentence, ...] = ()
    open_loops: tuple[Sentence, ...] = ()


def session_summary(entries: Iterable[Entry], settled: Mapping[str, State] | None = None) -> SessionSummary:
    """The summary of the entries of a session. `settled` is what the user decided of to-dos, by id."""
    said = in_order(entries)
    best = most_telling(said, limit=1)
    planned = (one for one in _present(said) if kind_of(one.claim.slot).fact_type == "commitment")
    return SessionSummary(
        one_liner=clipped(best[0], ONE_LINE) if best else None,
        what_mattered=most_telling(said, limit=_MATTERS),
        open_loops=_open(tasks_of(said, settled)),
        commitments=_newest(map(_sentence, planned)),
        people=_people(said),
    )


def spine_of(entries: Iterable[Entry], settled: Mapping[str, State] | None = None) -> Spine:
    """The spine of a space: what is so of its user, of others and of projects, and what is still to be done.

    `settled` is what the user decided of to-dos, by id.
    """
    said = in_order(entries)
    open_loops = _open(tasks_of(said, settled))
    taken = {one.text for one in open_loops}
    sections: dict[_Section, list[Sentence]] = {"people": [], "projects": [], "profile": []}
    for fact in sorted(_present(said), key=_worth, reverse=True):
        sentence, section = _sentence(fact), sections[_section(fact)]
        if sentence.text not in taken and len(section) < _IN_A_SECTION:
            taken.add(sentence.text)
            section.append(sentence)
    return Spine(open_loops=open_loops, **{name: in_time(found) for name, found in sections.items()})


def _present(said: Iterable[Entry]) -> Iterator[ClaimedFact]:
    """What is surely so now, the newest first."""
    return (one for one in claimed(said) if one.state == "sure" and one.until is None)


def _worth(fact: ClaimedFact) -> tuple[int, float]:
    return kind_of(fact.claim.slot).level, fact.claim.confidence


def _section(fact: ClaimedFact) -> _Section:
    subject = kind_of(fact.claim.slot).subject
    if subject == "project":
        return "projects"
    return "people" if subject == "people" or not fact.claim.of_user else "profile"


def _sentence(fact: ClaimedFact) -> Sentence:
    return sentence_at(fact.entry, fact.claim.sentence, fact.claim.value)


def _open(tasks: Iterable[Task]) -> tuple[Sentence, ...]:
    return _newest(sentence_at(one.entry, one.sentence, one.claims[0].value) for one in tasks if one.is_open)


def _newest(found: Iterable[Sentence]) -> tuple[Sentence, ...]:
    return in_time({one.text: one for one in found}.values())[-_IN_A_SECTION:]


def _people(said: Sequence[Entry]) -> tuple[Sentence, ...]:
    """The people who are named in what is claimed: whose it is, and names that the annotator found in it."""
    found: dict[str, Sentence] = {}
    for entry in said:
        for claim in entry.claims:
            for name in _names(claim, entry) if claim.kind == "fact" and claim.confidence >= LIKELY else ():
                named = clipped(Sentence(name, (entry.id,), entry.role, entry.created_at), ONE_LINE)
                found.setdefault(named.text.casefold(), named)
    return tuple(found.values())[:_NAMED]


def _names(claim: Claim, entry: Entry) -> Iterator[str]:
    whose = entry.text[slice(*claim.whose)] if claim.whose and not claim.of_user else ""
    if whose.strip() and kind_of(claim.slot).subject == "people":
        yield whose
        return
    stated = f"{entry.text[slice(*claim.value)]} {whose}"
    yield from (one.text for one in entry.entities if one.label == "PERSON" and one.text in stated)
