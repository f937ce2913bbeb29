"""retrieve: what matters now.

memory.v1.retrieve.<user> ◄──► retrieve
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from contracts import flow
from contracts.ports import Conversation, TextStore, Unavailable
from contracts.v1.control import SpaceSettings
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.forgotten import forgotten_in
from services.retrieve.handler import Retriever, Share
from services.retrieve.legs import Memory
from services.retrieve.questions import QuestionVectors
from services.retrieve.recorder import ScoreRecorder
from services.retrieve.rehearsal import rehearse
from services.retrieve.settings import RetrieveSettings
from services.retrieve.speakers import Speakers
from services.retrieve.weights import load_weights
from services.shared.app import Host, Service
from services.shared.bus.requests import RequestHandler
from services.shared.preferences import OwnSettings, PreferenceReader, Reason
from services.shared.ranking.model import profile
from services.shared.vectors.swappable import using


async def build(host: Host) -> Service:
    """Wire the request."""
    knobs = RetrieveSettings()
    store = await host.text_store()
    recorder, preferences = ScoreRecorder(store), PreferenceReader(store)
    index, counter, speakers, questions = await host.vector_index(), host.token_counter(), Speakers(), QuestionVectors()
    measure = partial(profile, weights=load_weights(knobs.weights))

    @contextmanager
    def retriever(memory: Memory = store) -> Iterator[Retriever]:
        with using(index) as (vectors, embedder):
            yield Retriever(memory, vectors, embedder, counter, knobs, speakers, questions, measure)

    async def retrieve(request: RetrieveRequest) -> RetrieveReply:
        why, settings = await decided(request, preferences)
        if why is not None:
            return RetrieveReply.nothing(request, why)
        shares = await shared_with(request, settings.takes_tags or (), store)
        with retriever() as one:
            reply = await one.retrieve(located(request, settings), shares)
        if request.said:
            reply = reply.model_copy(update={"forgotten": await forgotten_in(request, store)})
        if request.now is None:  # what counted at another moment is no measure of what to keep now
            recorder.note(request.user_id, reply)
        return reply

    async def shorten(request: RetrieveRequest, reply: RetrieveReply, room: int) -> RetrieveReply:
        _, settings = await decided(request, preferences)
        shares = await shared_with(request, settings.takes_tags or (), store)
        with retriever() as one:
            return await one.shorten(located(request, settings), reply, room, shares)

    answers = (RequestHandler(flow.RETRIEVE, retrieve, knobs.max_concurrency, shorten, goes_first=True),)
    rehearsal = partial(rehearse, store, retriever)
    return Service("retrieve", answers=answers, background=(recorder.run,), rehearsals=(rehearsal,))


async def decided(request: RetrieveRequest, preferences: PreferenceReader) -> tuple[Reason | None, SpaceSettings]:
    """Why the user wants no answer, if so, and the settings of the space, before anything looks at the question.

    While the text store is away, what was known last holds.
    """
    if request.incognito:
        return "incognito", SpaceSettings()
    asked_in, said_in = (
        Conversation(request.user_id, request.space, one or "") for one in (request.asked_in, request.conversation_id)
    )
    found = await preferences.of({asked_in, said_in}, may_lag=True)
    why = found[asked_in].refuse() or found[said_in].refuse(by_default=False)
    return why, found[asked_in].settings


def located(request: RetrieveRequest, settings: SpaceSettings) -> RetrieveRequest:
    """The request with the time zone in which it is read."""
    return request.model_copy(update={"time_zone": request.time_zone or settings.time_zone})


async def shared_with(request: RetrieveRequest, takes: Collection[str], store: TextStore) -> list[Share]:
    """The other spaces of the user that give tags which this one takes; none while the text store is away."""
    if not takes:
        return []
    try:
        own = OwnSettings(await store.records(request.user_id, "settings"))
        spaces = [one.space for one in await store.spaces(request.user_id) if one.space != request.space]
    except Unavailable:
        return []
    return shares_of(takes, {space: own.of(space, SpaceSettings()) for space in spaces})


def shares_of(takes: Collection[str], others: Mapping[str, SpaceSettings]) -> list[Share]:
    """What the other spaces give of the tags that one takes; a space whose memory is off gives nothing."""
    common = {
        space: tuple(tag for tag in settings.gives_tags or () if tag in takes)
        for space, settings in others.items()
        if settings.memory_enabled is not False
    }
    return [Share(space, tags) for space, tags in common.items() if tags]
