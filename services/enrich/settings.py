"""The knobs of enrich."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from services.shared.settings import ServiceSettings


class EnrichSettings(ServiceSettings):
    """How many events are enriched at once, and what becomes of a statement that a newer one changes."""

    prefix = "MEMORYBUS_ENRICH_"

    max_batch: int = Field(default=64, ge=1, le=1024, description="most entries enriched with one sync, or one event")
    changes: Literal["supersede", "flag", "leave"] = Field(
        default="supersede",
        description="an older statement that a newer one changes is superseded, flagged as a conflict, or left alone",
    )
    contradictions: bool = Field(
        default=False,
        description="flag as a conflict also what contradicts an older statement without saying that it changed",
    )
