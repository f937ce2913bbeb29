"""The to-dos of a user: what was read in their entries to be done, and whether a later entry ended it. Pure.

Two things that one sentence says are to be done are one to-do: it is done once both are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from operator import attrgetter

from contracts.v1.claims import Change, Claim, Place
from contracts.v1.entries import Entry
from contracts.v1.loops import State
from services.shared.context.summaries import in_order
from services.shared.temporal.due import due_on

TASK_SURE = 0.4
"""How sure it must be that something is to be done: three of four are what a reader notes."""

_Ended = tuple[Change, Entry]


@dataclass(frozen=True, slots=True)
class Task:
    """What a sentence of an entry says is to be done; open until later entries ended each thing that it names.

    `closed_by` is the last of these; None where the user decided it (`decided`).
    """

    entry: Entry
    claims: tuple[Claim, ...]
    state: State = "open"
    closed_by: Entry | None = None
    decided: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is still to be done."""
        return self.state == "open"

    @property
    def sentence(self) -> Place:
        """Where its entry says it."""
        return self.claims[0].sentence

    @property
    def text(self) -> str:
        """The sentence, in the user's own words."""
        return self.entry.text[slice(*self.sentence)]

    @property
    def id(self) -> str:
        """What it is named by: its entry, and a hash of the sentence, which may be one of several."""
        return f"{self.entry.id}:{blake2b(self.text.encode(), digest_size=8).hexdigest()}"

    @property
    def due_on(self) -> date | None:
        """The day by which it is due, as its sentence tells, from when that was said last."""
        return due_on(self.text, self.entry.last_said_at)


def tasks_of(entries: Iterable[Entry], settled: Mapping[str, State] | None = None) -> list[Task]:
    """What was to be done, in the order in which it was said, each open unless later ones of these entries end it.

    `settled` is what the user decided, by id: of these nothing said later is of account. What is said again after it
    was done is to be done again.
    """
    entries = in_order(entries)
    ended: defaultdict[str, list[_Ended]] = defaultdict(list)
    for entry in entries:
        for change in entry.changes if entry.status == "active" else ():
            if change.kind == "task" and change.entry_id in entry.supersedes:
                ended[change.entry_id].append((change, entry))
    found = [
        _as_ended(Task(entry, claims), ended.get(entry.id, ())) for entry in entries for claims in _by_sentence(entry)
    ]
    decided = [_as_decided(one, (settled or {}).get(one.id)) for one in found]
    return [one for one in decided if one.entry.status == "active" or one.decided or not one.is_open]


def closed_by(entries: Iterable[Entry]) -> set[tuple[str, str]]:
    """User and id of the entries that had something to be done which these ended: they may be out of use by that."""
    changes = ((entry, change) for entry in entries if entry.status == "active" for change in entry.changes)
    return {(by.user_id, one.entry_id) for by, one in changes if one.kind == "task" and one.entry_id in by.supersedes}


def _by_sentence(entry: Entry) -> Iterable[tuple[Claim, ...]]:
    """The tasks that an entry of its user claims, sentence by sentence."""
    of: defaultdict[Place, list[Claim]] = defaultdict(list)
    if entry.role == "user" and entry.status in ("active", "superseded"):
        for claim in entry.claims:
            if claim.kind == "task" and claim.confidence >= TASK_SURE and claim.is_within((0, len(entry.text))):
                of[claim.sentence].append(claim)
    return map(tuple, of.values())


def _as_ended(task: Task, ended: Sequence[_Ended]) -> Task:
    closing = [_ending(task.entry, claim, ended) for claim in task.claims]
    if any(one is None for one in closing):
        return task
    last = max(filter(None, closing), key=attrgetter("last_said_at", "id"))
    return Task(task.entry, task.claims, "done", last)


def _ending(of: Entry, claim: Claim, ended: Sequence[_Ended]) -> Entry | None:
    """The first entry that ended a claim, and was not said before that was said last."""
    for change, entry in ended:
        is_meant = change.value[0] < claim.value[1] and claim.value[0] < change.value[1]
        if is_meant and entry.last_said_at >= of.last_said_at:
            return entry
    return None


def _as_decided(task: Task, state: State | None) -> Task:
    return task if state is None else Task(task.entry, task.claims, state, decided=True)
