"""Comparing log, entries and vectors over the bus, page by page, and having put right what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, get_args

from contracts.v1.commands import Difference, Kind, ReconcileReply, ReconcileRequest, Side
from services.shared.commands.progress import Progress, untold
from services.shared.commands.publishing import Bus, Stalled, until_digested

SIDES: tuple[Side, ...] = get_args(Side)
_EXAMPLES = 3
_STALL = 30.0


class Client(Bus, Protocol):
    """What comparing and putting right need of a client."""

    async def reconcile(self, request: ReconcileRequest) -> ReconcileReply: ...


@dataclass(slots=True)
class Found:
    """What was looked at, by side, and what differs, by kind, with a few examples of each."""

    looked_at: Counter[Side] = field(default_factory=Counter)
    differences: Counter[Kind] = field(default_factory=Counter)
    examples: dict[Kind, list[Difference]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many differences there are."""
        return self.differences.total()

    def add(self, side: Side, page: ReconcileReply) -> None:
        """Count one more page."""
        self.looked_at[side] += page.looked_at
        for one in page.differences:
            self.differences[one.kind] += 1
            kept = self.examples.setdefault(one.kind, [])
            if len(kept) < _EXAMPLES:
                kept.append(one)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What differed, and with --fix what still does afterwards; `stalled` says why it was not waited for any longer."""

    found: Found
    left: Found | None = None
    stalled: str | None = None

    @property
    def is_well(self) -> bool:
        """Whether nothing differs now."""
        return not (self.left or self.found).total


async def reconciled(client: Client, progress: Progress = untold, *, fix: bool, stall: float = _STALL) -> Outcome:
    """Compare; with `fix` put right what differs, wait until that is done, and compare once more.

    Raises:
        RequestFailed, Unavailable: memorybus could not compare; what it put right until then is.
    """
    found = await compared(client, progress, fix=fix)
    if not fix or not found.total:
        return Outcome(found)
    stalled = None
    try:
        await until_digested(client, stall=stall)
    except Stalled as error:
        stalled = str(error)
    return Outcome(found, await compared(client, progress, fix=False), stalled)


async def compared(client: Client, progress: Progress, *, fix: bool) -> Found:
    """All pages of all sides, with a bar for each side."""
    counts, found = await client.status(), Found()
    totals: Mapping[Side, int] = {"log": counts.turns, "entries": counts.entries, "vectors": counts.vectors}
    for side in SIDES:
        what = f"{'fixing' if fix else 'comparing'} {side}"
        after: str | None = ""
        while after is not None:
            page = await client.reconcile(ReconcileRequest(side=side, after=after, fix=fix))
            found.add(side, page)
            after, seen = page.after, found.looked_at[side]
            note = f"{found.total:,} differ" if found.total else ""
            progress(what, seen, max(seen, totals[side]) if after else seen, note=note)
    return found
