"""What users decide about their memory: incognito conversations, and settings by space."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from contracts.envelope import Message, Moment, Reply, Request, TimeZone

EVERY_SPACE = "*"
"""In place of a space: the settings of all spaces of a user that have none of their own."""


class IncognitoStartRequest(Request):
    """Keep nothing of this conversation from now on, for so many hours: neither its turns nor what it asks."""

    conversation_id: str = Field(min_length=1, max_length=256)
    hours: float = Field(default=24, gt=0, le=24 * 366)


class IncognitoEndRequest(Request):
    """Keep what is said in this conversation from now on, for so many hours even where incognito is the default."""

    conversation_id: str = Field(min_length=1, max_length=256)
    hours: float = Field(default=24, gt=0, le=24 * 366)


class IncognitoReply(Reply):
    """From this reply on every turn and question is judged by it, until the default of its space holds again."""

    conversation_id: str
    incognito: bool
    until: Moment


Tags = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=256)], ...] | None, Field(max_length=64)]


class SpaceSettings(Message):
    """What a user has decided about a space; what is null is not decided.

    `memory_enabled`: off, nothing is kept and nothing answered; what there is stays. `incognito_default`: every
    conversation is incognito that was not ended to be, also `notes`, where what is created is kept. `retention_days`:
    what was last said longer ago is forgotten unless it is pinned or saved; 0: never. `soft_cap`: active entries before
    the least are archived; 0: any number. `gives_tags`, `takes_tags`: retrieval from this space sees an entry of
    another one if it has a tag that its space gives and this one takes. `roll_up_after_days`: what was neither said nor
    an answer since is rolled up by topic and archived, unless it is pinned or saved; 0: never. `originals_kept_days`:
    so long after its roll-up it keeps its words; 0: for ever. `time_zone`: where days begin for the user, to read
    "yesterday" and to tell dates.
    """

    memory_enabled: bool | None = None
    incognito_default: bool | None = None
    retention_days: float | None = Field(default=None, ge=0, le=36_600)
    soft_cap: int | None = Field(default=None, ge=0, le=10_000_000)
    gives_tags: Tags = None
    takes_tags: Tags = None
    time_zone: TimeZone | None = None
    roll_up_after_days: float | None = Field(default=None, ge=0, le=36_600)
    originals_kept_days: float | None = Field(default=None, ge=0, le=36_600)


class SettingsChange(SpaceSettings):
    """What is decided now. An unknown name is refused: it may be one that keeps something from being kept, misspelt."""

    model_config = ConfigDict(extra="forbid")


SettingName = Literal[
    "memory_enabled",
    "incognito_default",
    "retention_days",
    "soft_cap",
    "gives_tags",
    "takes_tags",
    "time_zone",
    "roll_up_after_days",
    "originals_kept_days",
]


LIMITS: tuple[SettingName, ...] = ("retention_days", "soft_cap", "roll_up_after_days", "originals_kept_days")
"""The settings that say how much of a space is kept."""

BETWEEN_SPACES: tuple[SettingName, ...] = ("gives_tags", "takes_tags")
"""The settings that let entries of one space be seen from another."""


class SettingsRequest(Request):
    """Show the settings of a space, after this change; `space` `"*"` means all that have decided nothing of their own.

    What is named in `reset` is not decided any more, unless the change decides it. `conversation_id`: say also whether
    this conversation is kept.
    """

    space: str = Field(default="default", min_length=1, max_length=256)
    conversation_id: str | None = Field(default=None, min_length=1, max_length=256)
    change: SettingsChange | None = None
    reset: tuple[SettingName, ...] = ()


class SettingsReply(Reply):
    """What holds in a space, and what of it was decided for this very one. After a change every replica honours it.

    `refuses`: why nothing of the conversation that was asked about is kept; null: it is.
    """

    space: str
    settings: SpaceSettings
    own: SpaceSettings
    refuses: Literal["incognito", "disabled"] | None = None
