"""The AsyncAPI document of the whole bus, and a page that shows it, from the table that every service is held to."""

from __future__ import annotations

from base64 import b64encode
from fnmatch import fnmatchcase
from hashlib import sha256
from html import escape
from inspect import cleandoc
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from contracts import subjects
from contracts.envelope import ErrorReply
from contracts.flow import FLOW, Step
from services.shared import site

# Why FastStream does not write it: findings/faststream-asyncapi-jetstream.sh

Json = dict[str, Any]

_ABOUT = (
    "Long-term memory for chat assistants. Fields that a receiver does not know are ignored, "
    "except in requests to forget and to erase, which are refused then."
)
_INBOX = f"The reply subject that a request names: one below `{subjects.INBOX}`, any other is refused."
_USER = "The user id if it matches `[A-Za-z0-9_-]{1,128}`, else `~` and its unpadded base64url."
_SCHEMAS = "#/components/schemas/"
_WHOSE: Json = {
    "contact": {"name": "memorybus"},
    "license": {"name": "Apache-2.0"},
    "tags": [{"name": "memory", "description": "Long-term memory for chat assistants."}],
}
_USER_OF_THE_BUS: Json = {
    "type": "userPassword",
    "description": "A user of the bus: of one that `memorybus up` starts what `memorybus address` prints, of another "
    "what `memorybus provision --permissions` lists.",
}
_PUBLISHED = "Published to JetStream: the PubAck promises that nothing is lost; without it publish again, same id."
_READ = f"{_PUBLISHED} The service reads by a durable pull consumer and acknowledges once it is stored."
_MSG_ID: Json = {"type": "string", "description": "Published again with the same id a message is stored once."}
_DEADLINE: Json = {"type": "string", "description": "Unix time in milliseconds until which the reply is waited for."}
_TRACE: Json = {"type": "string", "description": "The trace that it belongs to (W3C)."}
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
        "info": {"title": "memorybus bus", "version": version, "description": _ABOUT, **_WHOSE},
        "defaultContentType": "application/json",
        "servers": {f"bus-{n}": _server(each) for n, each in enumerate(address.split(","), 1)},
        "channels": {one.channel: _channel(one) for one in done}
        | {"inbox": {"address": None, "description": _INBOX, "messages": _messages(*replies)}},
        "operations": {f"{one.service} {one.verb} {one.channel}": _operation(one) for one in done},
        "components": {"schemas": with_items(schemas[1]["$defs"]), "securitySchemes": {"user": _USER_OF_THE_BUS}},
    }


def with_items(node: Any) -> Any:
    """The document with `items` beside each `prefixItems`, which most generators of clients ask for."""
    if isinstance(node, list):
        return [with_items(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {name: with_items(value) for name, value in node.items()}
    if isinstance(of_each := found.get("prefixItems"), list) and "items" not in found:
        found["items"] = of_each[0] if all(one == of_each[0] for one in of_each) else {"anyOf": of_each}
        del found["prefixItems"]
    return found


def _server(address: str) -> Json:
    protocol, _, host = address.rpartition("://")
    security = [{"$ref": "#/components/securitySchemes/user"}]
    return {"host": host, "protocol": protocol or "nats", "security": security}


def _channel(operation: Operation) -> Json:
    channel: Json = {
        "address": operation.subject.replace("<user>", "{user}"),
        "messages": _messages(operation.message, headers=_headers(operation)),
    }
    if stream := _stream(operation.subject):
        channel["x-jetstream"] = {"stream": stream.name, "keeps": stream.keeps}
    return channel | {"parameters": {"user": {"description": _USER}}} if "<user>" in operation.subject else channel


def _stream(subject: str) -> subjects.Stream | None:
    """The stream that keeps what is published there."""
    channel = subject.removesuffix(".<user>")
    names = ((stream, name) for stream in subjects.STREAMS for name in stream.subjects)
    return next((stream for stream, name in names if fnmatchcase(f"{channel}.x", name) or channel == name), None)


def _headers(operation: Operation) -> Json:
    """The headers of a message that its receiver reads."""
    given = {"traceparent": _TRACE}
    if operation.verb == "answers":
        given |= {subjects.DEADLINE_HEADER: _DEADLINE}
    elif _stream(operation.subject):
        given |= {subjects.MSG_ID_HEADER: _MSG_ID}
    return {"headers": {"type": "object", "properties": given}}


def _messages(*models: type[BaseModel], headers: Json | None = None) -> Json:
    return {model.__name__: {"payload": {"$ref": _SCHEMAS + model.__name__}, **(headers or {})} for model in models}


def _operation(operation: Operation) -> Json:
    about = cleandoc(operation.message.__doc__ or "")
    does: Json = {"action": "send" if operation.verb == "says" else "receive", "description": about}
    does |= _references(operation.channel, operation.message)
    if operation.reply:
        binding = {"nats": {"queue": operation.service, "bindingVersion": "0.1.0"}}
        return does | {"bindings": binding, "reply": _references("inbox", operation.reply, ErrorReply)}
    return does | {"x-acknowledgement": _PUBLISHED if operation.verb == "says" else _READ}


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
