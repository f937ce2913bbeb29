"""What an entry says about its vector, and which vectors there is no reason for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from contracts.errors import TextRefused
from contracts.ports import Embedder, EmbeddingIdentity, Reader, Vector
from contracts.v1.claims import Claim, Reading
from contracts.v1.entries import Entry
from services.shared.context.echoes import blocks_blanked
from services.shared.privacy.frames import as_stated
from services.shared.privacy.own_words import own_words

BY_MODEL = "model:"
"""How `read_by` begins where a language model read an entry; its name follows."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vector of a text, and what is read in it; None: the model reads nothing."""

    vector: Vector
    reading: Reading | None = None


def out_of_use(ids: Iterable[str], found: Mapping[str, Entry]) -> list[str]:
    """Those of the ids that stand for no active entry among those found: no vector of theirs may be left."""
    return [id_ for id_ in ids if id_ not in found or found[id_].status != "active"]


def is_made_by(entry: Entry, identity: EmbeddingIdentity) -> bool:
    """Whether the entry says that this model made its vector."""
    labels = (entry.embedding_provider, entry.embedding_model, entry.embedding_dimensions)
    return entry.embedding_state == "ready" and labels == (identity.provider, identity.model, identity.dimensions)


def made_by(entry: Entry, embedder: Embedder, claims: tuple[Claim, ...] | None = None) -> Entry:
    """The entry, saying that this model made its vector, with what its text states.

    It is no change of the memory: `updated_at` stays. What a language model read in the text goes before that.
    """
    identity = embedder.identity
    labels = {
        "embedding_state": "ready",
        "embedding_provider": identity.provider,
        "embedding_model": identity.model,
        "embedding_dimensions": identity.dimensions,
        "embedding_error": None,
    }
    if isinstance(embedder, Reader) and claims is not None and not is_read_by_model(entry):
        labels |= {"claims": meant(entry, claims), "read_by": embedder.reader}
    return entry.model_copy(update=labels)


def meant(entry: Entry, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims that are in the user's own words, and not in what they pasted, or said in a role play."""
    if not (claims and states_anything(entry)):
        return ()
    own = own_text(entry)
    return tuple(one for one in claims if own[slice(*one.value)] == entry.text[slice(*one.value)])


def own_text(entry: Entry) -> str:
    """What its user says in their own words, each character where it was: blanks stand for memories, for what was
    pasted, and for what is said in a role play."""
    return own_words(blocks_blanked(as_stated(entry)))


def is_read_by_model(entry: Entry) -> bool:
    """Whether its claims are those that a language model read in its text."""
    return entry.read_by is not None and entry.read_by.startswith(BY_MODEL)


def states_anything(entry: Entry) -> bool:
    """Whether what its text says may be so: its user says it, as themself, and it says nothing again."""
    return entry.role == "user" and entry.source == "turn"


def is_read_by(entry: Entry, embedder: Embedder) -> bool:
    """Whether what its text states needs not be read by this model: it reads nothing, or it, or a language model,
    has read that."""
    return not isinstance(embedder, Reader) or entry.read_by == embedder.reader or is_read_by_model(entry)


def is_to_be_read(entry: Entry, reader: str) -> bool:
    """Whether it has a vector, and may state something that neither this reader nor a language model has read."""
    is_ready = entry.status == "active" and entry.embedding_state == "ready"
    return is_ready and states_anything(entry) and entry.read_by != reader and not is_read_by_model(entry)


def embed_again(entry: Entry) -> Entry | None:
    """The entry, to be embedded once more; None when it is out of use, or will be anyway."""
    if entry.status != "active" or entry.embedding_state != "ready":
        return None
    return entry.model_copy(update={"embedding_state": "pending"})


async def embed_each(embedder: Embedder, texts: Sequence[str]) -> AsyncIterator[dict[int, Embedded | TextRefused]]:
    """The vectors of texts by their place, or why there is none: first of those that have one at once.

    Raises:
        Unavailable: the model cannot be asked now.
    """
    try:
        yield dict(enumerate(await _embedded(embedder, texts)))
        return
    except TextRefused as error:
        if len(texts) == 1:
            yield {0: error}
            return
        passed = {} if isinstance(embedder, Reader) else error.passed
    if passed:
        yield {place: Embedded(vector) for place, vector in passed.items()}
    for place, text in enumerate(texts):
        if place not in passed:
            async for found in embed_each(embedder, [text]):
                yield {place: found[0]}


async def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[Embedded]:
    if not isinstance(embedder, Reader):
        return [Embedded(vector) for vector in await embedder.embed(texts)]
    vectors, readings = await embedder.embed_and_read(texts)
    return [Embedded(vector, reading) for vector, reading in zip(vectors, readings, strict=True)]
