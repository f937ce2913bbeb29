"""Traces: what a turn and a question leave in the spans of all that handle them, and what nobody may find there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import nats
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from contracts import subjects
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared import tracing
from services.shared.client import memory_client
from tests.flow.conftest import light
from tests.polling import eventually

USER, WORDS = "trace-me-not", "The wardrobe holds forty lanterns"
STAGES = {"ingest", "dedupe", "enrich", "embed"}


@pytest.fixture
def told() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use(provider)
    yield exporter
    tracing.use(None)


def parent(number: int) -> dict[str, str]:
    """What a caller sends who traces, too."""
    return {"Traceparent": f"00-{number:032x}-{number:016x}-01"}


def of_trace(told: InMemorySpanExporter, number: int) -> dict[str, ReadableSpan]:
    return {span.name: span for span in told.get_finished_spans() if span.context and span.context.trace_id == number}


async def test_a_turn_and_a_question_are_followed_through_all_that_handle_them(
    tmp_path: Path, told: InMemorySpanExporter
) -> None:
    async with running(light(tmp_path, embedder="memorybus")) as up, memory_client(up.nats) as client:
        bus = await nats.connect(up.nats)
        turn = Turn.model_validate({"user_id": USER, "role": "user", "text": WORDS}).model_dump_json().encode()
        await bus.jetstream().publish(subjects.turns(USER), turn, headers=parent(7))
        await eventually(lambda: client.status(USER), lambda status: (status.entries, status.pending) == (1, 0))
        await eventually(lambda: _names(told, 7), STAGES.issubset)

        question = RetrieveRequest(user_id=USER, query="how many lanterns?").model_dump_json().encode()
        answer = await bus.request(f"memory.v1.retrieve.{USER}", question, timeout=10, headers=parent(8))
        assert RetrieveReply.model_validate_json(answer.data).items
        await bus.close()
        spans = of_trace(told, 8)
        assert spans.keys() >= {"retrieve", "search lexical", "search semantic", "embed question", "read entries"}
        asked = spans["retrieve"]
        assert asked.parent is not None
        assert asked.parent.span_id == 8
        assert all(one.parent and one.parent.trace_id == 8 for one in spans.values())

        async with httpx.AsyncClient(base_url=up.http, headers={"Memory-User": USER, **parent(9)}) as http:
            assert (await http.post("/v1/memory/search", json={"query": "lanterns"})).status_code == 200
            assert (await http.get("/v1/memory/entries", params={"q": "lanterns"})).status_code == 200
            assert (await http.get(f"/v1/memory/entries/{uuid4()}")).status_code == 404
            assert (await http.get("/healthz")).status_code == 200
        over_http = [span for span in told.get_finished_spans() if span.name == "HTTP /v1/memory/*"]
        assert [_told(span)["http.response.status_code"] for span in over_http] == [200, 200, 404]
        assert {"HTTP /v1/memory/*", "retrieve", "entries.get"} <= of_trace(told, 9).keys()
        assert _told(of_trace(told, 9)["entries.get"]) == {"error.type": "not_found"}
    everything = " ".join(span.to_json() for span in told.get_finished_spans())
    assert [word for word in (USER, "lantern", "wardrobe") if word in everything] == []


async def _names(told: InMemorySpanExporter, number: int) -> set[str]:
    return set(of_trace(told, number))


def _told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_messages_handled_together_are_linked_to_what_caused_each(told: InMemorySpanExporter) -> None:
    hostile = {"traceparent": "00-nonsense", "tracestate": "x" * 100_000}
    with tracing.batch("dedupe", [parent(7), None, parent(8), parent(7), hostile]):
        carried = tracing.carried()
    [span] = told.get_finished_spans()
    assert [link.context.trace_id for link in span.links] == [7, 8]
    assert span.parent is None
    assert _told(span) == {"messaging.batch.message_count": 5}
    assert carried["traceparent"].split("-")[1] == tracing_id(span)


def tracing_id(span: ReadableSpan) -> str:
    assert span.context
    return f"{span.context.trace_id:032x}"


def test_of_an_error_nothing_but_its_kind_is_told(told: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="lanterns"), tracing.span("enrich"):
        raise ValueError("forty lanterns")
    [span] = told.get_finished_spans()
    assert _told(span) == {"error.type": "ValueError"}
    assert "lanterns" not in span.to_json()


def test_without_an_endpoint_nothing_is_told() -> None:
    with tracing.span("enrich") as span:
        span.set_attribute("entries", 1)
        assert (tracing.carried(), tracing.current_id()) == ({}, None)


def test_leaving_takes_no_longer_for_a_collector_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    assert tracing.is_wanted()
    end = tracing.begin("memorybus")
    with tracing.span("enrich"):
        assert len(tracing.current_id() or "") == 32
    started = time.monotonic()
    end()
    assert time.monotonic() - started < 10
    assert tracing.current_id() is None
