"""Annotators: adapters that read names and key phrases out of texts, one of which is chosen when a process starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from contracts.ports import Annotator

__all__ = ["open_annotator"]

Kind = Literal["spacy", "none"]


async def open_annotator(kind: Kind, *, processes: int = 2) -> Annotator | None:
    """The chosen annotator, ready to use; None for "none".

    Raises:
        Unavailable: its processes do not start.
    """
    # The processes of the annotator import this package too, and should not wait for more than they use.
    if kind == "spacy":
        from services.shared.annotators.spacy import SpacyAnnotator

        return await SpacyAnnotator.open(processes=processes)
    return None
