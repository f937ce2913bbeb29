"""Takes back tags that were proposed for entries because of others, which were forgotten or say something else now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from contracts.ports import Ref, Selection, TextStore, VectorStore
from services.shared.changes import change_entries
from services.shared.ranking.neighbour_tags import source_label, without_sources

_PAGE = 200


async def take_back_tags(sources: Iterable[Ref], *, store: TextStore, vectors: VectorStore | None) -> None:
    """Take back what these entries bear out, wherever it was proposed. Broken off, the same call completes it."""
    of: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        of[source.user_id].add(source.id)
    for user_id, ids in of.items():
        await _of_user(user_id, ids, store, vectors)


async def _of_user(user_id: str, gone: set[str], store: TextStore, vectors: VectorStore | None) -> None:
    selection, cursor = Selection(user_id, tags=tuple(map(source_label, sorted(gone)))), None
    while True:
        page = await store.page(selection, limit=_PAGE, cursor=cursor)
        changed = await change_entries(store, page.entries, lambda entry: without_sources(entry, gone))
        if vectors is not None and changed:
            await vectors.refresh([entry for entry in changed if entry.embedding_state == "ready"])
        if page.cursor is None:
            return
        cursor = page.cursor
