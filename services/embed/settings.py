"""The knobs of embed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from services.shared.settings import ServiceSettings


class EmbedSettings(ServiceSettings):
    """How many events are embedded at once, and what follows from the vectors and from what is read with them."""

    prefix = "MEMORYBUS_EMBED_"

    neighbour_tags: bool = Field(
        default=True, description="propose for new entries the tags that those nearest to them in meaning have"
    )
    max_batch: int = Field(default=64, ge=1, le=1024, description="most entries embedded with one sync, or one event")
    changes: Literal["supersede", "flag", "leave"] = Field(
        default="supersede",
        description="an older statement that a newer one changes is superseded, flagged as a conflict, or left alone",
    )
    contradictions: bool = Field(
        default=False,
        description="flag as a conflict also what contradicts an older statement without saying that it changed",
    )
