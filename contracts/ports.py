"""What the handlers need from the outside, and what each adapter promises.

An entry is reached by its user and id together, and searched for within a `Scope`, so a query over everybody's memory
cannot be written down. Every method may raise `Unavailable` (try again later); none returns half an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from contracts.upkeep import InFlight, MissingFromStream, TextUpkeep, VectorUpkeep
from contracts.v1.entries import EmbeddingState, Entry
from contracts.v1.turns import LoggedTurn, Proposal, Turn
from contracts.values import (
    TURN,
    Accepted,
    Annotation,
    Conversation,
    Crowd,
    Decision,
    EmbeddingIdentity,
    Erasure,
    Filters,
    Forgotten,
    InFlightCounts,
    Key,
    LastTurn,
    LexicalHit,
    LogRecord,
    Merged,
    Outcome,
    OutcomeKind,
    Page,
    Place,
    ProposalRecord,
    Ref,
    Refused,
    Scope,
    Selection,
    SemanticHit,
    SimilarityQuery,
    StageCounts,
    StoredPoint,
    Stuck,
    TurnKey,
    Vector,
    VectorPoint,
)

__all__ = [
    "TURN",
    "Accepted",
    "Annotation",
    "Annotator",
    "Conversation",
    "Crowd",
    "Decision",
    "Embedder",
    "EmbeddingIdentity",
    "Erasure",
    "Filters",
    "Forgotten",
    "InFlight",
    "InFlightCounts",
    "Key",
    "LastTurn",
    "LexicalHit",
    "LogRecord",
    "Merged",
    "MissingFromStream",
    "Outcome",
    "OutcomeKind",
    "Page",
    "Place",
    "ProposalRecord",
    "Ref",
    "Refused",
    "Scope",
    "Selection",
    "SemanticHit",
    "SimilarityQuery",
    "StageCounts",
    "StoredPoint",
    "Stuck",
    "TextRefused",
    "TextStore",
    "TokenCounter",
    "TurnKey",
    "TurnPublisher",
    "Unavailable",
    "UnusableStore",
    "Vector",
    "VectorPoint",
    "VectorStore",
]


class Unavailable(Exception):
    """A store, model or server could not answer now. The same call may succeed later."""


class UnusableStore(Exception):
    """A store holds something that this program cannot work with; the text says what, and what to do."""


class TextRefused(Exception):
    """A model cannot handle this text, though it handles others. The same call will fail again."""


class TextStore(TextUpkeep, Protocol):
    """The system of record: conversation log, proposals, entries, and search by words.

    Every write is durable when the call returns, and safe to repeat: the second time changes nothing.
    """

    async def last_turns(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
        """For each conversation and moment, the latest logged turn at or before it."""
        ...

    async def append(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
        """Append turns and what they propose; the new ones. A known turn (user, space, turn_id) stays as it was."""
        ...

    async def undecided(self, proposals: Sequence[Ref]) -> list[Proposal]:
        """Of these proposals, the ones that have no outcome yet, in the order asked."""
        ...

    async def find_similar(self, queries: Sequence[SimilarityQuery]) -> list[list[Entry]]:
        """For each probe the active entries of the same scope, role and speaker that share one of its keys."""
        ...

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry out decisions, in order. A proposal that has an outcome keeps it; what is returned is what holds.

        Left out is what has to be judged again: merged into an entry that is not active any more, or accepted though
        a similar entry came in, or the same statement was forgotten, meanwhile.
        """
        ...

    async def outcomes(self, proposals: Sequence[Ref]) -> dict[str, Outcome]:
        """What became of these proposals; the undecided are missing."""
        ...

    async def entries(self, refs: Sequence[Ref]) -> dict[str, Entry]:
        """The stored entries by id, in any status, in the order asked; unknown or another user's are missing."""
        ...

    async def ids_beginning(self, user_id: str, beginning: str, *, limit: int) -> list[str]:
        """The ids of the user's entries, in any status, that begin so, in order."""
        ...

    async def modify(self, refs: Sequence[Ref], change: Callable[[Entry], Entry | None]) -> list[Entry]:
        """Replace each entry by `change(entry)`, version + 1, unless that is None; returns the ones replaced.

        Concurrent modifications do not overwrite each other. `change` is pure: it may be called again.
        """
        ...

    async def page(self, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        """One page of entries, those said last first. Raises ValueError for a cursor it did not make."""
        ...

    async def search(self, scope: Scope, query: str, *, limit: int, filters: Filters) -> list[LexicalHit]:
        """The active entries of the scope that share words with the query, best first."""
        ...

    async def neighbours(self, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """The active entries around each entry in its session: distance (−reach to reach, never 0) → id."""
        ...

    async def unfinished(self, lacking: Stuck, *, before: datetime, limit: int) -> list[Key]:
        """What has lacked this since before a moment; the oldest first."""
        ...

    async def with_embedding(self, state: EmbeddingState, *, limit: int) -> list[Entry]:
        """Some active entries, of whatever user, whose embedding is in this state: for making vectors anew."""
        ...

    async def counts(self, user_id: str | None = None) -> StageCounts:
        """Count what is stored, for one user or for all."""
        ...

    async def users(self, *, after: str, limit: int) -> list[str]:
        """The users of whom anything is stored and whose ids come after this one, in order."""
        ...

    async def export_log(self, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        """The logged turns of a user after a place, the oldest first: for moving a memory elsewhere."""
        ...

    async def kept(self, user_id: str, *, after: Place | None, limit: int) -> list[Entry]:
        """The entries of a user in any status after a place, the oldest first."""
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


class VectorStore(VectorUpkeep, Protocol):
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

    async def fetch(
        self, scope: Scope, ids: Sequence[str], *, query: Vector | None = None, copies: bool = False
    ) -> dict[str, StoredPoint]:
        """The stored points of these ids within the scope; others are missing. One round trip.

        Where a query vector is given, its model has made the vectors, so that they can be compared with it. With
        `copies` there are the entries as they were when embedded, where these are kept: for answering while the text
        store is away, and for nothing else, as what changed since is not in them.
        """
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
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts.

        Raises:
            TextRefused: one of the texts cannot be embedded.
        """
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
