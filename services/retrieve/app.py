"""retrieve: what matters now.

memory.v1.retrieve.<user> ◄──► retrieve
"""

from __future__ import annotations

from functools import partial

from contracts import flow
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.recorder import ScoreRecorder
from services.retrieve.settings import RetrieveSettings
from services.retrieve.weights import load_weights
from services.shared.app import Host, Service
from services.shared.bus.requests import RequestHandler
from services.shared.core.profile import profile


async def build(host: Host) -> Service:
    """Wire the request."""
    settings = RetrieveSettings()
    store = await host.text_store()
    recorder = ScoreRecorder(store)
    retriever = Retriever(
        store=store,
        vectors=await host.vector_store(),
        embedder=await host.embedder(),
        counter=host.token_counter(),
        settings=settings,
        measure=partial(profile, weights=load_weights(settings.weights)),
    )

    async def retrieve(request: RetrieveRequest) -> RetrieveReply:
        reply = await retriever.retrieve(request)
        if request.now is None:  # what counted at another moment is no measure of what to keep now
            recorder.note(request.user_id, reply)
        return reply

    answers = (RequestHandler(flow.RETRIEVE, retrieve, settings.max_concurrency, retriever.shorten),)
    return Service("retrieve", answers=answers, background=(recorder.run,))
