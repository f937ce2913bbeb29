"""Makes a vector store hold exactly the active entries of the text store, however it differs from that now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from contracts.errors import TextRefused
from contracts.ports import Embedder, EmbeddingIdentity, TextStore, VectorPoint, VectorStore
from contracts.v1.entries import Entry
from services.shared.changes import change_entries
from services.shared.core.embedding import embed_each, is_made_by, made_by, out_of_use

_PAGE = 256


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Fills one vector store from the text store. Whatever is interrupted goes on where it was when done again."""

    text: TextStore
    vectors: VectorStore
    embedder: Embedder

    async def fill(self, advance: Callable[[int], object] = lambda _: None) -> int:
        """Embed every active entry that lacks its vector, and tell of every one looked at; how many were embedded."""
        embedded = 0
        async for entries in self._pages():
            embedded += await self._embed(await self._lacking(entries))
            advance(len(entries))
        return embedded

    async def settle(self) -> None:
        """Once these vectors are in use: none is missing, none too many, and every entry says which model it is of."""
        async for entries in self._pages():
            if lacking := await self._lacking(entries):
                await self._embed(lacking)
                lacking = await self._lacking(lacking)
            await self._mark(entries, {entry.id for entry in lacking})
        if await self._remove_needless():
            await self.vectors.compact()

    async def _pages(self) -> AsyncIterator[list[Entry]]:
        after = ""
        while entries := await self.text.scan(after=after, limit=_PAGE):
            after = entries[-1].id
            yield entries

    async def _lacking(self, entries: Sequence[Entry]) -> list[Entry]:
        lacking = await self.vectors.lacking(entries)
        return [entry for entry in entries if entry.id in lacking]

    async def _embed(self, entries: Sequence[Entry]) -> int:
        """Write the vectors of those that the model accepts, and take back those that went out of use meanwhile."""
        if not entries:
            return 0
        done: list[Entry] = []
        async for found in embed_each(self.embedder, [entry.text for entry in entries]):
            points = [VectorPoint(entries[i], one) for i, one in found.items() if not isinstance(one, TextRefused)]
            await self.vectors.upsert(points)
            done += [point.entry for point in points]
        current = await self.text.get(done)
        if gone := out_of_use((entry.id for entry in done), current):
            await self.vectors.remove(gone)
        return len(done) - len(gone)

    async def _mark(self, entries: Sequence[Entry], lacking: set[str]) -> None:
        identity = self.embedder.identity
        ready = [e for e in entries if e.id not in lacking and not is_made_by(e, identity)]
        refused = [e for e in entries if e.id in lacking and e.embedding_state == "ready"]
        if ready:
            texts = {entry.id: entry.text for entry in ready}
            await change_entries(self.text, ready, lambda entry: _made_by(entry, texts[entry.id], identity))
        if refused:
            await change_entries(self.text, refused, _refused)

    async def _remove_needless(self) -> int:
        """Remove the vectors whose entries are not active any more; how many there were."""
        after, removed = "", 0
        while keys := await self.vectors.scan(after=after, limit=_PAGE):
            after = keys[-1].id
            found = await self.text.get(keys)
            if needless := out_of_use((key.id for key in keys), found):
                await self.vectors.remove(needless)
            removed += len(needless)
        return removed


def _made_by(entry: Entry, text: str, identity: EmbeddingIdentity) -> Entry | None:
    if entry.status != "active" or entry.text != text or is_made_by(entry, identity):
        return None
    return made_by(entry, identity)


def _refused(entry: Entry) -> Entry | None:
    if entry.status != "active" or entry.embedding_state != "ready":
        return None
    return entry.model_copy(update={"embedding_state": "error", "embedding_error": "the model refuses this text"})
