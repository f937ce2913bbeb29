"""The knobs of curate: MEMORYBUS_CURATE_<NAME>."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from contracts.v1.control import SpaceSettings
from services.shared.settings import ServiceSettings


class CurateSettings(ServiceSettings):
    """How much is kept and for how long, and how often curate looks after it."""

    prefix = "MEMORYBUS_CURATE_"

    soft_cap: int = Field(default=10_000, ge=0, description="active entries of a user in a space; 0: any number")
    max_age_days: float = Field(default=0, ge=0, description="what was said longer ago is forgotten; 0: never")
    roll_up_after_days: float = Field(
        default=0, ge=0, description="what was neither said nor asked for since is rolled up by topic; 0: never"
    )
    originals_kept_days: float = Field(
        default=0, ge=0, description="how long what was rolled up keeps its words; 0: without end"
    )
    ageing_every_hours: float = Field(
        default=24, gt=0, description="how often a space is looked through for old topics"
    )
    importance_kept: float = Field(
        default=1.0, gt=0, le=1, description="share of its importance an entry keeps per day when capacity is short"
    )
    tau_days: float = Field(default=7.0, gt=0, description="recency is exp(-age/tau) when capacity is short")
    audit_days: float = Field(default=180, ge=0, description="how long the audit is kept; 0: without end")
    forgotten_hours: float = Field(default=24, ge=0, description="for how long a forgotten statement is refused")

    tidy_every_seconds: float = Field(default=60, gt=0, description="how often capacity and age are looked after")
    compact_after_seconds: float = Field(
        default=2, gt=0, description="how soon after forgetting the files are written without it, when nothing waits"
    )
    reconcile_every_hours: float = Field(
        default=24, ge=0, description="how often the stores are compared and put right; 0: only after a crash"
    )
    resume_every_seconds: float = Field(default=60, gt=0, description="how often stuck work is looked for")
    resume_after_seconds: float = Field(default=120, gt=0, description="how old work must be to count as stuck")
    watch_every_seconds: float = Field(default=10, gt=0, description="how often what waits on the bus is counted")
    session_silence_minutes: float = Field(default=30, gt=0, description="silence after which a session has ended")
    summary_timeout_seconds: float = Field(
        default=30.0, gt=0, le=300, description="how long a language model may take for a summary; asked 3 times"
    )
    summary_user_budget: int = Field(
        default=100,
        ge=0,
        description="a language model sums up for a user while it has read less of them on a day; 0: never",
    )
    summary_budget: int = Field(default=2500, ge=0, description="the same of all users together")
    max_concurrency: int = Field(default=32, ge=1, description="requests answered at the same time")

    @property
    def refuse_for(self) -> timedelta:
        """For how long a forgotten statement is refused."""
        return timedelta(hours=self.forgotten_hours)

    @property
    def session_silence(self) -> timedelta:
        """The silence after which a session has ended."""
        return timedelta(minutes=self.session_silence_minutes)

    @property
    def of_a_space(self) -> SpaceSettings:
        """What holds in a space whose user has decided nothing."""
        return SpaceSettings(
            memory_enabled=True,
            incognito_default=False,
            retention_days=self.max_age_days,
            soft_cap=self.soft_cap,
            gives_tags=(),
            takes_tags=(),
            roll_up_after_days=self.roll_up_after_days,
            originals_kept_days=self.originals_kept_days,
        )
