"""embed: make entries findable by meaning.

entry.enriched ──► embed ──► entry.embedded
                     └──► entries.forget, of what is not to be remembered
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from contracts import subjects
from contracts.errors import Unavailable
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry, EntryEmbedded, EntryEnriched
from services.embed.changes import Rules
from services.embed.handler import embed_entries
from services.embed.settings import EmbedSettings
from services.embed.wishes import Wishes
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json
from services.shared.client import MemoryClient
from services.shared.errors import RequestFailed
from services.shared.vectors.swappable import using

_AWAY = ("unavailable", "overloaded", "deadline_exceeded")
"""Errors that are no fault of the entry. "internal" may be one, for which no worker waits without end."""


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = EmbedSettings()
    rules = Rules(settings.changes, settings.contradictions)
    store, index = await host.text_store(), await host.vector_index()
    wishes = Wishes(store, partial(forget, memory=host.memory()))

    async def handle(events: Sequence[EntryEnriched]) -> list[EntryEmbedded]:
        with using(index) as (vectors, embedder):
            return await embed_entries(
                events,
                store=store,
                vectors=vectors,
                embedder=embedder,
                proposes_tags=settings.neighbour_tags,
                rules=rules,
                wishes=wishes,
            )

    stage = Stage(
        subjects.EMBED,
        EntryEnriched,
        read_json(EntryEnriched),
        handle,
        says=(EntryEmbedded,),
        max_batch=settings.max_batch,
    )
    return Service("embed", stages=(stage,))


async def forget(entry: Entry, *, memory: MemoryClient) -> None:
    """Have an entry forgotten; one that is gone already is no error.

    Raises:
        Unavailable: who forgets is away, or has no time now.
    """
    try:
        await memory.forget(ForgetRequest(user_id=entry.user_id, id=entry.id, correlation_id=entry.id))
    except RequestFailed as error:
        if error.info.code in _AWAY:
            raise Unavailable(str(error)) from error
        if error.info.code != "not_found":
            raise
