"""What the handlers need from the outside, and what each adapter promises.

An id is the only handle on an entry; a `Scope` is the only way to search, so a query over everybody's memory cannot
be written down. Every method may raise `Unavailable` (try again later); none returns half an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from contracts.v1.entries import EmbeddingState, Entity, Entry, Status
from contracts.v1.turns import EntryType, LoggedTurn, Proposal, Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""One embedding, shape (dimensions,), unit length; or several, shape (n, dimensions)."""


class Unavailable(Exception):
    """A store, model or server could not answer now. The same call may succeed later."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory, and which part of it. A persona sees its own entries and those of no persona."""

    user_id: str
    space: str = "default"
    persona_id: str | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """What else an entry must fulfil to be found. `None` does not filter; several tags mean any of them."""

    types: tuple[EntryType, ...] | None = None
    tags: tuple[str, ...] | None = None
    theme: str | None = None
    since: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether every entry passes."""
        return self.types is None and self.tags is None and self.theme is None and self.since is None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries to page through."""

    user_id: str
    space: str | None = None
    status: Status = "active"
    types: tuple[EntryType, ...] | None = None
    tags: tuple[str, ...] | None = None
    theme: str | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first; `cursor` asks for the next page, None when there is none."""

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
class SessionMark:
    """The session of the latest turn at or before a moment, and when that turn was said."""

    session_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Accepted:
    """Store this new entry."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Merged:
    """Count the proposal as a repeat of `canonical_id`; `change` is applied to that entry exactly once."""

    proposal_id: str
    canonical_id: str
    change: Callable[[Entry], Entry]


@dataclass(frozen=True, slots=True)
class Refused:
    """Do not store the proposal, and remember why."""

    proposal_id: str
    reason: str


Verdict = Accepted | Merged | Refused

Stuck = Literal["proposed", "accepted", "enriched"]
"""How far something came: proposed but not settled, accepted but not enriched, enriched but not embedded."""

