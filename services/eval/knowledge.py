"""How much of what a reader noted of a chat is known, and how much of what is told is so. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.eval.labels import Claim, Labels
from services.shared.reading.matching import Noted, told_right, words


class Share(NamedTuple):
    """So many of so many."""

    many: int = 0
    of: int = 0

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.many / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact that is told, of the turns that say it; `owner` is empty for the user. `holds`: it is so now."""

    turns: frozenset[str]
    value: str
    slot: str
    owner: str = ""
    holds: bool = True
    is_likely: bool = False


@dataclass(frozen=True, slots=True)
class ToldTask:
    """Something to do, or done, that is told."""

    turns: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """All that is told of a chat. `is_whole`: nothing of it was left out of an answer."""

    facts: Sequence[ToldFact] = ()
    tasks: Sequence[ToldTask] = ()
    is_whole: bool = True


@dataclass(slots=True)
class _Held:
    """By number: the claims that are told, each by the first that tells it, and what is told right, and of no fact."""

    found: dict[int, int] = field(default_factory=dict)
    right: set[int] = field(default_factory=set)
    unreal: set[int] = field(default_factory=set)


def shares(labels: Labels, told: Told) -> dict[str, Share]:
    """What is told of a chat, held against its labels turn by turn."""
    facts = [fact for fact in told.facts if not fact.is_likely]
    sure, all_told = _held(labels, facts), _held(labels, told.facts)
    tasks = _tasks_held(labels, told.tasks)
    pairs = [(labels.claims[claim], told.facts[fact]) for claim, fact in all_told.found.items()]
    return {
        "recall": Share(len(sure.found), len(labels.claims)),
        "recall_with_likely": Share(len(all_told.found), len(labels.claims)),
        "precision": Share(len(sure.right), len(facts)),
        "precision_with_likely": Share(len(all_told.right), len(told.facts)),
        "right_slot": _share(fact.slot == claim.slot for claim, fact in pairs),
        "right_owner": _share(_is_owner(fact, claim) for claim, fact in pairs),
        "unreal": Share(len(all_told.unreal), len(told.facts)),
        "task_recall": Share(len(tasks.found), len(labels.tasks)),
        "task_precision": Share(len(tasks.right), len(told.tasks)),
        "changed_present": _share(_is_told_now(claim, told) for claim in _present(labels)),
        "changed_still_old": _share(_is_told_now(claim, told) for claim in _replaced(labels)),
        "facts_a_chat": Share(len(facts), 1),
        "likely_a_chat": Share(len(told.facts) - len(facts), 1),
    }


def summed(of: Iterable[Mapping[str, Share]]) -> dict[str, Share]:
    """The shares over all chats: counts are added up, so that a claim weighs the same in each."""
    found: dict[str, Share] = {}
    for one in of:
        for name, share in one.items():
            before = found.get(name, Share())
            found[name] = Share(before.many + share.many, before.of + share.of)
    return found


def _share(values: Iterable[bool]) -> Share:
    held = list(values)
    return Share(sum(held), len(held))


def _held(labels: Labels, facts: Sequence[ToldFact]) -> _Held:
    claims = [(claim.turn, Noted(claim.value, claim.slot)) for claim in labels.claims]
    others = [(one.turn, Noted(one.value, one.why)) for one in labels.not_claims]
    held = _matched([(fact.turns, fact.value) for fact in facts], claims, others)
    whole = {one.turn for one in labels.not_claims if not one.value}
    held.unreal |= {number for number, fact in enumerate(facts) if fact.turns & whole}
    held.unreal -= held.right
    return held


def _tasks_held(labels: Labels, tasks: Sequence[ToldTask]) -> _Held:
    noted = [(task.turn, Noted(task.words, "task")) for task in labels.tasks]
    return _matched([(task.turns, task.text) for task in tasks], noted)


def _matched(
    told: Sequence[tuple[frozenset[str], str]],
    noted: Sequence[tuple[str, Noted]],
    others: Sequence[tuple[str, Noted]] = (),
) -> _Held:
    """What is told held against what was noted of the same turn; right in one of its turns is right."""
    held = _Held()
    for turn in sorted({turn for turns, _ in told for turn in turns}):
        here = [number for number, (turns, _) in enumerate(told) if turn in turns]
        known = [number for number, (its, _) in enumerate(noted) if its == turn]
        not_so = [one for its, one in others if its == turn]
        matches = told_right([told[number][1] for number in here], [noted[number][1] for number in known], not_so)
        for number, match in zip(here, matches, strict=True):
            held.right |= {number} if match.is_right else set()
            held.unreal |= {number} if match.is_unreal else set()
            if match.claim is not None:
                held.found[known[match.claim]] = number
    return held


def _is_owner(fact: ToldFact, claim: Claim) -> bool:
    """Whether both are of the user, or are called alike: they have a word in common."""
    if claim.of_user or not fact.owner:
        return claim.of_user and not fact.owner
    return not words(fact.owner).isdisjoint(words(claim.about))


def _present(labels: Labels) -> Iterator[Claim]:
    """The claims that changed a value, and are so now."""
    return (claim for claim in labels.claims if claim.replaces and claim.until is None)


def _replaced(labels: Labels) -> list[Claim]:
    """The claims that ended, of whose turn and slot a value was changed."""
    changed = {(claim.replaces, claim.slot) for claim in labels.claims if claim.replaces}
    return [claim for claim in labels.claims if claim.until and (claim.turn, claim.slot) in changed]


def _is_told_now(claim: Claim, told: Told) -> bool:
    """Whether a fact of the same turn says that it is so."""
    now = [fact.value for fact in told.facts if fact.holds and claim.turn in fact.turns]
    return any(match.is_right for match in told_right(now, [Noted(claim.value, claim.slot)]))
