"""Whom verdicts and references are about, whatever the engine that carries them out."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.ports import Accepted, Merged, Ref, Verdict


def owners(refs: Iterable[Ref]) -> dict[str, str]:
    """User by id."""
    return {ref.id: ref.user_id for ref in refs}


def proposal_of(verdict: Verdict) -> Ref:
    """What a verdict is about."""
    return verdict.entry if isinstance(verdict, Accepted) else verdict.proposal


def canonical_entries(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """The entries that repeats are merged into, as user by id."""
    return {verdict.canonical_id: verdict.proposal.user_id for verdict in verdicts if isinstance(verdict, Merged)}
