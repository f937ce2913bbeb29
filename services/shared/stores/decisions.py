"""Whom decisions and references are about, whatever the engine that carries them out."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.ports import Accepted, Decision, Merged, Ref


def owners(refs: Iterable[Ref]) -> dict[str, str]:
    """User by id."""
    return {ref.id: ref.user_id for ref in refs}


def proposal_of(decision: Decision) -> Ref:
    """What a decision is about."""
    return decision.entry if isinstance(decision, Accepted) else decision.proposal


def canonical_entries(decisions: Iterable[Decision]) -> dict[str, str]:
    """The entries that repeats are merged into, as user by id."""
    return {decision.canonical_id: decision.proposal.user_id for decision in decisions if isinstance(decision, Merged)}
