"""What decisions come to, given what is known: thought through in memory, in order, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.ports import Accepted, Decision, Merged, Outcome, Ref, Refused
from contracts.v1.entries import Entry
from contracts.values import successor
from services.shared.stores.decisions import proposal_of
from services.shared.stores.opensearch.entries import Stored
from services.shared.stores.opensearch.transport import Version
from services.shared.stores.scopes import scope_key


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored about the proposals and canonical entries of some decisions."""

    noted: Mapping[str, Outcome]
    """Outcomes that hold and are carried through, by proposal."""

    decided: Mapping[str, Outcome]
    """Decisions that hold, carried through or not."""

    open: Mapping[str, str]
    """The scope of each proposal without a noted outcome."""

    entries: Mapping[str, Stored]
    taken: Collection[str]
    """Ids under which another user has an entry."""

    fences: Mapping[str, Version]
    """What bars the way of proposals that were taken for given up, by proposal."""


@dataclass(slots=True)
class Draft:
    """An entry with the changes of this call."""

    entry: Entry
    merged: list[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, in this order, and what holds then (`settled`), all by the id of proposal or entry."""

    accepted: dict[str, Accepted] = field(default_factory=dict)
    markers: dict[str, tuple[str, Outcome]] = field(default_factory=dict)
    """Decisions other than to store, with the user."""

    changed: dict[str, Draft] = field(default_factory=dict)
    notes: dict[str, tuple[str, Outcome]] = field(default_factory=dict)
    settled: dict[str, Outcome] = field(default_factory=dict)


def plan(decisions: Sequence[Decision], known: Known, *, without: Collection[str] = ()) -> Plan:
    """What the decisions come to, if the entries `without` cannot be accepted.

    Raises:
        ValueError: an accepted entry has the id of another user's, or a change makes an entry somebody else's.
    """
    planner = _Planner(known, without)
    for decision in decisions:
        planner.add(decision)
    return planner.plan


class _Planner:
    def __init__(self, known: Known, without: Collection[str]) -> None:
        self.plan = Plan()
        self._known = known
        self._without = without
        self._drafts = {id_: Draft(stored.entry, list(stored.merged)) for id_, stored in known.entries.items()}

    def add(self, decision: Decision) -> None:
        """Let a decision follow on those before it; the first on a proposal that comes to something is the one."""
        id_ = proposal_of(decision).id
        if id_ in self.plan.settled:
            return
        if id_ in self._known.noted:
            self.plan.settled[id_] = self._known.noted[id_]
        elif id_ in self._known.decided:
            self._finish(decision, self._known.decided[id_])
        elif isinstance(decision, Accepted):
            self._accept(decision)
        elif id_ in self._known.open:
            self._refuse(decision) if isinstance(decision, Refused) else self._merge(decision)

    def _finish(self, decision: Decision, settled: Outcome) -> None:
        """Carry a decision through that was made before, whatever is decided now."""
        if settled.kind == "merged" and settled.entry_id and isinstance(decision, Merged):
            self._count(settled.proposal_id, settled.entry_id, decision.change)
        self._decide(proposal_of(decision), settled)

    def _accept(self, decision: Accepted) -> None:
        entry = decision.entry
        if entry.id in self._known.taken:
            raise ValueError(f"entry {entry.id!r} is another user's")
        if entry.id in self._without or self._was_removed(decision):
            return
        self.plan.accepted[entry.id] = decision
        self._drafts[entry.id] = Draft(entry, [])
        self._decide(entry, Outcome(entry.id, "stored", entry.id))

    def _was_removed(self, decision: Accepted) -> bool:
        """Whether what was judged is not in the log: its user was erased meanwhile."""
        return decision.known_similar is not None and decision.entry.id not in self._known.open

    def _merge(self, decision: Merged) -> None:
        draft = self._drafts.get(decision.canonical_id)
        if draft is None or _scope(draft.entry) != self._known.open[decision.proposal.id]:
            return
        if decision.change is not None and draft.entry.status != "active":
            return
        settled = Outcome(decision.proposal.id, "merged", decision.canonical_id)
        self.plan.markers[settled.proposal_id] = (decision.proposal.user_id, settled)
        self._count(settled.proposal_id, decision.canonical_id, decision.change)
        self._decide(decision.proposal, settled)

    def _count(self, proposal_id: str, canonical_id: str, change: Callable[[Entry], Entry] | None) -> None:
        """Change a canonical entry, unless it counts this proposal already or has gone out of use meanwhile."""
        draft = self._drafts.get(canonical_id)
        if change is None or draft is None or proposal_id in draft.merged or draft.entry.status != "active":
            return
        draft.entry = successor(draft.entry, change(draft.entry))
        draft.merged.append(proposal_id)
        self.plan.changed[canonical_id] = draft

    def _refuse(self, decision: Refused) -> None:
        settled = Outcome(decision.proposal.id, "refused", None, decision.reason)
        self.plan.markers[settled.proposal_id] = (decision.proposal.user_id, settled)
        self._decide(decision.proposal, settled)

    def _decide(self, proposal: Ref, settled: Outcome) -> None:
        self.plan.settled[settled.proposal_id] = settled
        if settled.proposal_id in self._known.open:
            self.plan.notes[settled.proposal_id] = (proposal.user_id, settled)


def _scope(entry: Entry) -> str:
    return scope_key(entry.user_id, entry.space, entry.persona_id)
