"""Summaries that a language model writes beside the requests for them. No bus, no client library; ports only.

Nobody waits for one: a request is answered with the sentences that rules chose until the model's are there. These are
in memory alone, for an hour, and hold as long as every entry that the model was shown says what it said then, so that
forgetting, correcting and erasing reach them by construction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from contracts.ports import LanguageModel, TextStore
from contracts.v1.entries import Entry
from services.shared import telemetry
from services.shared.cache import Cache
from services.shared.context.model_summaries import (
    Form,
    InvalidSummary,
    Written,
    messages_for,
    read_summary,
    readable,
    schema_of,
)
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader, is_private

_KEPT, _KEPT_FOR = 1000, 3600.0
_MOST_WAITING = 256
_TRY_AGAIN = 1.0
_LEFT_ALONE = 60.0
"""Seconds for which a summary is not asked for again that could not be had."""

_FEWEST = 2

Place = tuple[str, ...]
"""Which summary it is: its form, its user, and what tells it from others of them."""

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was written, the texts of the entries that the model was shown by id, and of how many turns it was."""

    written: Written
    shown: Texts
    turns: int = 0


@dataclass(frozen=True, slots=True)
class _Job:
    form: Form
    entries: Sequence[Entry]
    turns: int

    @property
    def texts(self) -> Texts:
        return {entry.id: entry.text for entry in self.entries}


class SummaryWriter:
    """Has summaries written one after the other, and knows those that still hold."""

    def __init__(
        self, store: TextStore, model: LanguageModel, *, preferences: PreferenceReader, budget: Budget
    ) -> None:
        self._store, self._model = store, model
        self._preferences, self._budget = preferences, budget
        self._kept: Cache[Place, Kept] = Cache(_KEPT, seconds=_KEPT_FOR)
        self._failed: Cache[Place, bool] = Cache(_KEPT, seconds=_LEFT_ALONE)
        self._waiting: dict[Place, _Job] = {}
        self._writing: tuple[Place, Texts] | None = None
        self._wanted = asyncio.Event()

    def of(
        self, place: Place, form: Form, entries: Iterable[Entry], held: Iterable[Entry], *, turns: int = 0
    ) -> Kept | None:
        """What was written last for this place, where all that it was made of is `held` as it was; None where nothing.

        What is not made of these entries is put on the list of what is to be written.
        """
        shown = readable(entries)
        kept, now = self._kept.get(place), {entry.id: entry.text for entry in held}
        if kept is not None and not kept.shown.items() <= now.items():
            self._kept.pop(place)
            kept = None
        if len(shown) >= _FEWEST and (kept is None or kept.shown != {one.id: one.text for one in shown}):
            self._want(place, _Job(form, shown, turns))
        return kept if kept is not None and kept.written else None

    def forget(self, user_id: str) -> None:
        """Keep nothing of a user."""
        for place in [place for place in (*self._kept, *self._waiting) if place[1] == user_id]:
            self._kept.pop(place)
            self._waiting.pop(place, None)
        if self._writing and self._writing[0][1] == user_id:
            self._writing = None

    def _want(self, place: Place, job: _Job) -> None:
        if place in self._failed or self._writing == (place, job.texts):
            return
        if place not in self._waiting and len(self._waiting) >= _MOST_WAITING:
            telemetry.SUMMARIES.labels("unasked").inc()
            return
        self._waiting[place] = job
        self._wanted.set()

    async def run(self) -> None:
        """Write what is on the list until cancelled; while the model is left alone, the list waits."""
        while True:
            await self._wanted.wait()
            try:
                self._model.check()
            except Unavailable:
                await asyncio.sleep(_TRY_AGAIN)
                continue
            if not self._waiting:
                self._wanted.clear()
                continue
            place = next(iter(self._waiting))
            job = self._waiting.pop(place)
            self._writing = place, job.texts
            outcome = await self._outcome(place, job)
            self._writing = None
            telemetry.SUMMARIES.labels(outcome).inc()

    async def _outcome(self, place: Place, job: _Job) -> str:
        try:
            return await self._write(place, job)
        except (InvalidSummary, NoAnswer):
            if self._writing is not None:  # else they were forgotten meanwhile
                self._kept.put(place, Kept(Written(), job.texts))
            return "invalid"
        except (ModelFailed, Unavailable):
            self._failed.put(place, True)
            return "failed"

    async def _write(self, place: Place, job: _Job) -> str:
        current = await self._current(job)
        if len(current.entries) < _FEWEST or await is_private(current.entries, self._preferences, self._store):
            return "skipped"
        if not await self._budget.take(current.entries[0].user_id):
            self._failed.put(place, True)
            return "over budget"
        content = await self._model.complete(messages_for(job.form, current.entries), schema_of(job.form))
        written = await asyncio.to_thread(read_summary, content, job.form, current.entries)
        telemetry.SUMMARY_SENTENCES.labels("kept").inc(sum(map(len, written.sections.values())))
        telemetry.SUMMARY_SENTENCES.labels("unsupported").inc(written.dropped)
        if (await self._current(current)).texts != current.texts:
            return "skipped"
        self._kept.put(place, Kept(written, current.texts, job.turns))
        return "written" if written else "none"

    async def _current(self, job: _Job) -> _Job:
        """The same of the entries that still say what they said."""
        read = await self._store.get(job.entries)
        same = [
            entry
            for entry in job.entries
            if (now := read.get(entry.id)) is not None and now.status == "active" and now.text == entry.text
        ]
        return replace(job, entries=same)
