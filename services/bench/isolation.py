"""Indexes and collections that a measurement has for itself: what else is on a server is never touched."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import httpx
import typer

from services.cli.common import err, settings_from
from services.shared.settings import Settings

_NAMES = ("MEMORYBUS_OPENSEARCH_PREFIX", "MEMORYBUS_QDRANT_COLLECTION")
_PATIENCE = 30.0


def with_own_engines(context: typer.Context) -> None:
    """Let a command, and what it starts, use no index and no collection that is there already."""
    context.with_resource(own_engines())


@contextmanager
def own_engines() -> Iterator[None]:
    """Have the settings of the environment name new indexes and a new collection, which are removed at the end."""
    settings, name = settings_from(), f"measured-{uuid4().hex[:12]}"
    before = {variable: value for variable, value in os.environ.items() if variable.upper() in _NAMES}
    _replace(before, dict.fromkeys(_NAMES, name))
    try:
        yield
    finally:
        _replace(dict.fromkeys(_NAMES, name), before)
        try:
            remove_indexes(settings, name)
            _remove_collections(settings, name)
        except httpx.HTTPError as error:
            err.print(f"indexes and collections that begin with {name} may be left: {error}", soft_wrap=True)


def _replace(before: dict[str, str], after: dict[str, str]) -> None:
    for variable in before:
        os.environ.pop(variable, None)
    os.environ.update(after)


def remove_indexes(settings: Settings, prefix: str) -> None:
    """Remove the indexes of a prefix from OpenSearch, if that is the text store, and the templates of them."""
    if settings.text_store != "opensearch":
        return
    password = settings.opensearch_password.get_secret_value() if settings.opensearch_password else ""
    auth = (settings.opensearch_user, password) if settings.opensearch_user else None
    verify = ssl.create_default_context(cafile=settings.opensearch_ca)
    url = settings.opensearch_url.split(",")[0]
    with httpx.Client(base_url=url, auth=auth, verify=verify, timeout=_PATIENCE) as http:
        for name in http.get(f"/_cat/indices/{prefix}-*", params={"h": "index"}).text.split():
            http.delete(f"/{name}")
        http.delete(f"/_index_template/{prefix}-*")


def _remove_collections(settings: Settings, prefix: str) -> None:
    if settings.vector_store != "qdrant":
        return
    headers = {"api-key": settings.qdrant_api_key.get_secret_value()} if settings.qdrant_api_key else {}
    with httpx.Client(base_url=settings.qdrant_url, headers=headers, timeout=_PATIENCE) as http:
        for held in http.get("/collections").raise_for_status().json()["result"]["collections"]:
            if held["name"].startswith(prefix):
                http.delete(f"/collections/{held['name']}")
