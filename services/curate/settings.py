"""The knobs of curate."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.shared.settings import ServiceSettings


class CurateSettings(ServiceSettings):
    """How often curate looks after what got stuck."""

    model_config = SettingsConfigDict(env_prefix="MEMORYBUS_CURATE_", extra="ignore")

    resume_every_seconds: float = Field(default=60, gt=0, description="how often stuck work is looked for")
    resume_after_seconds: float = Field(default=120, gt=0, description="how old work must be to count as stuck")
    max_concurrency: int = Field(default=32, ge=1, description="requests answered at the same time")
