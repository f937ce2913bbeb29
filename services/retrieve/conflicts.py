"""The other halves of open conflicts: who is shown one of two statements that cannot both be true is shown both.

So is who is shown a statement that holds but for a part, and what replaced that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.v1.entries import Entry
from services.shared.lifecycle.lineage import changed_in_part_by
from services.shared.ranking.scoring import Ranked

_MOST = 8


def other_halves(chosen: Sequence[Ranked], entries: Mapping[str, Entry]) -> list[str]:
    """The ids of what the chosen entries conflict with or were changed by in part, and that is not among them."""
    here = {one.candidate.id for one in chosen}
    named = (other for one in chosen for other in _halves(entries[one.candidate.id]))
    return list(dict.fromkeys(id_ for id_ in named if id_ not in here))[:_MOST]


def with_halves(chosen: Sequence[Ranked], halves: Sequence[Ranked], entries: Mapping[str, Entry]) -> list[Ranked]:
    """The chosen ones, and behind each its other halves, which the question did not find."""
    row = list(chosen)
    for half in sorted(halves, key=lambda one: entries[one.candidate.id].created_at):
        beside = (entries[one.candidate.id] for one in row)
        place = next(place for place, one in enumerate(beside) if half.candidate.id in _halves(one))
        row.insert(place + 1, half)
    return row


def _halves(entry: Entry) -> tuple[str, ...]:
    newer = changed_in_part_by(entry)
    return entry.conflicts_with if newer is None else (*entry.conflicts_with, newer)
