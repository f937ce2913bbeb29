"""The data flow as a table: who hears what and who says what. Documentation is made from it, wiring is held to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from contracts import subjects
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    GetRequest,
    ListReply,
    ListRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from contracts.v1.entries import (
    EntryAccepted,
    EntryEmbedded,
    EntryEnriched,
    EntryEvent,
    EntryProposed,
    EntryRefused,
    EntryRepeated,
)
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn


@dataclass(frozen=True, slots=True)
class Answer:
    """A request that a service answers."""

    subject: str
    request: type[BaseModel]
    reply: type[BaseModel]


@dataclass(frozen=True, slots=True)
class Step:
    """One service: what it hears from a stream, what it says, what it answers, and what it keeps."""

    service: str
    does: str
    keeps: str
    hears: tuple[str, type[BaseModel]] | None = None
    says: tuple[type[EntryEvent], ...] = ()
    answers: tuple[Answer, ...] = field(default=())


FLOW = (
    Step(
        "ingest",
        "checks turns, finds their session, logs and proposes them",
        "conversation log",
        hears=(f"{subjects.TURNS}.<user>", Turn),
        says=(EntryProposed,),
    ),
    Step(
        "dedupe",
        "accepts what is new, merges what repeats",
        "entries, fingerprints",
        hears=(subjects.ENTRY_PROPOSED, EntryProposed),
        says=(EntryAccepted, EntryRepeated, EntryRefused),
    ),
    Step(
        "enrich",
        "names, key phrases, tags, importance",
        "entries",
        hears=(subjects.ENTRY_ACCEPTED, EntryAccepted),
        says=(EntryEnriched,),
    ),
    Step(
        "embed",
        "makes vectors",
        "vectors",
        hears=(subjects.ENTRY_ENRICHED, EntryEnriched),
        says=(EntryEmbedded,),
    ),
    Step(
        "retrieve",
        "answers what matters now",
        "last scores",
        answers=(Answer(f"{subjects.RETRIEVE}.<user>", RetrieveRequest, RetrieveReply),),
    ),
    Step(
        "curate",
        "creates, shows, lists and counts entries; sets stuck work going again",
        "nothing of its own",
        answers=(
            Answer(f"{subjects.ENTRIES}.create.<user>", CreateRequest, EntryReply),
            Answer(f"{subjects.ENTRIES}.get.<user>", GetRequest, EntryReply),
            Answer(f"{subjects.ENTRIES}.list.<user>", ListRequest, ListReply),
            Answer(f"{subjects.MEMORY}.status.<user>", UserStatusRequest, StatusReply),
            Answer(subjects.STATUS, StatusRequest, StatusReply),
        ),
    ),
    Step("gateway", "health, metrics and this documentation over HTTP", "nothing"),
)
