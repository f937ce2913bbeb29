"""retrieve: what matters now.

memory.v1.retrieve.<user> ◄──► retrieve
"""

from __future__ import annotations

from faststream.nats import NatsRouter

from contracts import subjects
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.recorder import ScoreRecorder
from services.retrieve.settings import RetrieveSettings
from services.shared.app import Host, Service
from services.shared.requests import check_user


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
    )
    router = NatsRouter()

    @router.subscriber(
        f"{subjects.RETRIEVE}.*", queue="retrieve", max_workers=settings.max_concurrency, title="retrieve"
    )
    async def on_retrieve(request: RetrieveRequest) -> RetrieveReply:
        """Answer with the memories that matter now."""
        check_user(request.user_id)
        reply = await retriever.retrieve(request)
        recorder.note(reply)
        return reply

    return Service("retrieve", router=router, background=(recorder.run,))
