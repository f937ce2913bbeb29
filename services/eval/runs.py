"""One run: turns are published to a whole memorybus of its own, digested, and its questions asked over the bus."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from contracts import subjects
from contracts.errors import Unavailable
from contracts.ports import Key, VectorStore
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.process import UNHURRIED, in_no_hurry, measured
from services.cli.common import settings_from
from services.eval.datasets import Dataset
from services.eval.metrics import Judged
from services.eval.variants import Variant
from services.retrieve.settings import RetrieveSettings
from services.retrieve.weights import WeightsFile, load_weights
from services.shared.app import Host
from services.shared.client import MemoryClient
from services.shared.commands.formats import Question
from services.shared.commands.progress import Progress, untold
from services.shared.commands.publishing import Tally, at_once, digest, publish_turns
from services.shared.tokens import Cl100kCounter

_ALONE = ("--only", "retrieve")  # curate would have vectors that are missing made again, and starts take longer
_TRY_AGAIN = 0.05
_PAGE = 1000
_REFRESHES = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """What each question of a dataset found, in their order, the block for a prompt, and the milliseconds it took."""

    questions: Sequence[Question]
    judged: Sequence[Judged]
    took: Sequence[float]
    contexts: Sequence[str] = ()

    def of_kind(self, kind: str) -> list[Judged]:
        """Those of the questions of one kind."""
        return [one for question, one in self._pairs() if question.kind == kind]

    def of_half(self, half: str) -> list[Judged]:
        """Those of the questions of one half."""
        return [one for question, one in self._pairs() if question.half == half]

    def _pairs(self) -> Iterable[tuple[Question, Judged]]:
        return zip(self.questions, self.judged, strict=True)


async def evaluate(
    dataset: Dataset,
    folder: Path,
    variants: Sequence[Variant] = (),
    progress: Progress = untold,
) -> list[Asked]:
    """Remember the turns of a dataset in this folder, ask its questions, and ask again with each of the variants.

    The turns are taken in once; what is changed by a variant is there for those that come after it.

    Raises:
        Unavailable: memorybus did not start, or did not digest the turns.
    """
    async with measured(folder, environment=in_no_hurry({})) as (_, client):
        await remember(client, dataset.turns, progress)
        asked = [await _ask(client, dataset, progress)]
    for done, variant in enumerate(variants):
        progress("runs", done, len(variants), note=variant.name)
        if variant.vectors < 1:
            await _lose_vectors(folder, dataset, 1 - variant.vectors)
        settings = {**variant.settings, **_weights_without(variant.without, folder)}
        async with measured(folder, _ALONE, environment=in_no_hurry(settings)) as (_, client):
            await _until_answered(client)
            asked.append(await _ask(client, replace(dataset, limit=variant.limit or dataset.limit), progress))
    progress("runs", len(variants), len(variants))
    return asked


def _weights_without(features: Sequence[str], folder: Path) -> dict[str, str]:
    """The setting that leaves these features out of the profile."""
    if not features:
        return {}
    file = folder / "weights.json"
    weights = {**load_weights(RetrieveSettings().weights), **dict.fromkeys(features, (0.0, 0.0))}
    file.write_text(WeightsFile(weights=weights).model_dump_json())
    return {"MEMORYBUS_RETRIEVE_WEIGHTS": str(file)}


async def remember(client: MemoryClient, turns: Sequence[Turn], progress: Progress) -> None:
    """Publish turns, and wait until they are digested.

    Raises:
        Unavailable: as `evaluate`.
    """
    await publish_turns(client, at_once(turns), Tally(), total=len(turns), progress=progress)
    while True:
        _, problem = await digest(client, progress)
        if problem:
            raise Unavailable(problem)
        if not await client.bus.backlog(subjects.EXTRACT):  # what it drew goes through the pipeline, too
            break
        await asyncio.sleep(_TRY_AGAIN)
    _, problem = await digest(client, progress)
    if (settings := settings_from()).text_store == "opensearch":  # its index shows entries a little later
        await asyncio.sleep(_REFRESHES * settings.opensearch_refresh_seconds)


async def take_in(dataset: Dataset, folder: Path, progress: Progress) -> None:
    """Remember the turns of a dataset in this folder.

    Raises:
        Unavailable: as `evaluate`.
    """
    async with measured(folder) as (_, client):
        await remember(client, dataset.turns, progress)


async def _until_answered(client: MemoryClient) -> None:
    """Wait for a first answer: a bus that has just started may not know yet who answers."""
    async with asyncio.timeout(UNHURRIED):
        while True:
            with suppress(Unavailable):
                await client.retrieve(RetrieveRequest(user_id="nobody", query="up?"), patience=UNHURRIED)
                return
            await asyncio.sleep(_TRY_AGAIN)


async def _lose_vectors(folder: Path, dataset: Dataset, share: float) -> None:
    """Remove a share of the vectors of these users, evenly over the ids, behind the back of memorybus."""
    users = {turn.user_id for turn in dataset.turns}
    host = Host(settings_from(data=folder), nats_url="")
    try:
        if (vectors := await host.vector_store()) is not None:
            ids = [key.id for key in await _all_points(vectors) if key.user_id in users]
            await vectors.remove([name for i, name in enumerate(ids) if int((i + 1) * share) > int(i * share)])
    finally:
        await host.close()


async def _all_points(vectors: VectorStore) -> list[Key]:
    found: list[Key] = []
    while page := await vectors.scan(after=found[-1].id if found else "", limit=_PAGE):
        found += page
    return found


async def _ask(client: MemoryClient, dataset: Dataset, progress: Progress) -> Asked:
    sessions = dataset.sessions()
    own = {(turn.user_id, turn.turn_id) for turn in dataset.turns}
    judged: list[Judged] = []
    took: list[float] = []
    contexts: list[str] = []
    for done, question in enumerate(dataset.questions, start=1):
        started = time.perf_counter()
        reply = await client.retrieve(_request(question, dataset.limit), patience=UNHURRIED)
        took.append((time.perf_counter() - started) * 1000)
        contexts.append(reply.context)
        foreign = [item for item in reply.items if (question.user_id, item.turn_id) not in own]
        judged.append(_judged(question, reply, foreign, dataset, sessions.get(question.user_id, {})))
        progress("asking", done, len(dataset.questions))
    return Asked(dataset.questions, judged, took, contexts)


def _request(question: Question, limit: int) -> RetrieveRequest:
    return RetrieveRequest(
        user_id=question.user_id,
        query=question.text,
        limit=limit,
        token_budget=question.token_budget,
        now=question.now,
    )


def _judged(
    question: Question,
    reply: RetrieveReply,
    foreign: Sequence[RetrievedItem],
    dataset: Dataset,
    sessions: dict[str, str],
) -> Judged:
    found = [() if item in foreign else item.source_ids for item in reply.items]
    return Judged(
        _first_of_each(found) if dataset.by_session else found,
        question.evidence,
        question.stale,
        sessions,
        tokens=Cl100kCounter().count(reply.context),
        budget=question.token_budget,
        foreign=len(foreign),
    )


def _first_of_each(found: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The sources one by one, each where it is found first."""
    return [(source,) for source in dict.fromkeys(source for item in found for source in item)]
