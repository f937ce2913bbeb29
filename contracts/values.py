"""What passes between handlers and ports: scopes, decisions, hits, counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from contracts.v1.entries import Entity, Entry, Status
from contracts.v1.turns import EVERY_PERSONA, EntryType, Frame, LoggedTurn, Proposal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""One embedding, shape (dimensions,), unit length; or several, shape (n, dimensions)."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory, and which part of it.

    A persona sees its own entries and those of no persona, no persona sees those of none, and `EVERY_PERSONA` all.
    """

    user_id: str
    space: str = "default"
    persona_id: str | None = None

    @classmethod
    def of(cls, entry: Entry) -> Scope:
        """What the persona that an entry was said to sees of its space."""
        return cls(entry.user_id, entry.space, entry.persona_id)

    def sees(self, entry: Entry) -> bool:
        """Whether an entry is in it."""
        is_here = (entry.user_id, entry.space) == (self.user_id, self.space)
        return is_here and (self.persona_id == EVERY_PERSONA or entry.persona_id in (None, "", self.persona_id))


class Ref(Protocol):
    """Whatever names an entry or a proposal together with the user it belongs to. An id alone opens nothing."""

    @property
    def user_id(self) -> str:
        """Whose it is."""
        ...

    @property
    def id(self) -> str:
        """Which one."""
        ...


class Key(NamedTuple):
    """The plainest `Ref`."""

    user_id: str
    id: str


@dataclass(frozen=True, slots=True)
class Filters:
    """What else an entry must fulfil to be found. None and () do not filter; several tags or types mean any of them.

    `conversation_id`: it was said in this conversation. `since`: it was last said then or later. `until`: it was first
    said then or before.
    """

    types: tuple[EntryType, ...] | None = None
    tags: tuple[str, ...] | None = None
    theme: str | None = None
    conversation_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether every entry passes."""
        labels = self.types or self.tags
        return not labels and (self.theme, self.conversation_id, self.since, self.until) == (None,) * 4


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries to page through. None and () do not filter; several tags or types mean any of them.

    `words`: it has every word of this text, under any of its forms; entries that are not active have none.
    `persona_id`: what this persona sees, its own entries and those of none. `since` and `until` as in `Filters`.
    """

    user_id: str
    space: str | None = None
    persona_id: str | None = None
    status: Status = "active"
    words: str | None = None
    types: tuple[EntryType, ...] | None = None
    tags: tuple[str, ...] | None = None
    theme: str | None = None
    conversation_id: str | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An entry as it was read, and what is to be stored in its place, as its next version.

    With `known_similar`, only if no other active entry of the same voice has its statement key but these (by id), those
    that it was compared with, and its statement may come back; as for `Accepted`.

    Raises:
        ValueError: `new` is another entry, or of another user, space or persona.
    """

    old: Entry
    new: Entry
    known_similar: frozenset[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "new", successor(self.old, self.new))


def successor(old: Entry, new: Entry) -> Entry:
    """`new` as the next version of `old`.

    Raises:
        ValueError: it has another id, or belongs to another user, space or persona.
    """
    if _identity(old) != _identity(new):
        raise ValueError(f"entry {old.id!r} cannot change its id, user, space or persona")
    return new.model_copy(update={"version": old.version + 1})


def _identity(entry: Entry) -> tuple[str, str, str, str]:
    return entry.id, entry.user_id, entry.space, entry.persona_id or ""


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, those said last first; `cursor` asks for the next page, None when there is none."""

    entries: tuple[Entry, ...]
    cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread of turns."""

    user_id: str
    space: str
    conversation_id: str


@dataclass(frozen=True, slots=True)
class LastTurn:
    """The session of the latest turn at or before a moment, when that turn was said, and the frame after it."""

    session_id: str
    at: datetime
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """Store this new entry.

    With `known_similar`, only if no other active entry of the same voice has its statement key but these (by id), those
    that it was compared with, and its statement may come back. Otherwise the proposal has to be judged again.
    """

    entry: Entry
    known_similar: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """Count the proposal as a repeat of `canonical_id`, which `repeat`, the entry it would be, renews exactly once.

    Without `repeat` the entry counts it already, as one that comes from an export does; it may be in any status then.
    """

    proposal: Ref
    canonical_id: str
    repeat: Entry | None


@dataclass(frozen=True, slots=True)
class Refused:
    """Do not store the proposal, remember why, and leave nothing of its words in the log."""

    proposal: Ref
    reason: str


Decision = Accepted | Merged | Refused

Stuck = Literal["undecided", "unenriched", "unembedded"]
"""What is missing: a proposal's outcome, an active entry's enrichment, an active entry's vector."""

