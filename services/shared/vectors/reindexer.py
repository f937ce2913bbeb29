"""Makes a vector store hold exactly the active entries of the text store, however it differs from that now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from contracts.errors import TextRefused
from contracts.ports import Embedder, Reader, TextStore, VectorPoint, VectorStore
from contracts.v1.claims import Claim
from contracts.v1.entries import Entry
from services.shared.changes import change_entries
from services.shared.context.embedding import (
    embed_each,
    is_made_by,
    is_read_by,
    made_by,
    out_of_use,
    states_anything,
)

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
            embedded = {i: one for i, one in found.items() if not isinstance(one, TextRefused)}
            await self.vectors.upsert([VectorPoint(entries[i], one.vector) for i, one in embedded.items()])
            done += [entries[i] for i in embedded]
        current = await self.text.get(done)
        if gone := out_of_use((entry.id for entry in done), current):
            await self.vectors.remove(gone)
        return len(done) - len(gone)

    async def _mark(self, entries: Sequence[Entry], lacking: set[str]) -> None:
        ready = [e for e in entries if e.id not in lacking and self._is_to_be_marked(e)]
        refused = [e for e in entries if e.id in lacking and e.embedding_state == "ready"]
        if ready:
            texts = {entry.id: entry.text for entry in ready}
            claims = await self._read(ready)
            await change_entries(
                self.text, ready, lambda entry: self._marked(entry, texts[entry.id], claims.get(entry.id))
            )
        if refused:
            await change_entries(self.text, refused, _refused)

    def _is_to_be_marked(self, entry: Entry) -> bool:
        return not (is_made_by(entry, self.embedder.identity) and is_read_by(entry, self.embedder))

    def _marked(self, entry: Entry, text: str, claims: tuple[Claim, ...] | None) -> Entry | None:
        if entry.status != "active" or entry.text != text or not self._is_to_be_marked(entry):
            return None
        return made_by(entry, self.embedder, claims)

    async def _read(self, entries: Sequence[Entry]) -> dict[str, tuple[Claim, ...]]:
        """What they state: nobody could hold so many claims from when their vectors were made."""
        if not isinstance(self.embedder, Reader):
            return {}
        todo = [entry for entry in entries if states_anything(entry)]
        read = await self.embedder.read([entry.text for entry in todo])
        found: dict[str, tuple[Claim, ...]] = {entry.id: () for entry in entries}
        return found | {entry.id: one.claims for entry, one in zip(todo, read, strict=True)}

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


def _refused(entry: Entry) -> Entry | None:
    if entry.status != "active" or entry.embedding_state != "ready":
        return None
    return entry.model_copy(update={"embedding_state": "error", "embedding_error": "the model refuses this text"})
