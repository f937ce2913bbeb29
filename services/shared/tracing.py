"""Traces (OpenTelemetry): where the time of a turn or a question goes, over all the processes that handle it.

Off until the environment names where to send them. A span has a name, times and counts. What was said and whose memory
it is are in none, not even in those of errors: who keeps traces forgets nothing on request.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING, Literal, Protocol

from services.shared.errors import MissingExtra
from services.shared.settings import UnusableSetting

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SPOKEN = "http/protobuf"
_PATIENCE = 3.0

Kind = Literal["INTERNAL", "SERVER", "CONSUMER"]
Headers = Mapping[str, str] | None


class Span(Protocol):
    """What is going on, as far as it may be told."""

    def set_attribute(self, key: str, value: str | int, /) -> None:
        """Tell a count or a kind."""


class _Untold:
    def set_attribute(self, key: str, value: str | int, /) -> None:
        pass


UNTOLD: AbstractContextManager[Span] = nullcontext(_Untold())
"""A span that nobody is told of."""
_tracer: Tracer | None = None


def is_wanted() -> bool:
    """Whether the environment names where traces go."""
    return os.environ.get("OTEL_TRACES_EXPORTER") != "none" and any(os.environ.get(name) for name in ENDPOINTS)


def begin(name: str) -> Callable[[], None]:
    """Send traces from now on, under a name that `OTEL_SERVICE_NAME` goes before; what ends that, and sends the rest.

    Raises:
        MissingExtra: what sends them is not installed.
        UnusableSetting: they are to be sent in a way that is not spoken here.
    """
    for variable in _PROTOCOLS:
        if os.environ.get(variable, "") not in ("", _SPOKEN):
            raise UnusableSetting(f"{variable}: traces are sent as {_SPOKEN} alone, to port 4318 of most collectors")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra(
            "the environment says where to send traces, and what sends them is not installed: `scripts/setup cluster`, "
            f"or install memorybus[tracing]; or leave {ENDPOINTS[1]} empty"
        ) from error

    named = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or name})
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    use(provider)

    def end() -> None:
        use(None)
        sending = Thread(target=provider.shutdown, daemon=True)
        sending.start()
        sending.join(_PATIENCE)  # nobody may be listening

    return end


def use(provider: TracerProvider | None) -> None:
    """Give spans to this provider from now on; None: to nobody."""
    global _tracer
    _tracer = provider.get_tracer("memorybus") if provider else None


def is_on() -> bool:
    """Whether spans are told to anybody."""
    return _tracer is not None


def span(
    name: str, kind: Kind = "INTERNAL", caused_by: Headers = None, **counts: str | int
) -> AbstractContextManager[Span]:
    """What happens in the block, as a part of what goes on here, or of what the headers of a message tell of."""
    if _tracer is None:
        return UNTOLD
    return _span(_tracer, name, kind, [caused_by] if caused_by else [], counts)


def batch(name: str, messages: Sequence[Headers]) -> AbstractContextManager[Span]:
    """The handling of messages together: a part of what caused the only one, or linked to what caused each."""
    if _tracer is None:
        return UNTOLD
    causes = [headers for headers in messages if headers]
    return _span(_tracer, name, "CONSUMER", causes, {"messaging.batch.message_count": len(messages)})


@contextmanager
def _span(
    tracer: Tracer, name: str, kind: Kind, causes: Sequence[Mapping[str, str]], counts: Mapping[str, str | int]
) -> Iterator[Span]:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    told = TraceContextTextMapPropagator()
    contexts = (told.extract({key.lower(): value for key, value in headers.items()}) for headers in causes)
    known = {
        context.span_id: context
        for one in contexts
        if (context := trace.get_current_span(one).get_span_context()).is_valid
    }
    alone = trace.set_span_in_context(trace.NonRecordingSpan(*known.values())) if len(known) == 1 else None
    with tracer.start_as_current_span(
        name,
        context=alone,
        kind=trace.SpanKind[kind],
        attributes=counts,
        links=[trace.Link(context) for context in known.values()] if alone is None else [],
        record_exception=False,  # its message may hold what somebody said
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            raise


def carried() -> dict[str, str]:
    """The headers by which whoever gets a message of this moment goes on with its trace; none while traces are off."""
    headers: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers


def current_id() -> str | None:
    """The id of the trace that this moment belongs to, as logs tell it."""
    if _tracer is None:
        return None
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None