OutcomeKind = Literal["stored", "merged", "refused"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a proposal: `entry_id` is the entry that now stands for it, None when refused."""

    proposal_id: str
    kind: OutcomeKind
    entry_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """A proposal with what became of it; None while it is undecided."""

    proposal: Proposal
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A logged turn with all that it proposed."""

    turn: LoggedTurn
    proposals: tuple[ProposalRecord, ...]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is left of an entry, and the ids of the turns in its space whose words were taken out of the log."""

    tombstone: Entry
    turn_ids: tuple[str, ...]

    @property
    def turns(self) -> frozenset[TurnKey]:
        """Those turns."""
        return frozenset((self.tombstone.space, turn_id) for turn_id in self.turn_ids)


@dataclass(frozen=True, slots=True)
class SpaceSize:
    """How many active entries a user has in a space."""

    user_id: str
    space: str
    entries: int


TurnKey: TypeAlias = tuple[str, str]
"""Which turn of a user: its space and its id. The same id in another space is another turn."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What tells that a dead letter is of what was forgotten, beside the turn that it names.

    `said`: spaces and hashes of what was said there. `conversation`: the one that was forgotten, in this `space`; None:
    in all.
    """

    said: frozenset[tuple[str, str]] = frozenset()
    conversation: str | None = None
    space: str | None = None


NO_TRACES = Traces()


class InFlightCounts(NamedTuple):
    """How many messages with what a user said are on the bus: turns that wait, and dead letters."""

    turns: int
    dead_letters: int


UNBOUNDED = -1
"""In place of the number of a message: it is not known yet up to which one an erasure goes."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """The mark of an erasure that is not complete: all that a user published up to a message is refused.

    `before` is the number of that message, the last one in the stream of turns once the mark was there. Until the text
    store is `cleared` nothing newer of the user is logged either, so all that it holds of them is older; with
    `vectors_left` the vector store was away then. `removed` is what was found of the user in each place at first.
    `covers` are the times of earlier requests that it took over before they were complete.
    """

    user_id: str
    before: int
    requested_at: datetime
    removed: Mapping[str, int] = field(default_factory=dict)
    cleared: bool = False
    vectors_left: bool = False
    covers: tuple[datetime, ...] = ()

    @property
    def requests(self) -> tuple[datetime, ...]:
        """When it was asked for, the latest request first."""
        return (self.requested_at, *self.covers)


class Place(NamedTuple):
    """Where a turn (by turn_id) or an entry stands among all of its user, the oldest first."""

    at: datetime
    space: str
    id: str


@dataclass(frozen=True, slots=True)
class Similar:
    """What is known about a candidate for a new entry.

    `entries` are active ones of its voice that have its statement key, or that may be near-copies of it. `suppressed`:
    its statement was forgotten and may not come back now. `proposed` names other proposals that were about to become
    the entry of this statement when they were seen last: once they are decided, they are among the entries.
    """

    entries: tuple[Entry, ...] = ()
    suppressed: bool = False
    proposed: tuple[Key, ...] = ()


class LexicalHit(NamedTuple):
    """An entry found by its words.

    `score` is BM25 with the decayed term counts of the neighbouring turns, `turn_score` BM25 of the turn alone,
    `coverage` the share (0 to 1) of the query's inverse document frequency that the turn and its neighbours contain.
    `neighbours` are the ids of the entries around it in its session by distance: −1 the one before, 1 the one after it.
    """

    id: str
    score: float
    turn_score: float
    coverage: float
    neighbours: Mapping[int, str] = MappingProxyType({})


class SemanticHit(NamedTuple):
    """An entry found by its meaning: the cosine of its vector and the query's."""

    id: str
    cosine: float


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point as the vector store holds it: its unit vector and, where asked for and kept, a copy of its entry."""

    vector: Vector
    copy: Entry | None = None


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What is stored, by stage. `entries` are active, `inactive` archived, superseded or forgotten.

    `undecided` are proposals without an outcome, `unembedded` active pending entries, `unembeddable` active ones whose
    text the model takes in no length.
    """

    turns: int
    entries: int
    inactive: int
    merged: int
    refused: int
    undecided: int
    unenriched: int
    unembedded: int
    unembeddable: int = 0


@dataclass(frozen=True, slots=True)
class Overview:
    """The active entries of a user, counted: by type, theme and embedding state. `latest`: when the last was said."""

    entries: int = 0
    pinned: int = 0
    manually_saved: int = 0
    types: Mapping[str, int] = field(default_factory=dict)
    themes: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)
    latest: datetime | None = None


