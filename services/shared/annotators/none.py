"""The annotator that finds nothing."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.ports import Annotation


class NoAnnotator:
    """The `Annotator` of contracts.ports for who needs neither names nor key phrases."""

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """One empty annotation per text."""
        return [Annotation()] * len(texts)

    async def close(self) -> None:
        """There is nothing to let go of."""
