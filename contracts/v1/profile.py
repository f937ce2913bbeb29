"""What is known of a user, fact by fact, and grouped as cards of people, places and projects."""

from __future__ import annotations

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request
from contracts.v1.entries import Subject
from contracts.v1.facts import FactType
from contracts.v1.turns import PersonaId


class ProfileRequest(Request):
    """Ask what is known of the user in a space; null: in all. `as_of`: what was known at that moment.

    `persona_id`: as in a list, what a retrieval for this persona sees; null means all of the user's.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = None
    as_of: Moment | None = None


class FormerValue(Message):
    """A value that held before; `until` is when another one took its place or the user said that it ended."""

    value: str
    text: str
    since: Moment
    until: Moment | None = None
    source_ids: tuple[str, ...]


class ProfileFact(Message):
    """What the user stated, as `text` in their own words and as `value` of `memory_key`; `source_ids` are the entries.

    `until`: the user said that it is not so any more. `importance`: 0 to 3, always 3 where a source is pinned; one
    higher when it was told three `times`, two when ten times.
    `span`: where the text of the newest source says it, from the first character to after the last.
    By `id` the user may decide whether it is so. `is_likely`: it is not sure that this is so.
    `decided`: the user said that it is.
    `in_conflict`: a source is in a conflict that the user has not decided; the other statement's facts are here, too.
    """

    id: str | None = None
    subject: Subject
    entity_refs: tuple[str, ...]
    entity_label: str
    fact_type: FactType
    memory_key: str
    value: str
    text: str
    importance: int = Field(ge=0, le=3)
    pinned: bool
    confidence: float = Field(ge=0, le=1)
    since: Moment
    until: Moment | None = None
    before: tuple[FormerValue, ...] = ()
    source_ids: tuple[str, ...]
    times: int = 1
    span: tuple[int, int]
    in_conflict: bool = False
    is_likely: bool = False
    decided: bool = False


class Card(Message):
    """At most three facts about one person, project or event that are so now, pinned or of importance 2 and more."""

    entity_ref: str
    label: str
    facts: tuple[str, ...]


class ProfileReply(Reply):
    """What is so now comes first, the most important before others; what has ended comes last.

    `left_out`: older entries that were not read, there are so many. `truncated`: not all facts fit into a message.
    """

    cards: tuple[Card, ...]
    facts: tuple[ProfileFact, ...]
    entries_read: int
    left_out: int = 0
    truncated: bool = False


class DecideRequest(Request):
    """Say whether a fact is so, by its `id` in a profile; null: leave it to what is read in its entry.

    What is not so is told no more, nor what was said of the same value before. What is so is a fact, as sure as can be,
    and holds until the user says otherwise. It goes with the words that state it.
    """

    id: str = Field(min_length=1, max_length=256)
    is_so: bool | None = None


class DecideReply(Reply):
    """What the user said, and of what: `id` names it from now on."""

    id: str
    is_so: bool | None


class SeedRequest(Request):
    """Give what is known of a user from the start, a sentence each: "I live in Lisbon". Given again, nothing changes.

    They are remembered like what is saved on request, with the source `seeded_profile`.
    """

    facts: tuple[str, ...] = Field(min_length=1, max_length=50)
    space: str = Field(default="default", min_length=1, max_length=256)
    persona_id: PersonaId = Field(default=None, max_length=256)


class SeededFact(Message):
    """The entry that says it, or why there is none."""

    text: str
    id: str | None = None
    refused: str | None = None


class SeedReply(Reply):
    """Each of the facts, once."""

    items: tuple[SeededFact, ...]