Outcome = Literal["stored", "merged", "refused"]


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a proposal: `entry_id` is the entry that now stands for it, None when refused."""

    proposal_id: str
    outcome: Outcome
    entry_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """The fingerprint of a text, and who said it: what similar entries are looked up by."""

    scope: Scope
    role: str
    speaker: str | None
    exact_hash: str
    minhash_bands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """An entry found by its words.

    `score` is BM25 with the decayed term counts of the neighbouring turns, `turn_score` BM25 of the turn alone,
    `coverage` the share (0 to 1) of the query's inverse document frequency that the turn and its neighbours contain.
    """

    id: str
    score: float
    turn_score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class SemanticHit:
    """An entry found by its meaning: the cosine of its vector and the query's."""

    id: str
    cosine: float


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What is stored, by stage. `undecided` are proposals without an outcome, `unembedded` active pending entries."""

    turns: int
    entries: int
    merged: int
    refused: int
    undecided: int
    unenriched: int
    unembedded: int


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """Which model makes the vectors. Vectors of different identities are never compared."""

    provider: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class VectorPoint:
    """A vector of an entry with what it is filtered by. A point of an older version never replaces a newer one."""

    entry: Entry
    vectors: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Annotation:
    """What was read out of one text: names, and key phrases with the confidence (0 to 1) of each."""

    entities: tuple[Entity, ...] = ()
    phrases: tuple[tuple[str, float], ...] = ()


class TextStore(Protocol):
    """The system of record: conversation log, proposals, entries, and search by words.

    Every write is durable when the call returns, and safe to repeat: the second time changes nothing.
    """

    async def session_marks(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[SessionMark | None]:
        """For each conversation and moment, the latest logged turn at or before it."""
        ...

    async def log(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> None:
        """Append turns and what they propose. A known turn (same user, space and turn_id) stays as it was first."""
        ...

    async def undecided(self, ids: Sequence[str]) -> list[Proposal]:
        """Of these proposals, the ones that have no outcome yet, in the order asked."""
        ...

    async def similar(self, probes: Sequence[Probe]) -> list[list[Entry]]:
        """For each probe the active entries of the same scope, role and speaker that share its hash or a band."""
        ...

    async def settle(self, verdicts: Sequence[Verdict]) -> list[Settled]:
        """Carry out verdicts, in order. A proposal that has an outcome keeps it; what is returned is what holds."""
        ...

    async def outcomes(self, ids: Sequence[str]) -> dict[str, Settled]:
        """What became of these proposals; the undecided are missing."""
        ...

    async def entries(self, ids: Sequence[str]) -> dict[str, Entry]:
        """The stored entries of these ids in any status; unknown ids are missing."""
        ...

    async def modify(self, ids: Sequence[str], change: Callable[[Entry], Entry | None]) -> list[Entry]:
        """Replace each entry by `change(entry)`, version + 1, unless that is None; returns the ones replaced.

        Concurrent modifications do not overwrite each other. `change` is pure: it may be called again.
        """
        ...

    async def page(self, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        """One page of entries, newest first. Raises ValueError for a cursor it did not make."""
        ...

    async def search(self, scope: Scope, query: str, *, limit: int, filters: Filters) -> list[LexicalHit]:
        """The active entries of the scope that share words with the query, best first."""
        ...

    async def neighbours(self, ids: Sequence[str], *, reach: int) -> dict[str, dict[int, str]]:
        """The active entries around each entry in its session: distance (−reach to reach, never 0) → id."""
        ...

    async def unfinished(self, stage: Stuck, *, before: datetime, limit: int) -> list[tuple[str, str]]:
        """(user_id, id) of what has been at this stage, unfinished, since before a moment; the oldest first."""
        ...

    async def with_embedding(self, state: EmbeddingState, *, limit: int) -> list[Entry]:
        """Some active entries, of whatever user, whose embedding is in this state: for making vectors anew."""
        ...

    async def counts(self, user_id: str | None = None) -> StageCounts:
        """Count what is stored, for one user or for all."""
        ...

    async def recall_identity(self) -> EmbeddingIdentity | None:
        """The identity that the stored vectors were made by."""
        ...

    async def remember_identity(self, identity: EmbeddingIdentity | None) -> None:
        """Record the identity that vectors are made by from now on."""
        ...

    async def ping(self) -> None:
        """Answer, or raise `Unavailable`."""
        ...

    async def close(self) -> None:
        """Finish what is under way and let go."""
        ...


class VectorStore(Protocol):
    """Vectors of active entries: derived, and rebuilt from the text store at any time."""

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        """Store points; one whose entry version is older than the stored one is left out."""
        ...

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are no error."""
        ...

    async def search(self, scope: Scope, vector: Vector, *, limit: int, filters: Filters) -> list[SemanticHit]:
        """The points of the scope nearest to a unit vector by cosine, best first."""
        ...

    async def cosines(self, scope: Scope, ids: Sequence[str], vector: Vector) -> dict[str, float]:
        """The cosine of each of these ids with a unit vector; ids without a vector in the scope are missing."""
        ...

    async def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
        """The stored unit vectors of these ids within the scope; others are missing."""
        ...

    async def count(self, user_id: str | None = None) -> int:
        """How many points there are, of one user or of all."""
        ...

    async def ping(self) -> None:
        """Answer, or raise `Unavailable`."""
        ...

    async def close(self) -> None:
        """Write out what is in memory and let go."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> EmbeddingIdentity:
        """Which model this is."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        ...

    async def close(self) -> None:
        """Let go of model and connections."""
        ...


class Annotator(Protocol):
    """Reads names and key phrases out of texts."""

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """One annotation per text, in order."""
        ...

    async def close(self) -> None:
        """Let go of model and processes."""
        ...


class TokenCounter(Protocol):
    """Counts and cuts text in cl100k_base tokens."""

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        ...

    def cut(self, text: str, limit: int) -> str:
        """The longest prefix of at most `limit` tokens."""
        ...


class TurnPublisher(Protocol):
    """Puts a turn on the bus."""

    async def publish_turn(self, turn: Turn) -> None:
        """Returns when the bus has promised not to lose the turn; raises `Unavailable` when it could not."""
        ...
