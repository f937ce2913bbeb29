"""The knobs of enrich."""

from __future__ import annotations

from pydantic import Field

from services.shared.settings import ServiceSettings


class EnrichSettings(ServiceSettings):
    """How many events are enriched at once."""

    prefix = "MEMORYBUS_ENRICH_"

    max_batch: int = Field(default=64, ge=1, le=1024, description="most entries enriched with one sync, or one event")
