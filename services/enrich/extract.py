"""Facts that a language model draws from what users said. No bus, no client library; model and store are ports.

It reads entries that were accepted, beside the pipeline, and what it draws goes the way of all proposals: it is logged
with its turn, and dedupe decides. Each text is read once: one with facts in the log is only told of again. What was
corrected is another text; the facts of the one before are out of use by then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from contracts.ports import Filters, Key, LanguageModel, Scope, Selection, TextStore
from contracts.v1.entries import Entry, EntryProposed, EntryRef, ExtractionWanted
from contracts.v1.facts import MOST_FACTS, MOST_ORDINAL, ProposedFact
from contracts.v1.turns import Proposal
from services.shared import telemetry
from services.shared.cache import Cache
from services.shared.changes import change_entries
from services.shared.core.extraction import MOST_KNOWN, SCHEMA, Exchange, InvalidAnswer, messages_for, read_answer
from services.shared.core.frames import is_framed
from services.shared.core.lineage import fact_keys, is_drawn_from, restored_from, text_read
from services.shared.core.salience import is_small_talk
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader, is_private

_REACH = 2
_LATEST = 200
_FOUND = 24
_REMEMBERED = 10_000
_MOST_FAILURES = 8
"""Failures of the model with one entry after which it is redelivered, and in the end dead-lettered, like any other."""

Say = Callable[[Sequence[EntryProposed]], Awaitable[None]]


class Extractor:
    """Draws facts from entries, several at once; of those it has read lately it knows so itself."""

    def __init__(
        self,
        store: TextStore,
        model: LanguageModel,
        *,
        preferences: PreferenceReader,
        budget: Budget,
        say: Say,
        at_once: int = 2,
    ) -> None:
        self._store, self._model, self._say = store, model, say
        self._preferences, self._budget = preferences, budget
        self._turns = asyncio.Semaphore(at_once)
        self._done: Cache[str, str] = Cache(_REMEMBERED)
        self._failures: Cache[str, int] = Cache(_REMEMBERED)

    async def handle(self, events: Sequence[ExtractionWanted]) -> list[EntryProposed]:
        """Read every entry of the events whose text was not read yet. What was drawn is told at once, entry by entry.

        Raises:
            Unavailable: model, store or bus cannot be asked now; what is done by then is not done again.
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
            if entry is not None and self._done.get(ref.id) == text_read(entry):
                return
            try:
                outcome = await self._outcome(entry)
            except (NoAnswer, InvalidAnswer):
                outcome = "invalid"
            except ModelFailed:
                self._note_failure(ref)
                raise
        telemetry.EXTRACTIONS.labels(outcome).inc()
        if entry is not None:
            self._done.put(ref.id, text_read(entry))

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
        if entry is None or not is_readable(entry) or await is_private([entry], self._preferences, self._store):
            return "skipped"
        drawn = [record.proposal for record in (await self._store.pending(fact_keys(entry))).values()]
        if current := [one for one in drawn if one.fact is not None and is_drawn_from(one.fact, entry)]:
            await self._use_again(current, entry)
            await self._tell(current)
            return "facts"
        if len(drawn) + MOST_FACTS > MOST_ORDINAL:
            return "corrected too often"
        exchange = await self._exchange(entry)
        if not exchange.turn:
            return "skipped"
        if not await self._budget.take(entry.user_id):
            return "over budget"
        facts = await self._draw(entry, exchange)
        proposals = await self._logged(entry, facts, after=len(drawn)) if facts else []
        await self._tell(proposals)
        return "facts" if proposals else "none"

    async def _exchange(self, entry: Entry) -> Exchange:
        window = (await self._store.neighbours([entry], reach=_REACH)).get(entry.id, {})
        near = await self._store.get([Key(entry.user_id, id_) for id_ in window.values()])
        around = {far: f"{near[id_].role}: {near[id_].text}" for far, id_ in window.items() if id_ in near}
        return Exchange.of(entry, around, await self._known(entry))

    async def _known(self, entry: Entry) -> list[Entry]:
        """Facts that were drawn before: those that share words with the entry, then the newest."""
        scope = Scope(entry.user_id, entry.space, entry.persona_id)
        hits = await self._store.search(scope, entry.text, limit=_FOUND, filters=Filters())
        found = await self._store.get([Key(entry.user_id, hit.id) for hit in hits])
        latest = Selection(entry.user_id, entry.space, entry.persona_id or "")
        page = await self._store.page(latest, limit=_LATEST, cursor=None)
        known = found | {one.id: one for one in page.entries}
        facts = [one for one in known.values() if one.source == "model" and one.status == "active"]
        return [one for one in facts if one.turn_id != entry.turn_id][:MOST_KNOWN]

    async def _draw(self, entry: Entry, exchange: Exchange) -> list[ProposedFact]:
        started = time.perf_counter()
        try:
            content = await self._model.complete(messages_for(exchange), SCHEMA)
        finally:
            telemetry.EXTRACT_SECONDS.observe(time.perf_counter() - started)
        facts, dropped = await asyncio.to_thread(read_answer, content, exchange, speaker=entry.speaker)
        telemetry.EXTRACTED.labels("kept").inc(len(facts))
        telemetry.EXTRACTED.labels("unsupported").inc(dropped)
        return facts

    async def _use_again(self, facts: Sequence[Proposal], entry: Entry) -> None:
        """Put facts into use again that a correction had put out of use, where the entry says again what it said."""
        known = (await self._store.get(facts)).values()
        await change_entries(self._store, known, lambda one: restored_from(one, entry))

    async def _logged(self, entry: Entry, facts: Sequence[ProposedFact], *, after: int) -> list[Proposal]:
        """The facts as proposals in the log, numbered on from the last of a former text; none when what they were drawn
        from is gone, or says something else.

        Raises:
            Unavailable: at the same moment others have logged what they drew.
        """
        record = (await self._store.pending([entry])).get(entry.id)
        current = (await self._store.get([entry])).get(entry.id)
        if record is None or record.proposal.redacted or current is None or not is_readable(current):
            return []
        if current.text != entry.text:
            return []
        turn = record.proposal.turn
        known = text_read(entry)
        drawn = [fact.model_copy(update={"drawn_from": known}) for fact in facts]
        proposals = [Proposal.of_fact(turn, ordinal, fact) for ordinal, fact in enumerate(drawn, start=after + 1)]
        try:
            await self._store.append([], proposals)
        except ValueError:  # its turn was erased meanwhile
            return []
        kept = await self._store.pending(proposals)
        if any(one.id in kept and kept[one.id].proposal.fact not in (one.fact, None) for one in proposals):
            raise Unavailable("another process drew facts from the same turn: it is looked at again")
        return proposals

    async def _tell(self, proposals: Sequence[Proposal]) -> None:
        refs = [EntryRef(user_id=proposal.user_id, id=proposal.id) for proposal in proposals]
        if refs:
            await self._say([EntryProposed.of(refs, at=datetime.now(UTC))])


def is_readable(entry: Entry) -> bool:
    """Whether facts may be drawn from it: something that a user said, and that holds."""
    said = entry.source == "turn" and entry.role == "user" and entry.ordinal == 0 and entry.turn_id is not None
    says_something = not (is_small_talk(entry.text) or is_framed(entry))
    return said and says_something and entry.status == "active" and entry.type != "summary"
