"""What decisions come to, given what is stored: thought through in memory, in order, before anything is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.ports import Accepted, Decision, Merged, Outcome, Ref
from contracts.v1.entries import Entry
from contracts.values import successor
from services.shared.dedup.repeats import likeness
from services.shared.lifecycle.sayings import repeated_by
from services.shared.stores.scopes import scope_key


def owners(refs: Iterable[Ref]) -> dict[str, str]:
    """User by id."""
    return {ref.id: ref.user_id for ref in refs}


def proposal_of(decision: Decision) -> Ref:
    """What a decision is about."""
    return decision.entry if isinstance(decision, Accepted) else decision.proposal


def canonical_entries(decisions: Iterable[Decision]) -> dict[str, str]:
    """The entries that repeats are merged into, as user by id."""
    return {one.canonical_id: one.proposal.user_id for one in decisions if isinstance(one, Merged)}


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored about the proposals and canonical entries of some decisions, by id.

    `outcomes` are those that proposals have; `open` is the scope (`scopes.scope_key`) of each proposal without one;
    `entries` are canonical entries, and accepted ones that are stored already; `counted` are the proposals that each
    entry is known to count, where the engine keeps them.
    """

    outcomes: Mapping[str, Outcome]
    open: Mapping[str, str]
    entries: Mapping[str, Entry]
    counted: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, by id, and what holds then.

    `accepted` are the decisions whose entries are new, `written` the entries to store, new and changed, as they are at
    the end of the call, `counted` the proposals that each of them counts since then. `outcomes` holds what becomes of
    each proposal that is decided, `noted` those of them that are to be noted now.
    """

    accepted: dict[str, Accepted] = field(default_factory=dict)
    written: dict[str, Entry] = field(default_factory=dict)
    counted: dict[str, list[str]] = field(default_factory=dict)
    noted: dict[str, Outcome] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def of(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """What holds for each of the decisions; those that have to be judged again are left out."""
        ids = [proposal_of(decision).id for decision in decisions]
        return [self.outcomes[id_] for id_ in ids if id_ in self.outcomes]


def plan(decisions: Sequence[Decision], known: Known, *, without: Collection[str] = ()) -> Plan:
    """What the decisions come to, if the entries `without` cannot be accepted.

    A proposal keeps the outcome that it has. One that is merged into an entry which is not active (any more), or not in
    the same scope, or that was never logged, comes to nothing.
    """
    planner = _Planner(known, without)
    for decision in decisions:
        planner.add(decision)
    return planner.plan


class _Planner:
    def __init__(self, known: Known, without: Collection[str]) -> None:
        self.plan = Plan(outcomes=dict(known.outcomes))
        self._known = known
        self._without = without
        self._entries = dict(known.entries)
        self._makers: dict[object, list[str]] = defaultdict(list)

    def add(self, decision: Decision) -> None:
        """Let a decision follow on those before it; the first on a proposal that comes to something is the one."""
        id_ = proposal_of(decision).id
        if id_ in self.plan.outcomes:
            return
        if outcome := self._outcome(id_, decision):
            self.plan.outcomes[id_] = outcome
            if id_ in self._known.open:
                self.plan.noted[id_] = outcome

    def _outcome(self, id_: str, decision: Decision) -> Outcome | None:
        if id_ in self._known.entries:  # a call that was broken off has stored it
            return Outcome(id_, "stored", id_)
        if isinstance(decision, Accepted):
            return self._accept(decision)
        if id_ not in self._known.open:
            return None
        return self._merge(decision) if isinstance(decision, Merged) else Outcome(id_, "refused", None, decision.reason)

    def _accept(self, accepted: Accepted) -> Outcome | None:
        entry, makers = accepted.entry, self._makers[_statement(accepted.entry)]
        if entry.id in self._without:
            return None
        # Judged on what was known then: its turn may have left the log, or one before it have made the same statement.
        if accepted.known_similar is not None and (
            entry.id not in self._known.open or not accepted.known_similar.issuperset(makers)
        ):
            return None
        if entry.statement_hash:
            makers.append(entry.id)
        self.plan.accepted[entry.id] = accepted
        self._entries[entry.id] = self.plan.written[entry.id] = entry
        return Outcome(entry.id, "stored", entry.id)

    def _merge(self, merged: Merged) -> Outcome | None:
        canonical, id_ = self._entries.get(merged.canonical_id), merged.proposal.id
        if canonical is None or _scope(canonical) != self._known.open[id_]:
            return None
        counted = self.plan.counted.get(canonical.id, [])
        if merged.repeat is not None and id_ not in (*self._known.counted.get(canonical.id, ()), *counted):
            if canonical.status != "active" or _says_otherwise(canonical, merged.repeat):
                return None
            renewed = successor(canonical, repeated_by(canonical, merged.repeat))
            self._entries[canonical.id] = self.plan.written[canonical.id] = renewed
            self.plan.counted[canonical.id] = [*counted, id_]
        return Outcome(id_, "merged", canonical.id)


def _statement(entry: Entry) -> tuple[str | None, ...]:
    return _scope(entry), entry.role, entry.speaker, entry.statement_hash


def _says_otherwise(canonical: Entry, repeat: Entry) -> bool:
    """Whether the text of an entry was changed after a repeat of it was found."""
    return canonical.edited_at is not None and likeness(canonical, repeat) is None


def _scope(entry: Entry) -> str:
    return scope_key(entry.user_id, entry.space, entry.persona_id)
