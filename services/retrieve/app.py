"""retrieve: what matters now.

memory.v1.retrieve.<user> ◄──► retrieve
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from contracts import flow
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.recorder import ScoreRecorder
from services.retrieve.settings import RetrieveSettings
from services.retrieve.speakers import Speakers
from services.retrieve.weights import load_weights
from services.shared.app import Host, Service
from services.shared.bus.requests import RequestHandler
from services.shared.core.profile import profile
from services.shared.vectors.swappable import using


async def build(host: Host) -> Service:
    """Wire the request."""
    settings = RetrieveSettings()
    store = await host.text_store()
    recorder = ScoreRecorder(store)
    index, counter, speakers = await host.vector_index(), host.token_counter(), Speakers()
    measure = partial(profile, weights=load_weights(settings.weights))

    @contextmanager
    def retriever() -> Iterator[Retriever]:
        with using(index) as (vectors, embedder):
            yield Retriever(store, vectors, embedder, counter, settings, speakers, measure)

    async def retrieve(request: RetrieveRequest) -> RetrieveReply:
        with retriever() as one:
            reply = await one.retrieve(request)
        if request.now is None:  # what counted at another moment is no measure of what to keep now
            recorder.note(request.user_id, reply)
        return reply

    async def shorten(request: RetrieveRequest, reply: RetrieveReply, room: int) -> RetrieveReply:
        with retriever() as one:
            return await one.shorten(request, reply, room)

    answers = (RequestHandler(flow.RETRIEVE, retrieve, settings.max_concurrency, shorten),)
    return Service("retrieve", answers=answers, background=(recorder.run,))
