"""What was true at an earlier moment and was changed since: found by what changed it.

What is superseded is in no index. The statement that superseded it is about the same thing, and stands in for it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from contracts.errors import Unavailable
from contracts.ports import EntryStore, Filters, Key, LexicalHit, Scope, Selection, SemanticHit, VectorStore
from contracts.v1.entries import Entry
from services.retrieve.legs import Legs, Memory, by_id
from services.shared.lifecycle.lineage import superseded_after, was_rejected

H = TypeVar("H", LexicalHit, SemanticHit)

_LOOKED_AT = 24
"""Later statements of each leg that may have changed something."""

_LONGEST_LINEAGE = 16
_MOST_PAGES = 8
_PAGE = 128
"""Entries out of use that are read at once, those said last first."""


async def superseded_up_to(newest: Entry, scope: Scope, store: EntryStore) -> list[Entry]:
    """What was so before this entry was said, as far as each took the place of the one before."""
    out_of_use = Selection(scope.user_id, scope.space, scope.persona_id or "", status="superseded")
    found, known, cursor = list[Entry](), dict[str, Entry](), None
    wanted = set(newest.supersedes)
    for _ in range(_MOST_PAGES if wanted else 0):
        page = await store.page(out_of_use, limit=_PAGE, cursor=cursor)
        known |= {entry.id: entry for entry in page.entries}
        while here := [known.pop(id_) for id_ in wanted & known.keys()]:
            found += here
            wanted = wanted.difference(one.id for one in here).union(*(one.supersedes for one in here))
        if not wanted or (cursor := page.cursor) is None:
            break
    return [one for one in found if not was_rejected(one)]


async def with_former(
    legs: Legs,
    query: str,
    scope: Scope,
    moment: datetime,
    *,
    store: Memory,
    vectors: VectorStore | None,
    patience: float,
) -> Legs:
    """The legs, and in them what was in use at the moment, in place of what superseded it later.

    They stay as they are while a store is away.
    """
    later, meanings = Filters(since=moment), list[SemanticHit]()
    try:
        async with asyncio.timeout(patience):
            words = await store.search(scope, query, limit=_LOOKED_AT, filters=later)
            if vectors is not None and legs.query_vector is not None:
                meanings += await vectors.search(scope, legs.query_vector, limit=_LOOKED_AT, filters=later)
            then = await _in_use_then(scope, {hit.id for hit in words} | {hit.id for hit in meanings}, moment, store)
    except (Unavailable, TimeoutError):
        return legs
    lexical = [hit._replace(id=former, neighbours={}) for hit in words for former in then[hit.id]]
    semantic = [hit._replace(id=former) for hit in meanings for former in then[hit.id]]
    lexical = _once(sorted([*legs.lexical, *lexical], key=lambda hit: -hit.score))
    semantic = _once(sorted([*legs.semantic, *semantic], key=lambda hit: -hit.cosine))
    return replace(
        legs, lexical=lexical, semantic=semantic, lexical_by_id=by_id(lexical), semantic_by_id=by_id(semantic)
    )


def _once(hits: Sequence[H]) -> list[H]:
    """Each statement once, where it stands first."""
    first: dict[str, H] = {}
    for hit in hits:
        first.setdefault(hit.id, hit)
    return list(first.values())


async def _in_use_then(
    scope: Scope, later: Collection[str], moment: datetime, store: EntryStore
) -> dict[str, list[str]]:
    """By id of what was said later: the ids of what it superseded, by and by, that was in use at the moment."""
    then: dict[str, list[str]] = defaultdict(list)
    lineage = {id_: {id_} for id_ in later}  # by id of a statement those later ones that its change leads to
    for _ in range(_LONGEST_LINEAGE):
        held = await store.get([Key(scope.user_id, id_) for id_ in lineage]) if lineage else {}
        former: dict[str, set[str]] = defaultdict(set)
        for entry in held.values():
            if superseded_after(entry, moment):
                for id_ in lineage[entry.id]:
                    then[id_].append(entry.id)
            for older in entry.supersedes if entry.created_at > moment else ():
                former[older] |= lineage[entry.id]
        lineage = dict(former)
    return then
