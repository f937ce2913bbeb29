"""One run: turns are published to a whole memorybus of its own, digested, and its questions asked over the bus."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import Unavailable
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from services.bench.process import measured
from services.eval.datasets import Dataset
from services.eval.metrics import Judged
from services.shared.client import MemoryClient
from services.shared.commands.formats import Question
from services.shared.commands.progress import Progress
from services.shared.commands.publishing import Tally, at_once, digest, publish_turns
from services.shared.tokens import Cl100kCounter

_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What each question of a dataset found, in their order, and how many milliseconds its answer took."""

    questions: Sequence[Question]
    judged: Sequence[Judged]
    took: Sequence[float]

    def of_kind(self, kind: str) -> list[Judged]:
        """Those of the questions of one kind."""
        return [one for question, one in self._pairs() if question.kind == kind]

    def of_half(self, half: str) -> list[Judged]:
        """Those of the questions of one half."""
        return [one for question, one in self._pairs() if question.half == half]

    def _pairs(self) -> Iterable[tuple[Question, Judged]]:
        return zip(self.questions, self.judged, strict=True)


async def evaluate(dataset: Dataset, folder: Path, progress: Progress) -> Asked:
    """Remember the turns of a dataset in this folder, then ask its questions.

    Raises:
        Unavailable: memorybus did not start, or did not digest the turns.
    """
    async with measured(folder) as (_, client):
        turns = dataset.turns
        await publish_turns(client, at_once(turns), Tally(), total=len(turns), progress=progress)
        _, problem = await digest(client, progress)
        if problem:
            raise Unavailable(problem)
        return await ask(client, dataset, progress)


async def ask(client: MemoryClient, dataset: Dataset, progress: Progress, what: str = "asking") -> Asked:
    """Ask the questions, one after the other."""
    sessions = dataset.sessions()
    own = {(turn.user_id, turn.turn_id) for turn in dataset.turns}
    judged: list[Judged] = []
    took: list[float] = []
    for done, question in enumerate(dataset.questions, start=1):
        started = time.perf_counter()
        reply = await client.retrieve(_request(question, dataset.limit), patience=_PATIENCE)
        took.append((time.perf_counter() - started) * 1000)
        foreign = [item for item in reply.items if (question.user_id, item.turn_id) not in own]
        judged.append(_judged(question, reply, foreign, dataset, sessions.get(question.user_id, {})))
        progress(what, done, len(dataset.questions))
    return Asked(dataset.questions, judged, took)


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
