"""The other halves of open conflicts: who is shown one of two statements that cannot both be true is shown both.

So is who is shown a statement that holds but for a part, and what replaced that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.v1.entries import Entry
from services.shared.entities.identifiers import identifiers_in, named_in
from services.shared.language.analysis import telling_terms
from services.shared.language.traits import terms_in
from services.shared.lifecycle.lineage import changed_in_part_by, outdated_facts
from services.shared.ranking.scoring import Ranked

_MOST = 8


def other_halves(chosen: Sequence[Ranked], entries: Mapping[str, Entry]) -> list[str]:
    """The ids of what the chosen entries conflict with or were changed by in part, and that is not among them."""
    here = {one.candidate.id for one in chosen}
    named = (other for one in chosen for other in _halves(entries[one.candidate.id]))
    return list(dict.fromkeys(id_ for id_ in named if id_ not in here))[:_MOST]


def with_halves(
    chosen: Sequence[Ranked],
    halves: Sequence[Ranked],
    entries: Mapping[str, Entry],
    question: str,
    *,
    newest_first: bool,
) -> list[Ranked]:
    """The chosen ones, and beside each the other half: a newer one before it, or behind it without `newest_first`.

    What replaced only a part that is not asked for stands behind, too, and what lacks a code that the question names.
    """
    row, codes = list(chosen), identifiers_in(question)
    for half in sorted(halves, key=lambda one: entries[one.candidate.id].created_at):
        entry = entries[half.candidate.id]
        beside = (entries[one.candidate.id] for one in row)
        place, named = next((i, one) for i, one in enumerate(beside) if entry.id in _halves(one))
        is_beside = entry.id not in named.conflicts_with and not _asks_for_outdated(question, named)
        new, old = named_in(codes, [entry.text, named.text])
        is_behind = is_beside or entry.created_at < named.created_at or bool(old - new)
        row.insert(place + (not newest_first or is_behind), half)
    return row


def _asks_for_outdated(question: str, entry: Entry) -> bool:
    """Whether a question may be for what of an entry is so no longer: always, where nobody knows what that is."""
    outdated = outdated_facts(entry)
    asked = frozenset(map(hash, telling_terms(question)))
    return not outdated or any(not asked.isdisjoint(terms_in(fact)) for fact in outdated)


def _halves(entry: Entry) -> tuple[str, ...]:
    newer = changed_in_part_by(entry)
    return entry.conflicts_with if newer is None else (*entry.conflicts_with, newer)
