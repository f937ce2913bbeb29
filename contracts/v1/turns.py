"""A chat turn: the only thing anybody has to publish."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import uuid5

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, model_validator

from contracts.envelope import NAMESPACE, Message, Moment, offset_of
from contracts.subjects import user_token
from contracts.v1.facts import ProposedFact

Role = Literal["user", "assistant", "system", "tool"]
EntryType = Literal["fact", "preference", "decision", "instruction", "note", "summary", "other"]

Frame = Literal["fiction", "awaited", "given"]
"""The frame in which something is said that is not said in earnest: a fiction, such as a role play or a supposition; a
text that is written for the user, whose words are awaited, or were given by then."""

EVERY_PERSONA = "*"
"""Asks for the entries of all personas, and of none; no persona can be called so."""

PersonaId = Annotated[str | None, AfterValidator(lambda name: name or None)]
"""Whose an entry is: an empty name is none."""

MOST_TEXT_BYTES = 64 * 1024
"""How long the text of a turn may be, in UTF-8, where the server is not set otherwise."""

Mark = Annotated[str, Field(max_length=4096)]
"""One tag, or one id of where something is from."""

NO_PERSONA = "no persona can be called '*', which asks for those of all: choose another persona_id"

WORDLESS = "[forgotten]"
"""Stands in the log in place of what was said and may not be kept. A user may say it, too: see `redacted`."""


class Turn(Message):
    """One thing that was said. Only `user_id`, `role` and `text` are required.

    Publishing the same `turn_id` twice has the effect of publishing it once. A missing `turn_id` is derived from the
    content, a missing `created_at` is the time at which the stream took the turn, and so is one that is more than a
    few minutes ahead of it. `type` fixes what kind of memory the turn becomes; without it the text decides.
    `persona_id` may not be `"*"`, which means all of them; an empty one is none. `utc_offset`, in minutes, is that of
    `created_at` as it was written: it tells on which day that was for who said it.
    """

    user_id: str = Field(min_length=1, max_length=512)
    role: Role
    text: str = Field(min_length=1)
    turn_id: str | None = Field(default=None, min_length=1, max_length=128)
    space: str = Field(default="default", min_length=1, max_length=256)
    conversation_id: str = Field(default="default", min_length=1, max_length=256)
    created_at: Moment | None = None
    utc_offset: int | None = Field(default=None, gt=-24 * 60, lt=24 * 60)
    manually_saved: bool = False
    type: EntryType | None = None
    tags: tuple[Mark, ...] = Field(default=(), max_length=64)
    source_ids: tuple[Mark, ...] = Field(default=(), max_length=64)
    persona_id: PersonaId = Field(default=None, max_length=256)
    speaker: str | None = Field(default=None, max_length=256)
    correlation_id: str | None = Field(default=None, max_length=256)

    @model_validator(mode="before")
    @classmethod
    def _with_offset(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("utc_offset") is not None:
            return given
        offset = offset_of(given.get("created_at"))
        return {**given, "utc_offset": offset} if offset else given


class DatedTurn(Turn):
    """A turn that is identified and dated.

    `clock_ahead`: its publisher gave a time ahead of the bus, so `created_at` is when the bus took it.
    """

    turn_id: str
    created_at: Moment
    clock_ahead: bool = False


class LoggedTurn(DatedTurn):
    """A turn as the conversation log keeps it: identified, dated, and placed in a session.

    Once `redacted`, nothing of what was said is left in it. `frame` is the one in which it begins, and `frame_after`
    the one in which it leaves its conversation. Older versions took tags and sources of any length.
    """

    tags: tuple[str, ...] = Field(default=(), max_length=64)
    source_ids: tuple[str, ...] = Field(default=(), max_length=64)
    session_id: str
    frame: Frame | None = None
    frame_after: Frame | None = None
    redacted: bool = False

    @model_validator(mode="after")
    def _as_older_versions_logged(self, info: ValidationInfo) -> LoggedTurn:
        """The log of an older version tells a redacted turn by its text alone; newer ones always say which it is."""
        if info.mode == "json" and self.text == WORDLESS and "redacted" not in self.model_fields_set:
            return self.model_copy(update={"redacted": True})
        return self


class Proposal(Message):
    """Something a turn says that may become an entry. Ordinal 0 is the turn itself, others are facts that older
    versions drew from it."""

    id: str
    turn: LoggedTurn
    ordinal: int = 0
    text: str
    fact: ProposedFact | None = None

    @classmethod
    def logged(cls, id_: str, turn: LoggedTurn, ordinal: int, written: str) -> Proposal:
        """A proposal as the log has it; see `written`."""
        fact = _fact_in(written) if ordinal > 0 else None
        return cls(id=id_, turn=turn, ordinal=ordinal, text=fact.text if fact else written, fact=fact)

    @property
    def written(self) -> str:
        """What the log keeps: the text, or the whole fact in its place, so that its words go with it."""
        return self.fact.model_dump_json() if self.fact else self.text

    @property
    def user_id(self) -> str:
        """Who said it."""
        return self.turn.user_id

    @property
    def redacted(self) -> bool:
        """Whether its words were taken out of the log, with its turn or alone."""
        return self.turn.redacted or (self.ordinal > 0 and self.text == WORDLESS)


def _fact_in(written: str) -> ProposedFact | None:
    """The fact that the log keeps as this; None where it is a text alone."""
    try:
        return ProposedFact.model_validate_json(written)
    except ValidationError:
        return None


def derived_turn_id(turn: Turn) -> str:
    """The id of a turn published without one: the same content at the same stated time is the same turn."""
    at = turn.created_at.isoformat() if turn.created_at else ""
    parts = [turn.user_id, turn.space, turn.conversation_id, turn.role, turn.speaker or "", at, turn.text]
    if turn.persona_id:
        parts.append(turn.persona_id)
    return str(uuid5(NAMESPACE, "\x1f".join(parts)))


def message_id(turn: Turn) -> str:
    """The id under which a turn is published, by which the bus knows a repetition."""
    return f"{user_token(turn.user_id)}/{turn.space}/{turn.turn_id or derived_turn_id(turn)}"


def entry_id(user_id: str, space: str, turn_id: str, ordinal: int = 0) -> str:
    """The id of the entry that a turn becomes; nothing but its origin goes into it."""
    return str(uuid5(NAMESPACE, "\x1f".join(("entry", user_id, space, turn_id, str(ordinal)))))
