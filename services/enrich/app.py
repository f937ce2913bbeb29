"""enrich: say what an entry is about.

entry.accepted ──► enrich ──► entry.enriched
extract.wanted ──► extract, which has a language model read what was said
"""

from __future__ import annotations

from functools import partial

from contracts import subjects
from contracts.v1.entries import EntryAccepted, EntryEnriched, ExtractionWanted
from services.enrich.extract import Extractor
from services.enrich.handler import enrich_entries
from services.enrich.settings import EnrichSettings
from services.shared import telemetry
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json
from services.shared.llm.budget import Budget
from services.shared.llm.configured import configured_model
from services.shared.preferences import PreferenceReader

_MOST_TOKENS = 4000
"""Of an answer: all claims of a long turn, each with its sentence."""


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = EnrichSettings()
    handle = partial(enrich_entries, store=await host.text_store(), annotator=await host.annotator())
    stage = Stage(
        subjects.ENRICH,
        EntryAccepted,
        read_json(EntryAccepted),
        handle,
        says=(EntryEnriched,),
        max_batch=settings.max_batch,
    )
    extractor = await _extractor(host, settings)
    if extractor is None:
        return Service("enrich", stages=(stage,))
    extracting = Stage(
        subjects.EXTRACT,
        ExtractionWanted,
        read_json(ExtractionWanted),
        extractor.handle,
        max_batch=1,
        window=8,
        called=subjects.EXTRACT.name,
    )
    return Service("enrich", stages=(stage, extracting))


async def _extractor(host: Host, settings: EnrichSettings) -> Extractor | None:
    within, told = settings.extract_timeout_seconds, telemetry.EXTRACT_PAUSED.set
    model = configured_model(host.settings, answer_within=within, told=told, most_tokens=_MOST_TOKENS)
    if model is None:
        return None
    store = await host.text_store()
    host.closes(model.close)
    budget = Budget(store, of_user=settings.extract_user_budget, of_all=settings.extract_budget)
    return Extractor(
        store,
        model,
        preferences=PreferenceReader(store),
        name=model.name,
        budget=budget,
        at_once=settings.extract_at_once,
    )
