"""An annotator that may be asked before it is ready: who asks waits, everybody else goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from contracts.ports import Annotation, Annotator


class WarmingAnnotator:
    """Opens an annotator in the background. Loading a model takes seconds, in which turns can already be taken."""

    def __init__(self, opening: Coroutine[Any, Any, Annotator | None]) -> None:
        self._opening = asyncio.create_task(opening, name="annotator-warm-up")

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """Wait until the annotator is open, then ask it; raises what opening it raised."""
        opened = await asyncio.shield(self._opening)
        return await opened.annotate(texts) if opened is not None else [Annotation()] * len(texts)

    async def close(self) -> None:
        """Close the annotator, also one that is still opening."""
        (opened,) = await asyncio.gather(self._opening, return_exceptions=True)
        if opened is not None and not isinstance(opened, BaseException):
            await opened.close()
