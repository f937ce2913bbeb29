"""A memory, and the facts about it that the workers tell each other."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, Field, ValidationInfo, computed_field, field_validator

from contracts import subjects
from contracts.envelope import Event, Message, derived_id
from contracts.v1.claims import Change, Claim, DecidedClaim
from contracts.v1.facts import FactSource
from contracts.v1.facts import Subject as Subject
from contracts.v1.turns import EntryType, Frame, Role

Status = Literal["active", "superseded", "archived", "forgotten"]
EmbeddingState = Literal["pending", "ready", "error"]


class Scores(Message):
    """What the last ranking gave an entry."""

    relevance: float
    recency: float
    importance: float
    total: float
    computed_at: AwareDatetime | None = None


class Entity(Message):
    """A name found in a text: `label` is the recognizer's class, such as PERSON or DATE."""

    text: str
    label: str
    confidence: float = Field(ge=0, le=1)


class NeighbourTag(Message):
    """A tag that entries near in meaning have, the `source_ids`, and that is proposed for one that lacks it."""

    tag: str
    confidence: float = Field(ge=0, le=1)
    source_ids: tuple[str, ...]


class Saying(Message):
    """A turn that said a statement, and when."""

    conversation_id: str | None = None
    turn_id: str
    at: AwareDatetime


class Revision(Message):
    """What an entry said before its text was changed.

    `version` is the last one of the entry with this text, `at` when it got it, `by` whoever changed it then; null: it
    was said so.
    """

    version: int
    at: AwareDatetime
    text: str
    by: str | None = None
    exact_hash: str = ""
    statement_hash: str = ""


MOST_SAYINGS = 32
"""How many of the turns that repeated an entry it names itself; the log knows all."""


class Entry(Message):
    """One memory: whose it is, what was said, what is known about it, and how it may be found.

    `conversation_id`, `turn_id` and `created_at` tell of the turn that said it first, `repeated_in` of the newest
    `MOST_SAYINGS` turns that said it again, newest first. `last_said_at` is the latest time it was said or corrected,
    which counts for recency, order and age; it is never before `created_at`. `clock_ahead`: the publisher of a turn
    that said it gave a time ahead of the bus, so the time at which the turn arrived stands for it. `utc_offset` is the
    turn's.

    `frame` is the one in which its turn begins: what is said in a role play states nothing.

    `importance` is 1 while it is pinned, and `unpinned_importance` what it will be again. `edited_at` and `edited_by`
    tell of the last change of the text, `revisions` what it was before, the latest first; replies leave them out.
    `edited_version` is the one that the user's last change made: later ones only tell what became of it by itself.

    `asked` counts how often it was among the answers to a question, `asked_at` is when last.

    Of what a model drew from a turn in an older version, `source` is `model`, `ordinal` 1 or more, and `span` the part
    that says so.

    `neighbour_tags` are proposed, and none of its `tags`: they go with the entries that they come from, and there are
    none once its user has changed the tags (`tags_edited`).

    A roll-up (`source` is `rollup`) says in each line of its text what some of its `source_ids`, older entries, said
    word by word: `line_sources` names them for every line. The originals are archived, and `rolled_up_into` it.

    A statement that changes an older one `supersedes` it (by id), and is valid from when it was said; the older one is
    `superseded_by` it, and was valid until then. Where that was in part it stays active, and `outdated` are the values
    in it that are so no longer. With those it `conflicts_with` it cannot be true, and all stay.

    `claims` are what its text states, in the order of the text, as the reader `read_by` found it, a language model
    where that begins with `model:`; null: nobody has read it yet. `decided_claims` are what its user said of them, in
    the order of the text: it holds whoever reads it.
    `changes` are the claims of earlier entries that it ended, or would end where the two are in conflict; they hold
    again when this entry is gone.
    """

    id: str
    user_id: str
    space: str = "default"
    conversation_id: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    ordinal: int = 0
    role: Role = "user"
    speaker: str | None = None
    persona_id: str | None = None
    frame: Frame | None = None

    text: str
    summary: str | None = None
    type: EntryType = "other"
    subject: Subject = "none"
    entity_refs: tuple[str, ...] = ()
    entity_label: str | None = None
    fact_type: str | None = None
    memory_key: str | None = None
    source: FactSource = "turn"
    span: str | None = None
    holds_many: bool = False
    line_sources: tuple[tuple[str, ...], ...] = ()
    rolled_up_into: str | None = None

    themes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_edited: bool = False
    neighbour_tags: tuple[NeighbourTag, ...] = ()
    entities: tuple[Entity, ...] = ()
    source_ids: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    decided_claims: tuple[DecidedClaim, ...] = ()
    changes: tuple[Change, ...] = ()
    read_by: str | None = None
    metadata_confidence: float = Field(default=0.0, ge=0, le=1)

    importance: float = Field(default=0.0, ge=0, le=1)
    unpinned_importance: float | None = Field(default=None, ge=0, le=1)
    pinned: bool = False
    manually_saved: bool = False
    repeat_count: int = 0
    repeated_in: tuple[Saying, ...] = ()
    exact_hash: str = ""
    statement_hash: str = ""
    simhash: str = ""
    minhash_bands: tuple[str, ...] = ()

    status: Status = "active"
    superseded_by: str | None = None
    supersedes: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    valid_from: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None
    outdated: tuple[str, ...] = ()
    enriched: bool = False
    embedding_state: EmbeddingState = "pending"
    embedding_provider: str | None = None
    embedding_model: str | None = None
    embedding_dimensions: int | None = None
    embedding_error: str | None = None
    last_scores: Scores | None = None
    asked: int = 0
    asked_at: AwareDatetime | None = None

    edited_version: int = 1
    edited_at: AwareDatetime | None = None
    edited_by: str | None = None
    revisions: tuple[Revision, ...] = ()

    created_at: AwareDatetime
    last_said_at: AwareDatetime = Field(default_factory=lambda known: known["created_at"])
    clock_ahead: bool = False
    utc_offset: int | None = None
    updated_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    version: int = 1

    @field_validator("last_said_at")
    @classmethod
    def _is_not_before_the_first_time(cls, last: datetime, info: ValidationInfo) -> datetime:
        first: datetime = info.data.get("created_at", last)
        return max(first, last)

    @property
    def sayings(self) -> tuple[Saying, ...]:
        """The turns that said it, as far as the entry names them, the latest first."""
        if self.turn_id is None:
            return self.repeated_in
        first = Saying(conversation_id=self.conversation_id, turn_id=self.turn_id, at=self.created_at)
        return (*self.repeated_in, first)

    @property
    def conversations(self) -> tuple[str, ...]:
        """The conversations in which it was said, as far as the entry names them."""
        named = (self.conversation_id, *(saying.conversation_id for saying in self.repeated_in))
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def level(self) -> int:
        """Importance on the scale 0 to 3."""
        return round(3 * self.importance)


