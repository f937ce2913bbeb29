"""Keeps a running process at the vectors that are recorded as the ones in use."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from contracts.errors import Unavailable
from contracts.ports import EmbeddingIdentity, TextStore
from services.shared.vectors.folders import VectorFolders
from services.shared.vectors.identity import described, is_same
from services.shared.vectors.reindexer import Reindexer
from services.shared.vectors.swappable import SwappableIndex, VectorIndex

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0
"""Seconds between two looks at what is recorded."""

_TRY_AGAIN = 5.0


class IndexWatcher:
    """Looks now and then which vectors are recorded, opens them beside those in use, and changes over.

    `folders` are those that this process owns, and leaves in order once it has changed; None where the vectors
    are on a server, where `memorybus reindex` does that.
    """

    def __init__(
        self,
        swappable: SwappableIndex,
        text: TextStore,
        open_index: Callable[[EmbeddingIdentity], Awaitable[VectorIndex]],
        folders: VectorFolders | None,
    ) -> None:
        self._swappable = swappable
        self._text = text
        self._open_index = open_index
        self._folders = folders
        self._refused = ""

    async def run(self) -> None:
        """Follow until cancelled; first finish what an earlier process could not."""
        await self._leave_in_order()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            recorded = await self._recorded()
            if recorded is not None and not is_same(self._swappable.current.identity, recorded):
                await self._change_to(recorded)

    async def _recorded(self) -> EmbeddingIdentity | None:
        try:
            return await self._text.get_embedding_identity()
        except Unavailable:  # said by whoever needs it more
            return None

    async def _change_to(self, recorded: EmbeddingIdentity) -> None:
        try:
            index = await self._open_index(recorded)
        except Exception as error:
            await self._stay(recorded, error)
            return
        former = self._swappable.change(index)
        log.info("vectors_changed", extra={"former": described(former.identity), "now": described(recorded)})
        await former.close_when_idle()
        await self._leave_in_order()

    async def _stay(self, recorded: EmbeddingIdentity, error: Exception) -> None:
        """Go on with the vectors in use: new ones that cannot be opened are no reason to answer less."""
        if str(error) != self._refused:
            self._refused = str(error)
            log.error("vectors_not_changed", extra={"recorded": described(recorded), "reason": str(error)})
        await asyncio.sleep(_TRY_AGAIN)

    async def _leave_in_order(self) -> None:
        """Complete the vectors in use and remove former ones. Former ones are the sign that it is yet to be done."""
        index = self._swappable.current
        if self._folders is None or not await asyncio.to_thread(self._folders.former, index.identity):
            return
        while True:
            try:
                with index.in_use():
                    await Reindexer(self._text, index.vectors, index.embedder).settle()
                break
            except Unavailable as error:
                log.warning("vectors_not_complete", extra={"reason": str(error)})
                await asyncio.sleep(_TRY_AGAIN)
        await asyncio.to_thread(self._folders.drop_former, index.identity)
        log.info("former_vectors_removed", extra={"now": described(index.identity)})
