"""Going through what the stores give a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar


class _Page(Protocol):
    @property
    def cursor(self) -> str | None:
        """Where the next page begins; None after the last one."""


P = TypeVar("P", bound=_Page)


async def pages(read: Callable[[str | None], Awaitable[P]]) -> AsyncIterator[P]:
    """All pages, each read when the one before was dealt with. `read` gives the page at a cursor."""
    page = await read(None)
    yield page
    while page.cursor is not None:
        page = await read(page.cursor)
        yield page
