"""Has entries embedded, once or again, as events say it to the stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.ports import Embedder, Ref, TextStore
from contracts.v1.entries import Entry, EntryEnriched, EntryRef
from services.embed.handler import embed_entries
from tests.apps.fakes import FakeVectors
from tests.stores.builders import NOON


def refs(entries: Sequence[Ref]) -> list[EntryRef]:
    """These entries as events name them."""
    return [EntryRef(user_id=entry.user_id, id=entry.id) for entry in entries]


def enriched(*entries: Ref, cause: str = "") -> EntryEnriched:
    """What embed is told of these entries."""
    return EntryEnriched.of(refs(entries), at=NOON, cause=cause)


async def settle(
    store: TextStore,
    entries: Sequence[Entry],
    embedder: Embedder,
    *,
    vectors: FakeVectors | None = None,
    **given: Any,
) -> list[Entry]:
    """One delivery of these entries to embed; as they are stored then."""
    vectors = vectors or FakeVectors()
    await embed_entries([enriched(*entries)], store=store, vectors=vectors, embedder=embedder, **given)
    found = await store.get(entries)
    return [found[entry.id] for entry in entries]
