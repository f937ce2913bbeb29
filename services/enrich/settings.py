"""The knobs of enrich."""

from __future__ import annotations

from pydantic import Field

from services.shared.settings import ServiceSettings


class EnrichSettings(ServiceSettings):
    """How many events are enriched at once, and how a language model is asked."""

    prefix = "MEMORYBUS_ENRICH_"

    max_batch: int = Field(default=64, ge=1, le=1024, description="most entries enriched with one sync, or one event")
    extract_timeout_seconds: float = Field(
        default=30.0, gt=0, le=300, description="how long the language model may take for an answer; asked 3 times"
    )
    extract_at_once: int = Field(default=2, ge=1, le=64, description="turns that the language model reads side by side")
    extract_user_budget: int = Field(
        default=200, ge=0, description="turns of one user that the language model reads on one day, in UTC"
    )
    extract_budget: int = Field(default=5000, ge=0, description="the same of all users together")
