"""What the handlers need from the outside, and what each adapter promises.

An entry is reached by its user and id together, and searched for within a `Scope`, so a query over everybody's memory
cannot be written down. Every method may raise `Unavailable` (try again later); none returns half an effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from contracts.errors import TextRefused, Unavailable, UnusableStore
from contracts.text_stores import (
    ConversationLog,
    DedupeStore,
    EntryStore,
    LexicalIndex,
    Privacy,
    TextStore,
    Upkeep,
    UserRecords,
)
from contracts.v1.claims import Reading, Relation
from contracts.v1.entries import Entry
from contracts.v1.turns import Turn
from contracts.values import (
    NO_TRACES,
    UNBOUNDED,
    Accepted,
    Annotation,
    Change,
    Conversation,
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
    Overview,
    Page,
    Place,
    ProposalRecord,
    Record,
    RecordKey,
    RecordKind,
    RecordPage,
    Ref,
    Refused,
    Scope,
    Selection,
    SemanticHit,
    Similar,
    SpaceSize,
    StageCounts,
    StoredPoint,
    Stuck,
    Traces,
    TurnKey,
    Vector,
    VectorPoint,
)

__all__ = [
    "NO_TRACES",
    "UNBOUNDED",
    "Accepted",
    "Annotation",
    "Annotator",
    "Change",
    "Conversation",
    "ConversationLog",
    "Decision",
    "DedupeStore",
    "Embedder",
    "EmbeddingIdentity",
    "EntryStore",
    "Erasure",
    "Filters",
    "Forgotten",
    "InFlight",
    "InFlightCounts",
    "Key",
    "LanguageModel",
    "LastTurn",
    "LexicalHit",
    "LexicalIndex",
    "LogRecord",
    "Merged",
    "MissingFromStream",
    "Outcome",
    "OutcomeKind",
    "Overview",
    "Page",
    "Place",
    "Privacy",
    "ProposalRecord",
    "Reader",
    "Record",
    "RecordKey",
    "RecordKind",
    "RecordPage",
    "Ref",
    "Refused",
    "Scope",
    "Selection",
    "SemanticHit",
    "Similar",
    "SpaceSize",
    "StageCounts",
    "StoredPoint",
    "Stuck",
    "TextRefused",
    "TextStore",
    "TokenCounter",
    "Traces",
    "TurnKey",
    "TurnPublisher",
    "Unavailable",
    "UnusableStore",
    "Upkeep",
    "UserRecords",
    "Vector",
    "VectorPoint",
    "VectorStore",
]


class VectorStore(Protocol):
    """Vectors of active entries: derived, and rebuilt from the text store at any time."""

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        """Store points; one whose entry version is older than the stored one is left out."""
        ...

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are no error."""
        ...

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        """The points of the scope nearest to a unit vector by cosine, best first; where ids are given, of these."""
        ...

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        """The stored points of these ids within the scope; others are missing. One round trip.

        With `copies` there are the entries as they were when embedded, where these are kept: for answering while the
        text store is away, and for nothing else, as what changed since is not in them.
        """
        ...

    async def count(self, user_id: str | None = None) -> int:
        """How many points there are, of one user or of all."""
        ...

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        """The points of all users whose ids come after this one, in the order of ids.

        Raises:
            ValueError: `after` is neither empty nor the id of a point.
        """
        ...

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        """Of these entries, the ids of those that have no point, or one of another text or other filters."""
        ...

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        """Have the points of these entries filtered by what the entries are now, with the vectors they have.

        Returns the ids of those that have no point. A point of a newer version stays as it is.
        """
        ...

    async def erase(self, user_id: str) -> None:
        """Remove all points of a user."""
        ...

    async def compact(self) -> bool:
        """Leave nothing in the files of the words of points that were removed; whether there is nothing now."""
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


@runtime_checkable
class Reader(Protocol):
    """An embedder that also reads what texts state, in the pass that makes their vectors."""

    @property
    def reader(self) -> str:
        """Which reader this is: another one reads all anew."""
        ...

    async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
        """As `embed`, and what is read in each of the texts.

        Raises:
            TextRefused: one of the texts cannot be embedded.
        """
        ...

    async def read(self, texts: Sequence[str]) -> list[Reading]:
        """What is read in each of the texts, where their vectors are not wanted.

        Raises:
            TextRefused: one of the texts cannot be read.
        """
        ...

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """Of pairs of an earlier and a later text of one user, what the later is to the earlier.

        Raises:
            TextRefused: one of the texts cannot be read.
        """
        ...


class Annotator(Protocol):
    """Reads names and key phrases out of texts."""

    async def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """One annotation per text, in order."""
        ...

    async def close(self) -> None:
        """Let go of model and processes."""
        ...


class LanguageModel(Protocol):
    """Answers in JSON. Whatever it says is anybody's word: it is held against what is known, and never followed."""

    def check(self) -> None:
        """Raises `Unavailable` while it is not worth asking."""
        ...

    async def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> str:
        """The text of its answer to the messages of a chat, of a bounded length, at temperature 0.

        Raises:
            ModelFailed: it did not answer, after several attempts; it may later.
            NoAnswer: it answered, but not with a text, or with one that is too long.
            Unavailable: it is not worth asking now, or settings are wrong.
        """
        ...

    async def close(self) -> None:
        """Let go of the connections."""
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


MissingFromStream = Callable[[Collection[int]], Awaitable[set[int]]]
"""Which of these messages, by number, the bus does not hold any more: somebody has logged or erased them."""


class InFlight(Protocol):
    """What users said that the bus still holds: turns that nobody has logged yet, and dead letters."""

    async def drop(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        """Remove a user's messages, those of some turns or all, and overwrite their bytes; how many there were.

        With `before`, only turns up to this number and dead letters that are not of a newer turn. With `traces`, dead
        letters that have one of them as well.
        """
        ...

    async def count(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None, traces: Traces = NO_TRACES
    ) -> InFlightCounts:
        """How many of these messages are there, counted by looking."""
        ...

    async def last(self) -> int:
        """The number of the last turn that the bus has promised to keep."""
        ...

    async def oldest(self) -> datetime | None:
        """When the bus took the oldest turn that it still holds; None when it holds none."""
        ...

    async def is_drained(self) -> bool:
        """Whether the bus holds no turns and no events, beside which bytes of others could stay readable."""
        ...