_OF_ENGLISH = re.compile(r"all-minilm|(?<![a-z])en(?:glish)?(?![a-z])")


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """Which model makes the vectors. Vectors of different identities are never compared.

    `generation` counts how often they were made anew, each time in a place of its own; `url` is where an embedding
    server answers.
    """

    provider: str
    model: str
    dimensions: int
    generation: int = field(default=0, compare=False)
    url: str = field(default="", compare=False)

    @property
    def reads_english_only(self) -> bool:
        """Whether the name of the model tells so, as "all-MiniLM-L6-v2" and "bge-small-en-v1.5" do."""
        return _OF_ENGLISH.search(self.model.lower()) is not None


@dataclass(frozen=True, slots=True)
class VectorPoint:
    """A vector of an entry with what it is filtered by. A point of an older version never replaces a newer one."""

    entry: Entry
    vector: Vector


@dataclass(frozen=True, slots=True)
class Annotation:
    """What was read out of one text: names, and key phrases with the confidence (0 to 1) of each."""

    entities: tuple[Entity, ...] = ()
    phrases: tuple[tuple[str, float], ...] = ()


RecordKind = Literal[
    "settings",
    "limits",
    "incognito",
    "theme",
    "conflict",
    "names",
    "loops",
    "action",
    "extraction",
    "rollup",
    "rolling",
    "ageing",
    "unwanted",
]
"""What a record tells of a user: how a space (its name; `"*"`: every space) is kept, that this limits how much, a
conversation that leaves nothing, a theme (its slug), two statements that cannot both be true (the newer and the older
id with a colon), whether two names are of one person (hashes of both), what of an entry (its id) is settled, something
done (a name that sorts by time), how much a language model read on a day (its date), of what a roll-up (its id) was
made, that it is being made or undone, when a space (its name) was rolled up last, or that an entry is set aside."""


class RecordKey(NamedTuple):
    """Which record: of whom, of which kind, under which name."""

    user_id: str
    kind: RecordKind
    name: str


@dataclass(frozen=True, slots=True)
class Record:
    """A small piece of JSON about a user, kept beside log and entries. Its name has at most 512 characters.

    `version` is 1 when it is new and one higher with each change.
    """

    user_id: str
    kind: RecordKind
    name: str
    body: Mapping[str, Any]
    at: datetime
    version: int = 1

    @property
    def key(self) -> RecordKey:
        """Which one it is."""
        return RecordKey(self.user_id, self.kind, self.name)

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= LONGEST_NAME:
            raise ValueError(f"the name of a record has 1 to {LONGEST_NAME} characters, not {len(self.name)}")


LONGEST_NAME = 512


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records, the newest first; `cursor` asks for the next page, None when there is none."""

    records: tuple[Record, ...]
    cursor: str | None
