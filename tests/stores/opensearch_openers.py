"""Text stores on a real OpenSearch: opened under a prefix, and their indices removed afterwards."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from uuid import uuid4

from services.shared.stores.opensearch import Address, Layout, OpenSearchTextStore

Another = Callable[[], Awaitable[OpenSearchTextStore]]
"""Opens one more store on the same indices."""

RARELY = 60.0
"""Seconds between refreshes: what is found is found because the store asked for a refresh, not because time passed."""


async def open_at(url: str, prefix: str, *, shards: int = 1) -> OpenSearchTextStore:
    """A store that finds at once what it wrote."""
    layout = Layout(shards=shards, refresh_seconds=RARELY)
    return await OpenSearchTextStore.open(Address((url,)), prefix=prefix, layout=layout, reads="fresh")


@asynccontextmanager
async def a_store(url: str) -> AsyncIterator[OpenSearchTextStore]:
    """A store in indices of its own, which are removed at the end."""
    with a_prefix(url) as prefix:
        store = await open_at(url, prefix)
        try:
            yield store
        finally:
            await store.close()


@contextmanager
def a_prefix(url: str) -> Iterator[str]:
    """A prefix that nobody else uses; its indices and templates are removed at the end."""
    prefix = f"test-{uuid4().hex[:12]}"
    try:
        yield prefix
    finally:
        for path in (f"{prefix}-*", f"_index_template/{prefix}-*"):
            request = urllib.request.Request(f"{url}/{path}", method="DELETE")
            with suppress(urllib.error.HTTPError):  # there may be none
                urllib.request.urlopen(request, timeout=60).close()
