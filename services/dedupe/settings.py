"""The knobs of dedupe."""

from __future__ import annotations

from pydantic import Field

from services.shared.settings import ServiceSettings


class DedupeSettings(ServiceSettings):
    """How many events are judged at once."""

    prefix = "MEMORYBUS_DEDUPE_"

    max_batch: int = Field(default=64, ge=1, le=1024, description="most entries judged with one sync, or one event")
