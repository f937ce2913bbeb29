"""All that can be seen of a user in a text store: to be compared before and after, or with what is seen of another."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.ports import Filters, Ref, Scope, Selection, TextStore
from contracts.v1.entries import Entry, Status
from tests.stores.builders import outcomes_of, undecided_of

STATUSES: tuple[Status, ...] = ("active", "archived", "superseded", "forgotten")


async def everything_of(
    store: TextStore, user: str, refs: Sequence[Ref], words: str, alike: Sequence[Entry] = ()
) -> dict[str, object]:
    """By what was proposed or stored, with its place among these in place of its id, and without times of change.

    `words` are searched for, and entries looked up that are `alike`.
    """
    names = {ref.id: place for place, ref in enumerate(refs)}
    entries, outcomes, around = (
        await store.get(refs),
        await outcomes_of(store, refs),
        await store.neighbours(refs, reach=2),
    )
    found = [await store.search(Scope(user, its), words, limit=50, filters=Filters()) for its in ("default", "work")]
    pages = [await store.page(Selection(user, status=status), limit=50, cursor=None) for status in STATUSES]
    log = await store.export_log(user, after=None, limit=50)
    similar = await store.find_similar(alike)
    return {
        "entries": {names[i]: (e.text, e.tags, e.status, e.version, e.repeat_count) for i, e in entries.items()},
        "outcomes": {names[i]: (o.kind, names.get(o.entry_id or ""), o.reason) for i, o in outcomes.items()},
        "undecided": [names[proposal.id] for proposal in await undecided_of(store, refs)],
        "hits": [sorted((names[h.id], round(h.score, 9), h.turn_score, h.coverage) for h in hits) for hits in found],
        "near": {names[i]: {far: names[near] for far, near in window.items()} for i, window in around.items()},
        "pages": [(page.total, [names[entry.id] for entry in page.entries]) for page in pages],
        "similar": {place: {names[e.id] for e in its.entries} for place, its in enumerate(similar) if its.entries},
        "suppressed": {place for place, its in enumerate(similar) if its.suppressed},
        "log": [(r.turn.text, r.turn.redacted, [(d.proposal.text, bool(d.outcome)) for d in r.proposals]) for r in log],
        "exported": len(await store.export_entries(user, after=None, limit=50)),
        "counts": await store.counts(user),
        "traces": await store.count_remaining(user),
    }
