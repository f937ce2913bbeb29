"""Has entries embedded by a reader that is told which texts change which."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.ports import TextStore
from contracts.v1.entries import Entry, EntryEnriched, EntryRef
from services.embed.changes import AS_A_RULE, Rules
from services.embed.handler import embed_entries
from tests.apps.fakes import FakeReader, FakeVectors
from tests.stores.builders import NOON


async def settle(
    store: TextStore,
    entries: Sequence[Entry],
    reader: FakeReader,
    *,
    rules: Rules = AS_A_RULE,
    vectors: FakeVectors | None = None,
) -> None:
    """One delivery of these entries to embed."""
    event = EntryEnriched.of([EntryRef(user_id=one.user_id, id=one.id) for one in entries], at=NOON)
    await embed_entries([event], store=store, vectors=vectors or FakeVectors(), embedder=reader, rules=rules)
