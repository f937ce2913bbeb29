"""Texts to vectors. No bus, no client library; model and stores are ports."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from contracts.errors import TextRefused
from contracts.ports import Embedder, EntryStore, TextStore, VectorPoint, VectorStore
from contracts.v1.claims import Claim, Reading
from contracts.v1.entries import Entry, EntryEmbedded, EntryEnriched, EntryRef, cause_of
from services.embed.changes import AS_A_RULE, NONE, Lineage, Rules, with_verdict
from services.embed.neighbours import Neighbourhood
from services.embed.wishes import Wishes
from services.shared import telemetry
from services.shared.changes import change_entries
from services.shared.context.embedding import embed_again, embed_each, made_by, out_of_use
from services.shared.ranking.neighbour_tags import with_proposed

log = logging.getLogger(__name__)


async def embed_entries(
    events: Sequence[EntryEnriched],
    *,
    store: TextStore,
    vectors: VectorStore | None,
    embedder: Embedder | None,
    proposes_tags: bool = False,
    rules: Rules = AS_A_RULE,
    wishes: Wishes | None = None,
) -> list[EntryEmbedded]:
    """Embed every entry of the events that has no vector yet; without a model they stay pending, found by words.

    The vectors of the others are filtered by what the entries say now, and made again where one is missing: an edit
    removes the vector of the former text, and may meet that of the new one. Of those that are out of use no vector is
    left: an earlier delivery may have written one and died. Where it `proposes_tags`, entries get those that their
    nearest neighbours have. What they change of what was said before is settled by the `rules`, if the model reads.
    What the reader takes for something that is not to be remembered is set aside, where `wishes` are obeyed.
    """
    if vectors is None or embedder is None:
        return []
    refs = {ref.id: ref for event in events for ref in event.entries}
    found = await store.get(list(refs.values()), may_lag=needs_embedding)
    if gone := out_of_use(refs, found):
        await vectors.remove(gone)
        found |= await store.get([refs[id_] for id_ in gone])  # restored meanwhile, one lacks its vector
    lineage = Lineage.of(store, vectors, embedder, rules)
    ready = [entry for entry in found.values() if is_embedded(entry)]
    if lineage is not None:
        await lineage.settle(ready)
    missing = await vectors.refresh(ready)
    again = await change_entries(store, [found[id_] for id_ in missing], embed_again) if missing else []
    todo = [*again, *(entry for entry in found.values() if needs_embedding(entry))]
    done = [EntryRef(**dict(refs[entry.id])) for entry in todo]
    while todo:
        await embed_and_mark(
            todo,
            store=store,
            vectors=vectors,
            embedder=embedder,
            proposes_tags=proposes_tags,
            lineage=lineage,
            wishes=wishes,
        )
        todo = lineage.take_released() if lineage is not None else []
    return [EntryEmbedded.of(done, at=datetime.now(UTC), cause=cause_of(events))]


async def embed_and_mark(
    entries: Sequence[Entry],
    *,
    store: TextStore,
    vectors: VectorStore,
    embedder: Embedder,
    proposes_tags: bool = False,
    lineage: Lineage | None = None,
    wishes: Wishes | None = None,
) -> None:
    """Write the vectors first, then mark the entries ready: a crash in between is repaired by doing it again.

    What became of the entries meanwhile, their vectors are filtered by as well. What they change is named in the same
    write, and goes out of use afterwards.
    """
    async for found in embed_each(embedder, [entry.text for entry in entries]):
        done = {entries[i].id: one for i, one in found.items() if not isinstance(one, TextRefused)}
        readings = {id_: one.reading for id_, one in done.items() if one.reading}
        read = [entry for entry in entries if entry.id in done]
        gone = await wishes.obey(read, readings, vectors) if wishes else ()
        points = [VectorPoint(entry, done[entry.id].vector) for entry in read if entry.id not in gone]
        if points:
            await _write_and_mark(points, readings, store, vectors, embedder, proposes_tags, lineage)
        for place, one in found.items():
            if isinstance(one, TextRefused):
                await _mark_refused(entries[place], one, store)


async def _write_and_mark(
    points: Sequence[VectorPoint],
    readings: Mapping[str, Reading],
    store: TextStore,
    vectors: VectorStore,
    embedder: Embedder,
    proposes_tags: bool,
    lineage: Lineage | None,
) -> None:
    entries = [point.entry for point in points]
    versions = {entry.id: entry.version for entry in entries}
    await vectors.upsert(points)
    near = await Neighbourhood.of(points if proposes_tags else (), store, vectors)
    verdicts = await lineage.look(points, readings) if lineage else {}
    texts = {entry.id: entry.text for entry in entries}

    def marked_ready(entry: Entry) -> Entry | None:
        # Another text is on its way once more, and its vector replaces this one.
        claims = readings[entry.id].claims if entry.id in readings else None
        ready = embedded(entry, embedder, claims) if entry.text == texts[entry.id] else None
        if ready is None:
            return None
        return with_proposed(with_verdict(ready, verdicts.get(entry.id, NONE)), near.tags.get(entry.id, ()))

    marked = await change_entries(store, entries, marked_ready)
    await near.recheck(marked, store)
    marked_ids = {entry.id for entry in marked}
    await vectors.refresh([entry for entry in marked if entry.version > versions[entry.id] + 1])
    await _take_back([entry for entry in entries if entry.id not in marked_ids], store, vectors)
    if lineage is not None:
        await lineage.settle(marked)
        await lineage.settle_late(marked)


async def _mark_refused(entry: Entry, error: TextRefused, store: EntryStore) -> None:
    """Mark a text that the model refuses; it stays found by its words. Another text of the entry is not meant."""
    update = {"embedding_state": "error", "embedding_error": str(error)}
    refused = entry.text

    def marked(one: Entry) -> Entry | None:
        return one.model_copy(update=update) if needs_embedding(one) and one.text == refused else None

    if await change_entries(store, [entry], marked):
        telemetry.TEXTS_REFUSED.inc()
        log.warning("text_refused", extra={"entry": entry.id, "chars": len(refused), "cause": str(error)})


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


def embedded(entry: Entry, embedder: Embedder, claims: tuple[Claim, ...] | None = None) -> Entry | None:
    """The entry, marked as embedded by this model; None when it was marked, or went out of use, meanwhile."""
    return made_by(entry, embedder, claims) if needs_embedding(entry) else None
