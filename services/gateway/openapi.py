"""The OpenAPI document, and a page for people that needs no other host."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from services.gateway.asyncapi import with_items
from services.gateway.problems import MEDIA_TYPE, ProblemDetails

Json = dict[str, Any]

_ABOUT = (
    "Long-term memory for chat assistants. Every path is one request of the bus, for the user of the credential: "
    "an API key or a JWT as `Authorization: Bearer …`, or, on a server that needs none, the header `Memory-User`. "
    "What searches is limited per user and minute: `search`, a list with `q`, and commands that look for something. "
    "`RateLimit` says what is left (`r`) and in how many seconds the minute is over (`t`); beyond it `search` is "
    "answered with nothing and `degraded: rate_limited`, all else with 429 and `Retry-After`."
)
_TITLE = "memorybus HTTP"
"""Clients that are made from the document are called after it, and not as ours, `memorybus_client`."""

_LICENCE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
_TAGS = {
    "retrieve": "What matters now.",
    "turns": "What is said.",
    "entries": "What is remembered, one by one.",
    "memory": "The memory as a whole.",
    "status": "What is there, and what is under way.",
}
_SCHEMES: Json = {
    "credential": {"type": "http", "scheme": "bearer", "description": "An API key (`memorybus keys create`) or a JWT."},
    "user": {
        "type": "apiKey",
        "in": "header",
        "name": "Memory-User",
        "description": "Where no credential is needed: whose memory it is; without it that of `me`.",
    },
}
_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
_SHARE: Json = {
    "RateLimit-Policy": {
        "description": "how many (`q`) are allowed in how many seconds (`w`)",
        "schema": {"type": "string", "examples": ['"tool-queries";q=10;w=60']},
    },
    "RateLimit": {
        "description": "how many are left (`r`), and for how many seconds (`t`)",
        "schema": {"type": "string", "examples": ['"tool-queries";r=0;t=37']},
    },
}
_WAIT: Json = {"description": "seconds to wait", "schema": {"type": "integer"}}
SHARES: dict[int | str, Json] = {200: {"headers": _SHARE}}
"""What an answer of a path that may search says besides its reply, where there is a limit."""

PROBLEMS: dict[int | str, Json] = {
    429: {
        "description": "It was asked too often in this minute.",
        "content": _PROBLEM,
        "headers": {"Retry-After": _WAIT, **_SHARE},
    },
    "4XX": {"description": "The request is at fault; `detail` says what to do.", "content": _PROBLEM},
    "5XX": {"description": "memorybus cannot answer now; ask again where `retryable` says so.", "content": _PROBLEM},
}
"""What every path may answer besides its reply."""


def document(app: FastAPI) -> Json:
    """The document of OpenAPI 3.1; made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=_TITLE,
            version=app.version,
            description=_ABOUT,
            routes=app.routes,
            contact={"name": "memorybus"},
            license_info=_LICENCE,
        )
        problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
        made["components"]["schemas"] |= problem.pop("$defs") | {"ProblemDetails": problem}
        made["components"]["securitySchemes"] = _SCHEMES
        made["security"] = [*({name: []} for name in _SCHEMES), {}]
        made["servers"] = [{"url": "/"}]
        made["tags"] = [{"name": name, "description": about} for name, about in _TAGS.items()]
        app.openapi_schema = with_items(made)
    return app.openapi_schema


def page(app: FastAPI, style: str) -> str:
    """The document for people: every path with its parameters and fields."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>memorybus over HTTP</title>",
        f"<style>{style}</style><body><h1>memorybus {escape(app.version)} over HTTP</h1><p>{escape(_ABOUT)}</p>",
        "<p>Machine-readable: <a href=openapi.json>openapi.json</a> (OpenAPI 3.1)</p>",
    ]
    found = document(app)
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            parts.append(_section(method, path, operation, found["components"]["schemas"]))
    return "\n".join([*parts, "</body></html>"])


def _section(method: str, path: str, operation: Json, schemas: Json) -> str:
    rows = [
        (one["name"], one["in"], one["schema"], one.get("required", False)) for one in operation.get("parameters", [])
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    model = schemas.get(body.get("$ref", "").rpartition("/")[2], {})
    for name, schema in model.get("properties", {}).items():
        rows.append((name, "body", schema, name in model.get("required", [])))
    cells = "".join(_row(*row) for row in rows)
    table = f"<table><tr><th scope=col>name<th scope=col>in<th scope=col>type<th scope=col></tr>{cells}</table>"
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2><p><b>{escape(operation['summary'])}.</b> "
        f"{escape(operation.get('description', ''))}</p>{table if rows else ''}"
    )


def _row(name: str, place: str, schema: Json, required: bool) -> str:
    kinds = [one.get("type", "") for one in schema.get("anyOf", [schema])]
    words = " or ".join(filter(None, kinds)) or "any"
    need = "required" if required else ""
    return f"<tr><td><code>{escape(name)}</code><td>{place}<td>{escape(words)}<td>{need}</tr>"
