"""What users said, read by a language model beside the pipeline. No bus, no client library; model and store are ports.

What it reads replaces what the heads on the encoder read, in one write of the entry; where it fails, or says nothing
that stands in the text, theirs stays. A corrected text is read anew, as its correction takes away what was read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from contracts.ports import Key, LanguageModel, TextStore
from contracts.v1.claims import Claim
from contracts.v1.entries import Entry, EntryEvent, EntryRef, ExtractionWanted
from services.shared import telemetry
from services.shared.cache import Cache
from services.shared.changes import change_entries
from services.shared.context.echoes import without_blocks
from services.shared.context.embedding import BY_MODEL, meant, own_text, states_anything
from services.shared.lifecycle.salience import is_small_talk
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader, is_private
from services.shared.reading.by_model import LONGEST_TURN, SCHEMA, Exchange, InvalidAnswer, messages_for, read_answer

_REACH = 2
_REMEMBERED = 10_000
_MOST_FAILURES = 8
"""Failures of the model with one entry after which it is redelivered, and in the end dead-lettered, like any other."""


class Extractor:
    """Reads entries, several at once, as the model of this `name`.

    That it has read an entry is told by the entry; what it could not read lately it knows so itself.
    """

    def __init__(
        self,
        store: TextStore,
        model: LanguageModel,
        *,
        name: str,
        preferences: PreferenceReader,
        budget: Budget,
        at_once: int = 2,
    ) -> None:
        self._store, self._model, self._reader = store, model, f"{BY_MODEL}{name}"
        self._preferences, self._budget = preferences, budget
        self._turns = asyncio.Semaphore(at_once)
        self._tried: Cache[str, str] = Cache(_REMEMBERED)
        self._failures: Cache[str, int] = Cache(_REMEMBERED)

    async def handle(self, events: Sequence[ExtractionWanted]) -> list[EntryEvent]:
        """Read every entry of the events that was not read yet; nothing follows from it that others are told of.

        Raises:
            Unavailable: model or store cannot be asked now; what is done by then is not done again.
            ModelFailed: the model did not answer for an entry.
        """
        self._model.check()
        refs = {ref.id: ref for event in events for ref in event.entries}
        results = await asyncio.gather(*map(self._read, refs.values()), return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in sorted(errors, key=lambda error: not isinstance(error, Unavailable)):
            raise error
        return []

    async def _read(self, ref: EntryRef) -> None:
        async with self._turns:
            entry = (await self._store.get([ref])).get(ref.id)
            if entry is not None and self._tried.get(ref.id) == entry.text:
                return
            try:
                outcome = await self._outcome(entry)
            except (NoAnswer, InvalidAnswer):
                outcome = "invalid"
            except ModelFailed:
                self._note_failure(ref)
                raise
        telemetry.EXTRACTIONS.labels(outcome).inc()
        if entry is not None and outcome in ("invalid", "over budget"):
            self._tried.put(ref.id, entry.text)

    def _note_failure(self, ref: EntryRef) -> None:
        """Wait for a model that fails with everything; one that fails with this entry again and again is not blamed.

        Raises:
            Unavailable: the model is left alone for a while.
        """
        telemetry.EXTRACTIONS.labels("failed").inc()
        failures = (self._failures.get(ref.id) or 0) + 1
        self._failures.put(ref.id, failures)
        if failures < _MOST_FAILURES:
            self._model.check()

    async def _outcome(self, entry: Entry | None) -> str:
        if entry is None or not is_readable(entry) or entry.read_by == self._reader:
            return "skipped"
        if await is_private([entry], self._preferences, self._store):
            return "skipped"
        exchange = await self._exchange(entry)
        if not exchange.turn.strip():
            return "skipped"
        if not await self._budget.take(entry.user_id):
            return "over budget"
        claims, dropped = await self._claims(exchange)
        if dropped and not claims:
            return "invalid"
        await self._store_claims(entry, claims)
        return "facts" if claims else "none"

    async def _exchange(self, entry: Entry) -> Exchange:
        window = (await self._store.neighbours([entry], reach=_REACH)).get(entry.id, {})
        before = [window[far] for far in sorted(window) if far < 0]
        near = await self._store.get([Key(entry.user_id, id_) for id_ in before])
        told = [f"{near[id_].role}: {without_blocks(near[id_].text)}" for id_ in before if id_ in near]
        return Exchange(own_text(entry), tuple(told))

    async def _claims(self, exchange: Exchange) -> tuple[tuple[Claim, ...], int]:
        started = time.perf_counter()
        try:
            content = await self._model.complete(messages_for(exchange), SCHEMA)
        finally:
            telemetry.EXTRACT_SECONDS.observe(time.perf_counter() - started)
        claims, dropped = await asyncio.to_thread(read_answer, content, exchange)
        telemetry.EXTRACTED.labels("kept").inc(len(claims))
        telemetry.EXTRACTED.labels("unsupported").inc(dropped)
        return claims, dropped

    async def _store_claims(self, entry: Entry, claims: tuple[Claim, ...]) -> None:
        """Replace what was read in the entry, if it says still what was read. It is no change of the memory."""
        read = {"claims": meant(entry, claims), "read_by": self._reader}

        def reread(one: Entry) -> Entry | None:
            is_same = one.text == entry.text and is_readable(one) and one.read_by != self._reader
            return one.model_copy(update=read) if is_same else None

        await change_entries(self._store, [entry], reread)


def is_readable(entry: Entry) -> bool:
    """Whether a model is asked about it: something that a user said, that holds, and that is not too long."""
    is_said = states_anything(entry) and entry.status == "active" and entry.type != "summary"
    return is_said and len(entry.text) <= LONGEST_TURN and not is_small_talk(entry.text)
