"""What an entry says about its vector, and which vectors there is no reason for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from contracts.errors import TextRefused
from contracts.ports import Embedder, EmbeddingIdentity, Vector
from contracts.v1.entries import Entry


def out_of_use(ids: Iterable[str], found: Mapping[str, Entry]) -> list[str]:
    """Those of the ids that stand for no active entry among those found: no vector of theirs may be left."""
    return [id_ for id_ in ids if id_ not in found or found[id_].status != "active"]


def is_made_by(entry: Entry, identity: EmbeddingIdentity) -> bool:
    """Whether the entry says that this model made its vector."""
    labels = (entry.embedding_provider, entry.embedding_model, entry.embedding_dimensions)
    return entry.embedding_state == "ready" and labels == (identity.provider, identity.model, identity.dimensions)


def made_by(entry: Entry, identity: EmbeddingIdentity) -> Entry:
    """The entry, saying that this model made its vector. It is no change of the memory: `updated_at` stays."""
    labels = {
        "embedding_state": "ready",
        "embedding_provider": identity.provider,
        "embedding_model": identity.model,
        "embedding_dimensions": identity.dimensions,
        "embedding_error": None,
    }
    return entry.model_copy(update=labels)


def embed_again(entry: Entry) -> Entry | None:
    """The entry, to be embedded once more; None when it is out of use, or will be anyway."""
    if entry.status != "active" or entry.embedding_state != "ready":
        return None
    return entry.model_copy(update={"embedding_state": "pending"})


async def embed_each(embedder: Embedder, texts: Sequence[str]) -> AsyncIterator[dict[int, Vector | TextRefused]]:
    """The vectors of texts by their place, or why there is none: first of those that have one at once.

    Raises:
        Unavailable: the model cannot be asked now.
    """
    try:
        yield dict(enumerate(await embedder.embed(texts)))
        return
    except TextRefused as error:
        if len(texts) == 1:
            yield {0: error}
            return
        passed = error.passed
    if passed:
        yield dict(passed)
    for place, text in enumerate(texts):
        if place not in passed:
            async for found in embed_each(embedder, [text]):
                yield {place: found[0]}
