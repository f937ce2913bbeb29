"""The knobs of ingest."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from services.shared.settings import ServiceSettings


class IngestSettings(ServiceSettings):
    """How turns become sessions, and how many are logged at once."""

    prefix = "MEMORYBUS_INGEST_"

    session_gap_minutes: float = Field(default=30, gt=0, description="silence after which a new session begins")
    purge_every_seconds: float = Field(default=0.5, gt=0, description="how often logged turns are purged from the bus")
    max_batch: int = Field(default=256, ge=1, le=1000, description="most turns, or kilobytes, logged with one sync")

    @property
    def session_gap(self) -> timedelta:
        """The silence after which a new session begins."""
        return timedelta(minutes=self.session_gap_minutes)
