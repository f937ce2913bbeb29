"""The AsyncAPI document of the whole bus, and a page that shows it, from the table that every service is held to."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from contracts import subjects
from contracts.envelope import ErrorReply
from contracts.flow import FLOW, Step
from services.shared import site

Json = dict[str, Any]

_ABOUT = (
    "Long-term memory for chat assistants. Fields that a receiver does not know are ignored, "
    "except in requests to forget and to erase, which are refused then."
)
_INBOX = f"The reply subject that a request names: one below `{subjects.INBOX}`, any other is refused."
_USER = "The user id if it matches `[A-Za-z0-9_-]{1,128}`, else `~` and its unpadded base64url."
_SCHEMAS = "#/components/schemas/"
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8884; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8883; }
"""
POLICY = f"{site.POLICY}; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""The policy of the page: its own style, and nothing else."""


class Operation(NamedTuple):
    """One thing that a service does on the bus: `hears`, `says` or `answers` on a subject."""

    service: str
    verb: Literal["hears", "says", "answers"]
    subject: str
    message: type[BaseModel]
    reply: type[BaseModel] | None = None

    @property
    def channel(self) -> str:
        """The subject without whose it is."""
        return self.subject.removesuffix(".<user>")


def operations(step: Step) -> list[Operation]:
    """What a service does on the bus."""
    return [
        *(Operation(step.service, "hears", subject, model) for subject, model in step.hears),
        *(Operation(step.service, "says", event.subject, event) for event in step.says),
        *(Operation(step.service, "answers", one.subject, one.request, one.reply) for one in step.answers),
    ]


def document(version: str, address: str) -> Json:
    """The document of AsyncAPI 3.0.0; `address` is the bus as it may be shown, without credentials."""
    done = [operation for step in FLOW for operation in operations(step)]
    replies: list[type[BaseModel]] = [ErrorReply, *(one.reply for one in done if one.reply)]
    models = dict.fromkeys([*(one.message for one in done), *replies])
    schemas = models_json_schema([(model, "validation") for model in models], ref_template=f"{_SCHEMAS}{{model}}")
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "memorybus", "version": version, "description": _ABOUT},
        "defaultContentType": "application/json",
        "servers": {f"bus-{n}": _server(each) for n, each in enumerate(address.split(","), 1)},
        "channels": {one.channel: _channel(one) for one in done}
        | {"inbox": {"address": None, "description": _INBOX, "messages": _messages(*replies)}},
        "operations": {f"{one.service} {one.verb} {one.channel}": _operation(one) for one in done},
        "components": {"schemas": schemas[1]["$defs"]},
    }


def _server(address: str) -> Json:
    protocol, _, host = address.rpartition("://")
    return {"host": host, "protocol": protocol or "nats"}


def _channel(operation: Operation) -> Json:
    channel: Json = {
        "address": operation.subject.replace("<user>", "{user}"),
        "messages": _messages(operation.message),
    }
    return channel | {"parameters": {"user": {"description": _USER}}} if "<user>" in operation.subject else channel


def _messages(*models: type[BaseModel]) -> Json:
    return {model.__name__: {"payload": {"$ref": _SCHEMAS + model.__name__}} for model in models}


def _operation(operation: Operation) -> Json:
    does: Json = {"action": "send" if operation.verb == "says" else "receive"}
    does |= _references(operation.channel, operation.message)
    return does | {"reply": _references("inbox", operation.reply, ErrorReply)} if operation.reply else does


def _references(channel: str, *models: type[BaseModel]) -> Json:
    place = f"#/channels/{channel}"
    messages = [{"$ref": f"{place}/messages/{model.__name__}"} for model in models]
    return {"channel": {"$ref": place}, "messages": messages}


def page(version: str) -> str:
    """The document for people: every subject with its message, fields and types."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>memorybus on the bus</title>",
        f"<style>{STYLE}</style><body><h1>memorybus {escape(version)} on the bus</h1>",
        "<p>Machine-readable: <a href=asyncapi.json>asyncapi.json</a> (AsyncAPI 3.0.0)</p>",
    ]
    for step in FLOW:
        parts.append(f"<h2>{escape(step.service)}</h2><p>{escape(step.does)}</p>")
        for operation in operations(step):
            parts.append(_section(operation.verb, operation.subject, operation.message))
            if operation.reply:
                parts.append(_section("with", "reply", operation.reply))
    return "\n".join([*parts, "</body></html>"])


def _section(verb: str, subject: str, model: type[BaseModel]) -> str:
    rows = "".join(_row(name, field) for name, field in model.model_json_schema()["properties"].items())
    doc = escape((model.__doc__ or "").split("\n\n")[0])
    return (
        f"<h3>{verb} <code>{escape(subject)}</code></h3><p>{escape(model.__name__)}: {doc}</p>"
        f"<table><tr><th scope=col>field<th scope=col>type<th scope=col>default</tr>{rows}</table>"
    )


def _row(name: str, schema: Json) -> str:
    default = "" if "default" not in schema else escape(repr(schema["default"]))
    return f"<tr><td><code>{escape(name)}</code><td>{escape(_type(schema))}<td>{default}</tr>"


def _type(schema: Json) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(map(str, schema["enum"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("const") or schema.get("type", "any"))
