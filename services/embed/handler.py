"""Texts to vectors. No bus, no client library; model and stores are ports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from contracts.errors import TextRefused
from contracts.ports import Embedder, EmbeddingIdentity, EntryStore, VectorPoint, VectorStore
from contracts.v1.entries import Entry, EntryEmbedded, EntryEnriched, EntryRef, cause_of
from services.shared.changes import change_entries
from services.shared.core.embedding import made_by, out_of_use


async def embed_entries(
    events: Sequence[EntryEnriched],
    *,
    store: EntryStore,
    vectors: VectorStore | None,
    embedder: Embedder | None,
) -> list[EntryEmbedded]:
    """Embed every entry of the events that has no vector yet; without a model they stay pending, found by words.

    The vectors of the others are filtered by what the entries say now. Of those that are out of use no vector is left:
    an earlier delivery may have written one and died.
    """
    if vectors is None or embedder is None:
        return []
    refs = {ref.id: ref for event in events for ref in event.entries}
    found = await store.get(list(refs.values()), may_lag=needs_embedding)
    if gone := out_of_use(refs, found):
        await vectors.remove(gone)
    await vectors.refresh([entry for entry in found.values() if is_embedded(entry)])
    todo = [entry for entry in found.values() if needs_embedding(entry)]
    if todo:
        await embed_and_mark(todo, store=store, vectors=vectors, embedder=embedder)
    done = [EntryRef(**dict(refs[entry.id])) for entry in todo]
    return [EntryEmbedded.of(done, at=datetime.now(UTC), cause=cause_of(events))]


async def embed_and_mark(
    entries: Sequence[Entry], *, store: EntryStore, vectors: VectorStore, embedder: Embedder
) -> None:
    """Write the vectors first, then mark the entries ready: a crash in between is repaired by doing it again.

    What became of the entries meanwhile, their vectors are filtered by as well.
    """
    try:
        matrix = await embedder.embed([entry.text for entry in entries])
    except TextRefused as error:
        await _leave_out_the_refused(entries, error, store=store, vectors=vectors, embedder=embedder)
        return
    versions = {entry.id: entry.version for entry in entries}
    points = [VectorPoint(entry, vector) for entry, vector in zip(entries, matrix, strict=True)]
    await vectors.upsert(points)
    texts = {entry.id: entry.text for entry in entries}

    def marked_ready(entry: Entry) -> Entry | None:
        # Another text is on its way once more, and its vector replaces this one.
        return embedded(entry, embedder.identity) if entry.text == texts[entry.id] else None

    marked = await change_entries(store, entries, marked_ready)
    marked_ids = {entry.id for entry in marked}
    await vectors.refresh([entry for entry in marked if entry.version > versions[entry.id] + 1])
    await _take_back([entry for entry in entries if entry.id not in marked_ids], store, vectors)


async def _leave_out_the_refused(
    entries: Sequence[Entry], error: TextRefused, *, store: EntryStore, vectors: VectorStore, embedder: Embedder
) -> None:
    """Embed one by one; the text that the model refuses is marked so, and stays found by its words."""
    if len(entries) > 1:
        for entry in entries:
            await embed_and_mark([entry], store=store, vectors=vectors, embedder=embedder)
        return
    update = {"embedding_state": "error", "embedding_error": str(error)}
    await change_entries(store, entries, lambda one: one.model_copy(update=update) if needs_embedding(one) else None)


async def _take_back(entries: Sequence[Entry], store: EntryStore, vectors: VectorStore) -> None:
    """Remove the vectors of entries that went out of use while they were embedded."""
    if entries:
        current = await store.get(entries)
        await vectors.remove(out_of_use((entry.id for entry in entries), current))


def needs_embedding(entry: Entry) -> bool:
    """Whether it is to be found by meaning and is not yet."""
    return entry.status == "active" and entry.embedding_state == "pending"


def is_embedded(entry: Entry) -> bool:
    """Whether it is found by meaning."""
    return entry.status == "active" and entry.embedding_state == "ready"


def embedded(entry: Entry, identity: EmbeddingIdentity) -> Entry | None:
    """The entry, marked as embedded by this model; None when it was marked, or went out of use, meanwhile."""
    return made_by(entry, identity) if needs_embedding(entry) else None