class EntryRef(Message):
    """Names an entry without its text: the less text travels, the less there is to erase."""

    user_id: str
    id: str


class RepeatRef(EntryRef):
    """A proposal that said again what `canonical_id` already says."""

    canonical_id: str


class RefusalRef(EntryRef):
    """A proposal that was not stored, and why."""

    reason: str


class EntryEvent(Event):
    """Something happened to entries: one event tells it for a whole batch."""

    subject: ClassVar[str]
    entries: tuple[Any, ...]

    @classmethod
    def of(cls, entries: Iterable[EntryRef], *, at: datetime, cause: str = "") -> Self:
        """The event for these entries. The same entries and cause always give the same event id.

        An entry may be told of again for another reason: then the cause must be another, or the bus takes it for a
        repetition.
        """
        refs = tuple(entries)
        event_id = derived_id(cls.subject, (*(ref.id for ref in refs), cause))
        return cls(event_id=event_id, occurred_at=at, entries=refs)


def cause_of(events: Iterable[Event]) -> str:
    """What events that follow from these have as their cause, in whatever order they came."""
    return ",".join(sorted(str(event.event_id) for event in events))


class EntryProposed(EntryEvent):
    """ingest: these may become entries."""

    subject: ClassVar[str] = subjects.ENTRY_PROPOSED
    entries: tuple[EntryRef, ...]


class EntryAccepted(EntryEvent):
    """dedupe: these are new, stored, and found by keyword from now on."""

    subject: ClassVar[str] = subjects.ENTRY_ACCEPTED
    entries: tuple[EntryRef, ...]


class ExtractionWanted(EntryEvent):
    """dedupe, curate: a language model may read these."""

    subject: ClassVar[str] = subjects.EXTRACT_WANTED
    entries: tuple[EntryRef, ...]


class EntryRepeated(EntryEvent):
    """dedupe: these were merged into what was known."""

    subject: ClassVar[str] = subjects.ENTRY_REPEATED
    entries: tuple[RepeatRef, ...]


class EntryRefused(EntryEvent):
    """dedupe: these were not stored."""

    subject: ClassVar[str] = subjects.ENTRY_REFUSED
    entries: tuple[RefusalRef, ...]


class EntryEnriched(EntryEvent):
    """enrich: these carry entities, tags, type and importance."""

    subject: ClassVar[str] = subjects.ENTRY_ENRICHED
    entries: tuple[EntryRef, ...]


class EntryEmbedded(EntryEvent):
    """embed: these are found by meaning from now on."""

    subject: ClassVar[str] = subjects.ENTRY_EMBEDDED
    entries: tuple[EntryRef, ...]
