"""Every metric name. Labels are stages and outcomes, never a user."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import Counter, Gauge, Histogram

Labelled = Counter | Gauge | Histogram

_FINE = tuple(round(0.0002 * 1.35**n, 6) for n in range(40))

MESSAGES = Counter("memorybus_messages_total", "Messages by stage and outcome", ["stage", "outcome"])
ITEMS = Counter("memorybus_items_total", "Turns or entries handled by stage", ["stage"])
STAGE_SECONDS = Histogram("memorybus_stage_seconds", "Time of one batch in a stage", ["stage"], buckets=_FINE)
ITEM_SECONDS = Histogram("memorybus_item_seconds", "Time of a batch over its items", ["stage"], buckets=_FINE)
REQUEST_SECONDS = Histogram("memorybus_request_seconds", "Time to answer", ["request", "outcome"], buckets=_FINE)
REPLIES_REFUSED = Counter(
    "memorybus_replies_refused_total", "Requests that asked for their answer outside of an inbox", ["request"]
)
RATES_NOT_COUNTED = Counter(
    "memorybus_rates_not_counted_total", "Requests over HTTP without a rate limit: the bus did not count", ["kind"]
)
LOOP_LAG = Histogram(
    "memorybus_loop_lag_seconds", "How long arriving work waits for the event loop of its process", buckets=_FINE
)
REFUSED = Counter(
    "memorybus_turns_refused_total",
    "Turns that are not kept: unwanted, or of a program alone",
    ["reason"],
)
USER_ACTIONS = Counter("memorybus_user_actions_total", "What users and operators did", ["action", "outcome"])
AUDIT_LOST = Counter("memorybus_audit_lost_total", "Actions that could not be kept, as the store was away for long")
DEGRADED = Counter("memorybus_retrieve_degraded_total", "Retrievals that lacked a leg", ["leg"])
TEXTS_REFUSED = Counter(
    "memorybus_embed_refused_total", "Entries without a vector, as the model takes their text in no length"
)
STUCK = Gauge("memorybus_stage_stuck", "Parts of a stage that wait for a store, model or bus", ["stage"])
WAITING = Gauge("memorybus_waiting_messages", "Messages that wait for a stage or are in its hands", ["stage"])
LETTERS_DROPPED = Counter(
    "memorybus_dead_letters_dropped_total", "Dead letters pushed out by newer ones of the same user", ["stage"]
)
LETTERS_USED = Gauge("memorybus_dead_letters_used_ratio", "Part of the room for dead letters that is in use, by bytes")
TRIMMED = Counter("memorybus_trimmed_total", "Entries archived because their space was full")
PROTECTED = Counter(
    "memorybus_trim_protected_total", "Pinned or manually saved entries that capacity would have archived, by each look"
)
MERGED = Counter("memorybus_merged_total", "Repeats merged, by what they had in common with the entry", ["by"])
READ_IN_PART = Counter("memorybus_read_in_part_total", "Turns that mostly repeat a sign or a word, which is not read")
CHANGES = Counter("memorybus_changes_total", "Older statements that a newer one superseded or contradicts", ["kind"])
EXTRACTIONS = Counter(
    "memorybus_extractions_total",
    "Turns that a language model was to read: facts, none, invalid, skipped, over budget, or failed",
    ["outcome"],
)
EXTRACTED = Counter(
    "memorybus_extracted_facts_total", "Claims of a language model: kept, or dropped as unsupported", ["fate"]
)
EXTRACT_SECONDS = Histogram("memorybus_extract_seconds", "Time of a language model to answer", buckets=_FINE)
EXTRACT_UNASKED = Counter(
    "memorybus_extract_unasked_total", "Entries that no language model will read: the queue was full or did not answer"
)
EXTRACT_PAUSED = Gauge("memorybus_extract_paused", "1 while a language model that failed several times is left alone")
SUMMARIES = Counter(
    "memorybus_summaries_total",
    "Summaries that a language model was to write: written, none, invalid, skipped, over budget, failed, or unasked",
    ["outcome"],
)
SUMMARIES_PAUSED = Gauge("memorybus_summaries_paused", "1 while a language model that failed often sums up nothing")
SUMMARY_SENTENCES = Counter(
    "memorybus_summary_sentences_total", "Sentences of a language model: kept, or dropped as unsupported", ["fate"]
)
EXPIRED = Counter("memorybus_expired_total", "Entries forgotten because they were too old")
REPAIRED = Counter("memorybus_repaired_total", "Differences between the stores that were put right")
PROXIED = Counter("memorybus_proxy_requests_total", "Requests to a model by path and outcome", ["path", "outcome"])
PROXY_ADDED = Histogram(
    "memorybus_proxy_added_seconds", "What the proxy added before a model was asked", ["path"], buckets=_FINE
)
PROXY_MEMORY = Counter(
    "memorybus_proxy_exchanges_total",
    "Exchanges with a model: without memories, with, and influenced by them",
    ["memory"],
)
PROXY_LOST = Counter("memorybus_proxy_exchanges_lost_total", "Exchanges that could not be published")
PROXY_SHARED = Counter("memorybus_proxy_shared_users_total", "Users behind whom clients tell of several people")

_QUERIES = ("tool-queries", "person-queries", "requests")
_PATHS = ("chat", "responses", "messages", "other")
_OF_STAGES = (ITEMS, STAGE_SECONDS, ITEM_SECONDS, STUCK, LETTERS_DROPPED)
_OF_SERVICES: Mapping[str, Sequence[tuple[Labelled, Iterable[tuple[str, ...]]]]] = {
    "ingest": [(REFUSED, [("asked",), ("disabled",), ("incognito",), ("unsaid",)])],
    "dedupe": [(MERGED, [("exact",), ("statement",), ("simhash",), ("minhash",)])],
    "embed": [(CHANGES, [("superseded",), ("conflict",)]), (REFUSED, [("read",)])],
    "enrich": [
        (EXTRACTIONS, [("facts",), ("none",), ("invalid",), ("skipped",), ("over budget",), ("failed",)]),
        (EXTRACTED, [("kept",), ("unsupported",)]),
    ],
    "retrieve": [(DEGRADED, [("lexical",), ("semantic",)])],
    "curate": [
        (WAITING, [(stage,) for stage in ("ingest", "dedupe", "enrich", "embed", "extract")]),
        (SUMMARIES, [("written",), ("none",), ("invalid",), ("skipped",), ("over budget",), ("failed",), ("unasked",)]),
        (SUMMARY_SENTENCES, [("kept",), ("unsupported",)]),
        (USER_ACTIONS, [(f"entries.{verb}", "ok") for verb in ("create", "update", "forget")]),
    ],
    "gateway": [
        (PROXIED, [(path, "passed") for path in _PATHS]),
        (PROXY_ADDED, [(path,) for path in _PATHS]),
        (PROXY_MEMORY, [("none",), ("unused",), ("used",)]),
        (RATES_NOT_COUNTED, [(kind,) for kind in _QUERIES]),
    ],
}
"""Metrics of one service, with the values of their labels that are known from the start."""


def declare(service: str, stages: Iterable[str], requests: Iterable[str], events: Iterable[str]) -> None:
    """Have what a service counts there from its start, at zero: of a series that begins with one, nobody sees it."""
    for metric, known in _OF_SERVICES.get(service, ()):
        for values in known:
            metric.labels(*values)
    for stage in stages:
        for each in _OF_STAGES:
            each.labels(stage)
        for outcome in ("done", "retried", "dead"):
            MESSAGES.labels(stage, outcome)
    for request in requests:
        REQUEST_SECONDS.labels(request, "ok")
        REPLIES_REFUSED.labels(request)
    for event in events:
        MESSAGES.labels(event, "published")


_LOOK_EVERY = 0.1  # seconds
_MOST_MISSED = 6000


async def measure_loop_lag() -> None:
    """Observe again and again how late the event loop is; without end."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _LOOK_EVERY
        await asyncio.sleep(_LOOK_EVERY)
        for lag in lags(loop.time() - due):
            LOOP_LAG.observe(lag)


def lags(late: float) -> Iterator[float]:
    """The waits of callers at regular moments while the loop was held, the first for `late` seconds.

    Otherwise a loop that stands still for a minute would count as one observation among hundreds.
    """
    yield max(0.0, late)
    for missed in range(1, min(int(late / _LOOK_EVERY), _MOST_MISSED) + 1):
        yield late - missed * _LOOK_EVERY
