"""The AsyncAPI document of the whole bus, and a page that shows it without scripts from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from html import escape
from typing import Any

from faststream.nats import NatsBroker
from faststream.specification import AsyncAPI
from pydantic import BaseModel

from contracts.flow import FLOW, Step
from services.shared import site

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8884; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8883; }
"""
POLICY = f"{site.POLICY}; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
"""The policy of the page: its own style, and nothing else."""


def specification(version: str, address: str) -> AsyncAPI:
    """The document, made from the flow table; `address` is the bus as it may be shown, without credentials."""
    broker = NatsBroker(address.split(","))
    for step in FLOW:
        _declare(broker, step)
    return AsyncAPI(broker, title="memorybus", version=version, description="Long-term memory for chat assistants.")


def _declare(broker: NatsBroker, step: Step) -> None:
    if step.hears is not None:
        subject, model = step.hears
        broker.subscriber(_template(subject), title=f"{step.service} hears", description=step.does)(_documented(model))
    for event in step.says:
        title = f"{step.service} says {event.__name__}"
        broker.publisher(event.subject, schema=event, title=title, description=event.__doc__)
    for answer in step.answers:
        handler = _documented(answer.request, answer.reply)
        title = f"{step.service} answers {answer.request.__name__}"
        broker.subscriber(_template(answer.subject), title=title, description=answer.request.__doc__)(handler)
        broker.publisher(
            f"{title} reply", schema=answer.reply, title=f"{title}: reply", description=answer.reply.__doc__
        )


def _template(subject: str) -> str:
    return subject.replace("<user>", "{user}")


def _documented(model: type[BaseModel], reply: type[BaseModel] | None = None) -> Callable[..., Awaitable[Any]]:
    async def handler(message: Any) -> None:
        """Never runs: it carries the type of the message into the document."""

    handler.__annotations__ = {"message": model, "return": reply}
    handler.__name__ = model.__name__
    return handler


def page(version: str) -> str:
    """The document for people: every subject with its message, fields and types."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>memorybus on the bus</title>",
        f"<style>{_STYLE}</style><body><h1>memorybus {escape(version)} on the bus</h1>",
        "<p>Machine-readable: <a href=asyncapi.json>asyncapi.json</a> (AsyncAPI 3.0.0)</p>",
    ]
    for step in FLOW:
        parts.append(f"<h2>{escape(step.service)}</h2><p>{escape(step.does)}</p>")
        if step.hears is not None:
            parts.append(_section("hears", *step.hears))
        parts += [_section("says", event.subject, event) for event in step.says]
        for answer in step.answers:
            parts.append(_section("answers", answer.subject, answer.request))
            parts.append(_section("with", "reply", answer.reply))
    return "\n".join([*parts, "</body></html>"])


def _section(verb: str, subject: str, model: type[BaseModel]) -> str:
    rows = "".join(_row(name, field) for name, field in model.model_json_schema()["properties"].items())
    doc = escape((model.__doc__ or "").split("\n\n")[0])
    return (
        f"<h3>{verb} <code>{escape(subject)}</code></h3><p>{escape(model.__name__)}: {doc}</p>"
        f"<table><tr><th scope=col>field<th scope=col>type<th scope=col>default</tr>{rows}</table>"
    )


def _row(name: str, schema: dict[str, Any]) -> str:
    default = "" if "default" not in schema else escape(repr(schema["default"]))
    return f"<tr><td><code>{escape(name)}</code><td>{escape(_type(schema))}<td>{default}</tr>"


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(map(str, schema["enum"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("const") or schema.get("type", "any"))
